/*
 * What streams, kept over a restart of this process: on the disk before the batch that brought it
 * is answered, so that the mod keeps what is not there yet. A long text is written less often;
 * where the process ends in between, the block is kept as far as it was written.
 */

#include "session_parts.h"

#include <string.h>

#include "blocks_file.h"
#include "kndl/clock.h"
#include "kndl/log.h"
#include "kndl/loop.h"
#include "kndl/mem.h"

#define RV1(name) Kndl__Runner__V1__##name

enum {
    BYTES_A_MS = 4 * 1024, /* what a Session may write: 32 KiB with each of the mod's batches */
    READ_EVENTS_MAX = 200,
    READ_BYTES_MAX = 1024 * 1024,
};

/* ------------------------------------------------------------------------------- writing them */

static void blocks_written(void *data, const struct kndl_error *err)
{
    struct session *session = data;
    bool was_failing = session->blocks.is_failing;

    if (!session_leave(session))
        return;
    session->blocks.is_failing = err->code != KNDL_OK;
    if (session->blocks.is_failing && !was_failing)
        kndl_log(KNDL_WARNING, "what streams is in memory alone", KNDL_STR("session", session->id),
                 KNDL_STR("why", err->message));
}

static void keep_late(void *data)
{
    session_keep_blocks(data);
}

/* What streams now; returns how many bytes that is. */
static size_t write_blocks(struct session *session, disk_done_fn done)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf directory = {0};
    RV1(OpenBlock) blocks[DELTA_BLOCKS_MAX], *list[DELTA_BLOCKS_MAX];
    RV1(OpenBlocks) open = KNDL__RUNNER__V1__OPEN_BLOCKS__INIT;

    open.n_blocks = delta_list_open(session->deltas, blocks);
    for (size_t i = 0; i < open.n_blocks; i++)
        list[i] = &blocks[i];
    open.epoch = session->taken_epoch;
    open.m = (int64_t)session->taken_m;
    open.last_n = spool_last_n(session->spool);
    open.blocks = list;
    session_spool_path(session, &directory);
    return blocks_file_write(session->runner->disk, kndl_buf_text(&directory),
                             ++session->blocks.turn, &open, done, session);
}

static bool streams(struct session *session)
{
    RV1(OpenBlock) blocks[DELTA_BLOCKS_MAX];

    return session->deltas != NULL && delta_list_open(session->deltas, blocks) > 0;
}

void session_keep_blocks(struct session *session)
{
    int64_t now_ms = kndl_clock_ms();

    if (!streams(session))
        return;
    if (now_ms < session->blocks.next_ms) {
        kndl_timer_start(session->blocks.timer, (uint64_t)(session->blocks.next_ms - now_ms), 0);
        return;
    }
    session_enter(session);
    session->blocks.next_ms = now_ms + (int64_t)write_blocks(session, blocks_written) / BYTES_A_MS;
}

void session_keep_blocks_at_end(struct session *session)
{
    if (streams(session))
        (void)write_blocks(session, NULL);
}

void session_forget_blocks(struct session *session)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf directory = {0};

    if (session->blocks.turn == 0 || streams(session))
        return;
    session_spool_path(session, &directory);
    blocks_file_remove(session->runner->disk, kndl_buf_text(&directory));
    session->blocks.turn = 0;
}

/* ------------------------------------------------------------------------------- reading them */

void session_close_told(struct session *session, int64_t first_n)
{
    Kndl__Event__V1__Event **events;
    struct kndl_error err = {0};
    size_t count;

    for (int64_t n = first_n; n <= spool_last_n(session->spool); n += (int64_t)count) {
        kndl_arena_reset(session->arena);
        if (spool_read(session->spool, n, READ_EVENTS_MAX, READ_BYTES_MAX, session->arena, &events,
                       &count, &err) < 0)
            return;
        for (size_t i = 0; i < count; i++)
            delta_was_told(session->deltas, events[i]);
    }
}

/* Nothing of them, where it cannot be known any more which have their Events. */
static void take_back(struct session *session, const RV1(OpenBlocks) * open)
{
    if (open->last_n + 1 < spool_first_n(session->spool) ||
        strlen(open->epoch) >= sizeof session->taken_epoch)
        return;
    delta_open_again(session->deltas, open->blocks, open->n_blocks);
    session_close_told(session, open->last_n + 1);
    memcpy(session->taken_epoch, open->epoch, strlen(open->epoch) + 1);
    session->taken_m = (uint64_t)open->m;
    if (spool_mark_of(session->spool, open->epoch) > session->taken_m)
        delta_break(session->deltas); /* what came with those Events was not written any more */
}

void session_open_blocks(struct session *session)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf directory = {0};
    RV1(OpenBlocks) * open;

    session->blocks.timer = kndl_timer_new(session->runner->loop, keep_late, session);
    session_spool_path(session, &directory);
    open = blocks_file_read(kndl_buf_text(&directory), &session->blocks.turn);
    if (open == NULL)
        return;
    take_back(session, open);
    kndl__runner__v1__open_blocks__free_unpacked(open, NULL);
}
