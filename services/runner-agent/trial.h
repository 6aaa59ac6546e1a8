#pragma once

/* Whether another release of this program runs on this host at all. */

#include "kndl/error.h"

/*
 * Starts `program --check` in this process's environment and waits, ten seconds at most, for it to
 * say that it is of that version (trial_say). Fails with KNDL_FAILED_PRECONDITION and the end of
 * what it said instead. Any thread; whoever takes ended processes (reaper.h) takes this one too.
 */
int trial_run(const char *program, const char *version, struct kndl_error *err);

/* The other side of it, once all settings were read: says so on standard output. */
void trial_say(const char *version);
