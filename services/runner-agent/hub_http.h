#pragma once

/*
 * What this Runner asks its Hub by HTTP, as services/api-gateway/runner.h has it, with its
 * RUNNER_TOKEN, which travels by https or on loopback alone. Blocks; any thread, several at once.
 * The token's file is read anew each time, so that a rotated one takes effect by being put there.
 */

#include <stddef.h>
#include <stdint.h>

#include "kndl/env.h"
#include "kndl/error.h"
#include "kndl/http.h"

struct hub_http;

/* RUNNER_HUB_URL, RUNNER_TOKEN_FILE, RUNNER_TOKEN. */
extern const struct kndl_env hub_http_env[];

/* Reads them; RUNNER_TOKEN is gone from the environment then. */
int hub_http_new(struct hub_http **ret_http, struct kndl_error *err);
/* NULL is allowed. */
void hub_http_free(struct hub_http *http);

/* One request: POST with a JSON body, GET without one. Fails as kndl_http_do() does, or if the
 * token's file cannot be read. */
int hub_http_ask(const struct hub_http *http, const char *path, struct kndl_slice body,
                 uint32_t timeout_ms, size_t most, struct kndl_http_response *ret_response,
                 struct kndl_error *err);

/* A release_get_fn (release.h) of a struct hub_http: a file of the Hub's release, or "" for its
 * manifest. NOT_FOUND: the Hub has none. */
int hub_http_get_file(void *http, const char *name, size_t most, struct kndl_buf *ret_bytes,
                      struct kndl_error *err);

/* Puts a token that came by the environment back there, for the release that takes over. Once no
 * other thread reads the environment. */
void hub_http_hand_on_token(const struct hub_http *http);
