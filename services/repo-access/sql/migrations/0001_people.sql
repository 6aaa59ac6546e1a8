-- Who may come in, with what they come, and which Repos they may see.

CREATE TABLE person (
    id text PRIMARY KEY,
    github_id bigint NOT NULL UNIQUE,
    login text NOT NULL,
    name text NOT NULL,
    standing text NOT NULL CHECK (standing IN ('member', 'removed')),
    is_owner boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL,
    removed_at timestamptz,
    CHECK (standing = 'member' OR NOT is_owner)
);

-- The Owner is one person.
CREATE UNIQUE INDEX person_owner ON person (is_owner) WHERE is_owner;

-- A sign-in of a browser or a token of a CLI. Only SHA-256 of it is kept.
CREATE TABLE credential (
    hash bytea PRIMARY KEY CHECK (octet_length(hash) = 32),
    kind text NOT NULL CHECK (kind IN ('web', 'cli')),
    person_id text NOT NULL REFERENCES person (id),
    machine text NOT NULL, -- of a CLI, as it calls itself
    created_at timestamptz NOT NULL,
    last_used_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL, -- moves with use
    ends_at timestamptz NOT NULL, -- does not move
    revoked_at timestamptz
);

CREATE INDEX credential_person ON credential (person_id);

-- The Repos that the GitHub App is installed on, as GitHub last told. One that is gone stays, so
-- that its Sessions keep a name.
CREATE TABLE repo (
    id bigint PRIMARY KEY, -- GitHub's
    name text NOT NULL, -- owner/name
    installation_id bigint NOT NULL,
    default_branch text NOT NULL,
    is_private boolean NOT NULL,
    description text NOT NULL,
    is_installed boolean NOT NULL
);

CREATE INDEX repo_name ON repo (lower(name));

-- When all of the Repos were last listed without a failure; at most one row.
CREATE TABLE listing (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    listed_at timestamptz NOT NULL
);

-- What GitHub last said of a person and a Repo; a failure changes `tried_at` alone.
CREATE TABLE access (
    person_id text NOT NULL REFERENCES person (id),
    repo_id bigint NOT NULL,
    is_allowed boolean NOT NULL,
    checked_at timestamptz NOT NULL,
    tried_at timestamptz NOT NULL,
    PRIMARY KEY (person_id, repo_id)
);
