-- What people's requests have done already, so that a repeat, however late, does it no second time;
-- kept for a day.
CREATE TABLE done (
    person_id text NOT NULL,
    request_id text NOT NULL,
    made_id text NOT NULL, -- the Shared variable that it made; '': none
    done_at timestamptz NOT NULL,
    PRIMARY KEY (person_id, request_id)
);

CREATE INDEX done_age ON done (done_at);
