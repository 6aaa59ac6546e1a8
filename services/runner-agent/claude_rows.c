/* Rows of the conversation, as Events: by the mod's session.append, or a line of the transcript. */

#include "claude_rows.h"

#include <stdlib.h>
#include <string.h>

#include "kndl/mem.h"

#define EV1(name) Kndl__Event__V1__##name

/* One row, wherever it was read. */
struct row {
    const char *door;   /* how it came in */
    const char *origin; /* who caused it */
    const char *plugin; /* of origin "plugin" */
    const char *model;  /* of origin "model" */
    const char *uuid;
    const char *subagent_id;
    bool is_meta;
    const struct kndl_value *message; /* says how long its text was */
    const struct kndl_value *content; /* text or blocks */
};

void claude_add_note(struct claude_news *news, struct kndl_arena *arena, const char *code,
                     const char *text)
{
    EV1(Note) *note = kndl_arena_alloc(arena, sizeof *note);
    EV1(Event) *event = claude_add_event(news, arena);

    kndl__event__v1__note__init(note);
    note->level = KNDL__EVENT__V1__NOTE__LEVEL__LEVEL_INFO;
    note->note_code = kndl_arena_copy(arena, code);
    note->text = kndl_arena_copy(arena, text);
    event->kind_case = KNDL__EVENT__V1__EVENT__KIND_NOTE;
    event->note = note;
}

/* The next Event of a row. A row's first has its uuid, the others that and their place. */
static EV1(Event) *
    next_event(const struct row *row, struct kndl_arena *arena, struct claude_news *news)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf id = {0};
    size_t place = news->count;
    EV1(Event) *event = claude_add_event(news, arena);

    kndl_buf_append_text(&id, row->uuid);
    if (place > 0 && row->uuid[0] != '\0')
        kndl_buf_printf(&id, "#%zu", place);
    event->source_id = kndl_arena_copy(arena, kndl_buf_text(&id));
    event->subagent_id = kndl_arena_copy(arena, row->subagent_id);
    return event;
}

/* All text of a row: its string, which `holder` has, or its text blocks, a line between. How many
 * bytes of it the mod left out. */
static int64_t append_text(const struct kndl_value *holder, const struct kndl_value *content,
                           struct kndl_buf *out)
{
    int64_t missing = 0;

    if (kndl_json_kind(content) == KNDL_JSON_STRING) {
        kndl_buf_append_text(out, kndl_json_text(content, ""));
        return claude_missing(holder, kndl_json_text(content, ""));
    }
    for (size_t i = 0; i < kndl_json_count(content); i++) {
        const struct kndl_value *block = kndl_json_at(content, i);
        const char *type = kndl_json_text(kndl_json_get(block, "type"), "");
        const char *text = kndl_json_text(kndl_json_get(block, "text"), NULL);

        if (out->size > 0 && (text != NULL || strcmp(type, "image") == 0))
            kndl_buf_append_char(out, '\n');
        if (text != NULL)
            kndl_buf_append_text(out, text);
        missing += claude_missing(block, text == NULL ? "" : text);
        if (text != NULL)
            continue;
        if (strcmp(type, "image") == 0 || strcmp(type, "document") == 0)
            kndl_buf_printf(out, "[%s]", type);
    }
    return missing;
}

/* ------------------------------------------------------------------------------- prompts */

static void add_prompt(const struct row *row, const char *text, int64_t missing,
                       const char *prompt_id, EV1(Prompt__Origin) origin, struct kndl_arena *arena,
                       struct claude_news *news)
{
    EV1(Prompt) *prompt = kndl_arena_alloc(arena, sizeof *prompt);
    EV1(Event) *event = next_event(row, arena, news);

    kndl__event__v1__prompt__init(prompt);
    prompt->text = claude_cut_text(text, missing, arena, &prompt->full_bytes);
    prompt->prompt_id = kndl_arena_copy(arena, prompt_id);
    prompt->origin = origin;
    event->kind_case = KNDL__EVENT__V1__EVENT__KIND_PROMPT;
    event->prompt = prompt;
    news->prompt_id = prompt->prompt_id;
}

const char *claude_known_prompt(const struct claude_reader *reader, const char *id)
{
    for (size_t i = 0; i < CLAUDE_KNOWN_MAX; i++)
        if (id[0] != '\0' && strcmp(reader->known[i].id, id) == 0)
            return reader->known[i].prompt_id;
    return NULL;
}

