#pragma once

/*
 * Blocks that stream: the deltas of one block are one text, masked across its pieces. A block is
 * taken from offset 0 and without a gap; after a gap, or when this copy did not see its beginning,
 * it is passed over and viewers see it by its Event.
 *
 * Shared by the raw workers and the task that lets go what was held too long. A Session's blocks
 * are in one of a few parts, each behind a lock of its own: its raw worker (one for a Session) and
 * that task alone meet there.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kndl/event/v1/event.pb-c.h"

struct blocks;
struct kndl_arena;
struct masks;

enum {
    BLOCKS_PER_SESSION_MAX = 64, /* open at once; more are passed over */
    BLOCK_ID_BYTES_MAX = 128,
};

struct blocks *blocks_new(void);
void blocks_free(struct blocks *blocks);

/* Deltas to be published for a Session, in order. Called under a lock, so that a block's deltas
 * leave in order: it must not block, and must not call back. */
typedef void (*blocks_fn)(const char *session_id, Kndl__Event__V1__Delta **deltas, size_t count,
                          void *data);

/*
 * Feeds each delta's text through its block and hands to fn those of which something may leave
 * now: with the masked text in its place and the offset that it has there. Strings that are new
 * live in the arena.
 */
void blocks_feed(struct blocks *blocks, const char *session_id, struct masks *masks,
                 Kndl__Event__V1__Delta **deltas, size_t count, struct kndl_arena *arena,
                 blocks_fn fn, void *data);

/* The Event came that replaces the block. What is held of it is wiped, here and below. */
void blocks_forget(struct blocks *blocks, const char *session_id, const char *block_id);

/* The tool call's Event came: the block in which its input streamed. */
void blocks_forget_tool(struct blocks *blocks, const char *session_id, const char *tool_use_id);

/* A Turn of the main thread ended: its Subagents' blocks stay, for these may run on. */
void blocks_forget_main(struct blocks *blocks, const char *session_id);

/* All of the Session's: the stream was opened anew. */
void blocks_forget_all(struct blocks *blocks, const char *session_id);

/* Lets go what is held past its deadline and forgets blocks that stand still for ten minutes;
 * returns the next deadline by kndl_clock_us(), when it has to be called again; INT64_MAX when
 * nothing is held. */
int64_t blocks_expire(struct blocks *blocks, int64_t now_us, blocks_fn fn, void *data);

/* Does the Session hold something whose deadline comes before blocks_expire() is called again, by
 * what that said last? Then it has to be called now. */
bool blocks_are_due_sooner(struct blocks *blocks, const char *session_id);
