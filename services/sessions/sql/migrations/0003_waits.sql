-- Why the newest run's output waits on its Runner; '': it does not. The last of enum session_column.
ALTER TABLE sessions.session ADD COLUMN waits_code text NOT NULL DEFAULT '';
