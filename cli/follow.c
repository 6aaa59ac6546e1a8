/* Events by number, over ListEvents. */

#include "follow.h"

#include <string.h>

#include "kndl/clock.h"
#include "pause.h"

#define V1(name) Kndl__Sessions__V1__##name
#define EVENT(name) Kndl__Event__V1__##name

enum {
    PAGE_COUNT = 200,
    ANSWER_MS = 15000,
    AWAY_MS_MAX = 60000,
    PAUSE_MS = 500,
    WAIT_MS = 10000,
    LONG_WAIT_MS = 25000,
};

void follow_open(struct follow *follow, struct cli *cli, const char *session_id, int64_t after_seq)
{
    *follow = (struct follow){
        .cli = cli,
        .session_id = session_id,
        .after_seq = after_seq,
        .arena = kndl_arena_new(KNDL_ARENA_PLAIN),
    };
}

void follow_close(struct follow *follow)
{
    kndl_arena_free(follow->arena);
}

static int ask(struct follow *follow, int wait_ms, V1(ListEventsResponse) **ret_page,
               struct kndl_error *err)
{
    V1(ListEventsRequest) request = KNDL__SESSIONS__V1__LIST_EVENTS_REQUEST__INIT;

    request.session_id = (char *)follow->session_id;
    request.page_case = KNDL__SESSIONS__V1__LIST_EVENTS_REQUEST__PAGE_AFTER_SEQ;
    request.after_seq = follow->after_seq;
    request.limit = PAGE_COUNT;
    request.wait_ms = wait_ms;
    kndl_arena_reset(follow->arena);
    return client_call(follow->cli->client, &kndl__sessions__v1__sessions_service__descriptor,
                       "ListEvents", &request.base, (uint32_t)wait_ms + ANSWER_MS, follow->arena,
                       (ProtobufCMessage **)ret_page, err);
}

static bool is_away(enum kndl_code code)
{
    return code == KNDL_UNAVAILABLE || code == KNDL_DEADLINE_EXCEEDED ||
           code == KNDL_RESOURCE_EXHAUSTED;
}

int follow_next(struct follow *follow, int wait_ms, const V1(ListEventsResponse) **ret_page,
                struct kndl_error *err)
{
    int64_t away_since_ms = 0;
    V1(ListEventsResponse) *page;
    struct kndl_error cause;

    for (;;) {
        cause = (struct kndl_error){0};
        if (ask(follow, wait_ms, &page, &cause) == 0)
            break;
        if (away_since_ms == 0)
            away_since_ms = kndl_clock_ms();
        if (!is_away(cause.code) ||
            kndl_clock_ms() + cause.retry_ms - away_since_ms > AWAY_MS_MAX) {
            *err = cause;
            return -1;
        }
        pause_after(&cause, PAUSE_MS);
    }
    if (page->n_events > 0)
        follow->after_seq = page->events[page->n_events - 1]->seq;
    *ret_page = page;
    return 0;
}

int follow_write(struct follow *follow, bool goes_on, enum transcript_form form,
                 struct kndl_error *err)
{
    const V1(ListEventsResponse) *page;

    do {
        if (follow_next(follow, goes_on ? LONG_WAIT_MS : 0, &page, err) < 0)
            return -1;
        for (size_t i = 0; i < page->n_events; i++)
            transcript_write(&follow->cli->screen, page->events[i], form);
    } while (goes_on || page->has_more);
    return 0;
}

/* What is known of the prompt that somebody waits for. */
struct awaited {
    const char *prompt_id; /* NULL: the Session's start is awaited */
    char turn_id[64];      /* "" until its Turn started */
    bool is_done;
    bool is_missing; /* it was not in the queue when that was last looked at */
};

static int judge_turn(const EVENT(TurnEnded) * ended, struct kndl_error *err)
{
    switch (ended->reason) {
    case KNDL__EVENT__V1__TURN_ENDED__REASON__REASON_ANSWER:
        return 0;
    case KNDL__EVENT__V1__TURN_ENDED__REASON__REASON_STOPPED:
        return kndl_fail(err, KNDL_UNKNOWN, "the Turn was stopped");
    case KNDL__EVENT__V1__TURN_ENDED__REASON__REASON_REFUSAL:
        return kndl_fail(err, KNDL_UNKNOWN, "Claude refused");
    case KNDL__EVENT__V1__TURN_ENDED__REASON__REASON_INTERRUPTED:
        return kndl_fail(err, KNDL_UNKNOWN, "Claude Code ended before the Turn did");
    default:
        return kndl_fail(err, KNDL_UNKNOWN, "%s",
                         ended->error[0] != '\0' ? ended->error : "the Turn failed");
    }
}

