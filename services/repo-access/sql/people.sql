-- People and what they come with.

-- name: find_person
-- $1 id. No row: nobody.
SELECT id, github_id, login, name, is_owner, standing = 'member', named_at
FROM person WHERE id = $1;

-- name: name_person
-- $1 id, $2 login, $3 now: what GitHub calls them.
UPDATE person SET login = $2, named_at = $3 WHERE id = $1;

-- name: find_people
-- $1 ids, joined by commas.
SELECT id, github_id, login, name, is_owner, standing = 'member'
FROM person WHERE id = ANY(string_to_array($1, ','));

-- name: admit_person
-- $1 new id, $2 GitHub id, $3 login, $4 name, $5 now. The person of that GitHub id, made if there
-- is none; the first of all becomes the Owner. One who was removed stays so.
INSERT INTO person (id, github_id, login, name, standing, is_owner, created_at)
SELECT $1, $2, $3, $4, 'member', NOT EXISTS (SELECT FROM person WHERE is_owner), $5
ON CONFLICT (github_id) DO UPDATE SET login = excluded.login, name = excluded.name
RETURNING id, github_id, login, name, is_owner, standing = 'member';

-- name: add_credential
-- $1 hash, $2 kind, $3 person, $4 machine, $5 now, $6 expires at, $7 ends at, $8 id, $9 the CLI's
-- id and $10 what for, of a confirmation, else ''.
INSERT INTO credential (hash, kind, person_id, machine, created_at, last_used_at, expires_at,
    ends_at, id, cli_id, purpose)
VALUES ($1, $2, $3, $4, $5, $5, $6, $7, $8, nullif($9, ''), nullif($10, ''));

-- name: find_credential
-- $1 hash, $2 kind, $3 now. The person whose live credential it is, when it was last used and when
-- it ends for good. No row: unknown, of another kind, expired, revoked, or not a Member's; of a
-- confirmation: its CLI's is.
SELECT p.id, p.github_id, p.login, p.name, p.is_owner, true, c.last_used_at, c.ends_at, c.hash,
    c.id, c.machine, coalesce(c.purpose, '')
FROM credential c JOIN person p ON p.id = c.person_id LEFT JOIN credential cli ON cli.id = c.cli_id
WHERE c.hash = $1 AND c.kind = $2 AND c.revoked_at IS NULL AND c.expires_at > $3
  AND c.ends_at > $3 AND p.standing = 'member'
  AND (c.cli_id IS NULL
    OR (cli.revoked_at IS NULL AND cli.expires_at > $3 AND cli.ends_at > $3));

-- name: touch_credential
-- $1 hash, $2 now, $3 expires at from now on, unless it ends before.
UPDATE credential SET last_used_at = $2, expires_at = least($3, ends_at) WHERE hash = $1;

-- name: revoke_credential
-- $1 hash, $2 person, $3 now. Repeats change nothing.
UPDATE credential SET revoked_at = $3
WHERE hash = $1 AND person_id = $2 AND revoked_at IS NULL;

-- name: end_replaced_credential
-- $1 hash, $2 now. Whoever's it is: the browser that had it has another one.
UPDATE credential SET revoked_at = $2 WHERE hash = $1 AND kind = 'web' AND revoked_at IS NULL
RETURNING person_id;

-- name: list_credentials
-- $1 person, $2 now. Sign-ins that are good, the last used first.
SELECT id, kind, machine, created_at, last_used_at, expires_at, hash FROM credential
WHERE person_id = $1 AND kind <> 'confirmed' AND revoked_at IS NULL AND expires_at > $2 AND ends_at > $2
ORDER BY last_used_at DESC, created_at DESC LIMIT 500;

-- name: end_credential
-- $1 id, $2 person, $3 now. Repeats, and those of others, change nothing.
UPDATE credential SET revoked_at = $3 WHERE id = $1 AND person_id = $2 AND revoked_at IS NULL;

-- name: end_credentials
-- $1 person, $2 now.
UPDATE credential SET revoked_at = $2 WHERE person_id = $1 AND revoked_at IS NULL;

-- name: tidy_confirmations
-- $1 now.
DELETE FROM credential WHERE kind = 'confirmed' AND ends_at <= $1;
