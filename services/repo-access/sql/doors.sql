-- How people come in: the Setup link, Invites, GitHub's answer, devices.

-- name: offer_setup_link
-- $1 hash, $2 now, $3 ends at, $4 even if there is one. No row: there is an Owner, or a link that
-- is still good.
INSERT INTO setup_link (hash, ends_at) SELECT $1, $3
WHERE NOT EXISTS (SELECT FROM person WHERE is_owner)
ON CONFLICT (is_only) DO UPDATE SET hash = excluded.hash, ends_at = excluded.ends_at,
    used_at = NULL
WHERE $4 OR setup_link.ends_at <= $2
RETURNING true;

-- name: use_setup_link
-- $1 hash, $2 now. The hash as it is kept. No row: not that one, over, or there is an Owner.
UPDATE setup_link SET used_at = $2
WHERE hash = $1 AND used_at IS NULL AND ends_at > $2
  AND NOT EXISTS (SELECT FROM person WHERE is_owner)
RETURNING hash;

-- name: use_invite
-- $1 hash, $2 GitHub login, $3 now. The hash as it is kept. No row: unknown, used, revoked, over,
-- or for another login.
UPDATE invite SET used_at = $3
WHERE hash = $1 AND lower(login) = lower($2) AND used_at IS NULL AND revoked_at IS NULL
  AND ends_at > $3
RETURNING hash;

-- name: lock_account
-- $1 GitHub id. Kept from others until the transaction ends.
SELECT id, github_id, login, name, is_owner, standing = 'member'
FROM person WHERE github_id = $1 FOR UPDATE;

-- name: let_in
-- $1 new id, $2 GitHub id, $3 login, $4 name, $5 now, $6 is the Owner. One who was removed is a
-- Member again.
INSERT INTO person (id, github_id, login, name, standing, is_owner, created_at)
VALUES ($1, $2, $3, $4, 'member', $6, $5)
ON CONFLICT (github_id) DO UPDATE SET login = excluded.login, name = excluded.name,
    standing = 'member', removed_at = NULL, is_owner = person.is_owner OR excluded.is_owner
RETURNING id, github_id, login, name, is_owner, standing = 'member';

-- name: rename_person
-- $1 id, $2 login, $3 name.
UPDATE person SET login = $2, name = $3 WHERE id = $1;

-- name: begin_sign_in
-- $1 hash of what the browser has, $2 where to return to, $3 ends at, $4 the most at once. No row:
-- too many are on their way.
INSERT INTO sign_in (browser_hash, return_to, ends_at) SELECT $1, $2, $3
WHERE (SELECT count(*) FROM sign_in) < $4
RETURNING true;

-- name: take_sign_in
-- $1 hash, $2 now. Once. No row: never begun, taken, or over.
DELETE FROM sign_in WHERE browser_hash = $1 RETURNING browser_hash, return_to, ends_at > $2;

-- name: begin_device
-- $1 device hash, $2 code hash, $3 machine, $4 now, $5 ends at, $6 the most at once, $7 the CLI's id
-- and $8 what for, of one that wants a confirmation, else ''. No row: too many wait.
INSERT INTO device (device_hash, code_hash, machine, begun_at, ends_at, cli_id, purpose)
SELECT $1, $2, $3, $4, $5, nullif($7, ''), nullif($8, '')
WHERE (SELECT count(*) FROM device) < $6
RETURNING true;

-- name: find_device
-- $1 code hash, $2 now, $3 person. No row: none, over, decided, or another person's CLI.
SELECT machine, begun_at, ends_at, code_hash, coalesce(purpose, '') FROM device
WHERE code_hash = $1 AND ends_at > $2 AND approved_by IS NULL
  AND (cli_id IS NULL OR $3 = (SELECT person_id FROM credential WHERE id = device.cli_id));

-- name: approve_device
-- $1 code hash, $2 now, $3 person. Of what find_device finds.
UPDATE device SET approved_by = $3 WHERE code_hash = $1 AND ends_at > $2 AND approved_by IS NULL
  AND (cli_id IS NULL OR $3 = (SELECT person_id FROM credential WHERE id = device.cli_id));

-- name: refuse_device
-- $1 code hash, $2 now, $3 person. Of what find_device finds.
DELETE FROM device WHERE code_hash = $1 AND ends_at > $2 AND approved_by IS NULL
  AND (cli_id IS NULL OR $3 = (SELECT person_id FROM credential WHERE id = device.cli_id));

-- name: peek_device
-- $1 device hash, $2 now, $3 the id of the CLI that asks, '' for a sign-in. Whether somebody said
-- yes. No row: refused, over, never there, or another CLI's.
SELECT approved_by IS NOT NULL, device_hash FROM device
WHERE device_hash = $1 AND ends_at > $2 AND coalesce(cli_id, '') = $3;

-- name: take_device
-- $1 device hash, $2 now. Once. Of a Member alone.
DELETE FROM device d USING person p
WHERE d.device_hash = $1 AND d.ends_at > $2 AND p.id = d.approved_by AND p.standing = 'member'
RETURNING p.id, p.github_id, p.login, p.name, p.is_owner, true, d.machine,
    coalesce(d.purpose, '');

-- name: tidy_sign_ins
-- $1 now.
DELETE FROM sign_in WHERE ends_at <= $1;

-- name: tidy_devices
-- $1 now.
DELETE FROM device WHERE ends_at <= $1;

-- name: refuse_devices_of
-- $1 person: what they said yes to and was not fetched.
DELETE FROM device WHERE approved_by = $1;
