-- Runners: who is there.

-- name: read_runner
-- $1 Runner. Locks it.
SELECT instance_id, is_away, last_seen_ms FROM sessions.runner WHERE id = $1 FOR UPDATE;

-- name: list_runners
-- Those that are there, by name; with $1 that one alone.
SELECT r.id, r.name, r.last_seen_ms, r.registered_at_ms, r.version, r.backend, r.problem,
       r.is_away OR r.last_seen_ms <= sessions.now_ms() - 20000,
       (SELECT count(*) FROM sessions.session s
        WHERE s.runner_id = r.id AND s.state IN (1, 2, 3, 5, 6)),
       r.update_note
FROM sessions.runner r
WHERE r.removed_at_ms = 0 AND ($1::text = '' OR r.id = $1::text)
ORDER BY lower(r.name), r.id;

-- name: register_runner
-- $1 new id, $2 name, $3 by whom, $4 SHA-256 of its token.
INSERT INTO sessions.runner (id, name, registered_by, registered_at_ms, token_hash, is_away)
VALUES ($1, $2, $3, sessions.now_ms(), $4, true);

-- name: find_runner_name
-- $1 name, $2 Runner. Another Runner of that name.
SELECT id FROM sessions.runner WHERE lower(name) = lower($1::text) AND removed_at_ms = 0 AND id <> $2;

-- name: rename_runner
-- $1 Runner, $2 name.
UPDATE sessions.runner SET name = $2 WHERE id = $1 AND removed_at_ms = 0;

-- name: rotate_runner_token
-- $1 Runner, $2 SHA-256.
UPDATE sessions.runner SET token_hash = $2 WHERE id = $1 AND removed_at_ms = 0;

-- name: remove_runner
-- $1 Runner. Its token's hash goes. No row changed: there is no such Runner.
UPDATE sessions.runner
SET removed_at_ms = sessions.now_ms(), token_hash = NULL, is_away = true
WHERE id = $1 AND removed_at_ms = 0;

-- name: find_runner_token
-- $1 SHA-256. Whose RUNNER_TOKEN it is.
SELECT id, token_hash FROM sessions.runner WHERE token_hash = $1 AND removed_at_ms = 0;

-- name: set_runner_problem
-- $1 Runner, $2 why the Hub turns it away, $3 its version, $4 what becomes of its update.
UPDATE sessions.runner
SET problem = $2, version = left($3::text, 64), update_note = left($4::text, 400)
WHERE id = $1 AND removed_at_ms = 0
  AND (problem, version, update_note) <> ($2, left($3::text, 64), left($4::text, 400));

-- name: run_of_removed
-- A run that is not settled although its Runner was removed.
SELECT u.session_id, u.run FROM sessions.run u JOIN sessions.runner r ON r.id = u.runner_id
WHERE u.phase < 5 AND r.removed_at_ms > 0
LIMIT 1;

-- name: attend
-- $1 Runner, $2 instance, $3 hostname, $4 version, $5 backend, $6 key, $7 what becomes of its
-- update. A new instance ends a pause.
-- No row: no such Runner, or it was removed.
UPDATE sessions.runner
SET paused_until_ms = CASE WHEN is_away OR instance_id <> $2::text THEN 0 ELSE paused_until_ms END,
    pause_ms = CASE WHEN is_away OR instance_id <> $2::text THEN 0 ELSE pause_ms END,
    instance_id = $2::text, hostname = $3, version = $4, backend = $5, seal_key = $6,
    last_seen_ms = sessions.now_ms(), is_away = false, problem = '',
    update_note = left($7::text, 400)
WHERE id = $1 AND removed_at_ms = 0
RETURNING sessions.now_ms();

-- name: runs_of_runner
-- $1 Runner. What should or may be there: runs that are not settled, with their Session's state.
SELECT u.session_id, u.run, u.phase, u.taken_at_ms, s.run, s.state, sessions.now_ms()
FROM sessions.run u JOIN sessions.session s ON s.id = u.session_id
WHERE u.runner_id = $1 AND u.phase < 5
ORDER BY u.session_id, u.run;

-- name: unhold_sessions
-- $1 Runner that connected: what its Claude Code ended by itself may be woken again (LI-04).
UPDATE sessions.session SET wake_held = false WHERE runner_id = $1 AND wake_held;

-- name: frozen_without_run
-- $1 Runner. Frozen Sessions of which nothing runs: Asleep with prompts that waited.
SELECT s.id FROM sessions.session s
WHERE s.runner_id = $1 AND s.state = 6
  AND NOT EXISTS (SELECT FROM sessions.run u WHERE u.session_id = s.id AND u.phase < 5);

-- name: silent_runners
-- Those that said nothing for 20 s and are not known as away yet. Marks them.
UPDATE sessions.runner SET is_away = true
WHERE NOT is_away AND last_seen_ms <= sessions.now_ms() - 20000
RETURNING id;

-- name: count_runners
-- Those that are there.
SELECT count(*) FROM sessions.runner
WHERE NOT is_away AND last_seen_ms > sessions.now_ms() - 20000;

-- name: session_to_freeze
-- A Session whose Runner is away and that is awake, or Asleep with a prompt that waits.
SELECT s.id FROM sessions.session s JOIN sessions.runner r ON r.id = s.runner_id
WHERE r.is_away
  AND (s.state IN (1, 2, 3, 5)
       OR (s.state = 4 AND NOT s.wake_held AND NOT s.queue_paused
           AND EXISTS (SELECT FROM sessions.prompt p
                       WHERE p.session_id = s.id AND p.state = 1)))
LIMIT 1
FOR UPDATE OF s SKIP LOCKED;

-- name: pause_runner
-- $1 Runner: it did not take a command. The pause doubles from half a second to 15 s.
UPDATE sessions.runner
SET pause_ms = least(greatest(pause_ms * 2, 500), 15000),
    paused_until_ms = sessions.now_ms() + least(greatest(pause_ms * 2, 500), 15000)
WHERE id = $1;

-- name: unpause_runner
UPDATE sessions.runner SET pause_ms = 0, paused_until_ms = 0 WHERE id = $1 AND pause_ms > 0;
