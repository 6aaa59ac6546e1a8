/* The transcript on a terminal. */

#include "transcript.h"

#include <inttypes.h>
#include <string.h>

#include "kndl/clock.h"
#include "kndl/json.h"
#include "verb.h"

#define V1(name) Kndl__Event__V1__##name

const char *transcript_state(V1(State) state)
{
    switch (state) {
    case KNDL__EVENT__V1__STATE__STATE_STARTING:
        return "Starting";
    case KNDL__EVENT__V1__STATE__STATE_ACTIVE:
        return "Active";
    case KNDL__EVENT__V1__STATE__STATE_GOING_TO_SLEEP:
        return "Going to sleep";
    case KNDL__EVENT__V1__STATE__STATE_ASLEEP:
        return "Asleep";
    case KNDL__EVENT__V1__STATE__STATE_WAKING:
        return "Waking";
    case KNDL__EVENT__V1__STATE__STATE_FROZEN:
        return "Frozen";
    case KNDL__EVENT__V1__STATE__STATE_FAILED:
        return "Failed";
    case KNDL__EVENT__V1__STATE__STATE_ARCHIVED:
        return "Archived";
    default:
        return "in a state that this kndl does not know";
    }
}

/* What a tool is asked to do, in a line: the one field that says most, or all of it. */
static void write_input(const struct screen *screen, const char *input_json, int used)
{
    static const char *const telling[] = {"command", "file_path",   "pattern", "url",
                                          "query",   "description", "path",    "prompt"};
    struct kndl_json *json;

    if (kndl_json_parse(kndl_slice_of(input_json), 1024 * 1024, &json, NULL) < 0) {
        screen_line(screen, input_json, used);
        return;
    }
    const char *text = NULL;
    for (size_t i = 0; text == NULL && i < sizeof telling / sizeof telling[0]; i++)
        text = kndl_json_text(kndl_json_get(kndl_json_root(json), telling[i]), NULL);
    screen_line(screen, text != NULL ? text : input_json, used);
    kndl_json_free(json);
}

enum { SIZE_TEXT_SIZE = 32 };

/* "312 bytes", "1.2 MiB"; returns `ret_text`. */
static const char *size_text(int64_t bytes, char ret_text[SIZE_TEXT_SIZE])
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
    double size = (double)bytes / 1024;
    size_t unit = 0;

    if (bytes < 1024) {
        (void)snprintf(ret_text, SIZE_TEXT_SIZE, "%" PRId64 " byte%s", bytes,
                       bytes == 1 ? "" : "s");
        return ret_text;
    }
    for (; size >= 1023.95 && unit + 1 < sizeof units / sizeof units[0]; unit++)
        size /= 1024;
    (void)snprintf(ret_text, SIZE_TEXT_SIZE, "%.1f %s", size, units[unit]);
    return ret_text;
}

static void write_dim(const struct screen *screen, const char *text)
{
    screen_color(screen, SCREEN_DIM);
    fputs(text, screen->out);
    screen_color(screen, SCREEN_PLAIN);
}

/* Behind what is shown in one line, how long all of it was if that is not here. */
static void write_full(const struct screen *screen, int64_t full_bytes)
{
    char all[SIZE_TEXT_SIZE];

    if (full_bytes == 0)
        return;
    screen_color(screen, SCREEN_DIM);
    fprintf(screen->out, "  (all of it has %s)", size_text(full_bytes, all));
    screen_color(screen, SCREEN_PLAIN);
}

/* Under a text of which only so much is here, the more there was. */
static void write_cut(const struct screen *screen, const char *text, int64_t full_bytes)
{
    int64_t more_bytes = full_bytes - (int64_t)strlen(text);
    char more[SIZE_TEXT_SIZE], all[SIZE_TEXT_SIZE];

    if (full_bytes == 0)
        return;
    screen_color(screen, SCREEN_DIM);
    if (more_bytes > 0)
        fprintf(screen->out, "(%s more; all of it has %s)\n", size_text(more_bytes, more),
                size_text(full_bytes, all));
    else
        fprintf(screen->out, "(shortened; all of it has %s)\n", size_text(full_bytes, all));
    screen_color(screen, SCREEN_PLAIN);
}

