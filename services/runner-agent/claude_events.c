/*
 * What the mod posts, as Events. One source for each kind: rows of the conversation are
 * session.append (their uuid is the identity), Turns turn.start and turn.complete, questions the
 * open AskUserQuestion call, Subagents agent.*, and streaming text is no Event but a delta.
 */

#include "claude.h"
#include "claude_rows.h"

#include <stdlib.h>
#include <string.h>

#include "kndl/mem.h"

#define EV1(name) Kndl__Event__V1__##name

struct claude_reader *claude_reader_new(const struct claude_links *links)
{
    struct claude_reader *reader = kndl_new0(struct claude_reader);

    reader->links = *links;
    return reader;
}

static void forget_question(struct claude_question *question)
{
    free(question->id);
    kndl_buf_done(&question->texts);
    *question = (struct claude_question){0};
}

void claude_reader_free(struct claude_reader *reader)
{
    if (reader == NULL)
        return;
    for (size_t i = 0; i < CLAUDE_QUESTIONS_MAX; i++)
        forget_question(&reader->questions[i]);
    for (size_t i = 0; i < CLAUDE_STEERS_MAX; i++)
        free(reader->queued[i]);
    free(reader->started_prompt);
    free(reader->api_error);
    free(reader);
}

EV1(Event) * claude_add_event(struct claude_news *news, struct kndl_arena *arena)
{
    EV1(Event) *event = kndl_arena_alloc(arena, sizeof *event);

    kndl__event__v1__event__init(event);
    if (news->count < CLAUDE_EVENTS_MAX)
        news->events[news->count++] = event;
    return event;
}

char *claude_cut(const char *text, size_t most, struct kndl_arena *arena, int64_t *ret_full)
{
    size_t size = strlen(text);
    char *copy;

    *ret_full = 0;
    if (size <= most)
        return kndl_arena_copy(arena, text);
    *ret_full = (int64_t)size;
    /* At a character's edge: no continuation byte may come first behind the cut. */
    while (most > 0 && ((uint8_t)text[most] & 0xc0) == 0x80)
        most--;
    copy = kndl_arena_alloc(arena, most + 1);
    memcpy(copy, text, most);
    return copy;
}

int64_t claude_missing(const struct kndl_value *holder, const char *text)
{
    int64_t full = kndl_json_i64(kndl_json_get(holder, "fullBytes"), 0);
    int64_t size = (int64_t)strlen(text);

    return full > size && full <= CLAUDE_FULL_BYTES_MAX ? full - size : 0;
}

char *claude_cut_text(const char *text, int64_t missing, struct kndl_arena *arena,
                      int64_t *ret_full)
{
    char *copy = claude_cut(text, CLAUDE_TEXT_BYTES_MAX, arena, ret_full);

    if (missing > 0)
        *ret_full = (int64_t)strlen(text) + missing;
    return copy;
}

static char *word(const struct kndl_value *value, struct kndl_arena *arena)
{
    int64_t full;

    return claude_cut(kndl_json_text(value, ""), CLAUDE_WORD_BYTES_MAX, arena, &full);
}

static char *sentence(const struct kndl_value *value, struct kndl_arena *arena)
{
    int64_t full;

    return claude_cut(kndl_json_text(value, ""), CLAUDE_SENTENCE_BYTES_MAX, arena, &full);
}

/* --------------------------------------------------------------------------------- Turns */

/* The prompt's row came just before; where it did not, the text tells. What the spool did not take
 * is read again, and means the same then. */
static char *prompt_of_turn(struct claude_reader *reader, const char *turn_id, const char *text,
                            struct kndl_arena *arena)
{
    const char *known = claude_known_prompt(reader, turn_id);

    if (known == NULL && reader->started_prompt != NULL)
        known = reader->started_prompt;
    if (known == NULL)
        known = reader->links.match_turn(reader->links.data, text);
    claude_know_prompt(reader, turn_id, known);
    return kndl_arena_copy(arena, known);
}

