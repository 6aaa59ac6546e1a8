-- The prompts of a Session, in the order they were asked.

-- name: append_prompt
-- $1 new id, $2 Session (locked), $3 sealed text, $4 masked text, $5 who asks. Its place.
INSERT INTO sessions.prompt (id, session_id, place, state, sealed, masked, queued_at_ms, author_id)
SELECT $1::text, $2::text, coalesce(max(place), 0) + 1, 1, $3::bytea, $4::text, sessions.now_ms(),
       $5::text
FROM sessions.prompt WHERE session_id = $2
RETURNING place;

-- name: find_prompt
-- $1 Session, $2 prompt.
SELECT id, place, masked, state, reason, queued_at_ms, is_taken, maybe_sent, run
FROM sessions.prompt WHERE session_id = $1 AND id = $2;

-- name: first_prompt
-- $1 Session.
SELECT id, place, masked, state, reason, queued_at_ms, is_taken, maybe_sent, run
FROM sessions.prompt WHERE session_id = $1 AND place = 1;

-- name: waiting_prompts
-- $1 Session. Those that are queued or handed, in order, for a view, which is one message: the first
-- 80 KiB of text whole, then the beginnings.
SELECT id, place,
       CASE WHEN sum(octet_length(masked)) OVER (ORDER BY place) <= 80 * 1024 THEN masked
            ELSE left(masked, 200) || '…' END,
       state, reason, queued_at_ms, is_taken, maybe_sent, run
FROM sessions.prompt WHERE session_id = $1 AND state IN (1, 2) ORDER BY place;

-- name: set_prompt
-- $1 Session (locked), $2 prompt, $3 its state, $4 the reason. What was sealed is kept only while
-- it may still have to be handed over.
UPDATE sessions.prompt
SET state = $3::bigint, reason = $4, is_taken = is_taken AND $3::bigint = 2,
    maybe_sent = maybe_sent AND $3::bigint = 2,
    sealed = CASE WHEN $3::bigint IN (1, 2) THEN sealed END
WHERE session_id = $1 AND id = $2;

-- name: handed_prompts
-- $1 Session (locked). The one that is handed, if any.
SELECT id, place, masked, state, reason, queued_at_ms, is_taken, maybe_sent, run
FROM sessions.prompt WHERE session_id = $1 AND state = 2;

-- name: queued_prompts
-- $1 Session (locked), $2 whose prompts are left out, or ''. Those that wait, in order.
SELECT id, place, masked, state, reason, queued_at_ms, is_taken, maybe_sent, run
FROM sessions.prompt WHERE session_id = $1 AND state = 1 AND author_id <> $2 ORDER BY place;

-- name: others_prompts
-- A Session in which a prompt of somebody else than its Creator waits. Locks it.
SELECT s.id FROM sessions.session s
WHERE EXISTS (SELECT FROM sessions.prompt p
              WHERE p.session_id = s.id AND p.state = 1 AND p.author_id <> s.creator_id)
LIMIT 1
FOR UPDATE OF s;

-- name: due_prompt
-- A Session that may get a prompt now: Active, its run up, no Turn open or about to be, its queue
-- not paused, its Runner there; and either a prompt waits and none is handed, or one is handed that
-- the Runner has not taken and nobody is handing over. Locks the Session; locked ones are left out.
SELECT s.id
FROM sessions.session s
JOIN sessions.runner r ON r.id = s.runner_id
JOIN sessions.run u ON u.session_id = s.id AND u.run = s.run AND u.phase = 3
WHERE s.state = 2 AND NOT r.is_away AND r.paused_until_ms <= sessions.now_ms()
  AND (EXISTS (SELECT FROM sessions.prompt p
               WHERE p.session_id = s.id AND p.state = 2 AND NOT p.is_taken
                 AND p.claimed_until_ms <= sessions.now_ms())
       OR (NOT s.turn_open AND NOT s.queue_paused
           AND s.turn_expected_until_ms <= sessions.now_ms()
           AND EXISTS (SELECT FROM sessions.prompt p
                       WHERE p.session_id = s.id AND p.state = 1 AND p.author_id = s.creator_id)
           AND NOT EXISTS (SELECT FROM sessions.prompt p
                           WHERE p.session_id = s.id AND p.state = 2)))
ORDER BY s.changed_at_ms
LIMIT 1
FOR UPDATE OF s SKIP LOCKED;

-- name: claim_prompt
-- $1 Session (locked), $2 run, $3 may a new one be handed? $4 its Creator, whose prompts alone are
-- handed. The handed prompt that nobody holds, or else the first that waits.
UPDATE sessions.prompt
SET state = 2, run = $2, claimed_until_ms = sessions.now_ms() + 10000
WHERE id = (SELECT p.id FROM sessions.prompt p
            WHERE p.session_id = $1
              AND ((p.state = 2 AND NOT p.is_taken AND p.claimed_until_ms <= sessions.now_ms())
                   OR ($3::boolean AND p.state = 1 AND p.author_id = $4
                       AND NOT EXISTS (SELECT FROM sessions.prompt o
                                       WHERE o.session_id = $1 AND o.state = 2)))
            ORDER BY p.state DESC, p.place
            LIMIT 1)
RETURNING id, sealed;

-- name: prompt_taken
-- $1 Session (locked), $2 prompt.
UPDATE sessions.prompt SET is_taken = true WHERE session_id = $1 AND id = $2 AND state = 2;

-- name: prompt_unsure
-- $1 Session (locked), $2 prompt: no answer came, so that the Runner may have it.
UPDATE sessions.prompt SET maybe_sent = true, claimed_until_ms = 0
WHERE session_id = $1 AND id = $2 AND state = 2;

-- name: due_wake
-- A Session to be woken for a prompt that waits. Locks it; locked ones are left out.
SELECT s.id
FROM sessions.session s JOIN sessions.runner r ON r.id = s.runner_id
WHERE s.state = 4 AND NOT s.wake_held AND NOT s.queue_paused AND s.repo_problem = ''
  AND NOT r.is_away AND r.paused_until_ms <= sessions.now_ms()
  AND EXISTS (SELECT FROM sessions.prompt p
              WHERE p.session_id = s.id AND p.state = 1 AND p.author_id = s.creator_id)
  AND NOT EXISTS (SELECT FROM sessions.run u WHERE u.session_id = s.id AND u.phase < 5)
ORDER BY s.changed_at_ms
LIMIT 1
FOR UPDATE OF s SKIP LOCKED;