static void write_text(const struct screen *screen, const char *indent, const V1(Text) *text)
{
    screen_text(screen, indent, text->text);
    write_cut(screen, text->text, text->full_bytes);
    if (text->is_unfinished)
        write_dim(screen, "(cut off here: Claude had not finished)\n");
}

/* at_ms 0: it is not to be said. */
static void write_prompt(const struct screen *screen, const char *indent, const V1(Prompt) *prompt,
                         int64_t at_ms)
{
    fputs(indent, screen->out);
    if (at_ms > 0) {
        screen_color(screen, SCREEN_DIM);
        screen_time(screen, at_ms, kndl_clock_wall_ms());
        screen_color(screen, SCREEN_PLAIN);
        fputc(' ', screen->out);
    }
    screen_color(screen, SCREEN_BOLD);
    fputs("> ", screen->out);
    screen_color(screen, SCREEN_PLAIN);
    screen_text(screen, "", prompt->text);
    write_cut(screen, prompt->text, prompt->full_bytes);
}

static void write_call(const struct screen *screen, const char *indent, const V1(ToolCall) *call)
{
    fputs(indent, screen->out);
    screen_color(screen, SCREEN_BLUE);
    screen_line(screen, call->name, 10);
    screen_color(screen, SCREEN_PLAIN);
    fputs("  ", screen->out);
    write_input(screen, call->input_json, (int)(strlen(indent) + strnlen(call->name, 60) + 2));
    write_full(screen, call->full_bytes);
    if (call->is_unfinished)
        write_dim(screen, "  (cut off: it was never made)");
    fputc('\n', screen->out);
}

static size_t count_lines(const char *text)
{
    size_t count = text[0] != '\0';

    for (; *text != '\0'; text++)
        count += *text == '\n' && text[1] != '\0';
    return count;
}

static void write_result(const struct screen *screen, const char *indent,
                         const V1(ToolResult) *result)
{
    size_t lines = count_lines(result->text);

    fprintf(screen->out, "%s  ", indent);
    screen_color(screen, result->is_error ? SCREEN_RED : SCREEN_DIM);
    if (lines == 0)
        fputs("(nothing)", screen->out);
    else
        screen_line(screen, result->text, (int)strlen(indent) + 20);
    if (lines > 1)
        fprintf(screen->out, "  +%zu line%s", lines - 1, lines == 2 ? "" : "s");
    screen_color(screen, SCREEN_PLAIN);
    write_full(screen, result->full_bytes);
    fputc('\n', screen->out);
}

static void write_question(const struct screen *screen, const V1(Question) *question)
{
    for (size_t i = 0; i < question->n_questions; i++) {
        const V1(Question__Asked) *asked = question->questions[i];

        screen_color(screen, SCREEN_YELLOW);
        fputs("? ", screen->out);
        screen_text(screen, "", asked->question);
        screen_color(screen, SCREEN_PLAIN);
        for (size_t k = 0; k < asked->n_options; k++) {
            fputs("  - ", screen->out);
            screen_line(screen, asked->options[k]->label, 4);
            if (asked->options[k]->description[0] != '\0') {
                screen_color(screen, SCREEN_DIM);
                fputs("  ", screen->out);
                screen_line(screen, asked->options[k]->description, 30);
                screen_color(screen, SCREEN_PLAIN);
            }
            fputc('\n', screen->out);
        }
    }
    screen_color(screen, SCREEN_DIM);
    fputs("  kndl answer SESSION ", screen->out);
    screen_line(screen, question->id, 20);
    fputs(question->n_questions > 1 ? " ANSWER…, one for each question\n" : " ANSWER\n",
          screen->out);
    screen_color(screen, SCREEN_PLAIN);
}

static void write_answer(const struct screen *screen, const V1(Answer) *answer)
{
    fputs("  ", screen->out);
    screen_color(screen, SCREEN_DIM);
    if (answer->outcome == KNDL__EVENT__V1__ANSWER__OUTCOME__OUTCOME_UNANSWERED)
        fputs("not answered", screen->out);
    else if (answer->outcome == KNDL__EVENT__V1__ANSWER__OUTCOME__OUTCOME_ANSWERED_ELSEWHERE)
        fputs("answered in the terminal", screen->out);
    else
        fputs("answered", screen->out);
    for (size_t i = 0; i < answer->n_answers; i++) {
        fputs(i == 0 ? ": " : "; ", screen->out);
        screen_line(screen, answer->answers[i], 30);
    }
    screen_color(screen, SCREEN_PLAIN);
    fputc('\n', screen->out);
}