void claude_know_prompt(struct claude_reader *reader, const char *id, const char *prompt_id)
{
    struct claude_known *known;

    if (prompt_id[0] == '\0' || claude_known_prompt(reader, id) != NULL ||
        strlen(id) >= sizeof known->id || strlen(prompt_id) >= sizeof known->prompt_id)
        return;
    known = &reader->known[reader->known_at++ % CLAUDE_KNOWN_MAX];
    memcpy(known->id, id, strlen(id) + 1);
    memcpy(known->prompt_id, prompt_id, strlen(prompt_id) + 1);
}

static const char *prompt_of_row(struct claude_reader *reader, const struct row *row,
                                 const char *text, bool was_typed)
{
    const char *known = claude_known_prompt(reader, row->uuid);

    if (known == NULL)
        known = reader->links.match_prompt(reader->links.data, text, was_typed);
    claude_know_prompt(reader, row->uuid, known);
    return known;
}

static void read_prompt(struct claude_reader *reader, const struct row *row,
                        struct kndl_arena *arena, struct claude_news *news)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf text = {0};
    EV1(Prompt__Origin) origin = KNDL__EVENT__V1__PROMPT__ORIGIN__ORIGIN_SYSTEM;
    bool was_typed = strcmp(row->origin, "composer") == 0 || strcmp(row->origin, "human") == 0;
    bool is_ours =
        strcmp(row->origin, "plugin") == 0 && strcmp(row->plugin, "hub-link-commands") == 0;
    const char *prompt_id = "";
    int64_t missing = append_text(row->message, row->content, &text);

    if ((is_ours || was_typed) && row->subagent_id[0] == '\0')
        prompt_id = prompt_of_row(reader, row, kndl_buf_text(&text), was_typed);
    /* Whatever runs in the Sandbox can post a row that looks like ours: what nobody queued through
     * kndl is not shown as if it had been. */
    if (prompt_id[0] != '\0')
        origin = KNDL__EVENT__V1__PROMPT__ORIGIN__ORIGIN_PERSON;
    else if (is_ours || was_typed)
        origin = KNDL__EVENT__V1__PROMPT__ORIGIN__ORIGIN_TERMINAL;
    add_prompt(row, kndl_buf_text(&text), missing, prompt_id, origin, arena, news);
    if (prompt_id[0] != '\0') {
        free(reader->started_prompt);
        reader->started_prompt = kndl_strdup(prompt_id);
    }
}

/* A text that waits in Claude Code's queue: remembered, for a delivery wraps it in a reminder. */
static void remember_queued(struct claude_reader *reader, const struct row *row)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf text = {0};
    char **place = &reader->queued[reader->queued_at++ % CLAUDE_STEERS_MAX];

    (void)append_text(row->message, row->content, &text);
    free(*place);
    *place = text.size > CLAUDE_TEXT_BYTES_MAX ? NULL : kndl_buf_take(&text);
}

/* What was typed while a Turn ran, given to that Turn. */
static void read_delivery(struct claude_reader *reader, const struct row *row,
                          struct kndl_arena *arena, struct claude_news *news)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf text = {0};
    const char *said;
    int64_t missing;

    if (strcmp(row->origin, "composer") != 0 && strcmp(row->origin, "human") != 0)
        return;
    missing = append_text(row->message, row->content, &text);
    said = kndl_buf_text(&text);
    for (size_t i = 0; i < CLAUDE_STEERS_MAX; i++) {
        const char *queued = reader->queued[i];

        if (queued != NULL && queued[0] != '\0' && strstr(kndl_buf_text(&text), queued) != NULL)
            said = queued;
    }
    if (said != kndl_buf_text(&text))
        missing = 0;
    add_prompt(row, said, missing, "", KNDL__EVENT__V1__PROMPT__ORIGIN__ORIGIN_STEER, arena, news);
}

/* ----------------------------------------------------------------------------- responses */

static void add_text(struct claude_reader *reader, const struct row *row,
                     const struct kndl_value *block, struct kndl_arena *arena,
                     struct claude_news *news)
{
    const char *text = kndl_json_text(kndl_json_get(block, "text"), "");
    EV1(Text) * said;
    EV1(Event) * event;

