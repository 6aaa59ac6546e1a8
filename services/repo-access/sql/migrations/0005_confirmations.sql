-- What a CLI gets for its person's yes in the browser: a credential for one purpose, which lasts
-- minutes and no longer than the CLI's own.

ALTER TABLE credential
    ADD COLUMN cli_id text REFERENCES credential (id), -- whose token began it
    ADD COLUMN purpose text,
    DROP CONSTRAINT credential_kind_check,
    ADD CONSTRAINT credential_kind_check CHECK (kind IN ('web', 'cli', 'confirmed')),
    ADD CONSTRAINT credential_purpose_check
        CHECK ((kind = 'confirmed') = (cli_id IS NOT NULL AND purpose IS NOT NULL));

CREATE INDEX credential_cli ON credential (cli_id) WHERE cli_id IS NOT NULL;

-- A device without a CLI is a `kndl login`.
ALTER TABLE device
    ADD COLUMN cli_id text REFERENCES credential (id),
    ADD COLUMN purpose text,
    ADD CONSTRAINT device_purpose_check CHECK ((cli_id IS NULL) = (purpose IS NULL));
