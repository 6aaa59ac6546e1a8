/* kndl logs and kndl attach: a Session's transcript, as its page shows it. */

#include <inttypes.h>

#include "follow.h"
#include "session_id.h"
#include "session_view.h"

#define V1(name) Kndl__Sessions__V1__##name

enum { ATTACH_COUNT = 50 };

static const struct arg_option log_options[] = {
    {"follow", 'f', NULL, "go on as it happens, until Ctrl-C"},
    {"tail", 'n', "COUNT", "only the last so many Events"},
    TIMESTAMPS_OPTION,
    {"json", 0, NULL, "for programs: one kndl.event.v1.Event a line"},
    {NULL, 0, NULL, NULL},
};

static const struct arg_option attach_options[] = {TIMESTAMPS_OPTION, {NULL, 0, NULL, NULL}};

/* Events are numbered without gaps: the last so many come after this one. */
static int64_t before_last(const V1(Session) *session, int64_t count)
{
    return session->last_seq > count ? session->last_seq - count : 0;
}

static int logs(struct cli *cli, const struct args *args, struct kndl_error *err)
{
    V1(GetSessionResponse) *view;
    char session_id[KNDL_ID_SIZE];
    struct follow follow;
    int64_t after_seq = 0, count = 0;

    if (args_number(args, "tail", &count, err) < 0 ||
        session_id_read(cli, args->rest[0], session_id, err) < 0)
        return -1;
    if (args_has(args, "tail")) {
        if (session_look(cli, session_id, &view, err) < 0)
            return -1;
        after_seq = before_last(view->session, count);
    }
    follow_open(&follow, cli, session_id, after_seq);
    int result =
        follow_write(&follow, args_has(args, "follow"),
                     transcript_form(args_has(args, "json"), args_has(args, "timestamps")), err);
    follow_close(&follow);
    return result;
}

static int attach(struct cli *cli, const struct args *args, struct kndl_error *err)
{
    V1(GetSessionResponse) *view;
    char session_id[KNDL_ID_SIZE];
    struct follow follow;

    if (session_id_read(cli, args->rest[0], session_id, err) < 0 ||
        session_look(cli, session_id, &view, err) < 0)
        return -1;
    session_view_line(&cli->screen, view->session);
    int64_t after_seq = before_last(view->session, ATTACH_COUNT);
    screen_color(&cli->screen, SCREEN_DIM);
    if (after_seq > 0)
        fprintf(cli->screen.out, "-- the %" PRId64 " Events before: kndl logs %s\n", after_seq,
                session_id);
    fputs("-- Ctrl-C ends the view; the Session goes on\n", cli->screen.out);
    screen_color(&cli->screen, SCREEN_PLAIN);
    fputc('\n', cli->screen.out);
    follow_open(&follow, cli, session_id, after_seq);
    int result =
        follow_write(&follow, true, transcript_form(false, args_has(args, "timestamps")), err);
    follow_close(&follow);
    return result;
}

const struct verb verb_logs = {
    .name = "logs",
    .usage = "SESSION [-f|--follow] [-n|--tail COUNT] [-t|--timestamps] [--json]",
    .summary = "what was said and done in a Session",
    .help = "All of it from the beginning, unless --tail says less. " TIMES_HELP,
    .options = log_options,
    .least = 1,
    .most = 1,
    .run = logs,
};

const struct verb verb_attach = {
    .name = "attach",
    .usage = "SESSION [-t|--timestamps]",
    .summary = "look on at a Session: how it is, its last 50 Events, and what comes",
    .help = "It goes on until Ctrl-C, which ends the view alone. To say something there: kndl "
            "prompt,\nkndl answer, kndl stop. " TIMES_HELP,
    .options = attach_options,
    .least = 1,
    .most = 1,
    .run = attach,
};
