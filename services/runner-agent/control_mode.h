#pragma once

/*
 * tmux's control mode, as a parser of bytes: what a client that was started with -C writes.
 *
 * Each command of ours is answered by one block, in the order they were sent; blocks of others
 * (flags 0) are skipped. Text inside a block may look like protocol, so a block ends only at the
 * guard that repeats its own time, number and flags; the caller whose command prints what a
 * program chose must count rows itself. Foreign bytes: lines and blocks are bounded, and what goes
 * over ends the client (`is_broken`).
 *
 * Pure; one thread at a time.
 */

#include <stdbool.h>
#include <stddef.h>

#include "kndl/buf.h"
#include "kndl/slice.h"

enum {
    CONTROL_LINE_BYTES_MAX = 1024 * 1024,
    CONTROL_BLOCK_BYTES_MAX = 4 * 1024 * 1024,
};

struct control_mode {
    /* A block of ours is whole: its lines, joined by line breaks. */
    void (*on_block)(void *data, bool ok, struct kndl_slice text);
    /* A line outside of any block, such as "%session-changed $0 s". May be NULL. */
    void (*on_notice)(void *data, struct kndl_slice line);
    void *data;

    struct kndl_buf line; /* the line that is not whole yet */
    char guard[96];       /* "<time> <number> <flags>" of the open block, "" outside */
    bool is_ours;
    bool is_broken; /* nothing is read any more */
    struct kndl_buf block;
};

void control_mode_done(struct control_mode *control);

/* Takes the next bytes and calls back for what became whole. */
void control_mode_feed(struct control_mode *control, struct kndl_slice bytes);
