/* kndl events: what happened in a Session. */

#include <errno.h>
#include <stdlib.h>

#include "follow.h"
#include "session_id.h"
#include "transcript.h"

#define V1(name) Kndl__Sessions__V1__##name

enum { WAIT_MS = 25000 };

static const struct arg_option options[] = {
    {"after", "SEQ", "only what came after this Event"},
    {"follow", NULL, "go on as it happens, until Ctrl-C"},
    {"json", NULL, "for programs: one kndl.event.v1.Event a line"},
    {NULL, NULL, NULL},
};

static int read_seq(const struct args *args, int64_t *ret_seq, struct kndl_error *err)
{
    const char *text = args_get(args, "after");
    char *end;

    if (text == NULL)
        return 0;
    errno = 0;
    long long seq = strtoll(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || seq < 0)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "--after %.40s is no Event's number", text);
    *ret_seq = seq;
    return 0;
}

static int run(struct cli *cli, const struct args *args, struct kndl_error *err)
{
    bool json = args_has(args, "json"), on = args_has(args, "follow");
    const V1(ListEventsResponse) *page;
    char session_id[KNDL_ID_SIZE];
    struct follow follow;
    int64_t after_seq = 0;
    int result;

    if (read_seq(args, &after_seq, err) < 0 ||
        session_id_read(cli, args->rest[0], session_id, err) < 0)
        return -1;
    follow_open(&follow, cli, session_id, after_seq);
    do {
        result = follow_next(&follow, on ? WAIT_MS : 0, &page, err);
        for (size_t i = 0; result == 0 && i < page->n_events; i++)
            transcript_write(&cli->screen, page->events[i], json);
    } while (result == 0 && (on || page->has_more));
    follow_close(&follow);
    return result;
}

const struct verb verb_events = {
    .name = "events",
    .usage = "SESSION [--after SEQ] [--follow] [--json]",
    .summary = "what happened in a Session",
    .help = "",
    .options = options,
    .least = 1,
    .most = 1,
    .run = run,
};