    if (text[0] == '\0')
        return;
    said = kndl_arena_alloc(arena, sizeof *said);
    kndl__event__v1__text__init(said);
    said->block_id = kndl_arena_copy(
        arena, reader->links.match_block(reader->links.data, row->subagent_id, CLAUDE_TEXT, ""));
    said->text = claude_cut_text(text, claude_missing(block, text), arena, &said->full_bytes);
    event = next_event(row, arena, news);
    event->kind_case = KNDL__EVENT__V1__EVENT__KIND_TEXT;
    event->text = said;
}

static void add_thinking(struct claude_reader *reader, const struct row *row,
                         const struct kndl_value *block, struct kndl_arena *arena,
                         struct claude_news *news)
{
    const char *text = kndl_json_text(kndl_json_get(block, "thinking"), "");
    const char *block_id =
        reader->links.match_block(reader->links.data, row->subagent_id, CLAUDE_THINKING, "");
    EV1(Thinking) * thought;
    EV1(Event) * event;

    if (text[0] == '\0')
        return; /* thinking that Anthropic keeps to itself */
    thought = kndl_arena_alloc(arena, sizeof *thought);
    kndl__event__v1__thinking__init(thought);
    thought->block_id = kndl_arena_copy(arena, block_id);
    thought->text = claude_cut_text(text, claude_missing(block, text), arena, &thought->full_bytes);
    event = next_event(row, arena, news);
    event->kind_case = KNDL__EVENT__V1__EVENT__KIND_THINKING;
    event->thinking = thought;
}

/*
 * A tool's input that is too long to keep: the object with the long members left out and their
 * lengths in their place. Never a cut string, for the cut could go through a value to be masked.
 */
static void append_short_input(const struct kndl_value *input, struct kndl_buf *out)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf member = {0};

    kndl_buf_append_char(out, '{');
    for (size_t i = 0; i < kndl_json_count(input) && i < 64; i++) {
        const char *key;
        const struct kndl_value *value = kndl_json_member(input, i, &key);

        kndl_buf_clear(&member);
        kndl_json_dump(value, &member);
        if (strlen(key) > CLAUDE_WORD_BYTES_MAX)
            continue;
        kndl_buf_append_text(out, out->size > 1 ? "," : "");
        kndl_json_append_string(out, key);
        if (member.size > 2048)
            kndl_buf_printf(out, ":\"(%zu bytes)\"", member.size);
        else
            kndl_buf_printf(out, ":%s", kndl_buf_text(&member));
    }
    kndl_buf_append_char(out, '}');
}

static void add_tool_call(struct claude_reader *reader, const struct row *row,
                          const struct kndl_value *block, struct kndl_arena *arena,
                          struct claude_news *news)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf input = {0};
    EV1(ToolCall) *call = kndl_arena_alloc(arena, sizeof *call);
    EV1(Event) *event = next_event(row, arena, news);
    int64_t full;

    kndl__event__v1__tool_call__init(call);
    call->tool_use_id = claude_cut(kndl_json_text(kndl_json_get(block, "id"), ""),
                                   CLAUDE_WORD_BYTES_MAX, arena, &full);
    call->name = claude_cut(kndl_json_text(kndl_json_get(block, "name"), ""), CLAUDE_WORD_BYTES_MAX,
                            arena, &full);
    if (kndl_json_kind(kndl_json_get(block, "input")) == KNDL_JSON_OBJECT)
        kndl_json_dump(kndl_json_get(block, "input"), &input);
    else
        kndl_buf_append_text(&input, "{}");
    if (claude_missing(block, kndl_buf_text(&input)) > 0)
        call->full_bytes = kndl_json_i64(kndl_json_get(block, "fullBytes"), 0);
    if (input.size > CLAUDE_TEXT_BYTES_MAX) {
        call->full_bytes = (int64_t)input.size;
        kndl_buf_clear(&input);
        append_short_input(kndl_json_get(block, "input"), &input);
    }
    call->input_json = kndl_arena_copy(arena, kndl_buf_text(&input));
    reader->links.match_block(reader->links.data, row->subagent_id, CLAUDE_TOOL, call->tool_use_id);
    event->kind_case = KNDL__EVENT__V1__EVENT__KIND_TOOL_CALL;
    event->tool_call = call;
}

static void add_api_error(struct claude_reader *reader, const struct row *row, const char *text,
                          struct kndl_arena *arena, struct claude_news *news)
{
    EV1(Note) *note = kndl_arena_alloc(arena, sizeof *note);
    EV1(Event) *event = next_event(row, arena, news);
    int64_t full;

