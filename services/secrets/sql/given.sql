-- What runs of Sessions were given.

-- name: keep_variables_version
-- $1 Session, $2 the Environment's version that its run is given.
UPDATE assignment SET variables_version = $2 WHERE session_id = $1;

-- name: forget_given
-- $1 Session.
DELETE FROM given WHERE session_id = $1;

-- name: keep_given
-- $1 Session, $2 Repo: each name once, of its own rather than of a linked one.
INSERT INTO given (session_id, name, variable_id, version)
SELECT DISTINCT ON (name) $1, name, id, version FROM variable
WHERE repo_id = $2 OR id IN (SELECT variable_id FROM link WHERE link.repo_id = $2)
ORDER BY name, repo_id IS NULL;

-- name: find_given_repo
-- $1 Session: its Repo, and whether a run of it has what it was given.
SELECT repo_id, phase IN (2, 3) AND variables_version IS NOT NULL
FROM assignment WHERE session_id = $1 AND phase < 6;

-- name: list_changes
-- $1 Session, $2 its Repo: names, and how (VariableChange.How), from what its run was given to what
-- the next one gets.
WITH was AS (SELECT name, variable_id, version FROM given WHERE session_id = $1),
is_now AS (
    SELECT DISTINCT ON (name) name, id, version FROM variable
    WHERE repo_id = $2 OR id IN (SELECT variable_id FROM link WHERE link.repo_id = $2)
    ORDER BY name, repo_id IS NULL)
SELECT name, CASE WHEN was.version IS NULL THEN 1 WHEN is_now.version IS NULL THEN 3 ELSE 2 END
FROM was FULL JOIN is_now USING (name)
WHERE (was.variable_id, was.version) IS DISTINCT FROM (is_now.id, is_now.version)
ORDER BY name;
