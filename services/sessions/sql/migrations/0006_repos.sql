-- Why nobody can work in the Session's Repo; '': they can. The last of enum session_column.
ALTER TABLE sessions.session ADD COLUMN repo_problem text NOT NULL DEFAULT '';
