-- Requests that were done.

-- name: keep_done
-- $1 person, $2 request id, $3 the id that it makes or '', $4 now, $5 what it asks for, sealed. No row
-- changed: it was done already. Some of what is older than a day goes.
WITH old AS (
    DELETE FROM done WHERE (person_id, request_id) IN (
        SELECT person_id, request_id FROM done
        WHERE done_at < $4::timestamptz - interval '1 day'
        ORDER BY done_at LIMIT 10 FOR UPDATE SKIP LOCKED))
INSERT INTO done (person_id, request_id, made_id, done_at, content) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT DO NOTHING;

-- name: find_done
-- $1 person, $2 request id: what it made, and what it asked for, sealed.
SELECT made_id, content FROM done WHERE person_id = $1 AND request_id = $2;
