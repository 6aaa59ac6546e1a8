-- Sealed values, which Runner may have them, and what to mask. Every `sealed` is bound to its row
-- (kndl/seal.h) and begins with the id of its key.

-- A person's Claude setup token. A row stays when the token is removed, so that versions rise.
CREATE TABLE setup_token (
    person_id text PRIMARY KEY,
    version bigint NOT NULL, -- of this row; rises with each change
    sealed bytea, -- null: there is none
    set_at timestamptz,
    expires_at timestamptz,
    request_id text NOT NULL, -- of the newest change
    CHECK ((sealed IS NULL) = (set_at IS NULL) AND (sealed IS NULL) = (expires_at IS NULL))
);

-- What sessions has not heard yet of a person's setup token: one row a person, the newest change.
CREATE TABLE token_change (
    person_id text PRIMARY KEY,
    change text NOT NULL CHECK (change IN ('added', 'replaced', 'removed')),
    version bigint NOT NULL,
    tries int NOT NULL DEFAULT 0,
    due_at timestamptz NOT NULL
);

-- Which Runner runs a Session, for whom, and in which phase.
CREATE TABLE assignment (
    session_id text PRIMARY KEY,
    run bigint NOT NULL,
    runner_id text NOT NULL,
    creator_id text NOT NULL,
    repo_id bigint NOT NULL,
    phase int NOT NULL, -- PutAssignmentRequest.Phase
    mask_version bigint NOT NULL -- of the Session's mask set; rises when a value joins it
);

CREATE INDEX assignment_creator ON assignment (creator_id);

-- Values that were handed out in a run, or are about to be, besides the Creator's setup token.
CREATE TABLE mask (
    session_id text NOT NULL REFERENCES assignment (session_id),
    name text NOT NULL, -- setup_token, session_token, git_token …
    version bigint NOT NULL, -- the set's, when it joined
    run bigint NOT NULL, -- in which it joined; it goes when that run is settled
    is_previous boolean NOT NULL DEFAULT false,
    sealed bytea NOT NULL,
    PRIMARY KEY (session_id, name, version)
);

CREATE UNIQUE INDEX mask_places ON mask (session_id, name, is_previous);