static int look_at_event(const EVENT(Event) * event, struct awaited *awaited,
                         struct kndl_error *err)
{
    if (event->kind_case == KNDL__EVENT__V1__EVENT__KIND_TURN_STARTED &&
        awaited->prompt_id != NULL &&
        strcmp(event->turn_started->prompt_id, awaited->prompt_id) == 0) {
        snprintf(awaited->turn_id, sizeof awaited->turn_id, "%s", event->turn_started->turn_id);
    } else if (event->kind_case == KNDL__EVENT__V1__EVENT__KIND_TURN_ENDED &&
               awaited->turn_id[0] != '\0' &&
               strcmp(event->turn_ended->turn_id, awaited->turn_id) == 0) {
        awaited->is_done = true;
        return judge_turn(event->turn_ended, err);
    }
    return 0;
}

/* A Session that can't go on; or one that is Active, where that is awaited. */
static int look_at_session(const V1(Session) *session, struct awaited *awaited,
                           struct kndl_error *err)
{
    switch (session->state) {
    case KNDL__EVENT__V1__STATE__STATE_FAILED:
        return kndl_fail(err, KNDL_UNKNOWN, "%s",
                         session->reason[0] != '\0' ? session->reason : "the Session failed");
    case KNDL__EVENT__V1__STATE__STATE_ARCHIVED:
        return kndl_fail(err, KNDL_UNKNOWN, "the Session is Archived");
    case KNDL__EVENT__V1__STATE__STATE_ACTIVE:
        if (awaited->prompt_id == NULL)
            awaited->is_done = true;
        return 0;
    default:
        return 0;
    }
}

/*
 * A prompt that was refused or cancelled leaves the queue without an Event. Since it also leaves
 * it when its Turn starts, it counts as gone when it is missing twice and no Turn has come.
 */
static int look_at_queue(struct follow *follow, struct awaited *awaited, struct kndl_error *err)
{
    V1(GetSessionRequest) request = KNDL__SESSIONS__V1__GET_SESSION_REQUEST__INIT;
    V1(GetSessionResponse) *response;
    ProtobufCMessage *message;

    request.session_id = (char *)follow->session_id;
    kndl_arena_reset(follow->arena);
    if (client_call(follow->cli->client, &kndl__sessions__v1__sessions_service__descriptor,
                    "GetSession", &request.base, 0, follow->arena, &message, err) < 0)
        return -1;
    response = (V1(GetSessionResponse) *)message;
    for (size_t i = 0; i < response->n_queue; i++) {
        const V1(QueuedPrompt) *prompt = response->queue[i];

        if (strcmp(prompt->id, awaited->prompt_id) != 0)
            continue;
        awaited->is_missing = false;
        if (prompt->state == KNDL__SESSIONS__V1__QUEUED_PROMPT__STATE__STATE_REFUSED ||
            prompt->state == KNDL__SESSIONS__V1__QUEUED_PROMPT__STATE__STATE_CANCELLED ||
            prompt->state == KNDL__SESSIONS__V1__QUEUED_PROMPT__STATE__STATE_UNSURE)
            return kndl_fail(err, KNDL_UNKNOWN, "%s",
                             prompt->reason[0] != '\0' ? prompt->reason
                                                       : "the prompt was not delivered");
        return 0;
    }
    if (awaited->is_missing)
        return kndl_fail(err, KNDL_UNKNOWN, "the prompt was refused or cancelled");
    awaited->is_missing = true;
    return 0;
}

int follow_until_done(struct follow *follow, const char *prompt_id, enum transcript_form form,
                      struct kndl_error *err)
{
    struct awaited awaited = {.prompt_id = prompt_id};
    const V1(ListEventsResponse) *page;

    while (!awaited.is_done) {
        if (follow_next(follow, WAIT_MS, &page, err) < 0)
            return -1;
        for (size_t i = 0; i < page->n_events; i++) {
            transcript_write(&follow->cli->screen, page->events[i], form);
            if (look_at_event(page->events[i], &awaited, err) < 0)
                return -1;
        }
        if (awaited.is_done || page->has_more)
            continue;
        if (page->session != NULL && look_at_session(page->session, &awaited, err) < 0)
            return -1;
        bool is_quiet = page->n_events == 0 && prompt_id != NULL && awaited.turn_id[0] == '\0';
        if (is_quiet && look_at_queue(follow, &awaited, err) < 0) {
            if (!is_away(err->code))
                return -1;
            *err = (struct kndl_error){0};
        }
    }
    return 0;
}
