#pragma once

/* The command line as a whole: its verbs, their help, and running one. */

#include <stdio.h>

#include "verb.h"

/* In the order of the help; NULL ends it. */
extern const struct verb *const command_verbs[];

void command_help(FILE *out);

/*
 * Runs what stands behind "kndl", at least one word, and writes to standard output. Fails with
 * KNDL_INVALID_ARGUMENT for what it does not understand, else as the verb does; the code gives the
 * exit status.
 */
int command_run(int argc, char **argv, struct kndl_error *err);
