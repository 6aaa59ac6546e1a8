/* What is open, for the next process. */

#include "delta_parts.h"

#include <stdlib.h>
#include <string.h>

#define RV1(name) Kndl__Runner__V1__##name
#define DELTA_KIND(name) KNDL__EVENT__V1__DELTA__KIND__KIND_##name

static int by_order(const void *a, const void *b)
{
    const struct block *x = *(const struct block *const *)a, *y = *(const struct block *const *)b;

    return (x->order > y->order) - (x->order < y->order);
}

static void describe(const struct block *block, RV1(OpenBlock) * out)
{
    static const Kndl__Event__V1__Delta__Kind kinds[] = {
        [CLAUDE_TEXT] = DELTA_KIND(TEXT),
        [CLAUDE_THINKING] = DELTA_KIND(THINKING),
        [CLAUDE_TOOL] = DELTA_KIND(TOOL_INPUT),
    };

    kndl__runner__v1__open_block__init(out);
    out->turn_id = block->turn_id;
    out->subagent_id = block->subagent_id;
    out->step = block->step;
    out->index = block->index;
    out->kind = kinds[block->kind];
    out->tool_use_id = block->tool_use_id;
    out->tool_name = block->tool_name;
    out->text = (char *)kndl_buf_text(&block->text);
    out->full_bytes = block->full_bytes;
    out->is_broken = block->is_broken;
}

size_t delta_list_open(const struct deltas *deltas, RV1(OpenBlock) ret_blocks[DELTA_BLOCKS_MAX])
{
    const struct block *open[DELTA_BLOCKS_MAX];
    size_t count = 0;

    for (size_t i = 0; i < DELTA_BLOCKS_MAX; i++)
        if (deltas->blocks[i].is_open)
            open[count++] = &deltas->blocks[i];
    qsort(open, count, sizeof open[0], by_order);
    for (size_t i = 0; i < count; i++)
        describe(open[i], &ret_blocks[i]);
    return count;
}

static void open_again(struct deltas *deltas, const RV1(OpenBlock) * from)
{
    struct claude_delta piece = {
        .turn_id = from->turn_id,
        .subagent_id = from->subagent_id,
        .step = from->step,
        .index = from->index,
        .kind = from->kind == DELTA_KIND(TEXT)       ? CLAUDE_TEXT
                : from->kind == DELTA_KIND(THINKING) ? CLAUDE_THINKING
                                                     : CLAUDE_TOOL,
        .is_first = true,
        .tool_use_id = from->tool_use_id,
        .tool_name = from->tool_name,
    };
    struct block *block = delta_open(deltas, &piece);

    if (block == NULL)
        return;
    delta_keep_text(deltas, block, kndl_slice_of(from->text));
    block->full_bytes = block->offset = from->full_bytes;
    block->is_broken = from->is_broken;
    block->was_named = true;
}

void delta_open_again(struct deltas *deltas, RV1(OpenBlock) *const *blocks, size_t count)
{
    for (size_t i = 0; i < count; i++)
        open_again(deltas, blocks[i]);
}

/* What names the block of an Event: its id, or the tool call's. */
static const char *name_of(const Kndl__Event__V1__Event *event)
{
    switch ((int)event->kind_case) {
    case KNDL__EVENT__V1__EVENT__KIND_TEXT:
        return event->text->block_id;
    case KNDL__EVENT__V1__EVENT__KIND_THINKING:
        return event->thinking->block_id;
    case KNDL__EVENT__V1__EVENT__KIND_TOOL_CALL:
        return event->tool_call->tool_use_id;
    default:
        return "";
    }
}

void delta_was_told(struct deltas *deltas, const Kndl__Event__V1__Event *event)
{
    const char *name = name_of(event);

    for (size_t i = 0; name[0] != '\0' && i < DELTA_BLOCKS_MAX; i++) {
        struct block *block = &deltas->blocks[i];

        if (block->is_open &&
            strcmp(block->kind == CLAUDE_TOOL ? block->tool_use_id : block->id, name) == 0)
            delta_close(block);
    }
}
