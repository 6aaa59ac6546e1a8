#pragma once

/* secrets, sessions and viewers in memory. Zero is a good start. */

#include <stdbool.h>
#include <stdint.h>

#include "kndl/buf.h"
#include "kndl/error.h"

/* In place of a bus: peers.c's functions take it as theirs. */
struct kndl_bus {
    /* secrets */
    enum kndl_code secrets_code; /* what GetMaskSet fails with; KNDL_OK: it answers */
    const char *values[4];
    int64_t version;
    unsigned asked;
    unsigned sets;       /* that it had to send */
    unsigned reports;    /* of hits, answered or not */
    int64_t reported;    /* the number of the newest */
    int64_t counts[2];   /* of the first value, and of the others */
    bool loses_answer;   /* it counts, and nobody hears of it */
    bool forgets_canary; /* a set lacks the value that is tested with */

    /* sessions */
    enum kndl_code sessions_code;
    int64_t expected_n;
    struct kndl_buf stored; /* texts of the Events, each with a line break */
    uint8_t mod_token_hash[32];
    unsigned batches;

    /* viewers */
    struct kndl_buf shown; /* the deltas' texts, in a row */
    int64_t next_offset;   /* where the next delta has to begin */
    bool is_out_of_order;
    unsigned deltas;
};
