/* Texts, deltas and Events as they would be sent, through masking.h. */

#include "sinks.h"

#include <string.h>

#include "kndl/arena.h"
#include "kndl/buf.h"
#include "kndl/mem.h"
#include "masking.h"

#define SINK(name) KNDL__REDACTOR__V1__TRIAL__SINK__SINK_##name
#define EVENT(name) Kndl__Event__V1__##name

static char *join(struct kndl_arena *arena, const char *first, const char *second)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf text = {0};

    kndl_buf_append_text(&text, first);
    kndl_buf_append_text(&text, second);
    return kndl_arena_copy(arena, kndl_buf_text(&text));
}

static char *pass_text(const struct sink *sink, const struct sinking *sinking, const char *first,
                       const char *second)
{
    char *text = join(sinking->arena, first, second);

    masking_texts(sinking->masks, &text, 1, sink->id == SINK(LAST_OUTPUT), sinking->arena, &text);
    return text;
}

/* ---- what streams ---- */

static void collect(const char *session_id, EVENT(Delta) * *deltas, size_t count, void *data)
{
    struct kndl_buf *shown = data;

    (void)session_id;
    for (size_t i = 0; i < count; i++)
        kndl_buf_append_text(shown, deltas[i]->text);
}

static EVENT(Delta__Kind) kind_of(const struct sink *sink)
{
    return sink->id == SINK(STREAMED_THINKING)     ? KNDL__EVENT__V1__DELTA__KIND__KIND_THINKING
           : sink->id == SINK(STREAMED_TOOL_INPUT) ? KNDL__EVENT__V1__DELTA__KIND__KIND_TOOL_INPUT
                                                   : KNDL__EVENT__V1__DELTA__KIND__KIND_TEXT;
}

static char *pass_deltas(const struct sink *sink, const struct sinking *sinking, const char *first,
                         const char *second)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf shown = {0};
    const char *const pieces[] = {first, second};
    int64_t offset = 0;

    for (size_t i = 0; i < 2; i++) {
        EVENT(Delta) delta = KNDL__EVENT__V1__DELTA__INIT;
        EVENT(Delta) * deltas[] = {&delta};

        delta.block_id = (char *)"canary";
        delta.kind = kind_of(sink);
        delta.offset = offset;
        delta.text = (char *)pieces[i];
        offset += (int64_t)strlen(pieces[i]);
        masking_deltas(sinking->blocks, sinking->session_id, sinking->masks, deltas, 1,
                       sinking->arena, collect, &shown);
    }
    blocks_forget_all(sinking->blocks, sinking->session_id);
    return kndl_arena_copy(sinking->arena, kndl_buf_text(&shown));
}

/* ---- Events ---- */

/* Makes the Event hold a message of this type; answers where the text belongs in it. */
#define HOLD(Type, TYPE, member, field)                                                            \
    do {                                                                                           \
        EVENT(Type) *held = kndl_arena_alloc(arena, sizeof *held);                                 \
        *held = (EVENT(Type))KNDL__EVENT__V1__##TYPE##__INIT;                                      \
        event->kind_case = KNDL__EVENT__V1__EVENT__KIND_##TYPE;                                    \
        event->member = held;                                                                      \
        return &held->field;                                                                       \
    } while (0)

static char **hold_question(EVENT(Event) * event, struct kndl_arena *arena)
{
    EVENT(Question) *question = kndl_arena_alloc(arena, sizeof *question);
    EVENT(Question__Asked) *asked = kndl_arena_alloc(arena, sizeof *asked);

    *asked = (EVENT(Question__Asked))KNDL__EVENT__V1__QUESTION__ASKED__INIT;
    *question = (EVENT(Question))KNDL__EVENT__V1__QUESTION__INIT;
    question->questions = kndl_arena_alloc(arena, sizeof *question->questions);
    question->questions[question->n_questions++] = asked;
    event->kind_case = KNDL__EVENT__V1__EVENT__KIND_QUESTION;
    event->question = question;
    return &asked->question;
}

static char **hold(EVENT(Event) * event, const struct sink *sink, struct kndl_arena *arena)
{
    switch (sink->id) {
    case SINK(THINKING):
        HOLD(Thinking, THINKING, thinking, text);
    case SINK(TOOL_INPUT):
        HOLD(ToolCall, TOOL_CALL, tool_call, input_json);
    case SINK(TOOL_OUTPUT):
        HOLD(ToolResult, TOOL_RESULT, tool_result, text);
    case SINK(QUESTION):
        return hold_question(event, arena);
    case SINK(SUBAGENT):
        HOLD(SubagentStarted, SUBAGENT_STARTED, subagent_started, description);
    case SINK(NOTE):
        HOLD(Note, NOTE, note, text);
    case SINK(COMPACTION):
        HOLD(Compaction, COMPACTION, compaction, summary);
    default:
        HOLD(Text, TEXT, text, text);
    }
}

static char *pass_event(const struct sink *sink, const struct sinking *sinking, const char *first,
                        const char *second)
{
    EVENT(Event) event = KNDL__EVENT__V1__EVENT__INIT;
    EVENT(Event) * events[] = {&event};
    char **text = hold(&event, sink, sinking->arena);

    *text = join(sinking->arena, first, second);
    masking_events(sinking->masks, events, 1, sinking->arena);
    return *text;
}

const struct sink sinks[] = {
    {SINK(PROMPT), false, pass_text},
    {SINK(LAST_OUTPUT), false, pass_text},
    {SINK(STREAMED_TEXT), false, pass_deltas},
    {SINK(STREAMED_THINKING), false, pass_deltas},
    {SINK(STREAMED_TOOL_INPUT), true, pass_deltas},
    {SINK(TEXT), false, pass_event},
    {SINK(THINKING), false, pass_event},
    {SINK(TOOL_INPUT), true, pass_event},
    {SINK(TOOL_OUTPUT), false, pass_event},
    {SINK(QUESTION), false, pass_event},
    {SINK(SUBAGENT), false, pass_event},
    {SINK(NOTE), false, pass_event},
    {SINK(COMPACTION), false, pass_event},
};
const size_t sink_count = sizeof sinks / sizeof sinks[0];
