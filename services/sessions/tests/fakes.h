#pragma once

/* Other services, Runners and viewers, in memory. Zero is a good start, but for has_token. */

#include <stdbool.h>
#include <stdint.h>

#include "kndl/error.h"

struct fake_peers { /* ada is the Owner */
    bool access_down;
    bool redactor_down;
    bool secrets_down;
    bool mask_unreadable;     /* a value that redactor would have to mask */
    bool hides_repo;          /* repo 7, from everybody */
    const char *repo_name;    /* of repo 7; NULL: demo/hello */
    const char *repo_problem; /* NULL: none */
    bool has_token;           /* everybody's setup token */
    unsigned masked;          /* texts; each "secret" becomes "******" */
    unsigned assignments;
    unsigned put_masks;
    int last_phase; /* of the last assignment */

    /* What happens while redactor masks; NULL: nothing. */
    void (*meanwhile)(void *data);
    void *data;
};

struct fake_runners {
    enum kndl_code code; /* what a command fails with; KNDL_OK: it is taken */
    unsigned commands;
    unsigned removed;
};

struct fake_viewers {
    unsigned changes; /* that were published */
};

/* In place of a bus: the functions of peers.c, runners.c and live.c take it as theirs. */
struct kndl_bus {
    struct fake_peers peers;
    struct fake_runners runners;
    struct fake_viewers viewers;
};
