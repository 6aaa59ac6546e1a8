#pragma once

/*
 * What a restart of runner-agent reads again of a Session: which run it has, how far that is, and
 * how it ended. One file, replaced whole. No secret is in it.
 */

#include "kndl/error.h"
#include "kndl/runner/v1/runner_service.pb-c.h"
#include "kndl/sessions/v1/sessions_runner_service.pb-c.h"

struct disk;

enum run_phase {
    RUN_STARTING = 1,
    RUN_RUNNING = 2,
    RUN_ENDED = 3, /* everything has stopped; `ended` says how */
};

struct run_file {
    enum run_phase phase;
    Kndl__Runner__V1__StartRunRequest *start;
    Kndl__Sessions__V1__ReportEndedRequest *ended; /* NULL but in RUN_ENDED */
};

/* Written when `done` is called, with `data`; NULL: nobody waits. */
void run_file_write(struct disk *disk, const char *path, const struct run_file *file,
                    void (*done)(void *data, const struct kndl_error *err), void *data);

/* Fails with KNDL_NOT_FOUND without a file, with KNDL_DATA_LOSS if it is none of ours. */
int run_file_read(const char *path, struct run_file *ret_file, struct kndl_error *err);
void run_file_done(struct run_file *file);