static void read_turn_start(struct claude_reader *reader, const struct kndl_value *value,
                            struct kndl_arena *arena, struct claude_news *news)
{
    const char *text = kndl_json_text(kndl_json_get(value, "text"), "");
    EV1(TurnStarted) * started;
    EV1(Event) * event;

    if (kndl_json_get(value, "agentId") != NULL)
        return; /* a Subagent's: its own start and end say it */
    started = kndl_arena_alloc(arena, sizeof *started);
    kndl__event__v1__turn_started__init(started);
    started->turn_id = word(kndl_json_get(value, "turnId"), arena);
    started->prompt_id = prompt_of_turn(reader, started->turn_id, text, arena);
    free(kndl_steal(&reader->started_prompt));
    free(kndl_steal(&reader->api_error));

    event = claude_add_event(news, arena);
    event->kind_case = KNDL__EVENT__V1__EVENT__KIND_TURN_STARTED;
    event->turn_started = started;
    news->turn_started = true;
    news->turn_id = started->turn_id;
    news->prompt_id = started->prompt_id;
}

static EV1(TurnEnded__Reason) turn_reason(const char *word_)
{
    static const struct {
        const char *word;
        EV1(TurnEnded__Reason) reason;
    } reasons[] = {
        {"answer", KNDL__EVENT__V1__TURN_ENDED__REASON__REASON_ANSWER},
        {"aborted", KNDL__EVENT__V1__TURN_ENDED__REASON__REASON_STOPPED},
        {"refusal", KNDL__EVENT__V1__TURN_ENDED__REASON__REASON_REFUSAL},
        {"error", KNDL__EVENT__V1__TURN_ENDED__REASON__REASON_ERROR},
    };

    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
        if (strcmp(reasons[i].word, word_) == 0)
            return reasons[i].reason;
    return KNDL__EVENT__V1__TURN_ENDED__REASON__REASON_UNSPECIFIED;
}

static void read_turn_complete(struct claude_reader *reader, const struct kndl_value *value,
                               struct kndl_arena *arena, struct claude_news *news)
{
    const struct kndl_value *usage = kndl_json_get(value, "usage");
    EV1(TurnEnded) * ended;
    EV1(Event) * event;

    news->ended_thread = word(kndl_json_get(value, "agentId"), arena);
    if (kndl_json_get(value, "agentId") != NULL)
        return;
    ended = kndl_arena_alloc(arena, sizeof *ended);
    kndl__event__v1__turn_ended__init(ended);
    ended->turn_id = word(kndl_json_get(value, "turnId"), arena);
    ended->reason = turn_reason(kndl_json_text(kndl_json_get(value, "reason"), ""));
    ended->duration_ms = kndl_json_i64(kndl_json_get(value, "durationMs"), 0);
    if (ended->reason == KNDL__EVENT__V1__TURN_ENDED__REASON__REASON_ERROR) {
        ended->error_code = word(kndl_json_get(value, "error"), arena);
        ended->error = kndl_arena_copy(arena, reader->api_error == NULL
                                                  ? "Claude Code could not finish the Turn"
                                                  : reader->api_error);
    }
    if (usage != NULL) {
        ended->usage = kndl_arena_alloc(arena, sizeof *ended->usage);
        kndl__event__v1__usage__init(ended->usage);
        ended->usage->input_tokens = kndl_json_i64(kndl_json_get(usage, "input_tokens"), 0);
        ended->usage->output_tokens = kndl_json_i64(kndl_json_get(usage, "output_tokens"), 0);
        ended->usage->cache_read_tokens =
            kndl_json_i64(kndl_json_get(usage, "cache_read_input_tokens"), 0);
        ended->usage->cache_write_tokens =
            kndl_json_i64(kndl_json_get(usage, "cache_creation_input_tokens"), 0);
    }
    event = claude_add_event(news, arena);
    event->kind_case = KNDL__EVENT__V1__EVENT__KIND_TURN_ENDED;
    event->turn_ended = ended;
    news->turn_ended = true;
    news->turn_id = ended->turn_id;
}

/* ----------------------------------------------------------------------------- questions */

