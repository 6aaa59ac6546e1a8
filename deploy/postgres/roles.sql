-- One role and one schema of the same name for each service that keeps rows. No role can read
-- another's schema, and none may make one. Run by psql as a superuser, in the database "kndl",
-- as often as wanted; the variables sessions_password, secrets_password and repo_access_password
-- are set by whoever runs it.

REVOKE ALL ON DATABASE kndl FROM PUBLIC;
REVOKE ALL ON SCHEMA public FROM PUBLIC;

SELECT format('CREATE ROLE %I LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE', name)
FROM (VALUES ('sessions'), ('secrets'), ('repo_access')) AS service (name)
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name)
\gexec

ALTER ROLE sessions PASSWORD :'sessions_password';
ALTER ROLE secrets PASSWORD :'secrets_password';
ALTER ROLE repo_access PASSWORD :'repo_access_password';

GRANT CONNECT ON DATABASE kndl TO sessions, secrets, repo_access;

CREATE SCHEMA IF NOT EXISTS sessions AUTHORIZATION sessions;
CREATE SCHEMA IF NOT EXISTS secrets AUTHORIZATION secrets;
CREATE SCHEMA IF NOT EXISTS repo_access AUTHORIZATION repo_access;
