/* A set and its owners' counts. */

#include "masks.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "hits.h"
#include "kndl/clock.h"
#include "kndl/mem.h"

struct owner {
    struct owner *next;
    size_t index; /* of the value */
    struct counted counted;
};

struct masks {
    atomic_size_t references;
    struct kndl_redact_set *set;
    int64_t version;
    struct hits *hits;
    struct owner *owners;
    pthread_mutex_t lock;
    uint64_t *taken; /* under the lock: of each value, the hits that were handed over */
};

struct masks *masks_new(struct kndl_redact_set *set, int64_t version, struct hits *hits)
{
    struct masks *masks = kndl_new0(struct masks);

    masks->references = 1;
    masks->set = set;
    masks->version = version;
    masks->hits = hits;
    masks->taken = kndl_new_array(uint64_t, kndl_redact_set_count(set) + 1);
    pthread_mutex_init(&masks->lock, NULL);
    return masks;
}

void masks_count_for(struct masks *masks, size_t index, const struct counted *counted)
{
    struct owner *owner = kndl_new0(struct owner);

    owner->index = index;
    owner->counted = *counted;
    owner->counted.id = kndl_strdup(counted->id);
    owner->next = masks->owners;
    masks->owners = owner;
}

struct masks *masks_ref(struct masks *masks)
{
    atomic_fetch_add_explicit(&masks->references, 1, memory_order_relaxed);
    return masks;
}

void masks_unref(struct masks *masks)
{
    if (masks == NULL ||
        atomic_fetch_sub_explicit(&masks->references, 1, memory_order_acq_rel) != 1)
        return;
    masks_count(masks);
    while (masks->owners != NULL) {
        struct owner *owner = masks->owners;

        masks->owners = owner->next;
        free(owner->counted.id);
        free(owner);
    }
    kndl_redact_set_unref(masks->set);
    pthread_mutex_destroy(&masks->lock);
    free(masks->taken);
    free(masks);
}

void masks_drop(struct masks *const *masks)
{
    masks_unref(*masks);
}

struct kndl_redact_set *masks_set(struct masks *masks)
{
    return masks->set;
}

int64_t masks_version(const struct masks *masks)
{
    return masks->version;
}

/* Hits of one value since the last time. */
static uint64_t take(struct masks *masks, size_t index)
{
    uint64_t hits = kndl_redact_set_hits(masks->set, index);
    uint64_t fresh = hits - masks->taken[index];

    masks->taken[index] = hits;
    return fresh;
}

void masks_count(struct masks *masks)
{
    int64_t now_ms = kndl_clock_wall_ms();
    size_t count = kndl_redact_set_count(masks->set);

    pthread_mutex_lock(&masks->lock);
    for (size_t i = 0; i < count; i++) {
        uint64_t fresh = take(masks, i);

        for (struct owner *owner = masks->owners; fresh > 0 && owner != NULL; owner = owner->next)
            if (owner->index == i)
                hits_add(masks->hits, &owner->counted, (int64_t)fresh, now_ms);
    }
    pthread_mutex_unlock(&masks->lock);
}
