-- How often values were masked.

-- name: keep_report
-- $1 reporter, $2 number, $3 now. No row changed: it was counted already. Copies that have not
-- reported for a week are gone.
WITH old AS (
    DELETE FROM reporter WHERE id IN (
        SELECT id FROM reporter WHERE reported_at < $3::timestamptz - interval '7 days' AND id <> $1
        LIMIT 10 FOR UPDATE SKIP LOCKED))
INSERT INTO reporter (id, n, reported_at) VALUES ($1, $2, $3)
ON CONFLICT (id) DO UPDATE SET n = excluded.n, reported_at = excluded.reported_at
WHERE excluded.n > reporter.n;

-- name: count_hits
-- $1 counted id, $2 Repo, $3 version, $4 count, $5 when last. Nothing for what is not there any more.
INSERT INTO hits (counted_id, repo_id, version, count, last_at)
SELECT $1, $2, $3, $4, $5
WHERE $1 = 'git_token' OR EXISTS (SELECT FROM variable WHERE id = $1)
    OR EXISTS (SELECT FROM setup_token WHERE person_id = $1)
ON CONFLICT (counted_id, repo_id) DO UPDATE SET
    count = CASE WHEN excluded.version > hits.version THEN excluded.count
                 ELSE hits.count + excluded.count END,
    last_at = greatest(hits.last_at, excluded.last_at), version = excluded.version
WHERE excluded.version >= hits.version;

-- name: sum_hits
-- $1 counted id, $2 Repo or null for all, $3 version.
SELECT coalesce(sum(count), 0)::bigint, coalesce(max(last_at), 'epoch')
FROM hits WHERE counted_id = $1 AND ($2::bigint IS NULL OR repo_id = $2) AND version = $3;

-- name: forget_hits
-- $1 counted id.
DELETE FROM hits WHERE counted_id = $1;
