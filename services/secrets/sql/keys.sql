-- Keys: which are in use, and what is not under the current one. A sealed value holds its key's id
-- in the four bytes after the first.

-- name: list_keys
-- Every key that some value needs, and how many values.
SELECT key, count(*) FROM (
    SELECT ('x' || encode(substr(sealed, 2, 4), 'hex'))::bit(32)::bigint AS key
    FROM (SELECT sealed FROM setup_token WHERE sealed IS NOT NULL
          UNION ALL SELECT sealed FROM mask UNION ALL SELECT sealed FROM variable) AS kept) AS keys
GROUP BY key ORDER BY key;

-- The next three alike: $1 the current key's four bytes; some of the values that need it.

-- name: some_tokens
SELECT person_id, ''::text, version, sealed, 0::bigint, true FROM setup_token
WHERE substr(sealed, 2, 4) = $1 LIMIT 20;

-- name: some_masks
SELECT session_id, name, version, sealed, 0::bigint, true FROM mask
WHERE substr(sealed, 2, 4) = $1 LIMIT 20;

-- name: some_variables
SELECT id, name, version, sealed, coalesce(repo_id, 0), is_sensitive FROM variable
WHERE substr(sealed, 2, 4) = $1 LIMIT 20;

-- The next three alike: $1 the current key's four bytes; $2, $3, $4 the row after which to begin. What
-- somebody holds is left for the next pass.

-- name: stale_tokens
SELECT person_id, ''::text, version, sealed, 0::bigint, true FROM setup_token
WHERE sealed IS NOT NULL AND substr(sealed, 2, 4) <> $1
    AND (person_id, ''::text, version) > ($2, $3, $4)
ORDER BY person_id LIMIT 100 FOR UPDATE SKIP LOCKED;

-- name: stale_masks
SELECT session_id, name, version, sealed, 0::bigint, true FROM mask
WHERE substr(sealed, 2, 4) <> $1 AND (session_id, name, version) > ($2, $3, $4)
ORDER BY session_id, name, version LIMIT 100 FOR UPDATE SKIP LOCKED;

-- name: stale_variables
SELECT id, name, version, sealed, coalesce(repo_id, 0), is_sensitive FROM variable
WHERE substr(sealed, 2, 4) <> $1 AND (id, name, version) > ($2, $3, $4)
ORDER BY id, name, version LIMIT 100 FOR UPDATE SKIP LOCKED;

-- These wait until nobody holds a row of the table, each in a transaction of its own, which ends at
-- once: for reading nobody waits meanwhile.

-- name: await_tokens
LOCK TABLE setup_token IN EXCLUSIVE MODE;

-- name: await_masks
LOCK TABLE mask IN EXCLUSIVE MODE;

-- name: await_variables
LOCK TABLE variable IN EXCLUSIVE MODE;

-- And these: $1, $2, $3 the row as it was read, $4 the value sealed anew.

-- name: reseal_tokens
UPDATE setup_token SET sealed = $4 WHERE person_id = $1 AND $2::text = '' AND version = $3;

-- name: reseal_masks
UPDATE mask SET sealed = $4 WHERE session_id = $1 AND name = $2 AND version = $3;

-- name: reseal_variables
UPDATE variable SET sealed = $4 WHERE id = $1 AND name = $2 AND version = $3;
