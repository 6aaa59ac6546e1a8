#pragma once

/*
 * Configuration: the environment, declared as a table. The only place that calls getenv().
 *
 * kndl_env_load() reads the table once at the start; the values live until the process ends and
 * may then be read from any thread.
 */

#include <stdint.h>
#include <stdio.h>

#include "kndl/error.h"

/* One variable of the environment. `--help` prints this table, so `help` is the manual. */
struct kndl_env {
    const char *name;
    const char *fallback; /* NULL: the process doesn't start without it; "" means "not set" */
    const char *help;
};

/* Reads the table, which ends with a NULL name. Fails with KNDL_INVALID_ARGUMENT, naming what is
 * missing. May be called for several tables; later ones add. A variable that was read before is
 * read anew (for tests). */
int kndl_env_load(const struct kndl_env *table, struct kndl_error *err);

/* The value of a declared variable, never NULL. Asking for one that no table declares aborts. */
const char *kndl_env_get(const char *name);

/* The same as a number; fails with KNDL_INVALID_ARGUMENT, naming the variable and its value, if
 * it is not a whole number from `least` to `most`. */
int kndl_env_get_i64(const char *name, int64_t least, int64_t most, int64_t *ret_value,
                     struct kndl_error *err);

/* Wipes a declared variable's value, so that neither /proc nor a child shows a secret that had to
 * come this way; it is "" from then on. Before other threads start. */
void kndl_env_forget(const char *name);

/* Prints the table as --help shows it. */
void kndl_env_print(const struct kndl_env *table, FILE *out);
