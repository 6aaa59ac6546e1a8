/* Blocks that are open. */

#include "delta.h"

#include <stdlib.h>
#include <string.h>

#include "kndl/clock.h"
#include "kndl/loop.h"
#include "kndl/mem.h"

enum {
    BLOCKS_MAX = 64,
    HOLD_MS = 25, /* with the redactor's and the mod's own, well within 50 ms */
    PIECE_BYTES_MAX = 64 * 1024,
    ID_SIZE = 96,
};

struct block {
    bool is_open;
    uint64_t order; /* rising: the oldest has the lowest */
    char id[ID_SIZE];
    char *turn_id;
    char *subagent_id;
    char *tool_use_id;
    char *tool_name;
    int64_t step;
    int64_t index;
    enum claude_block kind;
    int64_t offset; /* of what is held back */
    struct kndl_buf held;
    bool was_named; /* the first piece, which carries the tool's name, has been sent */
};

struct deltas {
    struct deltas_options options;
    char *prefix;
    struct block blocks[BLOCKS_MAX];
    uint64_t orders;
    struct kndl_timer *timer;
    bool is_held; /* the timer runs */
    char matched[ID_SIZE];
};

static void flush_late(void *data);

struct deltas *deltas_new(const struct deltas_options *options)
{
    struct deltas *deltas = kndl_new0(struct deltas);

    deltas->options = *options;
    deltas->prefix = kndl_strdup(options->prefix);
    deltas->timer = kndl_timer_new(options->loop, flush_late, deltas);
    return deltas;
}

static void close_block(struct block *block)
{
    free(block->turn_id);
    free(block->subagent_id);
    free(block->tool_use_id);
    free(block->tool_name);
    kndl_buf_done(&block->held);
    *block = (struct block){0};
}

void deltas_free(struct deltas *deltas)
{
    if (deltas == NULL)
        return;
    for (size_t i = 0; i < BLOCKS_MAX; i++)
        close_block(&deltas->blocks[i]);
    kndl_timer_free(deltas->timer);
    free(deltas->prefix);
    free(deltas);
}

/* How much of the held text can go: at most a piece, at a character's edge. */
static size_t piece_size(const struct kndl_buf *held)
{
    size_t size = held->size < PIECE_BYTES_MAX ? held->size : PIECE_BYTES_MAX;

    while (size > 0 && size < held->size && ((uint8_t)held->data[size] & 0xc0) == 0x80)
        size--;
    return size;
}

static bool has_something(const struct block *block)
{
    return block->is_open &&
           (block->held.size > 0 || (block->kind == CLAUDE_TOOL && !block->was_named));
}

static void send_blocks(struct deltas *deltas, const char *ended_turn_id)
{
    Kndl__Event__V1__Delta pieces[BLOCKS_MAX], *list[BLOCKS_MAX];
    struct block *from[BLOCKS_MAX];
    size_t sizes[BLOCKS_MAX], count = 0, bytes = 0;
    struct kndl_buf texts[BLOCKS_MAX] = {0};

    for (size_t i = 0; i < BLOCKS_MAX && bytes < 8 * PIECE_BYTES_MAX; i++) {
        struct block *block = &deltas->blocks[i];
        Kndl__Event__V1__Delta *piece = &pieces[count];

        if (!has_something(block))
            continue;
        kndl__event__v1__delta__init(piece);
        sizes[count] = piece_size(&block->held);
        kndl_buf_append(&texts[count], block->held.data, sizes[count]);
        piece->block_id = block->id;
        piece->subagent_id = block->subagent_id;
        piece->kind = block->kind == CLAUDE_TEXT ? KNDL__EVENT__V1__DELTA__KIND__KIND_TEXT
                      : block->kind == CLAUDE_THINKING
                          ? KNDL__EVENT__V1__DELTA__KIND__KIND_THINKING
                          : KNDL__EVENT__V1__DELTA__KIND__KIND_TOOL_INPUT;
        piece->offset = block->offset;
        piece->text = (char *)kndl_buf_text(&texts[count]);
        if (block->kind == CLAUDE_TOOL) {
            piece->tool_use_id = block->tool_use_id;
            if (!block->was_named)
                piece->tool_name = block->tool_name;
        }
        bytes += sizes[count];
        from[count] = block;
        list[count] = piece;
        count++;
    }
    if (count > 0 || ended_turn_id[0] != '\0')
        deltas->options.on_send(deltas->options.data, list, count, ended_turn_id);
    for (size_t i = 0; i < count; i++) {
        from[i]->was_named = true;
        from[i]->offset += (int64_t)sizes[i];
        kndl_buf_consume(&from[i]->held, sizes[i]);
        kndl_buf_done(&texts[i]);
    }
}

