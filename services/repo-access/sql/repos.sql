-- Repos, and who may see them.

-- name: find_listing
-- When the Repos were last listed. No row: never.
SELECT listed_at FROM listing;

-- name: forget_repos
-- Before the Repos of a new listing are kept, in the same transaction.
UPDATE repo SET is_installed = false WHERE is_installed;

-- name: keep_repo
-- $1 id, $2 name, $3 installation, $4 default branch, $5 is private, $6 description.
INSERT INTO repo (id, name, installation_id, default_branch, is_private, description, is_installed)
VALUES ($1, $2, $3, $4, $5, $6, true)
ON CONFLICT (id) DO UPDATE SET name = excluded.name, installation_id = excluded.installation_id,
    default_branch = excluded.default_branch, is_private = excluded.is_private,
    description = excluded.description, is_installed = true;

-- name: forget_installations
-- As forget_repos.
DELETE FROM installation;

-- name: keep_installation
-- $1 id, $2 account, $3 is suspended.
INSERT INTO installation (id, account, is_suspended) VALUES ($1, $2, $3)
ON CONFLICT (id) DO UPDATE SET account = excluded.account, is_suspended = excluded.is_suspended;

-- name: list_suspended
SELECT account FROM installation WHERE is_suspended ORDER BY lower(account);

-- name: keep_listing
-- $1 now.
INSERT INTO listing (listed_at) VALUES ($1)
ON CONFLICT (is_only) DO UPDATE SET listed_at = excluded.listed_at;

-- name: find_repo
-- $1 id. No row: never seen.
SELECT r.id, r.name, r.installation_id, r.default_branch, r.is_private, r.description,
       r.is_installed, NOT r.is_installed AND coalesce(i.is_suspended, false)
FROM repo r LEFT JOIN installation i ON i.id = r.installation_id
WHERE r.id = $1;

-- name: find_repo_by_name
-- $1 owner/name in any case. An installed one comes first, then the newest.
SELECT r.id, r.name, r.installation_id, r.default_branch, r.is_private, r.description,
       r.is_installed, NOT r.is_installed AND coalesce(i.is_suspended, false)
FROM repo r LEFT JOIN installation i ON i.id = r.installation_id
WHERE lower(r.name) = lower($1) ORDER BY r.is_installed DESC, r.id DESC LIMIT 1;

-- name: find_repos
-- $1 ids.
SELECT r.id, r.name, r.installation_id, r.default_branch, r.is_private, r.description,
       r.is_installed, NOT r.is_installed AND coalesce(i.is_suspended, false)
FROM repo r LEFT JOIN installation i ON i.id = r.installation_id
WHERE r.id = ANY($1::bigint[]);

-- name: list_repos
SELECT r.id, r.name, r.installation_id, r.default_branch, r.is_private, r.description,
       r.is_installed, NOT r.is_installed AND coalesce(i.is_suspended, false)
FROM repo r LEFT JOIN installation i ON i.id = r.installation_id
WHERE r.is_installed ORDER BY lower(r.name), r.id LIMIT 5000;

-- name: rename_repo
-- $1 id, $2 name.
UPDATE repo SET name = $2 WHERE id = $1;

-- name: find_access
-- $1 person, $2 Repos. A row for each that GitHub was asked about: Repo, is allowed, checked at,
-- tried at.
SELECT repo_id, is_allowed, checked_at, tried_at FROM access
WHERE person_id = $1 AND repo_id = ANY($2::bigint[]);

-- name: keep_access
-- $1 person, $2 Repo, $3 is allowed, $4 now. Whether it was known, and otherwise.
INSERT INTO access (person_id, repo_id, is_allowed, checked_at, tried_at)
VALUES ($1, $2, $3, $4, $4)
ON CONFLICT (person_id, repo_id) DO UPDATE SET is_allowed = excluded.is_allowed,
    checked_at = excluded.checked_at, tried_at = excluded.tried_at
RETURNING coalesce((SELECT before.is_allowed <> $3 FROM access before
                    WHERE before.person_id = $1 AND before.repo_id = $2), false);

-- name: keep_try
-- $1 person, $2 Repo, $3 now: GitHub could not answer.
UPDATE access SET tried_at = $3 WHERE person_id = $1 AND repo_id = $2;

-- name: claim_recheck
-- $1 now, $2 checked before, $3 tried before, $4 used since. Who may see what, was asked long ago,
-- and is signed in and here: it counts as tried, so that another copy does not ask, too.
UPDATE access SET tried_at = $1
WHERE (person_id, repo_id) = (
    SELECT a.person_id, a.repo_id FROM access a JOIN person p ON p.id = a.person_id
    WHERE a.is_allowed AND a.checked_at <= $2 AND a.tried_at <= $3 AND p.standing = 'member'
      AND EXISTS (SELECT FROM credential c WHERE c.person_id = a.person_id
                  AND c.revoked_at IS NULL AND c.last_used_at > $4)
    ORDER BY a.checked_at LIMIT 1 FOR UPDATE OF a SKIP LOCKED)
RETURNING person_id, repo_id;
