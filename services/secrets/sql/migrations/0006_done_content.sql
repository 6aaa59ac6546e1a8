-- What a request that was done had asked for, so that the same id with something else is refused: a
-- hash, sealed, for it covers values that could be guessed. It goes with its row, after a day, so it is
-- never sealed anew; null is from before this.
ALTER TABLE done ADD COLUMN content bytea;