static struct claude_question *find_question(struct claude_reader *reader, const char *id)
{
    for (size_t i = 0; i < CLAUDE_QUESTIONS_MAX; i++)
        if (reader->questions[i].id != NULL && strcmp(reader->questions[i].id, id) == 0)
            return &reader->questions[i];
    return NULL;
}

/* The texts of a question, each with its NUL, so that its answers come out in their order. */
static void remember_question(struct claude_reader *reader, const char *id,
                              const struct kndl_value *questions)
{
    struct claude_question *question =
        &reader->questions[reader->question_at++ % CLAUDE_QUESTIONS_MAX];

    forget_question(question);
    question->id = kndl_strdup(id);
    question->count = kndl_json_count(questions);
    for (size_t i = 0; i < question->count; i++) {
        const struct kndl_value *asked = kndl_json_at(questions, i);
        const char *text = kndl_json_text(kndl_json_get(asked, "question"), "");

        kndl_buf_append(&question->texts, text, strlen(text) + 1);
    }
}

static EV1(Question__Asked) * read_asked(const struct kndl_value *value, struct kndl_arena *arena)
{
    const struct kndl_value *options = kndl_json_get(value, "options");
    EV1(Question__Asked) *asked = kndl_arena_alloc(arena, sizeof *asked);
    size_t count = kndl_json_count(options);

    kndl__event__v1__question__asked__init(asked);
    asked->question = sentence(kndl_json_get(value, "question"), arena);
    asked->header = sentence(kndl_json_get(value, "header"), arena);
    asked->multi_select = kndl_json_bool(kndl_json_get(value, "multiSelect"), false);
    if (count > CLAUDE_OPTIONS_MAX)
        count = CLAUDE_OPTIONS_MAX;
    asked->options = kndl_arena_alloc(arena, (count + 1) * sizeof *asked->options);
    for (size_t i = 0; i < count; i++) {
        const struct kndl_value *from = kndl_json_at(options, i);
        EV1(Question__Option) *option = kndl_arena_alloc(arena, sizeof *option);

        kndl__event__v1__question__option__init(option);
        option->label = sentence(kndl_json_get(from, "label"), arena);
        option->description = sentence(kndl_json_get(from, "description"), arena);
        asked->options[asked->n_options++] = option;
    }
    return asked;
}

static void read_question(struct claude_reader *reader, const struct kndl_value *value,
                          struct kndl_arena *arena, struct claude_news *news)
{
    const struct kndl_value *questions = kndl_json_get(value, "questions");
    EV1(Question) *question = kndl_arena_alloc(arena, sizeof *question);
    size_t count = kndl_json_count(questions);
    EV1(Event) * event;

    if (count == 0 || count > CLAUDE_ASKED_MAX)
        return;
    kndl__event__v1__question__init(question);
    question->id = word(kndl_json_get(value, "id"), arena);
    question->questions = kndl_arena_alloc(arena, count * sizeof *question->questions);
    for (size_t i = 0; i < count; i++)
        question->questions[question->n_questions++] =
            read_asked(kndl_json_at(questions, i), arena);
    remember_question(reader, question->id, questions);

    event = claude_add_event(news, arena);
    event->subagent_id = word(kndl_json_get(value, "agentId"), arena);
    event->kind_case = KNDL__EVENT__V1__EVENT__KIND_QUESTION;
    event->question = question;
}

/* The answers, in the order of the questions; of questions that an earlier process heard, in the
 * order that Claude Code gives. */
static void read_answers(const struct claude_question *question, const struct kndl_value *answers,
                         struct kndl_arena *arena, EV1(Answer) * answer)
{
    size_t count = question != NULL ? question->count : kndl_json_count(answers);
    const char *text = question != NULL ? kndl_buf_text(&question->texts) : NULL;

    if (count > CLAUDE_ASKED_MAX)
        count = CLAUDE_ASKED_MAX;
    answer->answers = kndl_arena_alloc(arena, count * sizeof *answer->answers);
    for (size_t i = 0; i < count; i++) {
        const struct kndl_value *given =
            text != NULL ? kndl_json_get(answers, text) : kndl_json_member(answers, i, NULL);

        answer->answers[answer->n_answers++] = sentence(given, arena);
        if (text != NULL)
            text += strlen(text) + 1;
    }
}

