-- Variables of Repos and Shared variables. A Repo's are changed under the lock of its Environment.

-- name: raise_environment
-- $1 Repo: its version, raised; its row is kept from others until the transaction ends.
INSERT INTO environment (repo_id, version) VALUES ($1, 1)
ON CONFLICT (repo_id) DO UPDATE SET version = environment.version + 1
RETURNING version;

-- name: find_environment
-- $1 Repo. No row: it never had a Variable.
SELECT version FROM environment WHERE repo_id = $1;

-- name: raise_repo_masks
-- $1 Repo: the mask sets of its Sessions have other values from here on. In their order, so that two
-- who do this never wait for each other.
UPDATE assignment SET mask_version = mask_version + 1 WHERE session_id IN (
    SELECT session_id FROM assignment WHERE repo_id = $1 AND phase < 6
    ORDER BY session_id FOR UPDATE);

-- name: list_variables
-- $1 Repo: its own, then what is linked to it; with how often it was masked there.
SELECT id, v.repo_id, name, is_sensitive, at_build, v.version, revision, sealed, made_by,
    changed_by, changed_at, coalesce(h.count, 0), coalesce(h.last_at, 'epoch')
FROM variable v
LEFT JOIN hits h ON h.counted_id = v.id AND h.repo_id = $1 AND h.version = v.version
WHERE v.repo_id = $1 OR id IN (SELECT variable_id FROM link WHERE link.repo_id = $1)
ORDER BY v.repo_id IS NULL, name;

-- name: find_variable
-- $1 Repo, $2 name.
SELECT id, repo_id, name, is_sensitive, at_build, version, revision, sealed, made_by, changed_by,
    changed_at
FROM variable WHERE repo_id = $1 AND name = $2;

-- name: put_variable
-- $1 id, $2 Repo or null, $3 name, $4 Sensitive, $5 at build, $6 version, $7 sealed, $8 person, $9
-- now, $10 request id.
INSERT INTO variable (id, repo_id, name, is_sensitive, at_build, version, sealed, made_by,
    changed_by, changed_at, request_id)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8, $9, $10)
ON CONFLICT (id) DO UPDATE SET is_sensitive = excluded.is_sensitive,
    at_build = excluded.at_build, version = excluded.version, revision = variable.revision + 1,
    sealed = excluded.sealed, changed_by = excluded.changed_by,
    changed_at = excluded.changed_at, request_id = excluded.request_id;

-- name: remove_variable
-- $1 Repo, $2 name.
DELETE FROM variable WHERE repo_id = $1 AND name = $2;

-- name: measure_variables
-- $1 Repo: how many of its own, and their sealed bytes; the same of what is linked to it.
SELECT count(*) FILTER (WHERE repo_id IS NOT NULL),
    coalesce(sum(octet_length(sealed)) FILTER (WHERE repo_id IS NOT NULL), 0)::bigint,
    count(*) FILTER (WHERE repo_id IS NULL),
    coalesce(sum(octet_length(sealed)) FILTER (WHERE repo_id IS NULL), 0)::bigint
FROM variable WHERE repo_id = $1
    OR id IN (SELECT variable_id FROM link WHERE link.repo_id = $1);

-- name: count_unlinked
-- $1 person: Shared variables of theirs that are linked to no Repo.
SELECT count(*) FROM variable WHERE repo_id IS NULL AND made_by = $1
    AND NOT EXISTS (SELECT FROM link WHERE variable_id = id);

-- name: list_shared
-- One row for each Repo that one is linked to, with how often it was masked there, or one row with
-- null.
SELECT v.id, v.repo_id, v.name, v.is_sensitive, v.at_build, v.version, v.revision, v.sealed,
    v.made_by, v.changed_by, v.changed_at, l.repo_id, coalesce(h.count, 0),
    coalesce(h.last_at, 'epoch')
FROM variable v LEFT JOIN link l ON l.variable_id = v.id
LEFT JOIN hits h ON h.counted_id = v.id AND h.repo_id = l.repo_id AND h.version = v.version
WHERE v.repo_id IS NULL ORDER BY v.name, v.id, l.repo_id;

-- name: find_shared
-- $1 id; rows as list_shared.
SELECT v.id, v.repo_id, v.name, v.is_sensitive, v.at_build, v.version, v.revision, v.sealed,
    v.made_by, v.changed_by, v.changed_at, l.repo_id, coalesce(h.count, 0),
    coalesce(h.last_at, 'epoch')
FROM variable v LEFT JOIN link l ON l.variable_id = v.id
LEFT JOIN hits h ON h.counted_id = v.id AND h.repo_id = l.repo_id AND h.version = v.version
WHERE v.repo_id IS NULL AND v.id = $1 ORDER BY l.repo_id;

-- name: lock_shared
-- $1 id, $2 revision. Raises it and keeps the row from others; no row: it changed meanwhile.
UPDATE variable SET revision = revision + 1 WHERE repo_id IS NULL AND id = $1 AND revision = $2
RETURNING revision;

-- name: remove_shared
-- $1 id.
DELETE FROM variable WHERE repo_id IS NULL AND id = $1;

-- name: find_namesake
-- $1 Repo, $2 name, $3 id: another Shared variable of that name that is linked to the Repo.
SELECT 1 FROM link JOIN variable ON id = variable_id
WHERE link.repo_id = $1 AND name = $2 AND id <> $3;

-- name: add_link
-- $1 id, $2 Repo.
INSERT INTO link (variable_id, repo_id) VALUES ($1, $2) ON CONFLICT DO NOTHING;

-- name: remove_link
-- $1 id, $2 Repo.
DELETE FROM link WHERE variable_id = $1 AND repo_id = $2;
