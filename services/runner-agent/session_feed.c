/* What happens in Claude Code, from the relay to the spool and to the redactor. */

#include "session_parts.h"

#include <stdlib.h>
#include <string.h>

#include "kndl/clock.h"
#include "kndl/log.h"
#include "kndl/mem.h"

void session_send_deltas(void *data, Kndl__Event__V1__Delta *const *pieces, size_t count,
                         const char *ended_turn_id)
{
    struct session *session = data;

    forward_deltas(session->forward, pieces, count, ended_turn_id, session->relay_at_us);
}

/* -------------------------------------------------------------------------------- into the spool
 */

/* An Event that no batch could carry: said instead of sent. */
static void replace_if_too_long(struct session *session, Kndl__Event__V1__Event **event)
{
    Kndl__Event__V1__Event *note;
    Kndl__Event__V1__Note *body;

    if (kndl__event__v1__event__get_packed_size(*event) <= EVENT_BYTES_MAX)
        return;
    note = kndl_arena_alloc(session->arena, sizeof *note);
    body = kndl_arena_alloc(session->arena, sizeof *body);
    kndl__event__v1__event__init(note);
    kndl__event__v1__note__init(body);
    body->level = KNDL__EVENT__V1__NOTE__LEVEL__LEVEL_WARNING;
    body->note_code = kndl_arena_copy(session->arena, "event_too_long");
    body->text =
        kndl_arena_copy(session->arena, "Something longer than kndl can carry happened here.");
    note->source_id = (*event)->source_id;
    note->subagent_id = (*event)->subagent_id;
    note->kind_case = KNDL__EVENT__V1__EVENT__KIND_NOTE;
    note->note = body;
    *event = note;
}

static void stamp(struct session *session, Kndl__Event__V1__Event *const *events, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        events[i]->run = session->start->run;
        events[i]->runner_at_ms = kndl_clock_wall_ms();
    }
}

static void spooled(void *data, const struct kndl_error *err)
{
    struct session *session = data;
    /* An end that reads a transcript onto a full disk says it once. */
    bool was_said = session->phase == SESSION_STOPPING && session->unspooled != KNDL_OK;

    if (!session_leave(session))
        return;
    if (err->code != KNDL_OK && !was_said)
        kndl_log(KNDL_ERROR, "an Event could not be spooled", KNDL_STR("session", session->id),
                 KNDL_STR("why", err->message));
    if (err->code != KNDL_OK)
        session->unspooled = err->code;
    forward_wake(session->forward, 0);
}

void session_spool(struct session *session, Kndl__Event__V1__Event *const *events, size_t count)
{
    stamp(session, events, count);
    session_enter(session);
    spool_append(session->spool, NULL, events, count, spooled, session);
}

void session_note(struct session *session, const char *code, const char *text)
{
    Kndl__Event__V1__Event event = KNDL__EVENT__V1__EVENT__INIT, *list = &event;
    Kndl__Event__V1__Note note = KNDL__EVENT__V1__NOTE__INIT;

    note.level = KNDL__EVENT__V1__NOTE__LEVEL__LEVEL_WARNING;
    note.note_code = (char *)code;
    note.text = (char *)text;
    event.kind_case = KNDL__EVENT__V1__EVENT__KIND_NOTE;
    event.note = &note;
    session_spool(session, &list, 1);
}

void session_full_no_more(struct session *session)
{
    session->was_full = false;
    session_tell_waits(session);
    session_note(session, "spool_was_full",
                 "The Runner could not keep what happened for a while (its disk was full, or the "
                 "Hub away for long). Nothing is missing; it comes later.");
}

/* -------------------------------------------------------------------------------------- batches */

/* A batch that waits for the disk. */
struct waiting_batch {
    struct session *session;
    struct relay_held *held;
    uint64_t next;
    bool is_written; /* some of it is an Event */
    bool is_last;    /* the mod has nothing more to say */
    int64_t received_us;
};

static void batch_spooled(void *data, const struct kndl_error *err)
{
    struct waiting_batch waiting = *(struct waiting_batch *)data;
    struct session *session = waiting.session;

    free(data);
    if (err->code == KNDL_OK)
        relay_taken(waiting.held, waiting.next);
    else
        relay_refuse(waiting.held);
    if (!session_leave(session))
        return;
    delta_settle(session->deltas, err->code == KNDL_OK);
    session_forget_blocks(session);
    if (err->code != KNDL_OK) {
        if (!session->was_full)
            kndl_log(KNDL_ERROR, "the spool does not take Events", KNDL_STR("session", session->id),
                     KNDL_STR("why", err->message));
        session->was_full = true;
        session->unspooled = err->code; /* an end that reads the transcript meanwhile took its rows
                                           for known */
        session_tell_waits(session);
        return;
    }
    session->mod_sent_all = session->mod_sent_all || waiting.is_last;
    /* What leaves no Event finds room in a full spool, too. */
    if (session->was_full && waiting.is_written)
        session_full_no_more(session);
    forward_wake(session->forward, waiting.received_us);
}

