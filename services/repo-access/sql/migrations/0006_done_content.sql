-- What a request that was done had asked for, so that the same id with something else is refused. ''
-- is from before this.
ALTER TABLE done ADD COLUMN content text NOT NULL DEFAULT '';