static void read_question_end(struct claude_reader *reader, const struct kndl_value *value,
                              struct kndl_arena *arena, struct claude_news *news)
{
    const struct kndl_value *answers = kndl_json_get(value, "answers");
    bool is_answered = kndl_json_kind(answers) == KNDL_JSON_OBJECT && kndl_json_count(answers) > 0;
    EV1(Answer) *answer = kndl_arena_alloc(arena, sizeof *answer);
    struct claude_question *question;
    EV1(Event) * event;

    kndl__event__v1__answer__init(answer);
    answer->question_id = word(kndl_json_get(value, "id"), arena);
    answer->outcome = KNDL__EVENT__V1__ANSWER__OUTCOME__OUTCOME_UNANSWERED;
    question = find_question(reader, answer->question_id);
    news->question_id = answer->question_id;
    news->question_is_answered = is_answered;
    if (question == NULL && !is_answered)
        return;
    if (is_answered) {
        read_answers(question, answers, arena, answer);
        answer->person_id = kndl_arena_copy(
            arena, reader->links.answered_by(reader->links.data, answer->question_id));
        answer->outcome = answer->person_id[0] == '\0'
                              ? KNDL__EVENT__V1__ANSWER__OUTCOME__OUTCOME_ANSWERED_ELSEWHERE
                              : KNDL__EVENT__V1__ANSWER__OUTCOME__OUTCOME_ANSWERED;
    }
    event = claude_add_event(news, arena);
    event->subagent_id = word(kndl_json_get(value, "agentId"), arena);
    event->kind_case = KNDL__EVENT__V1__EVENT__KIND_ANSWER;
    event->answer = answer;
    if (question != NULL)
        forget_question(question);
}

/* ----------------------------------------------------------------------------- Subagents */

static void read_agent_spawn(const struct kndl_value *value, struct kndl_arena *arena,
                             struct claude_news *news)
{
    EV1(SubagentStarted) *started = kndl_arena_alloc(arena, sizeof *started);
    EV1(Event) *event = claude_add_event(news, arena);

    kndl__event__v1__subagent_started__init(started);
    started->agent_type = sentence(kndl_json_get(value, "subagentType"), arena);
    started->description = sentence(kndl_json_get(value, "description"), arena);
    started->tool_use_id = word(kndl_json_get(value, "toolUseId"), arena);
    event->subagent_id = word(kndl_json_get(value, "agentId"), arena);
    event->kind_case = KNDL__EVENT__V1__EVENT__KIND_SUBAGENT_STARTED;
    event->subagent_started = started;
}

static void read_agent_report(const struct kndl_value *value, struct kndl_arena *arena,
                              struct claude_news *news)
{
    const char *status = kndl_json_text(kndl_json_get(value, "status"), "");
    EV1(SubagentEnded) *ended = kndl_arena_alloc(arena, sizeof *ended);
    EV1(Event) *event = claude_add_event(news, arena);

    kndl__event__v1__subagent_ended__init(ended);
    ended->status = KNDL__EVENT__V1__SUBAGENT_ENDED__STATUS__STATUS_COMPLETED;
    if (strcmp(status, "stopped") == 0)
        ended->status = KNDL__EVENT__V1__SUBAGENT_ENDED__STATUS__STATUS_STOPPED;
    else if (strcmp(status, "failed") == 0)
        ended->status = KNDL__EVENT__V1__SUBAGENT_ENDED__STATUS__STATUS_FAILED;
    event->subagent_id = word(kndl_json_get(value, "agentId"), arena);
    event->kind_case = KNDL__EVENT__V1__EVENT__KIND_SUBAGENT_ENDED;
    event->subagent_ended = ended;
}

/* ------------------------------------------------------------------------------- deltas */

static void read_delta(const struct kndl_value *value, struct kndl_arena *arena,
                       struct claude_news *news)
{
    const char *kind = kndl_json_text(kndl_json_get(value, "kind"), "");
    const char *text = kndl_json_text(kndl_json_get(value, "text"), "");
    int64_t full;