static void take_news(struct session *session, const struct claude_news *news)
{
    if (news->is_delta)
        delta_put(session->deltas, &news->delta);
    if (news->turn_ended)
        delta_end_turn(session->deltas, news->turn_id);
    if (news->question_id[0] != '\0')
        answers_close(session->answers, news->question_id, news->question_is_answered);
    if (news->question_id[0] != '\0')
        relay_wake(session->relay);
}

/* Pieces of text are in no spool, so what was taken of them is remembered here. */
static void begin_batch(struct session *session, const struct claude_batch *batch)
{
    if (strcmp(session->taken_epoch, batch->epoch) != 0) {
        size_t size = strnlen(batch->epoch, sizeof session->taken_epoch - 1);

        delta_break(session->deltas); /* what had begun it ended with its mod */
        memcpy(session->taken_epoch, batch->epoch, size);
        session->taken_epoch[size] = '\0';
        session->taken_m = 0;
    } else if (batch->first > session->taken_m + 1) {
        delta_break(session->deltas); /* an earlier process took what is missing */
    }
}

/* The Events of a batch, in the arena but for the list. */
struct event_list {
    Kndl__Event__V1__Event **events;
    size_t count;
    size_t room;
};

static void add_events(struct event_list *list, Kndl__Event__V1__Event *const *events, size_t count)
{
    if (list->count + count > list->room) {
        list->room = 2 * (list->count + count);
        list->events = kndl_realloc(list->events, list->room, sizeof *list->events);
    }
    for (size_t i = 0; i < count; i++)
        list->events[list->count++] = events[i];
}

/* A Turn that ends leaves what had begun to stream and has no row: that comes before its end. */
static void add_unfinished(struct session *session, const char *thread, struct event_list *list)
{
    Kndl__Event__V1__Event *unfinished[DELTA_BLOCKS_MAX];

    add_events(list, unfinished,
               delta_unfinished(session->deltas, thread, session->arena, unfinished));
}

static void add_news(struct session *session, struct claude_news *news, struct event_list *list)
{
    if (news->ended_thread != NULL)
        add_unfinished(session, news->ended_thread, list);
    for (size_t i = 0; i < news->count; i++)
        replace_if_too_long(session, &news->events[i]);
    add_events(list, news->events, news->count);
}

void session_take_batch(void *data, struct relay_held *held, const struct claude_batch *batch,
                        int64_t received_us)
{
    struct session *session = data;
    size_t count = kndl_json_count(batch->events);
    uint64_t taken = spool_mark_of(session->spool, batch->epoch);
    struct waiting_batch *waiting = kndl_new0(struct waiting_batch);
    struct event_list list = {0};

    *waiting = (struct waiting_batch){
        .session = session, .held = held, .next = batch->first + count, .received_us = received_us};
    kndl_arena_reset(session->arena);
    session->relay_at_us = received_us;
    begin_batch(session, batch);
    for (size_t i = 0; i < count; i++) {
        const struct kndl_value *value = kndl_json_at(batch->events, i);
        uint64_t m = batch->first + i;
        struct claude_news news;

        if (m <= taken)
            continue;
        claude_read_event(session->reader, value, session->arena, &news);
        if (news.is_delta && m <= session->taken_m)
            continue;
        add_news(session, &news, &list);
        take_news(session, &news);
        waiting->is_last = waiting->is_last || news.conversation_ended;
    }
    if (count > 0 && batch->first + count - 1 > session->taken_m)
        session->taken_m = batch->first + count - 1;
    session_keep_blocks(session);
    stamp(session, list.events, list.count);
    waiting->is_written = list.count > 0;
    session_enter(session);
    spool_append(session->spool,
                 &(struct spool_mark){batch->epoch, batch->first + (count > 0 ? count - 1 : 0)},
                 list.events, list.count, batch_spooled, waiting);
    free(list.events);
}

void session_spool_unfinished(struct session *session)
{
    struct event_list list = {0};

    kndl_arena_reset(session->arena);
    add_unfinished(session, NULL, &list);
    if (list.count > 0)
        session_spool(session, list.events, list.count);
    free(list.events);
}
