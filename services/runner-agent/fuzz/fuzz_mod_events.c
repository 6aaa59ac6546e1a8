/* What a Sandbox posts to the relay: any bytes make Events within their limits, or none. */

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "claude.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *no_prompt(void *data, const char *text, bool was_typed)
{
    (void)data;
    (void)was_typed;
    return text[0] == 'h' ? "prompt" : "";
}

static const char *no_turn(void *data, const char *text)
{
    (void)data;
    return text[0] == 'h' ? "prompt" : "";
}

static const char *no_block(void *data, const char *subagent_id, enum claude_block kind,
                            const char *tool_use_id)
{
    (void)data;
    (void)subagent_id;
    (void)kind;
    return tool_use_id;
}

static const char *nobody(void *data, const char *question_id)
{
    (void)data;
    (void)question_id;
    return "";
}

static void check(const struct claude_news *news)
{
    for (size_t i = 0; i < news->count; i++)
        if (kndl__event__v1__event__get_packed_size(news->events[i]) > 64 * 1024 * 1024)
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct claude_links links = {
        .match_prompt = no_prompt,
        .match_turn = no_turn,
        .match_block = no_block,
        .answered_by = nobody,
    };
    struct claude_reader *reader = claude_reader_new(&links);
    struct kndl_arena *arena = kndl_arena_new(KNDL_ARENA_PLAIN);
    struct claude_batch batch;
    struct claude_hello hello;
    struct claude_result result;
    struct claude_news news;
    struct kndl_json *json;

    if (kndl_json_parse(kndl_slice(data, size), 16 * 1024 * 1024, &json, NULL) == 0) {
        claude_read_event(reader, kndl_json_root(json), arena, &news);
        check(&news);
        if (claude_read_batch(json, &batch, NULL) == 0)
            for (size_t i = 0; i < kndl_json_count(batch.events); i++) {
                claude_read_event(reader, kndl_json_at(batch.events, i), arena, &news);
                check(&news);
            }
        (void)claude_read_hello(json, &hello, NULL);
        (void)claude_read_result(json, &result, NULL);
        kndl_json_free(json);
    }
    claude_read_line(reader, kndl_slice(data, size), "", arena, &news);
    check(&news);
    kndl_arena_free(arena);
    claude_reader_free(reader);
    return 0;
}
