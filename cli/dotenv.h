#pragma once

/*
 * A .env file: lines NAME=value, blank lines and # comments. `export` before a name is passed over.
 * In 'single quotes' all stands for itself, in "double quotes" \n, \t, \", \\ and \$ are what they
 * mean elsewhere; both may go over several lines, each of which ends with \n. Without quotes a
 * value ends with its line, or at a blank and a #. Nothing is expanded.
 */

#include <stddef.h>

#include "kndl/error.h"

struct dotenv_entry {
    const char *name;
    const char *value;
};

/*
 * Takes the text apart where it is: it is changed, and the entries point into it. Fails with
 * KNDL_INVALID_ARGUMENT, naming the line and quoting no more of it than a name that is there twice;
 * also beyond `most` entries.
 */
int dotenv_parse(char *text, struct dotenv_entry *entries, size_t most, size_t *ret_count,
                 struct kndl_error *err);
