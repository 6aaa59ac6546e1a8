-- What the Owner's requests did to Runners, as libs/db keeps it (kndl/done.h), in the place of a
-- column for each method.
CREATE TABLE sessions.done (
    person_id text NOT NULL,
    request_id text NOT NULL,
    made_id text NOT NULL, -- the Runner that it registered; '': none
    done_at timestamptz NOT NULL,
    content bytea,
    PRIMARY KEY (person_id, request_id)
);
CREATE INDEX done_age ON sessions.done (done_at);

INSERT INTO sessions.done (person_id, request_id, made_id, done_at)
SELECT registered_by, register_request, id, now() FROM sessions.runner WHERE register_request <> '';

ALTER TABLE sessions.runner
    DROP COLUMN register_request, DROP COLUMN token_request, DROP COLUMN remove_request;