/* " at 14:02"; at_ms 0: it is not to be said. */
static void write_when(const struct screen *screen, int64_t at_ms)
{
    if (at_ms == 0)
        return;
    fputs(" at ", screen->out);
    screen_time(screen, at_ms, kndl_clock_wall_ms());
}

static void write_turn_ended(const struct screen *screen, const V1(TurnEnded) *ended, int64_t at_ms)
{
    bool is_good = ended->reason == KNDL__EVENT__V1__TURN_ENDED__REASON__REASON_ANSWER;
    const char *how = "ended";

    switch (ended->reason) {
    case KNDL__EVENT__V1__TURN_ENDED__REASON__REASON_ANSWER:
        how = "done";
        break;
    case KNDL__EVENT__V1__TURN_ENDED__REASON__REASON_STOPPED:
        how = "stopped";
        break;
    case KNDL__EVENT__V1__TURN_ENDED__REASON__REASON_REFUSAL:
        how = "Claude refused";
        break;
    case KNDL__EVENT__V1__TURN_ENDED__REASON__REASON_ERROR:
        how = "failed";
        break;
    case KNDL__EVENT__V1__TURN_ENDED__REASON__REASON_INTERRUPTED:
        how = "interrupted";
        break;
    default:
        break;
    }
    screen_color(screen, is_good ? SCREEN_DIM : SCREEN_RED);
    fprintf(screen->out, "-- %s", how);
    write_when(screen, at_ms);
    if (ended->error[0] != '\0') {
        fputs(": ", screen->out);
        screen_line(screen, ended->error, 12);
    }
    if (ended->duration_ms > 0)
        fprintf(screen->out, ", %.1f s", (double)ended->duration_ms / 1000);
    if (ended->usage != NULL)
        fprintf(screen->out, ", %" PRId64 " tokens in, %" PRId64 " out",
                ended->usage->input_tokens + ended->usage->cache_read_tokens +
                    ended->usage->cache_write_tokens,
                ended->usage->output_tokens);
    screen_color(screen, SCREEN_PLAIN);
    fputc('\n', screen->out);
}

static void write_subagent_ended(const struct screen *screen, const V1(SubagentEnded) *ended)
{
    const char *how = "ended";

    switch (ended->status) {
    case KNDL__EVENT__V1__SUBAGENT_ENDED__STATUS__STATUS_COMPLETED:
        how = "done";
        break;
    case KNDL__EVENT__V1__SUBAGENT_ENDED__STATUS__STATUS_STOPPED:
        how = "stopped";
        break;
    case KNDL__EVENT__V1__SUBAGENT_ENDED__STATUS__STATUS_FAILED:
        how = "failed";
        break;
    case KNDL__EVENT__V1__SUBAGENT_ENDED__STATUS__STATUS_INTERRUPTED:
        how = "interrupted";
        break;
    default:
        break;
    }
    screen_color(screen, SCREEN_DIM);
    fprintf(screen->out, "  subagent %s\n", how);
    screen_color(screen, SCREEN_PLAIN);
}

static void write_state(const struct screen *screen, const V1(StateChanged) *changed, int64_t at_ms)
{
    bool is_bad = changed->state == KNDL__EVENT__V1__STATE__STATE_FAILED;

    screen_color(screen, is_bad ? SCREEN_RED : SCREEN_DIM);
    fprintf(screen->out, "-- %s", transcript_state(changed->state));
    write_when(screen, at_ms);
    if (changed->reason[0] != '\0') {
        fputs(": ", screen->out);
        screen_text(screen, "", changed->reason);
    } else {
        fputc('\n', screen->out);
    }
    screen_color(screen, SCREEN_PLAIN);
}

static void write_note(const struct screen *screen, const V1(Note) *note)
{
    enum screen_color color = SCREEN_DIM;

    if (note->level == KNDL__EVENT__V1__NOTE__LEVEL__LEVEL_WARNING)
        color = SCREEN_YELLOW;
    if (note->level == KNDL__EVENT__V1__NOTE__LEVEL__LEVEL_ERROR)
        color = SCREEN_RED;
    screen_color(screen, color);
    screen_text(screen, "-- ", note->text);
    screen_color(screen, SCREEN_PLAIN);
}

