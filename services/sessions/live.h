#pragma once

/*
 * Tells viewers what a transaction did, once it is committed: the new Events on the Session's live
 * subject, and its row for lists. What gets lost here is found by number (Heads).
 */

#include <stdint.h>

struct changes;
struct kndl_arena;
struct kndl_bus;

/* relay_at_us: of the batch that caused it, 0 for all else. Never fails: the thing is stored. */
void live_publish(struct kndl_bus *bus, struct kndl_arena *arena, const struct changes *changes,
                  int64_t relay_at_us);
