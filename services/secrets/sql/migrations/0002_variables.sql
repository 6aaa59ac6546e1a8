-- Variables: what Sessions on a Repo get in their environment.

-- A Repo's Environment. A row stays, so that versions rise.
CREATE TABLE environment (
    repo_id bigint PRIMARY KEY,
    version bigint NOT NULL -- rises when what the Repo's Sessions get has changed
);

-- Of a Repo, or Shared. `sealed` is bound to the Repo (or the Shared variable), the name, whether
-- it is Sensitive, and the version.
CREATE TABLE variable (
    id text PRIMARY KEY,
    repo_id bigint REFERENCES environment (repo_id), -- null: Shared
    name text NOT NULL,
    is_sensitive boolean NOT NULL,
    at_build boolean NOT NULL,
    version bigint NOT NULL, -- of the value; in a Repo the Environment's when it was set
    revision bigint NOT NULL DEFAULT 1, -- rises with each change, links too
    sealed bytea NOT NULL,
    made_by text NOT NULL, -- a person
    changed_by text NOT NULL,
    changed_at timestamptz NOT NULL,
    request_id text NOT NULL -- of the newest change of the value
);

CREATE UNIQUE INDEX variable_names ON variable (repo_id, name) WHERE repo_id IS NOT NULL;
CREATE INDEX variable_shared ON variable (name) WHERE repo_id IS NULL;

-- Which Repos' Sessions get a Shared variable.
CREATE TABLE link (
    variable_id text NOT NULL REFERENCES variable (id) ON DELETE CASCADE,
    repo_id bigint NOT NULL REFERENCES environment (repo_id),
    PRIMARY KEY (variable_id, repo_id)
);

CREATE INDEX link_repo ON link (repo_id);

-- The Environment's version that the newest run was given; null: none yet.
ALTER TABLE assignment ADD COLUMN variables_version bigint;

CREATE INDEX assignment_repo ON assignment (repo_id);
