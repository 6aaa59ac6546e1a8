/*
 * The end of a transcript, taken from the last row that is known on. Where none of it is known any
 * more, as of a Subagent that ended long ago, what was written before the newest row arrived here
 * has been told. Foreign bytes: lines that are torn or of no known kind are passed over, long ones
 * are made short, and only so much is read in one turn of the loop, which other Sessions wait for.
 */

#include "session_parts.h"

#include <stdlib.h>
#include <string.h>

#include "kndl/log.h"
#include "kndl/loop.h"
#include "kndl/mem.h"
#include "tail_lines.h"

enum {
    TURN_BYTES = 256 * 1024, /* then others have theirs; but a line is read whole */
};

struct session_tail {
    char *bytes;
    char *subagent_id; /* "" for the main thread */
    struct tail_lines lines;
    bool is_whole;
    bool is_by_time; /* no row is known */
    size_t at;       /* of the line before this one or of this one, by is_found */
    size_t taken;    /* lines */
    bool is_found;   /* the first line to take */
    void (*then)(struct session *session);
};

static bool is_known(const struct session *session, const char *source_id)
{
    const Kndl__Runner__V1__StartRunRequest *start = session->start;

    if (spool_has_source(session->spool, source_id))
        return true;
    for (size_t i = 0; i < start->n_stored_source_ids; i++)
        if (strcmp(start->stored_source_ids[i], source_id) == 0)
            return true;
    return false;
}

/* The row's own id, without making Events of it. */
static bool line_is_known(const struct session *session, struct kndl_slice line)
{
    struct kndl_json *json;
    const char *uuid;
    bool known;

    if (claude_parse_line(line, &json) < 0)
        return false;
    uuid = kndl_json_text(kndl_json_get(kndl_json_root(json), "uuid"), "");
    known = claude_is_uuid(uuid) && is_known(session, uuid);
    kndl_json_free(json);
    return known;
}

static void spool_line(struct session *session, struct kndl_slice line, const char *subagent_id)
{
    struct claude_news news;

    if (session->unspooled != KNDL_OK)
        return; /* read again from there */
    kndl_arena_reset(session->arena);
    claude_read_line(session->reader, line, subagent_id, session->arena, &news);
    if (news.count > 0 && !is_known(session, news.events[0]->source_id))
        session_spool(session, news.events, news.count);
}

static bool line_was_told(const struct session *session, struct kndl_slice line)
{
    int64_t told_ms = spool_rows_at_ms(session->spool) - SPOOL_ROW_MS_MAX, at_ms;
    struct kndl_json *json;

    if (claude_parse_line(line, &json) < 0)
        return false;
    at_ms = claude_line_at_ms(json);
    kndl_json_free(json);
    return at_ms != 0 && at_ms < told_ms;
}

/* Before the first line. */
static void look_from_beginning(struct session *session, struct session_tail *tail)
{
    bool has_rows = spool_rows_at_ms(session->spool) != 0;

    if (!tail->is_by_time && has_rows) {
        tail->is_by_time = true;
        tail->at = tail->lines.count;
        return;
    }
    tail->is_found = true;
    /* Nothing of this run is known, in a conversation that went on before it: better nothing than
     * twice. */
    if (session->is_resumed && !has_rows)
        tail->at = tail->lines.count;
    if (!tail->is_whole)
        session_note(session, "transcript_cut",
                     "Claude Code ended before it had told all that happened, and more than can be "
                     "read of it afterwards: something may be missing here.");
}

/* Goes back to the last line that is known, or was told. */
static size_t look_back(struct session *session, struct session_tail *tail)
{
    const struct kndl_slice *line;

    if (tail->at == 0) {
        look_from_beginning(session, tail);
        return 0;
    }
    line = &tail->lines.list[tail->at - 1];
    if (tail->is_by_time ? line_was_told(session, *line) : line_is_known(session, *line))
        tail->is_found = true;
    else
        tail->at--;
    return line->size;
}

static size_t take_next(struct session *session, struct session_tail *tail)
{
    struct kndl_slice line = tail->lines.list[tail->at++];

    spool_line(session, line, tail->subagent_id);
    tail->taken++;
    return line.size;
}

static void take_some(void *data)
{
    struct session *session = data;
    struct session_tail *tail = session->tail;
    void (*then)(struct session * session) = tail->then;

    for (size_t bytes = 0; bytes < TURN_BYTES;) {
        if (!tail->is_found) {
            bytes += look_back(session, tail);
        } else if (tail->at < tail->lines.count) {
            bytes += take_next(session, tail);
        } else {
            if (tail->taken > 0)
                kndl_log(KNDL_INFO, "read from the transcript", KNDL_STR("session", session->id),
                         KNDL_U64("lines", tail->taken));
            session_drop_tail(session);
            then(session);
            return;
        }
    }
    kndl_timer_start(session->timer, 0, 0);
}

void session_take_tail(struct session *session, struct kndl_slice bytes, bool is_whole,
                       const char *subagent_id, void (*then)(struct session *session))
{
    struct session_tail *tail = kndl_new0(struct session_tail);

    tail->bytes = (char *)kndl_memdup(bytes.data, bytes.size);
    tail->subagent_id = kndl_strdup(subagent_id);
    tail->is_whole = is_whole;
    tail->then = then;
    tail_lines_find(kndl_slice(tail->bytes, bytes.size), is_whole, &tail->lines);
    tail->at = tail->lines.count;
    session->tail = tail;
    kndl_timer_free(session->timer);
    session->timer = kndl_timer_new(session->runner->loop, take_some, session);
    kndl_timer_start(session->timer, 0, 0);
}

void session_drop_tail(struct session *session)
{
    struct session_tail *tail = kndl_steal(&session->tail);

    if (tail == NULL)
        return;
    kndl_timer_free(kndl_steal(&session->timer));
    free(tail->bytes);
    free(tail->subagent_id);
    free(tail);
}
