#pragma once

/*
 * What lets this Runner onto the Hub's NATS: an nkey of its own, made at the start and never
 * written, and a JWT for it, which the Hub gives for RUNNER_TOKEN and which lasts as long as the
 * Hub says.
 *
 * A thread of its own renews it well before it ends (docs/adr/0021), and looks for a newer release
 * each time (docs/adr/0025). NATS ends the connection when the JWT does; the next one begins with
 * the newer, and what was asked in between is asked again.
 */

#include <stdint.h>

#include "kndl/error.h"

struct credential;
struct kndl_bus_signer;
struct update;

struct credential_options {
    struct update *update;
    /* On the credential's thread: a newer release is ready to take over (update.h). */
    void (*on_update)(void *data);
    void *data;
};

/* Reads the settings; fails with KNDL_INVALID_ARGUMENT, saying which one is wrong. */
int credential_open(const struct credential_options *options, struct credential **ret_credential,
                    struct kndl_error *err);

/*
 * Asks the Hub for the first JWT, once: may block for 15 s, and for as long as a newer release
 * takes to come. Fails with KNDL_UNAVAILABLE or KNDL_DEADLINE_EXCEEDED while the Hub is away (ask
 * again), with KNDL_UNAUTHENTICATED if it does not know the token, with KNDL_FAILED_PRECONDITION if
 * this Runner and the Hub do not fit (ask again after *ret_pause_ms), with KNDL_ABORTED if a newer
 * release is ready to take over; the messages say what to do. After it succeeded, not again.
 */
int credential_begin(struct credential *credential, uint64_t *ret_pause_ms, struct kndl_error *err);
/* The bus must be closed before. */
void credential_close(struct credential *credential);

/* Asks the Hub anew, and for a newer release: it may be another Hub since. */
void credential_ask_soon(struct credential *credential);

/* Who this Runner is, as the Hub said; NULL until it began; lives as long as the credential. */
const char *credential_runner_id(const struct credential *credential);

/* For kndl_bus_open(). */
struct kndl_bus_signer credential_signer(struct credential *credential);
