-- Who asked. Only the Creator can; what a release that let others left waiting is cancelled (AC-10).
ALTER TABLE sessions.prompt ADD COLUMN author_id text;
UPDATE sessions.prompt p SET author_id = s.creator_id
FROM sessions.session s WHERE s.id = p.session_id;
ALTER TABLE sessions.prompt ALTER COLUMN author_id SET NOT NULL;
