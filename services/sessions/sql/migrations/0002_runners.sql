-- Runners are registered by the Owner and known by a token, of which the hash is kept.

ALTER TABLE sessions.runner
    ALTER COLUMN instance_id SET DEFAULT '',
    ALTER COLUMN hostname SET DEFAULT '',
    ALTER COLUMN version SET DEFAULT '',
    ALTER COLUMN backend SET DEFAULT '',
    ALTER COLUMN seal_key SET DEFAULT '',
    ALTER COLUMN last_seen_ms SET DEFAULT 0,
    ADD COLUMN name text NOT NULL DEFAULT '',
    ADD COLUMN registered_by text NOT NULL DEFAULT '',
    ADD COLUMN registered_at_ms bigint NOT NULL DEFAULT 0,
    ADD COLUMN register_request text NOT NULL DEFAULT '',
    ADD COLUMN token_hash bytea,
    ADD COLUMN token_request text NOT NULL DEFAULT '',
    ADD COLUMN problem text NOT NULL DEFAULT '',
    ADD COLUMN removed_at_ms bigint NOT NULL DEFAULT 0,
    ADD COLUMN remove_request text NOT NULL DEFAULT '';

-- Those of before: no token, until the Owner gives them one.
UPDATE sessions.runner SET name = left(hostname, 32) || '-' || right(id, 6);

CREATE UNIQUE INDEX runner_token ON sessions.runner (token_hash);
CREATE UNIQUE INDEX runner_name ON sessions.runner (lower(name)) WHERE removed_at_ms = 0;
CREATE UNIQUE INDEX runner_request ON sessions.runner (registered_by, register_request)
    WHERE register_request <> '';
