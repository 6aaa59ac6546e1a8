-- The App's installations as GitHub last listed them: why the Repos of one are away.
CREATE TABLE installation (
    id bigint PRIMARY KEY, -- GitHub's
    account text NOT NULL, -- its login
    is_suspended boolean NOT NULL
);
