/*
 * How long does one body of a Sandbox keep runner-agent's loop, and so every other Sandbox of the
 * host? Bodies as large as the relay takes them, of the shapes that cost the most, go the way that
 * the relay and the Session send them: parsed, read as events, packed for the spool. Prints the
 * least of some rounds in milliseconds of this thread's own time, so that what else runs on the
 * machine does not count.
 */

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "claude.h"
#include "kndl/mem.h"
#include "relay.h"

enum { ROUNDS = 20, MANY = RELAY_VALUES_MAX - 100, ANY = 1 << 30 };

static const char *nothing(void)
{
    return "";
}

static const char *match_prompt(void *data, const char *text, bool was_typed)
{
    (void)data;
    (void)text;
    (void)was_typed;
    return nothing();
}

static const char *match_turn(void *data, const char *text)
{
    (void)data;
    (void)text;
    return nothing();
}

static const char *match_block(void *data, const char *subagent_id, enum claude_block kind,
                               const char *tool_use_id)
{
    (void)data;
    (void)subagent_id;
    (void)kind;
    (void)tool_use_id;
    return nothing();
}

static const char *answered_by(void *data, const char *question_id)
{
    (void)data;
    (void)question_id;
    return nothing();
}

static int64_t thread_us(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* One body through; how many bytes of Events came of it, SIZE_MAX: it was refused. */
static size_t take(struct claude_reader *reader, struct kndl_arena *arena, struct kndl_slice body)
{
    struct kndl_json *json;
    struct claude_batch batch;
    size_t bytes = 0;

    kndl_arena_reset(arena);
    if (kndl_json_parse_some(body, RELAY_BODY_BYTES_MAX, RELAY_VALUES_MAX, &json, NULL) < 0)
        return SIZE_MAX;
    if (claude_read_batch(json, &batch, NULL) < 0) {
        kndl_json_free(json);
        return SIZE_MAX;
    }
    for (size_t i = 0; i < kndl_json_count(batch.events); i++) {
        struct claude_news news;

        claude_read_event(reader, kndl_json_at(batch.events, i), arena, &news);
        for (size_t j = 0; j < news.count; j++) {
            size_t size = kndl__event__v1__event__get_packed_size(news.events[j]);
            uint8_t *packed = kndl_arena_alloc(arena, size);

            kndl__event__v1__event__pack(news.events[j], packed);
            bytes += size;
        }
    }
    kndl_json_free(json);
    return bytes;
}

static void measure(const char *shape, struct kndl_buf *body)
{
    struct claude_links links = {match_prompt, match_turn, match_block, answered_by, NULL};
    struct claude_reader *reader = claude_reader_new(&links);
    struct kndl_arena *arena = kndl_arena_new(KNDL_ARENA_PLAIN);
    int64_t least_us = INT64_MAX;
    size_t bytes = 0;

    for (int i = 0; i < ROUNDS; i++) {
        int64_t began_us = thread_us(), took_us;

        bytes = take(reader, arena, kndl_buf_slice(body));
        took_us = thread_us() - began_us;
        if (took_us < least_us)
            least_us = took_us;
    }
    printf("a body of %5zu KiB, %-28s keeps the loop %6.2f ms", body->size / 1024, shape,
           (double)least_us / 1000);
    if (bytes == SIZE_MAX)
        printf(" (refused)\n");
    else
        printf(" (%zu KiB of Events)\n", bytes / 1024);
    kndl_arena_free(arena);
    claude_reader_free(reader);
    kndl_buf_done(body);
}

static void begin(struct kndl_buf *body)
{
    kndl_buf_append_text(body, "{\"epoch\":\"e\",\"first\":1,\"events\":[");
}

static void begin_row(struct kndl_buf *body, const char *door)
{
    kndl_buf_printf(body,
                    "{\"type\":\"session.append\",\"door\":\"%s\","
                    "\"uuid\":\"b6a82ae1-f659-4f1f-b7b1-a96d6c0819d4\",\"message\":"
                    "{\"type\":\"assistant\",\"content\":[",
                    door);
}

/* One row whose block is `before`, then as many as fit of: piece, its number, end; then `behind`.
 */
static void measure_row(const char *shape, size_t pieces_most, const char *before,
                        const char *piece, bool is_numbered, const char *end, const char *behind)
{
    struct kndl_buf body = {0};

    begin(&body);
    begin_row(&body, "response");
    kndl_buf_append_text(&body, before);
    for (size_t i = 0; i < pieces_most && body.size + 200 < RELAY_BODY_BYTES_MAX; i++) {
        kndl_buf_append_text(&body, piece);
        if (is_numbered)
            kndl_buf_printf(&body, "%zu", i);
        kndl_buf_append_text(&body, end);
    }
    kndl_buf_append_text(&body, behind);
    kndl_buf_append_text(&body, "]}}]}");
    measure(shape, &body);
}

static void measure_rows(void)
{
    struct kndl_buf body = {0};

    begin(&body);
    for (int i = 0; i < MANY / 190 && body.size + 4096 < RELAY_BODY_BYTES_MAX; i++) {
        kndl_buf_append_text(&body, i > 0 ? "," : "");
        begin_row(&body, "response");
        for (int j = 0; j < 60; j++)
            kndl_buf_printf(&body, "%s{\"type\":\"text\",\"text\":\"a line of text\"}",
                            j > 0 ? "," : "");
        kndl_buf_append_text(&body, "]}}");
    }
    kndl_buf_append_text(&body, "]}");
    measure("rows of 60 short blocks", &body);
}

int main(void)
{
    static const char tool[] = "{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"Write\",\"input\":";
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf text = {0}, list = {0}, object = {0};

    kndl_buf_printf(&text, "%s{\"a\":\"", tool);
    kndl_buf_printf(&list, "%s{\"a\":[0", tool);
    kndl_buf_printf(&object, "%s{\"a\":0", tool);
    measure_row("one long text", ANY, "{\"type\":\"text\",\"text\":\"", "some plain words ", true,
                " ", "\"}");
    measure_row("one text of escapes", ANY, "{\"type\":\"text\",\"text\":\"", "\\u001b", false, "",
                "\"}");
    measure_row("an input of one text", ANY, kndl_buf_text(&text), "some plain words ", true, " ",
                "\"}}");
    measure_row("an input of numbers", MANY, kndl_buf_text(&list), ",1", false, "", "]}}");
    measure_row("an input of lists", MANY / 2, kndl_buf_text(&list), ",[", false, "]", "]}}");
    measure_row("an input of members", MANY, kndl_buf_text(&object), ",\"m", true, "\":1", "}}");
    measure_rows();
    return 0;
}
