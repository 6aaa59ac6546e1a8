#pragma once

/*
 * Text as it streams: blocks that are open, where each has got to, and what has not been sent yet.
 *
 * A block is one content block of one response of one thread. Its id is made of these, so that it
 * has the same one after a restart of this process. It ends when its row came, which names it
 * (delta_match), or with its Turn or Claude Code: then what had streamed of it is an Event of its
 * own, marked as unfinished (delta_unfinished). The first piece of a block goes at once; more are
 * held back for a moment and go together.
 *
 * What is open goes on in the next process (delta_list_open, delta_open_again; session_blocks.c
 * keeps it meanwhile). Where a piece is missing (delta_break) a block is kept up to there, and what
 * follows is neither shown nor kept: a text without its beginning cannot be masked.
 *
 * Belongs to the loop's thread.
 */

#include "claude.h"
#include "kndl/runner/v1/open_blocks.pb-c.h"

struct kndl_loop;
struct deltas;

enum { DELTA_BLOCKS_MAX = 64 }; /* open at once */

struct deltas_options {
    struct kndl_loop *loop;
    int64_t run;
    bool is_taken_back; /* an earlier process had the run: a block may be open whose beginning it
                           had */
    /* Pieces to send now, at most so many. Borrowed. `ended_turn_id`: "" or the main thread's
     * Turn, whose blocks are over. */
    void (*on_send)(void *data, Kndl__Event__V1__Delta *const *pieces, size_t count,
                    const char *ended_turn_id);
    void *data;
};

struct deltas *deltas_new(const struct deltas_options *options);
void deltas_free(struct deltas *deltas);

/* A first piece of a block that is open begins it anew: its offsets count from 0 again. */
void delta_put(struct deltas *deltas, const struct claude_delta *piece);

/* Pieces were lost: what is open is kept as far as it is here. */
void delta_break(struct deltas *deltas);

/* Whoever shows the pieces has forgotten them: what is open is sent again, from its beginning. */
void delta_send_again(struct deltas *deltas);

/* A row came: the id of the block that it ends, "" if none streamed. What was held back of it is
 * sent before this returns. Valid until the next call. */
const char *delta_match(struct deltas *deltas, const char *subagent_id, enum claude_block kind,
                        const char *tool_use_id);

/*
 * The blocks of a thread, or of every thread (NULL), are over, and no row of theirs will come: the
 * Events of those that had text, in the order they began. In the arena; returns how many.
 */
size_t delta_unfinished(struct deltas *deltas, const char *subagent_id, struct kndl_arena *arena,
                        Kndl__Event__V1__Event *ret_events[DELTA_BLOCKS_MAX]);

/* The Events of what was matched, or was unfinished, since the last call are kept, or they are not
 * and come again: then their blocks are open as before. One batch is on its way at a time, as the
 * mod keeps to; who sends more loses names of blocks of its own Session alone. */
void delta_settle(struct deltas *deltas, bool is_kept);

/* Sends what is held back, and that the main thread's Turn ended. */
void delta_end_turn(struct deltas *deltas, const char *turn_id);

/* Sends what is held back. */
void delta_flush(struct deltas *deltas);

/* ------------------------------------------------------------------------ over a restart */

/* What is open, in the order it began; returns how much. Also what is over and not settled yet.
 * Borrowed until the next call of any function here. */
size_t delta_list_open(const struct deltas *deltas,
                       Kndl__Runner__V1__OpenBlock ret_blocks[DELTA_BLOCKS_MAX]);

/* Opens what an earlier process had listed. Nothing of it is sent: delta_send_again(). */
void delta_open_again(struct deltas *deltas, Kndl__Runner__V1__OpenBlock *const *blocks,
                      size_t count);

/* That Event is kept: the block that it names is over, if it is open. */
void delta_was_told(struct deltas *deltas, const Kndl__Event__V1__Event *event);
