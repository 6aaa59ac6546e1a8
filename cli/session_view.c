/* How a Session looks. */

#include "session_view.h"

#include <inttypes.h>
#include <string.h>

#include "kndl/clock.h"
#include "transcript.h"

#define V1(name) Kndl__Sessions__V1__##name

enum { SHORT_ID_CHARS = 10 };

static const char *state_of(const V1(Session) *session)
{
    if (session->state != KNDL__EVENT__V1__STATE__STATE_ACTIVE)
        return transcript_state(session->state);
    switch (session->activity) {
    case KNDL__SESSIONS__V1__SESSION__ACTIVITY__ACTIVITY_WORKING:
        return "Active, working";
    case KNDL__SESSIONS__V1__SESSION__ACTIVITY__ACTIVITY_NEEDS_YOU:
        return "Active, needs you";
    default:
        return "Active";
    }
}

static enum screen_color color_of(const V1(Session) *session)
{
    switch (session->state) {
    case KNDL__EVENT__V1__STATE__STATE_ACTIVE:
        return session->activity == KNDL__SESSIONS__V1__SESSION__ACTIVITY__ACTIVITY_NEEDS_YOU
                   ? SCREEN_YELLOW
                   : SCREEN_GREEN;
    case KNDL__EVENT__V1__STATE__STATE_FAILED:
        return SCREEN_RED;
    case KNDL__EVENT__V1__STATE__STATE_FROZEN:
        return SCREEN_YELLOW;
    default:
        return SCREEN_DIM;
    }
}

void session_view_line(const struct screen *screen, const V1(Session) *session)
{
    fprintf(screen->out, "%-*.*s  ", SHORT_ID_CHARS, SHORT_ID_CHARS, session->id);
    screen_color(screen, color_of(session));
    fprintf(screen->out, "%-17s", state_of(session));
    screen_color(screen, SCREEN_PLAIN);
    fputs("  ", screen->out);
    screen_line(screen, session->repo_name, 60);
    fputs("  ", screen->out);
    screen_line(screen, session->title, 70);
    screen_color(screen, SCREEN_DIM);
    fputs("  ", screen->out);
    screen_ago(screen, session->changed_at_ms, kndl_clock_wall_ms());
    screen_color(screen, SCREEN_PLAIN);
    fputc('\n', screen->out);
    if (session->reason[0] != '\0')
        screen_text(screen, "            ", session->reason);
}

static void write_field(const struct screen *screen, const char *name, const char *value)
{
    if (value[0] == '\0')
        return;
    fprintf(screen->out, "%-9s ", name);
    screen_line(screen, value, 10);
    fputc('\n', screen->out);
}

static const char *prompt_state(const V1(QueuedPrompt) *prompt)
{
    switch (prompt->state) {
    case KNDL__SESSIONS__V1__QUEUED_PROMPT__STATE__STATE_QUEUED:
        return "waits";
    case KNDL__SESSIONS__V1__QUEUED_PROMPT__STATE__STATE_HANDED:
        return "handed to Claude Code";
    case KNDL__SESSIONS__V1__QUEUED_PROMPT__STATE__STATE_DELIVERED:
        return "delivered";
    case KNDL__SESSIONS__V1__QUEUED_PROMPT__STATE__STATE_REFUSED:
        return "refused";
    case KNDL__SESSIONS__V1__QUEUED_PROMPT__STATE__STATE_CANCELLED:
        return "cancelled";
    case KNDL__SESSIONS__V1__QUEUED_PROMPT__STATE__STATE_UNSURE:
        return "may have been sent";
    default:
        return "";
    }
}

static void write_prompt(const struct screen *screen, const V1(QueuedPrompt) *prompt)
{
    fprintf(screen->out, "  %s  %s  ", prompt->id, prompt_state(prompt));
    screen_line(screen, prompt->text, 45);
    fputc('\n', screen->out);
    if (prompt->reason[0] != '\0')
        screen_text(screen, "      ", prompt->reason);
}

static void write_question(const struct screen *screen, const V1(OpenQuestion) *open)
{
    const Kndl__Event__V1__Event event = {
        .base = PROTOBUF_C_MESSAGE_INIT(&kndl__event__v1__event__descriptor),
        .subagent_id = (char *)"",
        .source_id = (char *)"",
        .kind_case = KNDL__EVENT__V1__EVENT__KIND_QUESTION,
        .question = open->question,
    };

    if (open->question == NULL)
        return;
    transcript_write(screen, &event, TRANSCRIPT_TEXT);
    if (open->answered)
        fputs("  (an answer is on its way)\n", screen->out);
}

void session_view_page(const struct screen *screen, const V1(GetSessionResponse) *view)
{
    const V1(Session) *session = view->session;

    write_field(screen, "Session", session->id);
    write_field(screen, "Title", session->title);
    fprintf(screen->out, "%-9s ", "State");
    screen_color(screen, color_of(session));
    fputs(state_of(session), screen->out);
    screen_color(screen, SCREEN_PLAIN);
    fputc('\n', screen->out);
    if (session->reason[0] != '\0')
        screen_text(screen, "          ", session->reason);
    write_field(screen, "Repo", session->repo_name);
    write_field(screen, "Creator", session->creator_login);
    write_field(screen, "Model", session->model);
    write_field(screen, "Effort", session->effort);
    fprintf(screen->out, "%-9s %" PRId64 ", last ", "Events", session->last_seq);
    screen_ago(screen, session->changed_at_ms, kndl_clock_wall_ms());
    fputc('\n', screen->out);
    if (view->n_queue > 0)
        fprintf(screen->out, "Queue%s\n",
                session->queue_paused ? " (paused: `kndl resume` goes on)" : "");
    for (size_t i = 0; i < view->n_queue; i++)
        write_prompt(screen, view->queue[i]);
    for (size_t i = 0; i < view->n_questions; i++)
        write_question(screen, view->questions[i]);
    for (size_t i = 0; i < view->n_subagents; i++)
        if (view->subagents[i]->is_running)
            write_field(screen, "Subagent", view->subagents[i]->description);
}
