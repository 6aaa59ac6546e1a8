#pragma once

/*
 * The command line of a verb, by its table of options. Options may stand anywhere; what follows
 * "--" is none. Everything is borrowed from argv.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kndl/error.h"

/* One option. The table, which ends with a NULL name, is also the manual. */
struct arg_option {
    const char *name;  /* without the dashes */
    char letter;       /* -x for short; 0: none */
    const char *value; /* what it takes, in capitals; NULL: nothing */
    const char *help;
};

enum { ARGS_OPTIONS_MAX = 8 };

struct args {
    const struct arg_option *options;
    const char *values[ARGS_OPTIONS_MAX]; /* of each option; NULL: not given */
    const char **rest;                    /* what is no option, freed by args_done() */
    size_t count;
};

/* Fails with KNDL_INVALID_ARGUMENT, naming what it does not understand. */
int args_read(const struct arg_option *options, int argc, char **argv, struct args *ret_args,
              struct kndl_error *err);
void args_done(struct args *args);

/* An option's value, "" for one that takes none, NULL if it was not given. */
const char *args_get(const struct args *args, const char *name);
bool args_has(const struct args *args, const char *name);

/*
 * The option's value as a whole number, of 0 or more; *ret_number stays as it is where the option
 * was not given. Fails with KNDL_INVALID_ARGUMENT, naming the option and its value.
 */
int args_number(const struct args *args, const char *name, int64_t *ret_number,
                struct kndl_error *err);
