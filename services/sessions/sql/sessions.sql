-- Sessions: made, read, locked and written back.

-- name: pick_runner
-- The Runner that is there with the fewest Sessions awake. No row: none is there.
SELECT r.id, r.seal_key, count(s.id)
FROM sessions.runner r
LEFT JOIN sessions.session s ON s.runner_id = r.id AND s.state IN (1, 2, 3, 5, 6)
WHERE NOT r.is_away AND r.removed_at_ms = 0 AND r.last_seen_ms > sessions.now_ms() - 20000
GROUP BY r.id
ORDER BY count(s.id), r.id
LIMIT 1;

-- name: find_created
-- $1 Creator, $2 request id. The Session that this request made and what was asked.
SELECT id, request_content FROM sessions.session WHERE creator_id = $1 AND request_id = $2;

-- name: create_session
-- Nothing is changed if the Creator made that request before.
INSERT INTO sessions.session
    (id, request_id, request_content, creator_id, creator_login, creator_name, creator_email,
     repo_id, repo_name, runner_id, model, effort, claude_session_id, state,
     created_at_ms, changed_at_ms)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, 0,
        sessions.now_ms(), sessions.now_ms())
ON CONFLICT (creator_id, request_id) DO NOTHING;

-- name: read_session
-- $1 Session. All its columns, then its queue's length, the clock, and its Runner's row.
SELECT s.*,
       (SELECT count(*) FROM sessions.prompt p WHERE p.session_id = s.id AND p.state = 1),
       sessions.now_ms(), r.seal_key, r.is_away, r.last_seen_ms, r.name,
       r.removed_at_ms > 0
FROM sessions.session s JOIN sessions.runner r ON r.id = s.runner_id
WHERE s.id = $1;

-- name: lock_session
-- As read_session, and no other writer of this Session until the transaction ends.
SELECT s.*,
       (SELECT count(*) FROM sessions.prompt p WHERE p.session_id = s.id AND p.state = 1),
       sessions.now_ms(), r.seal_key, r.is_away, r.last_seen_ms, r.name,
       r.removed_at_ms > 0
FROM sessions.session s JOIN sessions.runner r ON r.id = s.runner_id
WHERE s.id = $1
FOR UPDATE OF s;

-- name: update_session
-- $1 Session (locked), then what may change.
UPDATE sessions.session
SET claude_session_id = $2, title = $3, state = $4, reason_code = $5, reason = $6,
    frozen_from = $7, sleep_code = $8, sleep_reason = $9, run = $10, conversation_exists = $11,
    was_active = $12, wake_held = $13, queue_paused = $14, turn_open = $15, turn_id = $16,
    turn_expected_until_ms = $17, open_questions = $18, running_subagents = $19, last_seq = $20,
    view_version = $21, changed_at_ms = $22, deadline_ms = $23, waits_code = $24,
    repo_name = $25, repo_problem = $26
WHERE id = $1;

-- name: list_repos
-- The Repos that have Sessions. $1 Creator or '' for everybody's.
SELECT DISTINCT repo_id FROM sessions.session WHERE $1::text = '' OR creator_id = $1::text ORDER BY repo_id;

-- name: sessions_of_repo
-- $1 Repo, $2 its name, $3 what is wrong with it. Its Sessions that do not know that yet.
SELECT id FROM sessions.session
WHERE repo_id = $1 AND (repo_name <> $2 OR repo_problem <> $3) ORDER BY id LIMIT 500;

-- name: list_sessions
-- $1 Repos, $2 Creator or '', $3 and $4 the last one's time and id of the page before, $5 limit. As
-- read_session, newest first; of those that changed at the same time, by id.
SELECT s.*,
       (SELECT count(*) FROM sessions.prompt p WHERE p.session_id = s.id AND p.state = 1),
       sessions.now_ms(), r.seal_key, r.is_away, r.last_seen_ms, r.name,
       r.removed_at_ms > 0
FROM sessions.session s JOIN sessions.runner r ON r.id = s.runner_id
WHERE s.repo_id = ANY ($1::bigint[]) AND ($2::text = '' OR s.creator_id = $2::text)
  AND (s.changed_at_ms, s.id) < ($3::bigint, $4::text)
ORDER BY s.changed_at_ms DESC, s.id DESC
LIMIT $5::bigint;

-- name: find_request
-- $1 Session (locked), $2 request id. What was asked by it, and what came of it.
SELECT method, content, result FROM sessions.request WHERE session_id = $1 AND id = $2;

-- name: put_request
-- $1 Session (locked), $2 request id, $3 method, $4 content, $5 result.
INSERT INTO sessions.request (session_id, id, method, content, result)
VALUES ($1, $2, $3, $4, $5);

-- name: awake_of_person
-- $1 Creator. Their Sessions that run, start or would go on.
SELECT id FROM sessions.session WHERE creator_id = $1 AND state IN (1, 2, 5, 6) ORDER BY id;

-- name: awake_creators
-- Whose Sessions run, start or would go on.
SELECT DISTINCT creator_id FROM sessions.session WHERE state IN (1, 2, 5, 6) ORDER BY creator_id;

-- name: count_removal
-- $1 Creator who is no Member any more. Waits for what they asked that is being stored; what comes
-- after it finds another number.
UPDATE sessions.session SET creator_removals = creator_removals + 1 WHERE creator_id = $1;

-- name: sessions_of_person
-- $1 Creator. Those of theirs that may have something to do: awake, Frozen, or with prompts that wait.
SELECT s.id FROM sessions.session s
WHERE s.creator_id = $1
  AND (s.state IN (1, 2, 3, 5, 6)
       OR EXISTS (SELECT FROM sessions.prompt p WHERE p.session_id = s.id AND p.state = 1))
ORDER BY s.id;

-- name: find_setup_token
-- $1 person. The newest version that was acted upon.
SELECT version FROM sessions.setup_token WHERE person_id = $1;

-- name: put_setup_token
INSERT INTO sessions.setup_token (person_id, version) VALUES ($1, $2)
ON CONFLICT (person_id) DO UPDATE SET version = greatest(setup_token.version, excluded.version);

-- name: overdue_session
-- A Session past its deadline. Others' locked ones are left to them.
SELECT id FROM sessions.session
WHERE deadline_ms > 0 AND deadline_ms <= sessions.now_ms()
ORDER BY deadline_ms LIMIT 1 FOR UPDATE SKIP LOCKED;
