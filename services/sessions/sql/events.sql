-- The Events of a Session, its questions and its subagents.

-- name: append_event
-- $1 Session (locked), $2 seq, $3 time, $4 kind, $5 subagent, $6 run, $7 n or null, $8 source,
-- $9 size, $10 packed Event.
INSERT INTO sessions.event
    (session_id, seq, at_ms, kind, subagent_id, run, n, source_id, size, data)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10);

-- name: page_before
-- $1 Session, $2 seq, $3 limit, $4 bytes. The page that ends before seq, in rising order; at
-- least one Event, then as many as fit into the bytes.
SELECT seq, data
FROM (SELECT seq, data, size,
             sum(size) OVER (ORDER BY seq DESC ROWS UNBOUNDED PRECEDING)::bigint AS total
      FROM (SELECT seq, data, size FROM sessions.event
            WHERE session_id = $1 AND seq < $2 ORDER BY seq DESC LIMIT $3) newest) sized
WHERE total <= $4::bigint OR total = size
ORDER BY seq;

-- name: page_after
-- As page_before, from the first Event after seq on.
SELECT seq, data
FROM (SELECT seq, data, size,
             sum(size) OVER (ORDER BY seq ROWS UNBOUNDED PRECEDING)::bigint AS total
      FROM (SELECT seq, data, size FROM sessions.event
            WHERE session_id = $1 AND seq > $2 ORDER BY seq LIMIT $3) oldest) sized
WHERE total <= $4::bigint OR total = size
ORDER BY seq;

-- name: newest_sources
-- $1 Session. The transcript rows that are stored, newest first.
SELECT source_id FROM sessions.event
WHERE session_id = $1 AND source_id <> '' ORDER BY seq DESC LIMIT 64;

-- name: heads
-- $1 Repos that may be seen, $2 a Session. No row: none such.
SELECT last_seq, view_version FROM sessions.session
WHERE id = $2 AND repo_id = ANY ($1::bigint[]);

-- name: ask_question
-- A repeat changes nothing, nor does one more than anybody could answer: what is open is read with
-- each view and must fit into one message.
INSERT INTO sessions.question
    (session_id, id, run, subagent_id, asked_at_ms, asked_count, data)
SELECT $1::text, $2::text, $3::bigint, $4::text, $5::bigint, $6::bigint, $7::bytea
WHERE (SELECT count(*) FROM sessions.question WHERE session_id = $1 AND state < 3) < 8
ON CONFLICT (session_id, id) DO NOTHING;

-- name: find_question
SELECT state, asked_count, answered_by, run FROM sessions.question
WHERE session_id = $1 AND id = $2;

-- name: set_question
-- $1 Session (locked), $2 question, $3 state, $4 who answered.
UPDATE sessions.question SET state = $3, answered_by = $4
WHERE session_id = $1 AND id = $2 AND state < 3;

-- name: open_questions
-- $1 Session. In the order they were asked.
SELECT id, subagent_id, asked_at_ms, data, state FROM sessions.question
WHERE session_id = $1 AND state < 3 ORDER BY asked_at_ms, id;

-- name: start_subagent
-- Those that run are read with each view and at each start and end: not more than 64, in few words.
INSERT INTO sessions.subagent (session_id, id, agent_type, description, is_running)
SELECT $1::text, $2::text, left($3::text, 60), left($4::text, 240), true
WHERE (SELECT count(*) FROM sessions.subagent WHERE session_id = $1 AND is_running) < 64
ON CONFLICT (session_id, id)
DO UPDATE SET is_running = true, agent_type = excluded.agent_type,
              description = excluded.description;

-- name: end_subagent
UPDATE sessions.subagent SET is_running = false
WHERE session_id = $1 AND id = $2 AND is_running;

-- name: running_subagents
SELECT id, agent_type, description FROM sessions.subagent
WHERE session_id = $1 AND is_running ORDER BY id;
