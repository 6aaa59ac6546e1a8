/* kndl events: what happened in a Session, by number. */

#include "follow.h"
#include "session_id.h"

static const struct arg_option options[] = {
    {"after", 0, "SEQ", "only what came after this Event"},
    {"follow", 'f', NULL, "go on as it happens, until Ctrl-C"},
    TIMESTAMPS_OPTION,
    {"json", 0, NULL, "for programs: one kndl.event.v1.Event a line"},
    {NULL, 0, NULL, NULL},
};

static int run(struct cli *cli, const struct args *args, struct kndl_error *err)
{
    char session_id[KNDL_ID_SIZE];
    struct follow follow;
    int64_t after_seq = 0;

    if (args_number(args, "after", &after_seq, err) < 0 ||
        session_id_read(cli, args->rest[0], session_id, err) < 0)
        return -1;
    follow_open(&follow, cli, session_id, after_seq);
    int result =
        follow_write(&follow, args_has(args, "follow"),
                     transcript_form(args_has(args, "json"), args_has(args, "timestamps")), err);
    follow_close(&follow);
    return result;
}

const struct verb verb_events = {
    .name = "events",
    .usage = "SESSION [--after SEQ] [-f|--follow] [-t|--timestamps] [--json]",
    .summary = "a Session's Events by number, for programs",
    .help = "Each has a number, seq, without gaps: whoever keeps the last one asks for what came "
            "after it,\nmisses nothing and gets nothing twice.\n",
    .options = options,
    .least = 1,
    .most = 1,
    .run = run,
};
