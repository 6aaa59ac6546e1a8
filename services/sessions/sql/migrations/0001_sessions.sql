-- Everything that sessions remembers. Times are milliseconds since 1970 of one clock, the
-- database's; numbers of states are those of the protos.

-- The clock of all copies. Tests replace it to move time.
CREATE FUNCTION sessions.now_ms() RETURNS bigint LANGUAGE sql STABLE AS
'SELECT (extract(epoch FROM statement_timestamp()) * 1000)::bigint';

CREATE TABLE sessions.runner (
    id text PRIMARY KEY,
    instance_id text NOT NULL,
    hostname text NOT NULL,
    version text NOT NULL,
    backend text NOT NULL,
    seal_key bytea NOT NULL,
    last_seen_ms bigint NOT NULL,
    is_away boolean NOT NULL DEFAULT false,
    paused_until_ms bigint NOT NULL DEFAULT 0,
    pause_ms bigint NOT NULL DEFAULT 0
);

-- The order of these columns is enum session_column in store.c.
CREATE TABLE sessions.session (
    id text PRIMARY KEY,
    request_id text NOT NULL,
    request_content text NOT NULL,
    creator_id text NOT NULL,
    creator_login text NOT NULL,
    creator_name text NOT NULL,
    creator_email text NOT NULL,
    repo_id bigint NOT NULL,
    repo_name text NOT NULL,
    runner_id text NOT NULL REFERENCES sessions.runner,
    model text NOT NULL,
    effort text NOT NULL,
    created_at_ms bigint NOT NULL,
    claude_session_id text NOT NULL,
    title text NOT NULL DEFAULT '',
    state bigint NOT NULL,
    reason_code text NOT NULL DEFAULT '',
    reason text NOT NULL DEFAULT '',
    frozen_from bigint NOT NULL DEFAULT 0,
    sleep_code text NOT NULL DEFAULT '',
    sleep_reason text NOT NULL DEFAULT '',
    run bigint NOT NULL DEFAULT 0,
    conversation_exists boolean NOT NULL DEFAULT false,
    was_active boolean NOT NULL DEFAULT false,
    wake_held boolean NOT NULL DEFAULT false,
    queue_paused boolean NOT NULL DEFAULT false,
    turn_open boolean NOT NULL DEFAULT false,
    turn_id text NOT NULL DEFAULT '',
    turn_expected_until_ms bigint NOT NULL DEFAULT 0,
    open_questions bigint NOT NULL DEFAULT 0,
    running_subagents bigint NOT NULL DEFAULT 0,
    last_seq bigint NOT NULL DEFAULT 0,
    view_version bigint NOT NULL DEFAULT 1,
    changed_at_ms bigint NOT NULL,
    deadline_ms bigint NOT NULL DEFAULT 0,
    UNIQUE (creator_id, request_id)
);
CREATE INDEX session_changed ON sessions.session (changed_at_ms DESC);
CREATE INDEX session_repo ON sessions.session (repo_id);
CREATE INDEX session_runner ON sessions.session (runner_id, state);
CREATE INDEX session_deadline ON sessions.session (deadline_ms) WHERE deadline_ms > 0;

-- A start of a Session's Claude Code. phase: 1 due, 2 taken by the Runner, 3 running, 4 ended (its
-- last Events may be on their way), 5 settled. ended_n: what the Runner spooled, -1 while unknown.
-- wanted_phase and put_phase are secrets' PutAssignment.Phase: what it is to know, what it knows.
CREATE TABLE sessions.run (
    session_id text NOT NULL REFERENCES sessions.session,
    run bigint NOT NULL,
    runner_id text NOT NULL,
    phase bigint NOT NULL DEFAULT 1,
    taken_at_ms bigint NOT NULL DEFAULT 0,
    mod_token_hash bytea,
    last_n bigint NOT NULL DEFAULT 0,
    ended_n bigint NOT NULL DEFAULT -1,
    cause bigint NOT NULL DEFAULT 0,
    reason_code text NOT NULL DEFAULT '',
    reason text NOT NULL DEFAULT '',
    last_output text NOT NULL DEFAULT '',
    wanted_phase bigint NOT NULL DEFAULT 0,
    put_phase bigint NOT NULL DEFAULT 0,
    put_claimed_until_ms bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (session_id, run)
);
CREATE INDEX run_unsettled ON sessions.run (runner_id) WHERE phase < 5;
CREATE INDEX run_assignment ON sessions.run (session_id) WHERE wanted_phase <> put_phase;

