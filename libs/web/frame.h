#pragma once

/*
 * WebSocket frames: what a client sends is checked, unmasked and put together to messages; the
 * first bytes of what a server sends. Pure but for the reader's own memory; one thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kndl/buf.h"
#include "kndl/slice.h"

enum {
    FRAME_CONTROL_BYTES_MAX = 125,
    FRAME_FRAGMENTS_MAX = 1000, /* of one message */
    FRAME_HEADER_BYTES_MAX = 10,
};

enum frame_opcode {
    FRAME_CONTINUATION = 0,
    FRAME_TEXT = 1,
    FRAME_BINARY = 2,
    FRAME_CLOSE = 8,
    FRAME_PING = 9,
    FRAME_PONG = 10,
};

/* Puts fragments together. `= {0}` and bytes_max is a new one; frame_reader_done() frees it. */
struct frame_reader {
    size_t bytes_max;      /* of a message */
    struct kndl_buf whole; /* the fragments so far */
    unsigned fragments;    /* 0: no message has begun */
    bool deliver_whole;    /* the last answer was `whole`: empty it first */
};

enum frame_result {
    FRAME_MORE,    /* not whole yet */
    FRAME_PART,    /* a fragment was taken; go on */
    FRAME_MESSAGE, /* payload is a binary message */
    FRAME_CONTROL, /* opcode and payload are a ping's, pong's or close's */
    FRAME_BROKEN,  /* close with `status` */
};

struct frame {
    enum frame_opcode opcode;
    struct kndl_slice payload; /* in the input or the reader; until the next call */
    int status;
};

/*
 * Takes the next frame from the front of `data`, which it unmasks in place; *ret_used is how many
 * bytes it took, also for FRAME_MORE (then 0).
 */
enum frame_result frame_next(struct frame_reader *reader, uint8_t *data, size_t size,
                             size_t *ret_used, struct frame *ret);
void frame_reader_done(struct frame_reader *reader);

/* The first bytes of a whole frame of ours; returns how many. */
size_t frame_write_header(uint8_t out[FRAME_HEADER_BYTES_MAX], enum frame_opcode opcode,
                          size_t size);
