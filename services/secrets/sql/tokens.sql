-- Setup tokens, and who must hear that one changed.

-- name: lock_token
-- $1 person. Their row, made without a token if there is none, kept from others until the
-- transaction ends.
INSERT INTO setup_token (person_id, version, request_id) VALUES ($1, 0, '')
ON CONFLICT (person_id) DO UPDATE SET version = setup_token.version
RETURNING version, sealed, set_at, expires_at;

-- name: find_token
-- $1 person. No row: there never was one.
SELECT version, sealed, set_at, expires_at FROM setup_token WHERE person_id = $1;

-- name: change_token
-- $1 person (locked), $2 version, $3 sealed or null, $4 set at or null, $5 expires at or null, $6
-- request id.
UPDATE setup_token SET version = $2, sealed = $3, set_at = $4, expires_at = $5, request_id = $6
WHERE person_id = $1;

-- name: raise_masks
-- $1 Creator: the mask sets of their Sessions have another value from here on. In their order, so
-- that two who do this never wait for each other.
UPDATE assignment SET mask_version = mask_version + 1 WHERE session_id IN (
    SELECT session_id FROM assignment WHERE creator_id = $1 ORDER BY session_id FOR UPDATE);

-- name: keep_change
-- $1 person, $2 change, $3 version, $4 now. A token that came after a removal which sessions has
-- not heard of has replaced one.
INSERT INTO token_change (person_id, change, version, due_at) VALUES ($1, $2, $3, $4)
ON CONFLICT (person_id) DO UPDATE SET
    change = CASE WHEN excluded.change = 'added' AND token_change.change <> 'added'
                  THEN 'replaced' ELSE excluded.change END,
    version = excluded.version, tries = 0, due_at = excluded.due_at;

-- name: claim_change
-- $1 now. The change that waits the longest and is due; it is due again after a pause that grows
-- with each try, to 30 s, with some chance in it. No row: none.
UPDATE token_change SET tries = tries + 1,
    due_at = $1::timestamptz + least(30, 0.5 * 2 ^ least(tries, 10)) * (0.75 + random() / 2)
        * interval '1 second'
WHERE person_id = (SELECT person_id FROM token_change WHERE due_at <= $1 ORDER BY due_at
                   LIMIT 1 FOR UPDATE SKIP LOCKED)
RETURNING person_id, change, version;

-- name: finish_change
-- $1 person, $2 version: sessions has heard of it. A newer one stays.
DELETE FROM token_change WHERE person_id = $1 AND version = $2;
