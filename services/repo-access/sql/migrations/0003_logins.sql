-- When GitHub was last asked for a person's login by their id: logins change, and are given anew.
ALTER TABLE person ADD COLUMN named_at timestamptz NOT NULL DEFAULT 'epoch';
