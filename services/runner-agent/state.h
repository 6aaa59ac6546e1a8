#pragma once

/*
 * What a restart of runner-agent reads again of a Session: which run it has, how far that is, and
 * how it ended. One file, replaced whole. No secret is in it.
 */

#include "kndl/error.h"
#include "kndl/runner/v1/runner_service.pb-c.h"
#include "kndl/sessions/v1/sessions_runner_service.pb-c.h"

struct disk;

enum state_phase {
    STATE_STARTING = 1,
    STATE_RUNNING = 2,
    STATE_ENDED = 3, /* everything has stopped; `ended` says how */
};

struct state {
    enum state_phase phase;
    Kndl__Runner__V1__StartRunRequest *start;
    Kndl__Sessions__V1__ReportEndedRequest *ended; /* NULL but in STATE_ENDED */
};

/* Written when `done` is called, with `data`; NULL: nobody waits. */
void state_write(struct disk *disk, const char *path, const struct state *state,
                 void (*done)(void *data, const struct kndl_error *err), void *data);

/* Fails with KNDL_NOT_FOUND without a file, with KNDL_DATA_LOSS if it is none of ours. */
int state_read(const char *path, struct state *ret_state, struct kndl_error *err);
void state_done(struct state *state);
