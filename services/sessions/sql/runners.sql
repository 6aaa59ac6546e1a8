-- Runners: who is there.

-- name: read_runner
-- $1 Runner. Locks it.
SELECT instance_id, is_away, last_seen_ms FROM sessions.runner WHERE id = $1 FOR UPDATE;

-- name: attend
-- $1 Runner, $2 instance, $3 hostname, $4 version, $5 backend, $6 key. A new instance ends a pause.
INSERT INTO sessions.runner (id, instance_id, hostname, version, backend, seal_key, last_seen_ms)
VALUES ($1, $2, $3, $4, $5, $6, sessions.now_ms())
ON CONFLICT (id) DO UPDATE
SET paused_until_ms = CASE WHEN runner.is_away OR runner.instance_id <> excluded.instance_id
                           THEN 0 ELSE runner.paused_until_ms END,
    pause_ms = CASE WHEN runner.is_away OR runner.instance_id <> excluded.instance_id
                    THEN 0 ELSE runner.pause_ms END,
    instance_id = excluded.instance_id, hostname = excluded.hostname, version = excluded.version,
    backend = excluded.backend, seal_key = excluded.seal_key,
    last_seen_ms = excluded.last_seen_ms, is_away = false
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
