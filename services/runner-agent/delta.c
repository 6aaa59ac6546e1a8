/* Blocks that are open. */

#include "delta_parts.h"

#include <stdlib.h>
#include <string.h>

#include "kndl/loop.h"
#include "kndl/mem.h"
#include "kndl/token.h"

enum {
    BLOCKS_MAX = DELTA_BLOCKS_MAX,
    HOLD_MS = 25, /* with the redactor's and the mod's own, well within 50 ms */
    PIECE_BYTES_MAX = 64 * 1024,
    TEXT_BYTES_MAX = 256 * 1024,   /* of one block, as of every text that goes to the redactor */
    TEXTS_BYTES_MAX = 1024 * 1024, /* of all blocks */
    ID_HASH_BYTES = (DELTA_ID_SIZE - 1) / 2,
};

static void flush_late(void *data);

struct deltas *deltas_new(const struct deltas_options *options)
{
    struct deltas *deltas = kndl_new0(struct deltas);

    deltas->options = *options;
    deltas->timer = kndl_timer_new(options->loop, flush_late, deltas);
    return deltas;
}

void delta_close(struct block *block)
{
    free(block->turn_id);
    free(block->subagent_id);
    free(block->tool_use_id);
    free(block->tool_name);
    kndl_buf_done(&block->held);
    kndl_buf_done(&block->text);
    *block = (struct block){0};
}

void deltas_free(struct deltas *deltas)
{
    if (deltas == NULL)
        return;
    for (size_t i = 0; i < BLOCKS_MAX; i++)
        delta_close(&deltas->blocks[i]);
    kndl_timer_free(deltas->timer);
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
    return block->is_open && !block->is_broken &&
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
    return block->is_open && !block->is_over && block->step == piece->step &&
           block->index == piece->index && block->kind == piece->kind &&
           strcmp(block->turn_id, piece->turn_id) == 0 &&
           strcmp(block->subagent_id, piece->subagent_id) == 0;
}

/* A thread that begins its next response has had all rows of the one before: what is still open of
 * that has none, and was taken back by Claude Code. */
static void close_older(struct deltas *deltas, const struct claude_delta *piece)
{
    for (size_t i = 0; i < BLOCKS_MAX; i++) {
        struct block *block = &deltas->blocks[i];

        if (block->is_open && !block->is_over &&
            strcmp(block->subagent_id, piece->subagent_id) == 0 &&
            (block->step != piece->step || strcmp(block->turn_id, piece->turn_id) != 0))
            delta_close(block);
    }
}

/* What it is, told apart from every other of the Session. */
static void make_id(const struct deltas *deltas, const struct claude_delta *piece,
                    char ret_id[DELTA_ID_SIZE])
{
    static const char digits[] = "0123456789abcdef";
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf what = {0};
    uint8_t hash[KNDL_HASH_BYTES];

    kndl_buf_printf(&what, "%lld %lld %lld %d %zu ", (long long)deltas->options.run,
                    (long long)piece->step, (long long)piece->index, (int)piece->kind,
                    strlen(piece->turn_id));
    kndl_buf_append_text(&what, piece->turn_id);
    kndl_buf_append_text(&what, piece->subagent_id);
    kndl_hash(kndl_buf_slice(&what), hash);
    for (size_t i = 0; i < ID_HASH_BYTES; i++) {
        ret_id[2 * i] = digits[hash[i] >> 4];
        ret_id[2 * i + 1] = digits[hash[i] & 0xf];
    }
    ret_id[DELTA_ID_SIZE - 1] = '\0';
}

struct block *delta_open(struct deltas *deltas, const struct claude_delta *piece)
{
    struct block *block = NULL;

    for (size_t i = 0; i < BLOCKS_MAX && block == NULL; i++)
        if (!deltas->blocks[i].is_open)
            block = &deltas->blocks[i];
    if (block == NULL)
        return NULL; /* more than Claude Code ever has: shown by their Events */

    block->is_open = true;
    block->is_broken = !piece->is_first;
    block->order = ++deltas->orders;
    block->turn_id = kndl_strdup(piece->turn_id);
    block->subagent_id = kndl_strdup(piece->subagent_id);
    block->tool_use_id = kndl_strdup(piece->tool_use_id);
    block->tool_name = kndl_strdup(piece->tool_name);
    block->step = piece->step;
    block->index = piece->index;
    block->kind = piece->kind;
    make_id(deltas, piece, block->id);
    return block;
}

