-- Members, Invites, and who must hear of one who was removed.

-- name: lock_owner
-- The Owner, kept from others until the transaction ends.
SELECT id FROM person WHERE is_owner FOR UPDATE;

-- name: list_members
SELECT id, github_id, login, name, is_owner, true, created_at
FROM person WHERE standing = 'member' ORDER BY lower(login) LIMIT 5000;

-- name: find_member_by_login
-- $1 login in any case.
SELECT id FROM person WHERE lower(login) = lower($1) AND standing = 'member';

-- name: list_invites
-- $1 now. Those that somebody may still use.
SELECT id, login, created_at, ends_at FROM invite
WHERE used_at IS NULL AND revoked_at IS NULL AND ends_at > $1 ORDER BY lower(login) LIMIT 5000;

-- name: revoke_invites_of_login
-- $1 login, $2 now, $3 but the one of this request id.
UPDATE invite SET revoked_at = $2
WHERE lower(login) = lower($1) AND used_at IS NULL AND revoked_at IS NULL AND request_id <> $3;

-- name: keep_invite
-- $1 id, $2 hash, $3 login, $4 by whom, $5 request id, $6 now, $7 ends at. A repeat of the request
-- gives the same Invite another secret. No row: it was used, revoked, or is for another login.
INSERT INTO invite (id, hash, login, invited_by, request_id, created_at, ends_at)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (invited_by, request_id) DO UPDATE SET hash = excluded.hash
WHERE invite.used_at IS NULL AND invite.revoked_at IS NULL
  AND lower(invite.login) = lower(excluded.login)
RETURNING id, login, created_at, ends_at;

-- name: revoke_invite
-- $1 id, $2 now.
UPDATE invite SET revoked_at = $2 WHERE id = $1 AND used_at IS NULL AND revoked_at IS NULL;

-- name: remove_member
-- $1 person, $2 now. No row: no Member.
UPDATE person SET standing = 'removed', removed_at = $2
WHERE id = $1 AND standing = 'member' AND NOT is_owner RETURNING login;

-- name: keep_departure
-- $1 person, $2 removal id, $3 now.
INSERT INTO departure (person_id, service, removal_id, due_at)
VALUES ($1, 'sessions', $2, $3), ($1, 'secrets', $2, $3)
ON CONFLICT (person_id, service) DO UPDATE SET removal_id = excluded.removal_id,
    is_second = false, tries = 0, due_at = excluded.due_at;

-- name: take_ownership
-- $1 person.
UPDATE person SET is_owner = false WHERE id = $1;

-- name: give_ownership
-- $1 person. No row: no Member.
UPDATE person SET is_owner = true WHERE id = $1 AND standing = 'member' RETURNING id;

-- name: claim_departure
-- $1 now. What is due; sessions before secrets, since it says why a Session sleeps. It is due again
-- after a pause that grows with each try, to 30 s, with some chance in it.
UPDATE departure SET tries = tries + 1,
    due_at = $1::timestamptz + least(30, 0.5 * 2 ^ least(tries, 10)) * (0.75 + random() / 2)
        * interval '1 second'
WHERE (person_id, service) = (
    SELECT person_id, service FROM departure WHERE due_at <= $1
    ORDER BY service DESC, due_at LIMIT 1 FOR UPDATE SKIP LOCKED)
RETURNING person_id, service, removal_id, is_second;

-- name: repeat_departure
-- $1 person, $2 service, $3 removal, $4 when it is to be said for the second time.
UPDATE departure SET is_second = true, tries = 0, due_at = $4
WHERE person_id = $1 AND service = $2 AND removal_id = $3;

-- name: finish_departure
-- $1 person, $2 service, $3 removal. A newer one stays.
DELETE FROM departure WHERE person_id = $1 AND service = $2 AND removal_id = $3;

-- name: forget_second_departures
-- $1 person: a Member again, who may set a setup token.
DELETE FROM departure WHERE person_id = $1 AND is_second;
