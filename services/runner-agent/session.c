/* Sessions on this Runner: the list, what one is made of, what it asks of the Hub. */

#include "session.h"

#include <stdlib.h>
#include <string.h>

#include "kndl/log.h"
#include "kndl/loop.h"
#include "kndl/mem.h"
#include "session_parts.h"

/* ------------------------------------------------------------------------------- its life */

struct session *session_find(struct runner *runner, const char *session_id)
{
    for (struct session *session = runner->sessions; session != NULL; session = session->next)
        if (!session->is_forgotten && strcmp(session->id, session_id) == 0)
            return session;
    return NULL;
}

void session_path(const struct session *session, const char *name, struct kndl_buf *out)
{
    kndl_buf_printf(out, "%s/%s", session->directory, name);
}

void session_spool_path(const struct session *session, struct kndl_buf *out)
{
    kndl_buf_printf(out, "%s/spool-%lld", session->directory, (long long)session->start->run);
}

struct session *session_new(struct runner *runner, const char *session_id)
{
    struct session *session = kndl_new0(struct session);
    struct kndl_buf directory = {0};

    session->runner = runner;
    session->waits_told = "";
    session->asks = asks_new(runner->hub, session);
    memcpy(session->id, session_id, KNDL_ID_CHARS);
    sandbox_name(session_id, session->sandbox);
    kndl_buf_printf(&directory, "%s/sessions/%s", runner->home, session_id);
    session->directory = kndl_buf_take(&directory);
    session->next = runner->sessions;
    runner->sessions = session;
    return session;
}

static void free_session(struct session *session)
{
    struct session **at = &session->runner->sessions;

    while (*at != session)
        at = &(*at)->next;
    *at = session->next;
    if (session->start != NULL)
        kndl__runner__v1__start_run_request__free_unpacked(session->start, NULL);
    run_file_done(&session->ended_state);
    kndl_buf_done(&session->end.last_output);
    free(session->end.reason_code);
    free(session->end.reason);
    free(session->directory);
    free(session);
}

void session_enter(struct session *session)
{
    session->callbacks++;
}

bool session_leave(struct session *session)
{
    session->callbacks--;
    if (!session->is_forgotten)
        return true;
    if (session->callbacks == 0)
        free_session(session);
    return false;
}

void session_forget(struct session *session)
{
    if (session->is_forgotten)
        return;
    session->is_forgotten = true;
    asks_free(kndl_steal(&session->asks));
    hub_drop(kndl_steal(&session->waits_ask));
    session_drop_tail(session);
    free(kndl_steal(&session->subagents));
    relay_close(kndl_steal(&session->relay));
    tmux_free(kndl_steal(&session->tmux));
    kndl_timer_free(kndl_steal(&session->timer));
    kndl_timer_free(kndl_steal(&session->git_timer));
    kndl_timer_free(kndl_steal(&session->blocks.timer));
    forward_free(kndl_steal(&session->forward));
    deltas_free(kndl_steal(&session->deltas));
    claude_reader_free(kndl_steal(&session->reader));
    prompts_free(kndl_steal(&session->prompts));
    answers_free(kndl_steal(&session->answers));
    orders_free(kndl_steal(&session->orders));
    spool_close(kndl_steal(&session->spool));
    kndl_arena_free(kndl_steal(&session->arena));
    kndl_secret_done(&session->mod_token);
    kndl_secret_done(&session->session_token);
    kndl_secret_done(&session->setup_token);
    kndl_secret_done(&session->variables);
    if (session->callbacks == 0)
        free_session(session);
}

void session_free_all(struct runner *runner)
{
    while (runner->sessions != NULL) {
        struct session *session = runner->sessions;

        if (!session->is_forgotten)
            session_keep_blocks_at_end(session);
        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): what is freed is unlinked */
        session->callbacks = 0; /* nobody calls back any more */
        if (session->is_forgotten)
            free_session(session);
        else
            session_forget(session);
    }
}

void session_ask(struct session *session, const struct hub_question *question, session_answer_fn fn,
                 const char *note)
{
    asks_put(session->asks, question, fn, note);
}

void session_set_phase(struct session *session, enum session_phase phase)
{
    session->phase = phase;
    kndl_log(KNDL_INFO, "session phase", KNDL_STR("session", session->id),
             KNDL_I64("run", session->start->run), KNDL_I64("phase", phase));
}

/* ---------------------------------------------------------------------------------- listing */

size_t session_list(struct runner *runner, SV1(AttendRequest__Run) * **ret_runs)
{
    size_t count = 0, i = 0;

    for (struct session *session = runner->sessions; session != NULL; session = session->next)
        count++;
    *ret_runs = kndl_alloc(count + 1, sizeof **ret_runs);
    for (struct session *session = runner->sessions; session != NULL; session = session->next) {
        static const SV1(AttendRequest__Phase) phases[] = {
            [SESSION_STARTING] = KNDL__SESSIONS__V1__ATTEND_REQUEST__PHASE__PHASE_STARTING,
            [SESSION_RUNNING] = KNDL__SESSIONS__V1__ATTEND_REQUEST__PHASE__PHASE_RUNNING,
            [SESSION_STOPPING] = KNDL__SESSIONS__V1__ATTEND_REQUEST__PHASE__PHASE_STOPPING,
            [SESSION_ENDED] = KNDL__SESSIONS__V1__ATTEND_REQUEST__PHASE__PHASE_ENDED,
        };
        SV1(AttendRequest__Run) * run;

        if (session->is_forgotten || session->start == NULL)
            continue;
        run = kndl_new0(SV1(AttendRequest__Run));
        kndl__sessions__v1__attend_request__run__init(run);
        run->session_id = session->id;
        run->run = session->start->run;
        run->phase = phases[session->phase];
        /* One that is being taken back runs, as far as anybody knows. */
        if (session->is_adopted && session->was_running && session->phase == SESSION_STARTING)
            run->phase = phases[SESSION_RUNNING];
        run->last_n = spool_last_n(session->spool);
        (*ret_runs)[i++] = run;
    }
    return i;
}
