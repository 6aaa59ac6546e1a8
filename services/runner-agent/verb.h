#pragma once

/*
 * The inside of a `runner-agent <verb>` child: its arguments, its secret, and what it says to the
 * process that started it. One thread, no loop; blocking is what it is for.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kndl/error.h"

enum { VERB_SOCKET_FD = 3, VERB_INPUT_BYTES_MAX = 64 * 1024 * 1024 };

struct verb {
    const char *name;
    const char *help;
    /* Returns 0 having said what came of it by verb_done(), or -1 with err. */
    int (*run)(const char *const *args, struct kndl_error *err);
};

/*
 * Runs argv[1] if it is a verb: true, and *ret_status is what main() returns. First thing in
 * main(), before any thread.
 */
bool verb_main(int argc, char **argv, int *ret_status);

/* The value of "name=…" in the arguments; "" where there is none. verb_arg_at gives the index-th
 * one of that name, or NULL. */
const char *verb_arg(const char *const *args, const char *name);
const char *verb_arg_at(const char *const *args, const char *name, size_t index);
/* Fails with INVALID_ARGUMENT, naming it. */
int verb_arg_u64(const char *const *args, const char *name, uint64_t most, uint64_t *ret_value,
                 struct kndl_error *err);

/* All of stdin; the caller wipes what is secret and frees it. */
int verb_input(char **ret_bytes, size_t *ret_size, struct kndl_error *err);

/* Says a word with "name", "value" pairs, NULL-ended. fd: -1, or one to hand over. */
void verb_say(const char *word, int fd, ...) __attribute__((sentinel));
/* The last word of a verb that did it. */
void verb_done(int fd, ...) __attribute__((sentinel));
/* A word for programs that goes with the failure this verb is about to return. */
void verb_reason(const char *reason);
