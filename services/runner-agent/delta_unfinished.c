/* What was cut off as it streamed, as Events. */

#include "delta_parts.h"

#include <string.h>

#define EV1(name) Kndl__Event__V1__##name

static void set_text(const struct block *block, struct kndl_arena *arena, EV1(Event) * event)
{
    EV1(Text) *text = kndl_arena_alloc(arena, sizeof *text);

    kndl__event__v1__text__init(text);
    text->block_id = kndl_arena_copy(arena, block->id);
    text->text = kndl_arena_copy(arena, kndl_buf_text(&block->text));
    text->is_unfinished = true;
    if (block->full_bytes > (int64_t)block->text.size)
        text->full_bytes = block->full_bytes;
    event->kind_case = KNDL__EVENT__V1__EVENT__KIND_TEXT;
    event->text = text;
}

static void set_thinking(const struct block *block, struct kndl_arena *arena, EV1(Event) * event)
{
    EV1(Thinking) *thinking = kndl_arena_alloc(arena, sizeof *thinking);

    kndl__event__v1__thinking__init(thinking);
    thinking->block_id = kndl_arena_copy(arena, block->id);
    thinking->text = kndl_arena_copy(arena, kndl_buf_text(&block->text));
    thinking->is_unfinished = true;
    if (block->full_bytes > (int64_t)block->text.size)
        thinking->full_bytes = block->full_bytes;
    event->kind_case = KNDL__EVENT__V1__EVENT__KIND_THINKING;
    event->thinking = thinking;
}

static void set_note(struct kndl_arena *arena, EV1(Event) * event)
{
    EV1(Note) *note = kndl_arena_alloc(arena, sizeof *note);

    kndl__event__v1__note__init(note);
    note->level = KNDL__EVENT__V1__NOTE__LEVEL__LEVEL_WARNING;
    note->note_code = kndl_arena_copy(arena, "text_lost");
    note->text = kndl_arena_copy(arena, "What Claude was writing here was cut off, and is lost: "
                                        "the Runner restarted while it streamed.");
    event->kind_case = KNDL__EVENT__V1__EVENT__KIND_NOTE;
    event->note = note;
}

static void set_tool_call(const struct block *block, struct kndl_arena *arena, EV1(Event) * event)
{
    EV1(ToolCall) *call = kndl_arena_alloc(arena, sizeof *call);

    kndl__event__v1__tool_call__init(call);
    call->tool_use_id = kndl_arena_copy(arena, block->tool_use_id);
    call->name = kndl_arena_copy(arena, block->tool_name);
    call->input_json = kndl_arena_copy(arena, kndl_buf_text(&block->text));
    call->is_unfinished = true;
    if (block->full_bytes > (int64_t)block->text.size)
        call->full_bytes = block->full_bytes;
    event->kind_case = KNDL__EVENT__V1__EVENT__KIND_TOOL_CALL;
    event->tool_call = call;
}

static void set_kind(const struct block *block, struct kndl_arena *arena, EV1(Event) * event)
{
    switch (block->kind) {
    case CLAUDE_TEXT:
        set_text(block, arena, event);
        return;
    case CLAUDE_THINKING:
        set_thinking(block, arena, event);
        return;
    case CLAUDE_TOOL:
        set_tool_call(block, arena, event);
        return;
    }
}

/* NULL: there is nothing of it to keep. */
static EV1(Event) * make_event(const struct block *block, struct kndl_arena *arena)
{
    bool is_lost = block->is_broken && block->text.size == 0;
    EV1(Event) * event;

    /* A tool call without its beginning is none that a row could name: it may have been made. */
    if (block->full_bytes == 0 || (is_lost && block->kind == CLAUDE_TOOL))
        return NULL;
    event = kndl_arena_alloc(arena, sizeof *event);
    kndl__event__v1__event__init(event);
    event->subagent_id = kndl_arena_copy(arena, block->subagent_id);
    if (is_lost)
        set_note(arena, event);
    else
        set_kind(block, arena, event);
    return event;
}

static struct block *oldest_left(struct deltas *deltas, const char *subagent_id)
{
    struct block *oldest = NULL;

    for (size_t i = 0; i < DELTA_BLOCKS_MAX; i++) {
        struct block *block = &deltas->blocks[i];

        if (block->is_open && !block->is_over &&
            (subagent_id == NULL || strcmp(block->subagent_id, subagent_id) == 0) &&
            (oldest == NULL || block->order < oldest->order))
            oldest = block;
    }
    return oldest;
}

size_t delta_unfinished(struct deltas *deltas, const char *subagent_id, struct kndl_arena *arena,
                        Kndl__Event__V1__Event *ret_events[DELTA_BLOCKS_MAX])
{
    struct block *block;
    size_t count = 0;

    delta_flush(deltas);
    while ((block = oldest_left(deltas, subagent_id)) != NULL) {
        EV1(Event) *event = make_event(block, arena);

        block->is_over = true;
        if (event != NULL)
            ret_events[count++] = event;
    }
    return count;
}

void delta_settle(struct deltas *deltas, bool is_kept)
{
    for (size_t i = 0; i < DELTA_BLOCKS_MAX; i++) {
        struct block *block = &deltas->blocks[i];

        if (block->is_over && is_kept)
            delta_close(block);
        block->is_over = false;
    }
}
