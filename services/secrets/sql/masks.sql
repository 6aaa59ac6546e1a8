-- Assignments, and what to mask in their Sessions.

-- name: lock_assignment
-- $1 Session. Kept from others until the transaction ends. No row: unknown.
SELECT run, runner_id, creator_id, repo_id, phase, mask_version
FROM assignment WHERE session_id = $1 FOR UPDATE;

-- name: put_assignment
-- $1 Session, $2 run, $3 Runner, $4 Creator, $5 Repo, $6 phase. The mask set's version. Never goes
-- back to an older run or phase.
INSERT INTO assignment (session_id, run, runner_id, creator_id, repo_id, phase, mask_version)
VALUES ($1, $2, $3, $4, $5, $6, 1)
ON CONFLICT (session_id) DO UPDATE SET
    run = CASE WHEN (excluded.run, excluded.phase) > (assignment.run, assignment.phase)
               THEN excluded.run ELSE assignment.run END,
    runner_id = CASE WHEN (excluded.run, excluded.phase) > (assignment.run, assignment.phase)
                     THEN excluded.runner_id ELSE assignment.runner_id END,
    phase = CASE WHEN excluded.phase = 6 OR ((excluded.run, excluded.phase) >
                          (assignment.run, assignment.phase) AND assignment.phase <> 6)
                 THEN excluded.phase ELSE assignment.phase END
RETURNING mask_version, phase, run;

-- name: remove_masks
-- $1 Session, $2 run: what joined in it or before goes. A Sandbox's git token outlives its run at
-- GitHub and may be in the Workspace: it stays, current and previous, until the Session is purged.
DELETE FROM mask
WHERE session_id = $1 AND run <= $2 AND (name <> 'git_token' OR $2 = 9223372036854775807);

-- name: find_mask
-- $1 Session, $2 name. The current one: version, sealed. No row: none.
SELECT version, sealed FROM mask WHERE session_id = $1 AND name = $2 AND NOT is_previous;

-- name: keep_mask
-- $1 Session, $2 name, $3 run, which was given the current one, too: it does not go with an older run,
-- whose end may be told late.
UPDATE mask SET run = $3 WHERE session_id = $1 AND name = $2 AND NOT is_previous AND run < $3;

-- name: remove_previous_mask
-- $1 Session, $2 name.
DELETE FROM mask WHERE session_id = $1 AND name = $2 AND is_previous;

-- name: retire_mask
-- $1 Session, $2 name: the current one becomes the previous one.
UPDATE mask SET is_previous = true WHERE session_id = $1 AND name = $2;

-- name: add_mask
-- $1 Session, $2 name, $3 version, $4 run, $5 sealed.
INSERT INTO mask (session_id, name, version, run, sealed) VALUES ($1, $2, $3, $4, $5);

-- name: raise_mask_version
-- $1 Session, $2 version.
UPDATE assignment SET mask_version = $2 WHERE session_id = $1;

-- name: list_masks
-- $1 Session.
SELECT name, version, sealed FROM mask WHERE session_id = $1 ORDER BY version;
