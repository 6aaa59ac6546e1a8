#pragma once

/*
 * Text as it streams: blocks that are open, where each has got to, and what has not been sent yet.
 *
 * A block is one content block of one response of one thread. It gets an id that is unique in the
 * Session and ends when its row came, which names it (delta_match), or when its Turn ended. The
 * first piece of a block goes at once; more are held back for a moment and go together. Nothing
 * here is ever stored: after a restart of this process a block that was open is shown only by its
 * Event.
 *
 * Belongs to the loop's thread.
 */

#include "claude.h"

struct kndl_loop;
struct deltas;

struct deltas_options {
    struct kndl_loop *loop;
    const char *prefix; /* of the ids; unique to this run and this process */
    /* Pieces to send now, at most so many. Borrowed. `ended_turn_id`: "" or the Turn whose blocks
     * are over. */
    void (*on_send)(void *data, Kndl__Event__V1__Delta *const *pieces, size_t count,
                    const char *ended_turn_id);
    void *data;
};

struct deltas *deltas_new(const struct deltas_options *options);
void deltas_free(struct deltas *deltas);

void delta_put(struct deltas *deltas, const struct claude_delta *piece);

/* A row came: the id of the block that it ends, "" if none streamed. What was held back of it is
 * sent before this returns. Valid until the next call. */
const char *delta_match(struct deltas *deltas, const char *subagent_id, enum claude_block kind,
                        const char *tool_use_id);

/* The main thread's Turn ended: its blocks, and all that is left, are over. */
void delta_end_turn(struct deltas *deltas, const char *turn_id);

/* Sends what is held back. */
void delta_flush(struct deltas *deltas);
