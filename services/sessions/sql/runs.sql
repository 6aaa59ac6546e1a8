-- Runs: starts of a Session's Claude Code, and what its Runner has to be told.

-- name: make_run
-- $1 Session (locked), $2 run, $3 Runner.
INSERT INTO sessions.run (session_id, run, runner_id) VALUES ($1, $2, $3);

-- name: lock_run
-- $1 Session (locked), $2 run. The Runner is '' if it was removed: it has no run any more.
SELECT coalesce((SELECT r.id FROM sessions.runner r
                 WHERE r.id = run.runner_id AND r.removed_at_ms = 0), ''),
       phase, taken_at_ms, mod_token_hash, last_n, ended_n, cause, reason_code, reason,
       last_output, wanted_phase, put_phase
FROM sessions.run WHERE session_id = $1 AND run = $2 FOR UPDATE;

-- name: set_run_n
UPDATE sessions.run SET last_n = $3 WHERE session_id = $1 AND run = $2;

-- name: set_run_phase
-- $1 Session (locked), $2 run, $3 phase, $4 what secrets is to know of it. Neither goes back.
UPDATE sessions.run
SET phase = greatest(phase, $3::bigint), wanted_phase = greatest(wanted_phase, $4::bigint),
    taken_at_ms = CASE WHEN taken_at_ms = 0 AND $3::bigint >= 2 THEN sessions.now_ms()
                       ELSE taken_at_ms END
WHERE session_id = $1 AND run = $2;

-- name: set_run_ended
-- $1 Session (locked), $2 run, $3 last n, $4 cause, $5 code, $6 reason, $7 last output. Only the
-- first end counts.
UPDATE sessions.run
SET ended_n = $3, cause = $4, reason_code = $5, reason = $6, last_output = $7, phase = 4,
    wanted_phase = greatest(wanted_phase, 4)
WHERE session_id = $1 AND run = $2 AND phase < 4;

-- name: set_mod_token
-- $1 Session (locked), $2 run, $3 SHA-256.
UPDATE sessions.run SET mod_token_hash = $3 WHERE session_id = $1 AND run = $2;

-- name: unsettled_runs
-- $1 Session.
SELECT count(*) FROM sessions.run WHERE session_id = $1 AND phase < 5;

-- name: put_step
-- $1 Session (locked), $2 run, $3 name, $4 milliseconds.
INSERT INTO sessions.step (session_id, run, place, name, took_ms)
SELECT $1::text, $2::bigint, count(*) + 1, $3::text, $4::bigint FROM sessions.step WHERE session_id = $1 AND run = $2
ON CONFLICT (session_id, run, name) DO UPDATE SET took_ms = excluded.took_ms;

-- name: count_steps
SELECT count(*) FROM sessions.step WHERE session_id = $1 AND run = $2;

-- name: list_steps
SELECT name, took_ms FROM sessions.step WHERE session_id = $1 AND run = $2 ORDER BY place;

-- name: add_command
-- $1 new id, $2 Session (locked), $3 run, $4 Runner, $5 kind, $6 its Turn or question, $7 sealed
-- or null, $8 reason code.
INSERT INTO sessions.command (id, session_id, run, runner_id, kind, target_id, sealed, reason_code)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8);

-- name: claim_command
-- The first command of some Session that nobody holds and whose Runner is there. A start waits
-- until every earlier run is settled, and secrets knows it: it ignores older runs after that.
UPDATE sessions.command c
SET claimed_until_ms = sessions.now_ms() + 10000
FROM sessions.session s
WHERE s.id = c.session_id AND NOT c.is_taken AND c.claimed_until_ms <= sessions.now_ms()
  AND c.id = (
    SELECT d.id
    FROM sessions.command d JOIN sessions.runner r ON r.id = d.runner_id
    WHERE NOT d.is_taken AND d.claimed_until_ms <= sessions.now_ms()
      AND NOT r.is_away AND r.paused_until_ms <= sessions.now_ms()
      AND NOT EXISTS (SELECT FROM sessions.command o
                      WHERE o.session_id = d.session_id AND NOT o.is_taken AND o.pos < d.pos)
      AND (d.kind <> 1 OR NOT EXISTS (SELECT FROM sessions.run u
                                      WHERE u.session_id = d.session_id AND u.run < d.run
                                        AND (u.phase < 5 OR u.wanted_phase > u.put_phase)))
    ORDER BY d.pos
    LIMIT 1
    FOR UPDATE OF d SKIP LOCKED)
RETURNING c.id, c.kind, c.session_id, c.run, c.runner_id, c.target_id, c.sealed, c.reason_code,
          s.creator_id, s.creator_name, s.creator_email, s.repo_id, s.repo_name,
          s.claude_session_id, s.conversation_exists, s.model, s.effort;

-- name: take_command
-- $1 id.
UPDATE sessions.command SET is_taken = true WHERE id = $1 RETURNING kind;

-- name: release_command
-- $1 id, $2 did no answer come?
UPDATE sessions.command SET claimed_until_ms = 0, maybe_sent = maybe_sent OR $2::boolean WHERE id = $1;

-- name: end_command
-- $1 Session (locked), $2 id. No row: it is not there (any more).
DELETE FROM sessions.command WHERE session_id = $1 AND id = $2 RETURNING kind, target_id;

-- name: find_start
-- $1 Session (locked), $2 run. The start that is not taken yet: was it perhaps?
SELECT maybe_sent OR claimed_until_ms > sessions.now_ms() FROM sessions.command
WHERE session_id = $1 AND run = $2 AND kind = 1 AND NOT is_taken;

-- name: has_stop
-- $1 Session (locked), $2 run. Is a StopRun on its way?
SELECT count(*) FROM sessions.command
WHERE session_id = $1 AND run = $2 AND kind = 2 AND NOT is_taken;

-- name: drop_commands
-- $1 Session (locked), $2 run. All of them.
DELETE FROM sessions.command WHERE session_id = $1 AND run = $2;

-- name: claim_assignment
-- The next thing that secrets has to know of a run; starts are told by their own delivery.
UPDATE sessions.run u
SET put_claimed_until_ms = sessions.now_ms() + 10000
FROM sessions.session s
WHERE s.id = u.session_id AND u.put_claimed_until_ms <= sessions.now_ms()
  AND (u.session_id, u.run) = (
    SELECT v.session_id, v.run FROM sessions.run v
    WHERE v.wanted_phase > v.put_phase AND v.put_claimed_until_ms <= sessions.now_ms()
    ORDER BY v.put_claimed_until_ms
    LIMIT 1
    FOR UPDATE SKIP LOCKED)
RETURNING u.session_id, u.run, u.runner_id, u.wanted_phase, s.creator_id, s.repo_id;

-- name: put_assignment
-- $1 Session, $2 run, $3 phase that secrets knows now.
UPDATE sessions.run SET put_phase = greatest(put_phase, $3::bigint), put_claimed_until_ms = 0
WHERE session_id = $1 AND run = $2;

-- name: release_assignment
-- $1 Session, $2 run: tried again in a second.
UPDATE sessions.run SET put_claimed_until_ms = sessions.now_ms() + 1000
WHERE session_id = $1 AND run = $2;
