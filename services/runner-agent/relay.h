#pragma once

/*
 * The relay of one Session: the HTTP server that its mod talks to, on a socket that listens inside
 * the Sandbox and outlives this process (RE-01: ours, one listener in each Sandbox).
 *
 * The Session token is the only identity (RE-02): its SHA-256 is kept, and without a live one
 * everything is 401. Until the Hub has given a mod token it is 503 with Retry-After. It serves
 * /mod/ and nothing else (RE-03), and logs no secret.
 *
 *   POST /mod/hello              {version, epoch, claudeSessionId}       200
 *   POST /mod/events             {epoch, first, events[]}                200 {next}, on the disk
 *   GET  /mod/commands?after=N   waits up to 25 s                        200 order, or 204
 *   POST /mod/results            {command, started|drop|result|error}    200
 *   GET  /mod/answers/<question> waits up to 25 s                        200 {answers}, 204, 410
 *
 * 400 and 413 are for what cannot be read; everything else the mod tries again. A Sandbox that
 * posts more than its share of the loop (budget.h) gets 503 with Retry-After, before its body is
 * parsed: the mod keeps its batch.
 * Belongs to the loop's thread. Whatever comes in is foreign.
 */

#include <stdbool.h>
#include <stdint.h>

#include "answers.h"
#include "claude.h"
#include "kndl/error.h"
#include "kndl/token.h"

struct kndl_loop;
struct relay;
struct relay_held;

enum {
    RELAY_BODY_BYTES_MAX = 512 * 1024,
    RELAY_VALUES_MAX = 10000, /* of one body: with the bytes, some 10 ms of the loop */
    RELAY_BODIES_BYTES_MAX = 2 * RELAY_BODY_BYTES_MAX, /* of one Sandbox at once, else 503 */
    RELAY_POLL_MS = 25 * 1000,
};

struct relay_options {
    struct kndl_loop *loop;
    int listen_fd;          /* the relay's from here on, also on failure */
    const char *session_id; /* for the log */
    void (*on_hello)(void *data, const struct claude_hello *hello);
    /* Answer later, exactly once, by relay_taken() or relay_refuse(). received_us: when its last
     * byte came, kndl_clock_us(). */
    void (*on_batch)(void *data, struct relay_held *held, const struct claude_batch *batch,
                     int64_t received_us);
    void (*on_result)(void *data, const struct claude_result *result);
    /* It has posted more than its share for seconds; what it says comes late, and is not lost. */
    void (*on_slowed)(void *data);
    /* Appends the first order over `after`; 0: none. ret_id is its id, for the log. */
    int64_t (*fetch_order)(void *data, int64_t after, struct kndl_buf *out, const char **ret_id);
    enum answer_state (*look_answer)(void *data, const char *question_id, struct kndl_buf *out);
    void *data;
};

int relay_open(const struct relay_options *options, struct relay **ret_relay,
               struct kndl_error *err);
/* What waits is closed without an answer. */
void relay_close(struct relay *relay);

/* Whom to let in. */
void relay_set_token(struct relay *relay, const uint8_t hash[KNDL_HASH_BYTES]);
/* The Hub has given a mod token, or taken it. */
void relay_set_ready(struct relay *relay, bool is_ready);

/* There is an order or an answer: looks at who waits. */
void relay_wake(struct relay *relay);

/* The batch is on the disk; `next` is the number expected then. */
void relay_taken(struct relay_held *held, uint64_t next);
/* It is not: 503, again later. */
void relay_refuse(struct relay_held *held);
