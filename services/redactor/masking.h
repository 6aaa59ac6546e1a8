#pragma once

/* The ways in which redactor masks: all that a Session stores or shows goes through one of these.
 */

#include <stddef.h>

#include "blocks.h"

struct kndl_arena;
struct masks;

/* Whole texts: prompts, answers, reasons; screens: last output. What comes out is in the arena. */
void masking_texts(struct masks *masks, char *const *texts, size_t count, bool are_screens,
                   struct kndl_arena *arena, char **ret_texts);

/* Events, in place. */
void masking_events(struct masks *masks, Kndl__Event__V1__Event **events, size_t count,
                    struct kndl_arena *arena);

/* Deltas of a Session: what may leave now goes to fn, as blocks_feed() says. */
void masking_deltas(struct blocks *blocks, const char *session_id, struct masks *masks,
                    Kndl__Event__V1__Delta **deltas, size_t count, struct kndl_arena *arena,
                    blocks_fn fn, void *data);
