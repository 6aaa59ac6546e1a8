-- How often a value was masked in a Repo's Sessions. Of a Variable by its id, of a setup token by its
-- person's, of git tokens as 'git_token'; never with the value.
CREATE TABLE hits (
    counted_id text NOT NULL,
    repo_id bigint NOT NULL,
    version bigint NOT NULL, -- of the value; a newer one begins at 0
    count bigint NOT NULL,
    last_at timestamptz NOT NULL,
    PRIMARY KEY (counted_id, repo_id)
);

-- The number of the newest report of each copy of redactor, so that a repeat counts nothing.
CREATE TABLE reporter (
    id text PRIMARY KEY,
    n bigint NOT NULL,
    reported_at timestamptz NOT NULL
);
