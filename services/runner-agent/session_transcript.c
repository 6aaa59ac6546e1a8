/*
 * What the mod could not send any more: the end of Claude Code's transcript, from the last row that
 * is known on. Read after every end; after a commanded one there is nothing new. Foreign bytes:
 * read with limits, and lines that are torn or of no known kind are passed over.
 */

#include "session_parts.h"

#include <stdlib.h>
#include <string.h>

#include "guest_file.h"
#include "kndl/log.h"
#include "kndl/mem.h"

/* Rows of a run that died are near the end; older ones have long been stored. */
enum { TAIL_BYTES_MAX = 8 * 1024 * 1024 };

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

/* Lines from the end back to the last one that is known; what follows it is new. */
struct lines {
    struct kndl_slice *list;
    size_t count;
};

static void split(struct kndl_slice bytes, bool is_whole, struct lines *lines)
{
    size_t room = 0;

    while (bytes.size > 0) {
        const uint8_t *end = memchr(bytes.data, '\n', bytes.size);
        size_t size = end == NULL ? bytes.size : (size_t)(end - bytes.data);

        /* The first of a tail may be half a line. */
        if (is_whole && size > 0) {
            if (lines->count == room) {
                room = room == 0 ? 256 : 2 * room;
                lines->list = kndl_realloc(lines->list, room, sizeof *lines->list);
            }
            lines->list[lines->count++] = kndl_slice(bytes.data, size);
        }
        is_whole = true;
        size += end != NULL;
        bytes = kndl_slice(bytes.data + size, bytes.size - size);
    }
}

/* The row's own id, without making Events of it. */
static bool line_is_known(const struct session *session, struct kndl_slice line)
{
    struct kndl_json *json;
    const char *uuid;
    bool known;

    if (kndl_json_parse(line, CLAUDE_LINE_BYTES_MAX, &json, NULL) < 0)
        return false;
    uuid = kndl_json_text(kndl_json_get(kndl_json_root(json), "uuid"), "");
    known = uuid[0] != '\0' && is_known(session, uuid);
    kndl_json_free(json);
    return known;
}

static void spool_line(struct session *session, struct kndl_slice line)
{
    struct claude_news news;

    kndl_arena_reset(session->arena);
    claude_read_line(session->reader, line, "", session->arena, &news);
    if (news.count > 0 && !is_known(session, news.events[0]->source_id))
        session_spool(session, news.events, news.count);
}

static void take_tail(struct session *session, struct kndl_slice bytes, bool is_whole)
{
    struct lines lines = {0};
    size_t first, taken = 0;

    split(bytes, is_whole, &lines);
    for (first = lines.count; first > 0; first--)
        if (line_is_known(session, lines.list[first - 1]))
            break;
    /* Nothing known in a conversation that went on before this run: better nothing than twice. */
    if (first > 0 || !session->is_resumed)
        for (size_t i = first; i < lines.count; i++, taken++)
            spool_line(session, lines.list[i]);
    if (taken > 0)
        kndl_log(KNDL_INFO, "read from the transcript", KNDL_STR("session", session->id),
                 KNDL_U64("lines", taken));
    free(lines.list);
}

static void read_config_file(struct session *session, uint64_t offset, size_t most,
                             guest_read_fn fn)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf directory = {0}, path = {0};
    struct guest_place place = {.sandbox = session->sandbox};

    session_path(session, "config", &directory);
    place.directory = kndl_buf_text(&directory);
    claude_transcript_path(session->start->claude_session_id, &path);
    session_enter(session);
    guest_file_read(session->runner->sandboxes, &place, kndl_buf_text(&path), offset, most, fn,
                    session);
}

static void tail_read(void *data, const struct sandbox_answer *answer, struct kndl_slice bytes,
                      uint64_t size)
{
    struct session *session = data;

    if (!session_leave(session))
        return;
    if (answer->err.code == KNDL_OK)
        take_tail(session, bytes, size <= TAIL_BYTES_MAX);
    session_transcript_read(session);
}

static void looked(void *data, const struct sandbox_answer *answer, struct kndl_slice bytes,
                   uint64_t size)
{
    struct session *session = data;

    (void)bytes;
    if (!session_leave(session))
        return;
    session->end.conversation_exists = answer->err.code == KNDL_OK && size > 0;
    if (!session->end.conversation_exists || !session->was_running ||
        session->end.cause == KNDL__SESSIONS__V1__REPORT_ENDED_REQUEST__CAUSE__CAUSE_COMMANDED)
        session_transcript_read(session);
    else
        read_config_file(session, size > TAIL_BYTES_MAX ? size - TAIL_BYTES_MAX : 0, TAIL_BYTES_MAX,
                         tail_read);
}

void session_read_transcript(struct session *session)
{
    read_config_file(session, 0, 1, looked);
}