/* The first line of a text, of which `full_bytes` says how long it was if that is not all here. */
static void write_dim_line(const struct screen *screen, const char *indent, const char *before,
                           const char *text, int64_t full_bytes)
{
    screen_color(screen, SCREEN_DIM);
    fprintf(screen->out, "%s%s", indent, before);
    screen_line(screen, text, (int)(strlen(indent) + strlen(before)));
    screen_color(screen, SCREEN_PLAIN);
    write_full(screen, full_bytes);
    fputc('\n', screen->out);
}

static void write_thinking(const struct screen *screen, const char *indent,
                           const V1(Thinking) *thinking)
{
    write_dim_line(screen, indent,
                   thinking->is_unfinished ? "thinking, cut off: " : "thinking: ", thinking->text,
                   thinking->full_bytes);
}

static void write_kind(const struct screen *screen, const V1(Event) *event, int64_t at_ms)
{
    /* What a Subagent does stands a little to the right. */
    const char *indent = event->subagent_id[0] != '\0' ? "  | " : "";

    switch (event->kind_case) {
    case KNDL__EVENT__V1__EVENT__KIND_PROMPT:
        write_prompt(screen, indent, event->prompt, at_ms);
        return;
    case KNDL__EVENT__V1__EVENT__KIND_TEXT:
        write_text(screen, indent, event->text);
        return;
    case KNDL__EVENT__V1__EVENT__KIND_THINKING:
        write_thinking(screen, indent, event->thinking);
        return;
    case KNDL__EVENT__V1__EVENT__KIND_TOOL_CALL:
        write_call(screen, indent, event->tool_call);
        return;
    case KNDL__EVENT__V1__EVENT__KIND_TOOL_RESULT:
        write_result(screen, indent, event->tool_result);
        return;
    case KNDL__EVENT__V1__EVENT__KIND_QUESTION:
        write_question(screen, event->question);
        return;
    case KNDL__EVENT__V1__EVENT__KIND_ANSWER:
        write_answer(screen, event->answer);
        return;
    case KNDL__EVENT__V1__EVENT__KIND_TURN_STARTED:
        return;
    case KNDL__EVENT__V1__EVENT__KIND_TURN_ENDED:
        write_turn_ended(screen, event->turn_ended, at_ms);
        return;
    case KNDL__EVENT__V1__EVENT__KIND_SUBAGENT_STARTED:
        write_dim_line(screen, "", "  subagent: ", event->subagent_started->description, 0);
        return;
    case KNDL__EVENT__V1__EVENT__KIND_SUBAGENT_ENDED:
        write_subagent_ended(screen, event->subagent_ended);
        return;
    case KNDL__EVENT__V1__EVENT__KIND_STATE_CHANGED:
        write_state(screen, event->state_changed, at_ms);
        return;
    case KNDL__EVENT__V1__EVENT__KIND_NOTE:
        write_note(screen, event->note);
        return;
    case KNDL__EVENT__V1__EVENT__KIND_COMPACTION:
        write_dim_line(screen, indent, "-- conversation summed up: ", event->compaction->summary,
                       event->compaction->full_bytes);
        return;
    default:
        fputs("-- something that this kndl does not know; a newer one shows it\n", screen->out);
        return;
    }
}

enum transcript_form transcript_form(bool json, bool timestamps)
{
    return json ? TRANSCRIPT_JSON : timestamps ? TRANSCRIPT_STAMPED : TRANSCRIPT_TEXT;
}

static void write_stamped(const struct screen *screen, const V1(Event) *event)
{
    if (event->kind_case == KNDL__EVENT__V1__EVENT__KIND_TURN_STARTED)
        return; /* nothing is written of it */
    screen_color(screen, SCREEN_DIM);
    screen_stamp(screen, event->at_ms);
    screen_color(screen, SCREEN_PLAIN);
    fputs("  ", screen->out);
    write_kind(screen, event, 0);
}

void transcript_write(const struct screen *screen, const V1(Event) *event,
                      enum transcript_form form)
{
    switch (form) {
    case TRANSCRIPT_TEXT:
        write_kind(screen, event, event->at_ms);
        break;
    case TRANSCRIPT_STAMPED:
        write_stamped(screen, event);
        break;
    case TRANSCRIPT_JSON:
        print_json(screen, &event->base);
        break;
    }
    fflush(screen->out);
}