    kndl__event__v1__note__init(note);
    note->level = KNDL__EVENT__V1__NOTE__LEVEL__LEVEL_ERROR;
    note->note_code = kndl_arena_copy(arena, "api_error");
    note->text = claude_cut(text, CLAUDE_SENTENCE_BYTES_MAX, arena, &full);
    event->kind_case = KNDL__EVENT__V1__EVENT__KIND_NOTE;
    event->note = note;
    if (row->subagent_id[0] == '\0') {
        free(reader->api_error);
        reader->api_error = kndl_strdup(note->text);
    }
}

static void read_response(struct claude_reader *reader, const struct row *row,
                          struct kndl_arena *arena, struct claude_news *news)
{
    for (size_t i = 0; i < kndl_json_count(row->content) && news->count < CLAUDE_EVENTS_MAX; i++) {
        const struct kndl_value *block = kndl_json_at(row->content, i);
        const char *type = kndl_json_text(kndl_json_get(block, "type"), "");
        const char *text = kndl_json_text(kndl_json_get(block, "text"), "");

        if (strcmp(type, "text") == 0 && strcmp(row->model, "<synthetic>") == 0)
            add_api_error(reader, row, text, arena, news);
        else if (strcmp(type, "text") == 0)
            add_text(reader, row, block, arena, news);
        else if (strcmp(type, "thinking") == 0)
            add_thinking(reader, row, block, arena, news);
        else if (strcmp(type, "tool_use") == 0)
            add_tool_call(reader, row, block, arena, news);
    }
}

static void read_tool_results(const struct row *row, struct kndl_arena *arena,
                              struct claude_news *news)
{
    for (size_t i = 0; i < kndl_json_count(row->content) && news->count < CLAUDE_EVENTS_MAX; i++) {
        KNDL_CLEANUP(kndl_buf_done) struct kndl_buf text = {0};
        const struct kndl_value *block = kndl_json_at(row->content, i);
        EV1(ToolResult) * result;
        EV1(Event) * event;
        int64_t full, missing;

        if (strcmp(kndl_json_text(kndl_json_get(block, "type"), ""), "tool_result") != 0)
            continue;
        missing = append_text(block, kndl_json_get(block, "content"), &text);
        result = kndl_arena_alloc(arena, sizeof *result);
        kndl__event__v1__tool_result__init(result);
        result->tool_use_id = claude_cut(kndl_json_text(kndl_json_get(block, "tool_use_id"), ""),
                                         CLAUDE_WORD_BYTES_MAX, arena, &full);
        result->text = claude_cut_text(kndl_buf_text(&text), missing, arena, &result->full_bytes);
        result->is_error = kndl_json_bool(kndl_json_get(block, "is_error"), false);
        event = next_event(row, arena, news);
        event->kind_case = KNDL__EVENT__V1__EVENT__KIND_TOOL_RESULT;
        event->tool_result = result;
    }
}

static void read_compaction(const struct row *row, struct kndl_arena *arena,
                            struct claude_news *news)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf text = {0};
    EV1(Compaction) * compaction;
    EV1(Event) * event;
    int64_t missing = append_text(row->message, row->content, &text);

    if (text.size == 0)
        return; /* the boundary, which has no words */
    compaction = kndl_arena_alloc(arena, sizeof *compaction);
    kndl__event__v1__compaction__init(compaction);
    compaction->summary =
        claude_cut_text(kndl_buf_text(&text), missing, arena, &compaction->full_bytes);
    event = next_event(row, arena, news);
    event->kind_case = KNDL__EVENT__V1__EVENT__KIND_COMPACTION;
    event->compaction = compaction;
}

static void read_row(struct claude_reader *reader, const struct row *row, struct kndl_arena *arena,
                     struct claude_news *news)
{
    if (strcmp(row->door, "prompt") == 0 && !row->is_meta)
        read_prompt(reader, row, arena, news);
    else if (strcmp(row->door, "queue") == 0)
        remember_queued(reader, row);
    else if (strcmp(row->door, "delivery") == 0)
        read_delivery(reader, row, arena, news);
    else if (strcmp(row->door, "response") == 0)
        read_response(reader, row, arena, news);
    else if (strcmp(row->door, "tool-result") == 0)
        read_tool_results(row, arena, news);
    else if (strcmp(row->door, "compaction") == 0)
        read_compaction(row, arena, news);
}