void delta_flush(struct deltas *deltas)
{
    bool is_more;

    do {
        send_blocks(deltas, "");
        is_more = false;
        for (size_t i = 0; i < BLOCKS_MAX; i++)
            is_more = is_more || has_something(&deltas->blocks[i]);
    } while (is_more);
}

static void flush_late(void *data)
{
    struct deltas *deltas = data;

    deltas->is_held = false;
    delta_flush(deltas);
}

static bool is_of(const struct block *block, const struct claude_delta *piece)
{
    return block->is_open && block->step == piece->step && block->index == piece->index &&
           block->kind == piece->kind && strcmp(block->turn_id, piece->turn_id) == 0 &&
           strcmp(block->subagent_id, piece->subagent_id) == 0;
}

/* A thread that begins its next response has had all rows of the one before: what is still open of
 * that has none. */
static void close_older(struct deltas *deltas, const struct claude_delta *piece)
{
    for (size_t i = 0; i < BLOCKS_MAX; i++) {
        struct block *block = &deltas->blocks[i];

        if (block->is_open && strcmp(block->subagent_id, piece->subagent_id) == 0 &&
            (block->step != piece->step || strcmp(block->turn_id, piece->turn_id) != 0))
            close_block(block);
    }
}

static struct block *open_block(struct deltas *deltas, const struct claude_delta *piece)
{
    struct block *block = NULL;
    struct kndl_buf id = {0};

    close_older(deltas, piece);
    for (size_t i = 0; i < BLOCKS_MAX && block == NULL; i++)
        if (!deltas->blocks[i].is_open)
            block = &deltas->blocks[i];
    if (block == NULL)
        return NULL; /* more than Claude Code ever has: shown by their Events */

    block->is_open = true;
    block->order = ++deltas->orders;
    block->turn_id = kndl_strdup(piece->turn_id);
    block->subagent_id = kndl_strdup(piece->subagent_id);
    block->tool_use_id = kndl_strdup(piece->tool_use_id);
    block->tool_name = kndl_strdup(piece->tool_name);
    block->step = piece->step;
    block->index = piece->index;
    block->kind = piece->kind;
    kndl_buf_printf(&id, "%s-%llu", deltas->prefix, (unsigned long long)block->order);
    if (id.size < ID_SIZE)
        memcpy(block->id, id.data, id.size);
    kndl_buf_done(&id);
    return block;
}

void delta_put(struct deltas *deltas, const struct claude_delta *piece)
{
    struct block *block = NULL;

    for (size_t i = 0; i < BLOCKS_MAX && block == NULL; i++)
        if (is_of(&deltas->blocks[i], piece))
            block = &deltas->blocks[i];
    if (block == NULL)
        block = open_block(deltas, piece);
    if (block == NULL)
        return;
    kndl_buf_append_text(&block->held, piece->text);
    if (deltas->is_held)
        return;
    delta_flush(deltas);
    deltas->is_held = true;
    kndl_timer_start(deltas->timer, HOLD_MS, 0);
}

const char *delta_match(struct deltas *deltas, const char *subagent_id, enum claude_block kind,
                        const char *tool_use_id)
{
    struct block *oldest = NULL;

    for (size_t i = 0; i < BLOCKS_MAX; i++) {
        struct block *block = &deltas->blocks[i];

        if (!block->is_open || block->kind != kind || strcmp(block->subagent_id, subagent_id) != 0)
            continue;
        if (kind == CLAUDE_TOOL && strcmp(block->tool_use_id, tool_use_id) != 0)
            continue;
        if (oldest == NULL || block->order < oldest->order)
            oldest = block;
    }
    if (oldest == NULL)
        return "";
    delta_flush(deltas);
    memcpy(deltas->matched, oldest->id, ID_SIZE);
    close_block(oldest);
    return deltas->matched;
}

void delta_end_turn(struct deltas *deltas, const char *turn_id)
{
    delta_flush(deltas);
    for (size_t i = 0; i < BLOCKS_MAX; i++)
        if (deltas->blocks[i].is_open && deltas->blocks[i].subagent_id[0] == '\0')
            close_block(&deltas->blocks[i]);
    send_blocks(deltas, turn_id);
}