-- state: QueuedPrompt.State. sealed: for the Runner alone, gone once it is delivered or given up.
-- maybe_sent: a command with it got no answer, so the Runner may have it.
CREATE TABLE sessions.prompt (
    id text PRIMARY KEY,
    session_id text NOT NULL REFERENCES sessions.session,
    place bigint NOT NULL,
    state bigint NOT NULL,
    sealed bytea,
    masked text NOT NULL,
    reason text NOT NULL DEFAULT '',
    queued_at_ms bigint NOT NULL,
    run bigint NOT NULL DEFAULT 0,
    is_taken boolean NOT NULL DEFAULT false,
    maybe_sent boolean NOT NULL DEFAULT false,
    claimed_until_ms bigint NOT NULL DEFAULT 0,
    UNIQUE (session_id, place)
);
CREATE INDEX prompt_waiting ON sessions.prompt (session_id, place) WHERE state = 1;
-- One prompt at a time is in Claude Code's hands.
CREATE UNIQUE INDEX prompt_handed ON sessions.prompt (session_id) WHERE state = 2;

-- data: the packed kndl.event.v1.Event, masked. n: the Runner's number in its run; null: the Hub's
-- own. size: of data, so that a page is cut without reading what it leaves out.
CREATE TABLE sessions.event (
    session_id text NOT NULL REFERENCES sessions.session,
    seq bigint NOT NULL,
    at_ms bigint NOT NULL,
    kind bigint NOT NULL,
    subagent_id text NOT NULL,
    run bigint NOT NULL,
    n bigint,
    source_id text NOT NULL,
    size bigint NOT NULL,
    data bytea NOT NULL,
    PRIMARY KEY (session_id, seq)
);
CREATE UNIQUE INDEX event_n ON sessions.event (session_id, run, n) WHERE n IS NOT NULL;
CREATE INDEX event_source ON sessions.event (session_id, seq DESC) WHERE source_id <> '';

-- state: 1 open, 2 an answer is on its way, 3 closed.
CREATE TABLE sessions.question (
    session_id text NOT NULL REFERENCES sessions.session,
    id text NOT NULL,
    run bigint NOT NULL,
    subagent_id text NOT NULL,
    asked_at_ms bigint NOT NULL,
    asked_count bigint NOT NULL,
    data bytea NOT NULL,
    state bigint NOT NULL DEFAULT 1,
    answered_by text NOT NULL DEFAULT '',
    PRIMARY KEY (session_id, id)
);
CREATE INDEX question_open ON sessions.question (session_id) WHERE state < 3;

CREATE TABLE sessions.subagent (
    session_id text NOT NULL REFERENCES sessions.session,
    id text NOT NULL,
    agent_type text NOT NULL,
    description text NOT NULL,
    is_running boolean NOT NULL,
    PRIMARY KEY (session_id, id)
);
CREATE INDEX subagent_running ON sessions.subagent (session_id) WHERE is_running;

CREATE TABLE sessions.step (
    session_id text NOT NULL REFERENCES sessions.session,
    run bigint NOT NULL,
    place bigint NOT NULL,
    name text NOT NULL,
    took_ms bigint NOT NULL,
    PRIMARY KEY (session_id, run, name)
);

-- What a Runner has to be told, but prompts. kind: enum command_kind in store.h. Rows of one
-- Session are sent in the order of pos.
CREATE TABLE sessions.command (
    id text PRIMARY KEY,
    pos bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    session_id text NOT NULL REFERENCES sessions.session,
    run bigint NOT NULL,
    runner_id text NOT NULL,
    kind bigint NOT NULL,
    target_id text NOT NULL DEFAULT '',
    sealed bytea,
    reason_code text NOT NULL DEFAULT '',
    is_taken boolean NOT NULL DEFAULT false,
    maybe_sent boolean NOT NULL DEFAULT false,
    claimed_until_ms bigint NOT NULL DEFAULT 0
);
CREATE INDEX command_due ON sessions.command (session_id, pos) WHERE NOT is_taken;

-- The answer to a repeat. content: what was asked, masked; result: what was made of it.
CREATE TABLE sessions.request (
    session_id text NOT NULL REFERENCES sessions.session,
    id text NOT NULL,
    method text NOT NULL,
    content text NOT NULL,
    result text NOT NULL,
    PRIMARY KEY (session_id, id)
);

-- The newest change of a person's setup token that was acted upon.
CREATE TABLE sessions.setup_token (
    person_id text PRIMARY KEY,
    version bigint NOT NULL
);
