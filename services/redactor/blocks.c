/* Open blocks, in parts by the Session's hash. */

#include "blocks.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "kndl/arena.h"
#include "kndl/buf.h"
#include "kndl/clock.h"
#include "kndl/mem.h"
#include "kndl/redact.h"
#include "masks.h"

enum { PARTS = 16 };
static const int64_t idle_us = 600LL * 1000 * 1000;

/* One block. `stream` is NULL once it is passed over. */
struct block {
    struct block *next;
    char *session_id;
    char *id;
    char *subagent_id;
    char *tool_use_id;
    Kndl__Event__V1__Delta__Kind kind;
    int64_t taken_bytes; /* of the raw text: where the next piece begins */
    int64_t left_bytes;  /* of the masked text */
    int64_t used_us;
    struct masks *masks;
    struct kndl_redact_stream *stream;
};

struct part {
    pthread_mutex_t lock;
    struct block *first; /* under the lock, with all that hangs on it */
};

struct blocks {
    struct part parts[PARTS];
    _Atomic int64_t next_us; /* when blocks_expire() is called again, by what it said last */
};

struct blocks *blocks_new(void)
{
    struct blocks *blocks = kndl_new0(struct blocks);

    for (size_t i = 0; i < PARTS; i++)
        pthread_mutex_init(&blocks->parts[i].lock, NULL);
    blocks->next_us = INT64_MAX;
    return blocks;
}

static void pass_over(struct block *block)
{
    kndl_redact_stream_free(block->stream);
    masks_unref(block->masks);
    block->stream = NULL;
    block->masks = NULL;
}

static void block_free(struct block *block)
{
    pass_over(block);
    free(block->session_id);
    free(block->id);
    free(block->subagent_id);
    free(block->tool_use_id);
    free(block);
}

void blocks_free(struct blocks *blocks)
{
    if (blocks == NULL)
        return;
    for (size_t i = 0; i < PARTS; i++) {
        while (blocks->parts[i].first != NULL) {
            struct block *block = blocks->parts[i].first;
            blocks->parts[i].first = block->next;
            block_free(block);
        }
        pthread_mutex_destroy(&blocks->parts[i].lock);
    }
    free(blocks);
}

static struct part *part_of(struct blocks *blocks, const char *session_id)
{
    uint32_t hash = 2166136261u;

    for (const char *c = session_id; *c != '\0'; c++)
        hash = (hash ^ (unsigned char)*c) * 16777619u;
    return &blocks->parts[hash % PARTS];
}

/* The block, and how many the Session has. */
static struct block *find(struct part *part, const char *session_id, const char *id,
                          size_t *ret_count)
{
    struct block *found = NULL;

    *ret_count = 0;
    for (struct block *block = part->first; block != NULL; block = block->next) {
        if (strcmp(block->session_id, session_id) != 0)
            continue;
        (*ret_count)++;
        if (strcmp(block->id, id) == 0)
            found = block;
    }
    return found;
}

static struct block *add(struct part *part, const char *session_id,
                         const Kndl__Event__V1__Delta *delta)
{
    struct block *block = kndl_new0(struct block);

    block->session_id = kndl_strdup(session_id);
    block->id = kndl_strdup(delta->block_id);
    block->subagent_id = kndl_strdup(delta->subagent_id);
    block->tool_use_id = kndl_strdup(delta->tool_use_id);
    block->kind = delta->kind;
    block->next = part->first;
    part->first = block;
    return block;
}

/* From its beginning. */
static void begin(struct block *block, struct masks *masks)
{
    pass_over(block);
    block->taken_bytes = block->left_bytes = 0;
    block->masks = masks_ref(masks);
    block->stream = kndl_redact_stream_new(masks_set(masks), KNDL_REDACT_TEXT);
    kndl_redact_stream_uncount(block->stream); /* its Event brings the text again */
}

/* The block that takes this piece, or NULL if it is passed over. */
static struct block *take(struct part *part, const char *session_id, struct masks *masks,
                          const Kndl__Event__V1__Delta *delta)
{
    size_t count;
    struct block *block = find(part, session_id, delta->block_id, &count);

    if (delta->offset == 0) {
        if (block == NULL && count >= BLOCKS_PER_SESSION_MAX)
            return NULL;
        if (block == NULL)
            block = add(part, session_id, delta);
        begin(block, masks);
        return block;
    }
    if (block == NULL || block->stream == NULL)
        return NULL;
    if (block->taken_bytes != delta->offset) {
        pass_over(block);
        return NULL;
    }
    if (block->masks != masks) {
        kndl_redact_stream_swap(block->stream, masks_set(masks));
        masks_unref(block->masks);
        block->masks = masks_ref(masks);
    }
    return block;
}

/* True: the delta now holds what may leave. */
static bool feed(struct part *part, const char *session_id, struct masks *masks,
                 Kndl__Event__V1__Delta *delta, struct kndl_arena *arena, int64_t now_us)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf out = {0};
    struct kndl_slice piece = kndl_slice_of(delta->text);
    struct block *block;

    if (delta->block_id[0] == '\0' || strlen(delta->block_id) > BLOCK_ID_BYTES_MAX)
        return false;
    block = take(part, session_id, masks, delta);
    if (block == NULL)
        return false;

    /* The first piece is shown even without text: it says that the block begins. */
    bool is_first = block->taken_bytes == 0;
    kndl_redact_feed(block->stream, piece, now_us, &out);
    delta->text = kndl_arena_copy(arena, kndl_buf_text(&out));
    delta->offset = block->left_bytes;
    block->used_us = now_us;
    block->taken_bytes += (int64_t)piece.size;
    block->left_bytes += (int64_t)out.size;
    return out.size > 0 || is_first;
}

