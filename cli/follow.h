#pragma once

/* Reading a Session's Events in order, and on as they come. */

#include <stdbool.h>
#include <stdint.h>

#include "kndl/sessions/v1/sessions_service.pb-c.h"
#include "transcript.h"
#include "verb.h"

/* For the verbs that write a transcript. Prompts, states and ends of Turns say when they were, as
 * on the Session's page; every line saying it would stand in the way of reading. */
#define TIMESTAMPS_OPTION                                                                          \
    {                                                                                              \
        "timestamps", 't', NULL, "when it was, in front of each Event (RFC 3339)"                  \
    }
#define TIMES_HELP "Times are this machine's local ones.\n"

/* Where somebody is in a Session. */
struct follow {
    struct cli *cli;
    const char *session_id;
    int64_t after_seq;        /* the newest Event that was read */
    struct kndl_arena *arena; /* of the page that was read last */
};

void follow_open(struct follow *follow, struct cli *cli, const char *session_id, int64_t after_seq);
void follow_close(struct follow *follow);

/*
 * The next page, up to 200 Events; the Hub waits up to wait_ms for one if there is none. Lives
 * until the next call. A Hub that is away for less than a minute is waited for, so that a restart
 * of it is not seen: Events are asked for by number, none is missed and none comes twice.
 */
int follow_next(struct follow *follow, int wait_ms,
                const Kndl__Sessions__V1__ListEventsResponse **ret_page, struct kndl_error *err);

/*
 * Writes Events from here on, page by page: those that there are, and with goes_on those that come,
 * until Ctrl-C.
 */
int follow_write(struct follow *follow, bool goes_on, enum transcript_form form,
                 struct kndl_error *err);

/*
 * Writes Events until the Turn that this prompt starts has ended. Fails with KNDL_UNKNOWN and a
 * sentence if it ended otherwise than with an answer, was refused or cancelled, or the Session
 * Failed. prompt_id NULL: until the Session is Active.
 */
int follow_until_done(struct follow *follow, const char *prompt_id, enum transcript_form form,
                      struct kndl_error *err);
