#pragma once

/* What a Claude setup token looks like. Pure; any thread. */

#include <stdint.h>

#include "kndl/error.h"
#include "kndl/slice.h"

/* Anthropic gives a setup token a year; we count from when it was set. */
#define KNDL_SETUP_TOKEN_LIFE_MS (INT64_C(365) * 24 * 60 * 60 * 1000)

/*
 * Takes a pasted text for a setup token, without the blanks and line breaks around it. Fails with
 * KNDL_INVALID_ARGUMENT if it is none; the message never quotes it and says what to do. *ret_token
 * is part of the text.
 */
int kndl_setup_token_read(const char *text, struct kndl_slice *ret_token, struct kndl_error *err);
