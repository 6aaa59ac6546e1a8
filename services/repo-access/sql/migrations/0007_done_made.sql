-- As libs/db keeps what was done (kndl/done.h). What the requests of before had asked for is not
-- compared any more; they go within a day.
ALTER TABLE done DROP COLUMN content, ADD COLUMN content bytea,
    ADD COLUMN made_id text NOT NULL DEFAULT '';
CREATE INDEX done_age ON done (done_at);
