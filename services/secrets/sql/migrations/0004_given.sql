-- Which Variables a Session's newest run was given; what came or went since is found by it.
CREATE TABLE given (
    session_id text NOT NULL REFERENCES assignment (session_id),
    name text NOT NULL,
    variable_id text NOT NULL,
    version bigint NOT NULL,
    PRIMARY KEY (session_id, name)
);

-- Runs from before this table are not known to have older ones.
UPDATE assignment SET variables_version = NULL;