    news->delta = (struct claude_delta){
        .turn_id = word(kndl_json_get(value, "turnId"), arena),
        .subagent_id = word(kndl_json_get(value, "agentId"), arena),
        .step = kndl_json_i64(kndl_json_get(value, "step"), 0),
        .index = kndl_json_i64(kndl_json_get(value, "index"), 0),
        .is_first = kndl_json_bool(kndl_json_get(value, "isFirst"), false),
        .text = claude_cut(text, CLAUDE_TEXT_BYTES_MAX, arena, &full),
        .tool_use_id = word(kndl_json_get(value, "id"), arena),
        .tool_name = word(kndl_json_get(value, "name"), arena),
    };
    if (strcmp(kind, "text") == 0)
        news->delta.kind = CLAUDE_TEXT;
    else if (strcmp(kind, "thinking") == 0)
        news->delta.kind = CLAUDE_THINKING;
    else if (strcmp(kind, "tool") == 0 || strcmp(kind, "input") == 0)
        news->delta.kind = CLAUDE_TOOL;
    else
        return;
    /* Text that was cut would no longer fit the offsets of what follows. */
    news->is_delta = full == 0;
}

static void read_compaction(const struct kndl_value *value, struct kndl_arena *arena,
                            struct claude_news *news)
{
    const char *text = kndl_json_text(kndl_json_get(value, "summary"), "");
    EV1(Compaction) *compaction = kndl_arena_alloc(arena, sizeof *compaction);
    EV1(Event) *event = claude_add_event(news, arena);

    kndl__event__v1__compaction__init(compaction);
    compaction->summary =
        claude_cut_text(text, claude_missing(value, text), arena, &compaction->full_bytes);
    event->subagent_id = word(kndl_json_get(value, "agentId"), arena);
    event->kind_case = KNDL__EVENT__V1__EVENT__KIND_COMPACTION;
    event->compaction = compaction;
}

/* ------------------------------------------------------------------- the conversation's end */

static void read_session_end(const struct kndl_value *value, struct kndl_arena *arena,
                             struct claude_news *news)
{
    const char *reason = kndl_json_text(kndl_json_get(value, "reason"), "");

    if (strcmp(reason, "clear") == 0)
        claude_add_note(news, arena, "cleared",
                        "The conversation was cleared; Claude Code goes on with a new one.");
    else
        news->conversation_ended = true;
}

void claude_read_event(struct claude_reader *reader, const struct kndl_value *event,
                       struct kndl_arena *arena, struct claude_news *ret_news)
{
    const char *type = kndl_json_text(kndl_json_get(event, "type"), "");

    *ret_news = (struct claude_news){.turn_id = "", .prompt_id = "", .question_id = ""};
    if (strcmp(type, "delta") == 0)
        read_delta(event, arena, ret_news);
    else if (strcmp(type, "session.append") == 0)
        claude_read_row(reader, event, arena, ret_news);
    else if (strcmp(type, "turn.start") == 0)
        read_turn_start(reader, event, arena, ret_news);
    else if (strcmp(type, "turn.complete") == 0)
        read_turn_complete(reader, event, arena, ret_news);
    else if (strcmp(type, "question") == 0)
        read_question(reader, event, arena, ret_news);
    else if (strcmp(type, "question.end") == 0)
        read_question_end(reader, event, arena, ret_news);
    else if (strcmp(type, "agent.spawn") == 0)
        read_agent_spawn(event, arena, ret_news);
    else if (strcmp(type, "agent.report") == 0)
        read_agent_report(event, arena, ret_news);
    else if (strcmp(type, "compaction") == 0)
        read_compaction(event, arena, ret_news);
    else if (strcmp(type, "session.end") == 0)
        read_session_end(event, arena, ret_news);
    else if (strcmp(type, "lost") == 0)
        claude_add_note(ret_news, arena, "event_lost",
                        "One thing that happened here could not be sent and is missing.");
}
