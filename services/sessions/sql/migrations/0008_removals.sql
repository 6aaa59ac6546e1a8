-- How often its Creator was removed as a Member: what they asked before is refused after. The last of
-- enum session_column.
ALTER TABLE sessions.session ADD COLUMN creator_removals bigint NOT NULL DEFAULT 0;