/* The block that a piece begins or, for one that goes on, had begun before this process. */
static struct block *begin_block(struct deltas *deltas, const struct claude_delta *piece)
{
    if (!piece->is_first && !deltas->options.is_taken_back)
        return NULL; /* it comes late: the block is over */
    close_older(deltas, piece);
    return delta_open(deltas, piece);
}

void delta_keep_text(struct deltas *deltas, struct block *block, struct kndl_slice text)
{
    size_t room = TEXTS_BYTES_MAX, size;

    for (size_t i = 0; i < BLOCKS_MAX; i++)
        room -= deltas->blocks[i].text.size;
    if (room > TEXT_BYTES_MAX - block->text.size)
        room = TEXT_BYTES_MAX - block->text.size;
    if (block->full_bytes > (int64_t)block->text.size)
        room = 0;
    size = text.size < room ? text.size : room;
    while (size > 0 && size < text.size && ((uint8_t)text.data[size] & 0xc0) == 0x80)
        size--;
    kndl_buf_append(&block->text, text.data, size);
    block->full_bytes += (int64_t)text.size;
}

/* A response that was lost and asked for again comes from its beginning: what had streamed of this
 * block and of those behind it is taken back. */
static void take_back(struct deltas *deltas, const struct claude_delta *piece)
{
    for (size_t i = 0; i < BLOCKS_MAX; i++) {
        struct block *block = &deltas->blocks[i];

        if (block->is_open && !block->is_over && block->index >= piece->index &&
            block->step == piece->step && strcmp(block->turn_id, piece->turn_id) == 0 &&
            strcmp(block->subagent_id, piece->subagent_id) == 0)
            delta_close(block);
    }
}

void delta_put(struct deltas *deltas, const struct claude_delta *piece)
{
    struct block *block = NULL;

    if (piece->is_first)
        take_back(deltas, piece);
    for (size_t i = 0; i < BLOCKS_MAX && block == NULL; i++)
        if (is_of(&deltas->blocks[i], piece))
            block = &deltas->blocks[i];
    if (block == NULL)
        block = begin_block(deltas, piece);
    if (block == NULL)
        return;
    if (block->is_broken) {
        block->full_bytes += (int64_t)strlen(piece->text);
        return;
    }
    kndl_buf_append_text(&block->held, piece->text);
    delta_keep_text(deltas, block, kndl_slice_of(piece->text));
    if (deltas->is_held)
        return;
    delta_flush(deltas);
    deltas->is_held = true;
    kndl_timer_start(deltas->timer, HOLD_MS, 0);
}

void delta_break(struct deltas *deltas)
{
    delta_flush(deltas);
    for (size_t i = 0; i < BLOCKS_MAX; i++)
        deltas->blocks[i].is_broken = deltas->blocks[i].is_open;
}

void delta_send_again(struct deltas *deltas)
{
    for (size_t i = 0; i < BLOCKS_MAX; i++) {
        struct block *block = &deltas->blocks[i];

        if (!block->is_open || block->is_over || block->is_broken ||
            block->full_bytes > (int64_t)block->text.size)
            continue;
        kndl_buf_clear(&block->held);
        kndl_buf_append(&block->held, block->text.data, block->text.size);
        block->offset = 0;
        block->was_named = false;
    }
    delta_flush(deltas);
}

const char *delta_match(struct deltas *deltas, const char *subagent_id, enum claude_block kind,
                        const char *tool_use_id)
{
    struct block *oldest = NULL;

    for (size_t i = 0; i < BLOCKS_MAX; i++) {
        struct block *block = &deltas->blocks[i];

        if (!block->is_open || block->is_over || block->kind != kind ||
            strcmp(block->subagent_id, subagent_id) != 0)
            continue;
        if (kind == CLAUDE_TOOL && strcmp(block->tool_use_id, tool_use_id) != 0)
            continue;
        if (oldest == NULL || block->order < oldest->order)
            oldest = block;
    }
    if (oldest == NULL)
        return "";
    delta_flush(deltas);
    oldest->is_over = true;
    return oldest->id;
}

void delta_end_turn(struct deltas *deltas, const char *turn_id)
{
    delta_flush(deltas);
    send_blocks(deltas, turn_id);
}
