-- What becomes of a Runner's update to the Hub's release, in its own words; '': nothing to say.
ALTER TABLE sessions.runner ADD COLUMN update_note text NOT NULL DEFAULT '';
