#pragma once

/*
 * A code that somebody says yes to in their browser, from this machine's side: it is shown, and
 * what was decided is asked for again and again. What is secret never leaves memory.
 */

#include <stdbool.h>

#include "verb.h"

enum { DEVICE_CODE_SIZE = 32, DEVICE_URL_SIZE = 300 };

struct device_code {
    struct kndl_secret secret; /* by which this machine asks */
    char user_code[DEVICE_CODE_SIZE];
    char url[DEVICE_URL_SIZE]; /* of the page, without the code */
    int interval_ms;           /* between two asks */
};

/* Takes over what the Hub said. Fails with KNDL_INTERNAL if that can be none of it. */
int device_code_read(struct device_code *ret_code, const char *secret, const char *user_code,
                     const char *url, int64_t interval_s, struct kndl_error *err);
void device_code_done(struct device_code *code);

/* Where to go and what to do there. `why` is a line before it; "" if there is none. */
void device_code_show(const struct device_code *code, const char *why, const struct screen *screen);

/* Asks the Hub once. *ret_is_over: there is an answer, which `data` keeps. */
typedef int (*device_code_fn)(struct cli *cli, const struct device_code *code, void *data,
                              bool *ret_is_over, struct kndl_error *err);

/* Asks until it is over or fails. After ten minutes it fails with the code that is given. */
int device_code_wait(struct cli *cli, const struct device_code *code, device_code_fn fn, void *data,
                     enum kndl_code late, struct kndl_error *err);
