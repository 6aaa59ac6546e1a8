-- How people come in and go: the Setup link, Invites, sign-ins on their way, and who must hear of
-- a Member who was removed. Of every secret its SHA-256 alone.

-- A name for a sign-in that is no secret. Base32 letters, as all ids.
ALTER TABLE credential ADD COLUMN id text;
UPDATE credential
SET id = substr(translate(encode(sha256(hash), 'hex'), '0189', 'ghij'), 1, 26);
ALTER TABLE credential ALTER COLUMN id SET NOT NULL, ADD UNIQUE (id);

-- The newest Setup link. It is of no use once there is an Owner.
CREATE TABLE setup_link (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    hash bytea NOT NULL CHECK (octet_length(hash) = 32),
    ends_at timestamptz NOT NULL,
    used_at timestamptz
);

CREATE TABLE invite (
    id text PRIMARY KEY,
    hash bytea NOT NULL UNIQUE CHECK (octet_length(hash) = 32),
    login text NOT NULL, -- whom it lets in
    invited_by text NOT NULL REFERENCES person (id),
    request_id text NOT NULL,
    created_at timestamptz NOT NULL,
    ends_at timestamptz NOT NULL,
    used_at timestamptz,
    revoked_at timestamptz,
    UNIQUE (invited_by, request_id)
);

-- One at a time for a login.
CREATE UNIQUE INDEX invite_open ON invite (lower(login))
WHERE used_at IS NULL AND revoked_at IS NULL;

-- A browser that is at GitHub. Whose it is nobody knows yet.
CREATE TABLE sign_in (
    browser_hash bytea PRIMARY KEY CHECK (octet_length(browser_hash) = 32),
    return_to text NOT NULL,
    ends_at timestamptz NOT NULL
);

-- A `kndl login` that waits. Its row goes when the token was given, or the time is over.
CREATE TABLE device (
    device_hash bytea PRIMARY KEY CHECK (octet_length(device_hash) = 32),
    code_hash bytea NOT NULL UNIQUE CHECK (octet_length(code_hash) = 32),
    machine text NOT NULL,
    begun_at timestamptz NOT NULL,
    ends_at timestamptz NOT NULL,
    approved_by text REFERENCES person (id)
);

-- Which service has to hear of a Member who was removed. It hears it twice: at once, and when no
-- gateway can take the Member for one any more.
CREATE TABLE departure (
    person_id text NOT NULL REFERENCES person (id),
    service text NOT NULL CHECK (service IN ('sessions', 'secrets')),
    removal_id text NOT NULL,
    is_second boolean NOT NULL DEFAULT false,
    tries int NOT NULL DEFAULT 0,
    due_at timestamptz NOT NULL,
    PRIMARY KEY (person_id, service)
);

-- What was done already, so that a repeat does it no second time; kept for a day.
CREATE TABLE done (
    person_id text NOT NULL REFERENCES person (id),
    request_id text NOT NULL,
    done_at timestamptz NOT NULL,
    PRIMARY KEY (person_id, request_id)
);
