/*
 * What the mod could not send any more: the end of Claude Code's transcript, from the last row that
 * is known on, and then the same of each Subagent's. Read after every end but a commanded one
 * before which the mod sent all. What the bytes say: session_tail.c.
 */

#include "session_parts.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "guest_file.h"
#include "kndl/mem.h"

/* Rows of a run that died are near the end; older ones have long been stored. One that holds what
 * Claude Code read of a picture has it twice, and is the longest. */
enum {
    TAIL_BYTES_MAX = 16 * 1024 * 1024,
    SUBAGENTS_MAX = 32, /* newest first would be better, but their order is nobody's */
    SUBAGENT_ID_CHARS_MAX = 64,
};

/* The folder is the Session's; what lies beneath it may be anything. */
static struct guest_place config_place(const struct session *session, struct kndl_buf *directory)
{
    session_path(session, "config", directory);
    return (struct guest_place){session->sandbox, kndl_buf_text(directory)};
}

static void read_config_file(struct session *session, const char *path, uint64_t offset,
                             size_t most, guest_read_fn fn, void *data)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf directory = {0};
    struct guest_place place = config_place(session, &directory);

    session_enter(session);
    guest_file_read(session->runner->sandboxes, &place, path, offset, most, fn, data);
}

/* ----------------------------------------------------------------------------- the Subagents' */

/* The Subagents whose transcripts are read, one after the other. */
struct subagents {
    struct session *session;
    char ids[SUBAGENTS_MAX][SUBAGENT_ID_CHARS_MAX + 1];
    uint64_t sizes[SUBAGENTS_MAX];
    size_t count;
    size_t at;
};

static void read_next_subagent(struct subagents *subagents);

static void subagent_path(const struct session *session, const char *file, struct kndl_buf *out)
{
    kndl_buf_printf(out, "projects/-workspace/%s/subagents%s", session->start->claude_session_id,
                    file);
}

static void subagent_taken(struct session *session)
{
    struct subagents *subagents = kndl_steal(&session->subagents);

    subagents->at++;
    read_next_subagent(subagents);
}

static void subagent_read(void *data, const struct sandbox_answer *answer, struct kndl_slice bytes,
                          uint64_t size)
{
    struct subagents *subagents = data;
    struct session *session = subagents->session;

    if (!session_leave(session)) {
        free(subagents);
        return;
    }
    session->subagents = subagents;
    if (answer->err.code == KNDL_OK)
        session_take_tail(session, bytes, size <= TAIL_BYTES_MAX, subagents->ids[subagents->at],
                          subagent_taken);
    else
        subagent_taken(session);
}

static void read_next_subagent(struct subagents *subagents)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf path = {0}, file = {0};
    struct session *session = subagents->session;
    uint64_t size, most = TAIL_BYTES_MAX;

    if (subagents->at == subagents->count) {
        free(subagents);
        session_transcript_read(session);
        return;
    }
    size = subagents->sizes[subagents->at];
    kndl_buf_printf(&file, "/agent-%s.jsonl", subagents->ids[subagents->at]);
    subagent_path(session, kndl_buf_text(&file), &path);
    read_config_file(session, kndl_buf_text(&path), size > most ? size - most : 0, most,
                     subagent_read, subagents);
}

/* Takes "agent-<id>.jsonl" with an id of letters and digits; false for anything else. */
static bool take_name(struct subagents *subagents, const struct guest_entry *entry)
{
    static const char before[] = "agent-", behind[] = ".jsonl";
    size_t size = strlen(entry->name);
    size_t around = sizeof before - 1 + sizeof behind - 1;
    const char *id = entry->name + sizeof before - 1;

    if (!entry->is_regular || size <= around || size - around > SUBAGENT_ID_CHARS_MAX ||
        strncmp(entry->name, before, sizeof before - 1) != 0 ||
        strcmp(entry->name + size - (sizeof behind - 1), behind) != 0)
        return false;
    for (size_t i = 0; i < size - around; i++)
        if (!isalnum((unsigned char)id[i]))
            return false;
    memcpy(subagents->ids[subagents->count], id, size - around);
    subagents->sizes[subagents->count++] = entry->size;
    return true;
}

static void subagents_listed(void *data, const struct sandbox_answer *answer,
                             const struct guest_entry *entries, size_t count)
{
    struct session *session = data;
    struct subagents *subagents;

    (void)answer; /* most Sessions have none */
    if (!session_leave(session))
        return;
    subagents = kndl_new0(struct subagents);
    subagents->session = session;
    for (size_t i = 0; i < count && subagents->count < SUBAGENTS_MAX; i++)
        (void)take_name(subagents, &entries[i]);
    read_next_subagent(subagents);
}

static void list_subagents(struct session *session)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf directory = {0}, path = {0};
    struct guest_place place = config_place(session, &directory);

    subagent_path(session, "", &path);
    session_enter(session);
    guest_file_list(session->runner->sandboxes, &place, kndl_buf_text(&path), subagents_listed,
                    session);
}

/* --------------------------------------------------------------------------------- the main one */

static void tail_read(void *data, const struct sandbox_answer *answer, struct kndl_slice bytes,
                      uint64_t size)
{
    struct session *session = data;

    if (!session_leave(session))
        return;
    if (answer->err.code == KNDL_OK)
        session_take_tail(session, bytes, size <= TAIL_BYTES_MAX, "", list_subagents);
    else
        list_subagents(session);
}

static void read_transcript(struct session *session, uint64_t offset, size_t most, guest_read_fn fn)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf path = {0};

    claude_transcript_path(session->start->claude_session_id, &path);
    read_config_file(session, kndl_buf_text(&path), offset, most, fn, session);
}

static void looked(void *data, const struct sandbox_answer *answer, struct kndl_slice bytes,
                   uint64_t size)
{
    struct session *session = data;
    bool has_all =
        session->mod_sent_all &&
        session->end.cause == KNDL__SESSIONS__V1__REPORT_ENDED_REQUEST__CAUSE__CAUSE_COMMANDED;

    (void)bytes;
    if (!session_leave(session))
        return;
    session->end.conversation_exists = answer->err.code == KNDL_OK && size > 0;
    if (!session->end.conversation_exists || !session->was_running || has_all)
        session_transcript_read(session);
    else
        read_transcript(session, size > TAIL_BYTES_MAX ? size - TAIL_BYTES_MAX : 0, TAIL_BYTES_MAX,
                        tail_read);
}

void session_read_transcript(struct session *session)
{
    session->unspooled = KNDL_OK;
    session->end.pass_first_n = spool_last_n(session->spool) + 1;
    read_transcript(session, 0, 1, looked);
}
