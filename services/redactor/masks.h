#pragma once

/*
 * What to mask for a Session (or a person and a Repo), as secrets said it once: the engine's set,
 * its version, and for whom each value's hits are counted. It never changes, is counted by
 * reference and may be used by any thread. Its last reference hands over what was found since
 * masks_count().
 */

#include <stdint.h>

#include "kndl/redact.h"

struct counted;
struct hits;
struct masks;

/* Takes the caller's reference of the set. `hits` outlives it. */
struct masks *masks_new(struct kndl_redact_set *set, int64_t version, struct hits *hits);

/* Hits of the value at this index of the set count for this, too. Before others have the masks. */
void masks_count_for(struct masks *masks, size_t index, const struct counted *counted);

struct masks *masks_ref(struct masks *masks);
void masks_unref(struct masks *masks);       /* NULL is fine */
void masks_drop(struct masks *const *masks); /* the same, for KNDL_CLEANUP */

struct kndl_redact_set *masks_set(struct masks *masks); /* borrowed */
int64_t masks_version(const struct masks *masks);

/* Hands what was found since the last time to `hits`. */
void masks_count(struct masks *masks);