static const char *short_word(const struct kndl_value *value)
{
    const char *text = kndl_json_text(value, "");

    return strlen(text) <= CLAUDE_WORD_BYTES_MAX ? text : "";
}

void claude_read_row(struct claude_reader *reader, const struct kndl_value *value,
                     struct kndl_arena *arena, struct claude_news *news)
{
    const struct kndl_value *origin = kndl_json_get(value, "origin");
    const struct kndl_value *message = kndl_json_get(value, "message");
    const char *uuid = short_word(kndl_json_get(value, "uuid"));
    struct row row = {
        .door = short_word(kndl_json_get(value, "door")),
        .origin = short_word(kndl_json_get(origin, "kind")),
        .plugin = short_word(kndl_json_get(origin, "name")),
        .model = short_word(kndl_json_get(origin, "model")),
        .uuid = claude_is_uuid(uuid) ? uuid : "",
        .subagent_id = short_word(kndl_json_get(value, "agentId")),
        .is_meta = kndl_json_bool(kndl_json_get(message, "isMeta"), false),
        .message = message,
        .content = kndl_json_get(message, "content"),
    };

    read_row(reader, &row, arena, news);
}

/* --------------------------------------------------------------------------- transcript */

/* The door that a transcript's line would have come in by; "" for what is no row of ours. */
static const char *door_of(const struct kndl_value *line, const struct kndl_value *content)
{
    const char *type = kndl_json_text(kndl_json_get(line, "type"), "");
    const struct kndl_value *first = kndl_json_at(content, 0);
    const char *block = kndl_json_text(kndl_json_get(first, "type"), "");

    if (strcmp(type, "assistant") == 0)
        return "response";
    if (strcmp(type, "attachment") == 0) {
        const struct kndl_value *attachment = kndl_json_get(line, "attachment");

        type = kndl_json_text(kndl_json_get(attachment, "type"), "");
        return strcmp(type, "queued_command") == 0 ? "delivery" : "";
    }
    if (strcmp(type, "user") != 0 || kndl_json_bool(kndl_json_get(line, "isMeta"), false))
        return "";
    if (kndl_json_bool(kndl_json_get(line, "isCompactSummary"), false))
        return "compaction";
    if (strcmp(block, "tool_result") == 0)
        return "tool-result";
    /* Without an origin it is Claude Code's own word, such as "[Request interrupted by user]". */
    return kndl_json_get(line, "origin") == NULL && kndl_json_kind(content) == KNDL_JSON_ARRAY
               ? ""
               : "prompt";
}

void claude_read_line(struct claude_reader *reader, struct kndl_slice line, const char *subagent_id,
                      struct kndl_arena *arena, struct claude_news *ret_news)
{
    struct kndl_json *json;
    const struct kndl_value *root, *origin, *content;
    struct row row;

    *ret_news = (struct claude_news){.turn_id = "", .prompt_id = "", .question_id = ""};
    if (claude_parse_line(line, &json) < 0)
        return;
    root = kndl_json_root(json);
    origin = kndl_json_get(root, "origin");
    content = kndl_json_get(kndl_json_get(root, "message"), "content");
    row = (struct row){
        .door = door_of(root, content),
        .origin = short_word(kndl_json_get(origin, "kind")),
        .plugin = short_word(kndl_json_get(origin, "name")),
        .model = short_word(kndl_json_get(kndl_json_get(root, "message"), "model")),
        .uuid = short_word(kndl_json_get(root, "uuid")),
        .subagent_id = subagent_id,
        .message = kndl_json_get(root, "message"),
        .content = content,
    };
    if (strcmp(row.door, "delivery") == 0) {
        const struct kndl_value *attachment = kndl_json_get(root, "attachment");

        row.message = attachment;
        row.content = kndl_json_get(attachment, "prompt");
        row.origin = short_word(kndl_json_get(kndl_json_get(attachment, "origin"), "kind"));
    }
    /* A person's prompt in the terminal has no origin at all. */
    if (strcmp(row.door, "prompt") == 0 && origin == NULL)
        row.origin = subagent_id[0] == '\0' ? "human" : "coordinator";
    if (claude_is_uuid(row.uuid))
        read_row(reader, &row, arena, ret_news);
    kndl_json_free(json);
}