void blocks_feed(struct blocks *blocks, const char *session_id, struct masks *masks,
                 Kndl__Event__V1__Delta **deltas, size_t count, struct kndl_arena *arena,
                 blocks_fn fn, void *data)
{
    Kndl__Event__V1__Delta **shown = kndl_arena_alloc(arena, (count + 1) * sizeof *shown);
    struct part *part = part_of(blocks, session_id);
    int64_t now_us = kndl_clock_us();
    size_t shown_count = 0;

    pthread_mutex_lock(&part->lock);
    for (size_t i = 0; i < count; i++)
        if (feed(part, session_id, masks, deltas[i], arena, now_us))
            shown[shown_count++] = deltas[i];
    if (shown_count > 0)
        fn(session_id, shown, shown_count, data);
    pthread_mutex_unlock(&part->lock);
}

/* Blocks of a Session; NULL: any. */
struct which {
    const char *block_id;
    const char *tool_use_id;
    const char *subagent_id;
};

static bool is_meant(const struct which *which, const struct block *block)
{
    return (which->block_id == NULL || strcmp(block->id, which->block_id) == 0) &&
           (which->tool_use_id == NULL || strcmp(block->tool_use_id, which->tool_use_id) == 0) &&
           (which->subagent_id == NULL || strcmp(block->subagent_id, which->subagent_id) == 0);
}

static void forget(struct blocks *blocks, const char *session_id, const struct which *which)
{
    struct part *part = part_of(blocks, session_id);

    pthread_mutex_lock(&part->lock);
    for (struct block **at = &part->first; *at != NULL;) {
        struct block *block = *at;

        if (strcmp(block->session_id, session_id) != 0 || !is_meant(which, block)) {
            at = &block->next;
            continue;
        }
        *at = block->next;
        block_free(block);
    }
    pthread_mutex_unlock(&part->lock);
}

void blocks_forget(struct blocks *blocks, const char *session_id, const char *block_id)
{
    forget(blocks, session_id, &(struct which){.block_id = block_id});
}

void blocks_forget_tool(struct blocks *blocks, const char *session_id, const char *tool_use_id)
{
    forget(blocks, session_id, &(struct which){.tool_use_id = tool_use_id});
}

void blocks_forget_main(struct blocks *blocks, const char *session_id)
{
    forget(blocks, session_id, &(struct which){.subagent_id = ""});
}

void blocks_forget_all(struct blocks *blocks, const char *session_id)
{
    forget(blocks, session_id, &(struct which){0});
}

static void let_go(struct block *block, int64_t now_us, blocks_fn fn, void *data)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf out = {0};
    Kndl__Event__V1__Delta delta = KNDL__EVENT__V1__DELTA__INIT;

    kndl_redact_expire(block->stream, now_us, &out);
    if (out.size == 0)
        return;
    delta.block_id = block->id;
    delta.subagent_id = block->subagent_id;
    delta.tool_use_id = block->tool_use_id;
    delta.kind = block->kind;
    delta.offset = block->left_bytes;
    delta.text = (char *)kndl_buf_text(&out);
    block->left_bytes += (int64_t)out.size;
    fn(block->session_id, (Kndl__Event__V1__Delta *[]){&delta}, 1, data);
}

static int64_t expire_part(struct part *part, int64_t now_us, blocks_fn fn, void *data)
{
    int64_t next_us = INT64_MAX;

    for (struct block **at = &part->first; *at != NULL;) {
        struct block *block = *at;

        if (block->used_us <= now_us - idle_us) {
            *at = block->next;
            block_free(block);
            continue;
        }
        if (block->stream != NULL) {
            let_go(block, now_us, fn, data);
            int64_t deadline_us = kndl_redact_deadline(block->stream);
            next_us = deadline_us < next_us ? deadline_us : next_us;
        }
        at = &block->next;
    }
    return next_us;
}

int64_t blocks_expire(struct blocks *blocks, int64_t now_us, blocks_fn fn, void *data)
{
    int64_t next_us = INT64_MAX;

    /* What is held anew while this goes on is sooner than nothing. */
    atomic_store(&blocks->next_us, INT64_MAX);
    for (size_t i = 0; i < PARTS; i++) {
        struct part *part = &blocks->parts[i];

        pthread_mutex_lock(&part->lock);
        int64_t deadline_us = expire_part(part, now_us, fn, data);
        pthread_mutex_unlock(&part->lock);
        next_us = deadline_us < next_us ? deadline_us : next_us;
    }
    atomic_store(&blocks->next_us, next_us);
    return next_us;
}

bool blocks_are_due_sooner(struct blocks *blocks, const char *session_id)
{
    struct part *part = part_of(blocks, session_id);
    int64_t next_us = atomic_load(&blocks->next_us);
    bool is_sooner = false;

    pthread_mutex_lock(&part->lock);
    for (struct block *block = part->first; block != NULL && !is_sooner; block = block->next)
        is_sooner = block->stream != NULL && strcmp(block->session_id, session_id) == 0 &&
                    kndl_redact_deadline(block->stream) < next_us;
    pthread_mutex_unlock(&part->lock);
    return is_sooner;
}
