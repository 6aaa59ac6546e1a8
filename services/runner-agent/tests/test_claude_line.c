/* Lines of a transcript that are too long to parse as they are. */

#include <stdio.h>
#include <string.h>

#include "claude.h"
#include "kndl/mem.h"
#include "kndl/testing.h"

#define EV1(name) Kndl__Event__V1__##name
#define UUID "2a931f96-e560-491d-b906-dde95af356aa"

enum { LONG = 3 * 1024 * 1024 };

static const char *nothing(void *data, const char *text)
{
    (void)data;
    (void)text;
    return "";
}

static const char *no_prompt(void *data, const char *text, bool was_typed)
{
    (void)was_typed;
    return nothing(data, text);
}

static const char *no_block(void *data, const char *subagent_id, enum claude_block kind,
                            const char *tool_use_id)
{
    (void)subagent_id;
    (void)kind;
    return nothing(data, tool_use_id);
}

struct fixture {
    struct claude_reader *reader;
    struct kndl_arena *arena;
    struct kndl_buf line;
    struct claude_news news;
};

static int set_up(void **state)
{
    static struct fixture fixture;
    struct fixture *f = *state = &fixture;

    *f = (struct fixture){.arena = kndl_arena_new(KNDL_ARENA_PLAIN)};
    f->reader = claude_reader_new(&(struct claude_links){no_prompt, nothing, no_block, nothing, f});
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    claude_reader_free(f->reader);
    kndl_arena_free(f->arena);
    kndl_buf_done(&f->line);
    return 0;
}

/* Appends `before`, so many times `text`, and `behind`. */
static void write_line(struct fixture *f, const char *before, const char *text, size_t times,
                       const char *behind)
{
    kndl_buf_append_text(&f->line, before);
    for (size_t i = 0; i < times; i++)
        kndl_buf_append_text(&f->line, text);
    kndl_buf_append_text(&f->line, behind);
}

static const EV1(Event) * read_line(struct fixture *f)
{
    claude_read_line(f->reader, kndl_buf_slice(&f->line), "", f->arena, &f->news);
    assert_int_equal(f->news.count, 1);
    assert_string_equal(f->news.events[0]->source_id, UUID);
    return f->news.events[0];
}

static void assert_shortened(const char *line, const char *shortened)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf out = {0};

    claude_shorten_line(kndl_slice_of(line), &out);
    assert_string_equal(kndl_buf_text(&out), shortened);
}

static void a_short_line_stays_as_it_is(void **unused)
{
    static const char *const lines[] = {
        "{ \"a\" : [1, -2.5e3, true, null, \"x\\\"\\\\\", {}], \"b\":\"\\ud83d\\ude00 \\u00e9 é\"}",
        "[]",
        "7",
        "",
        "{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"te",
        "}",
        "{\"a\":\"\\",
        "{\"a\":\"\\u00",
        "{\"text\":{\"content\":[\"text\"]},\"data\":\"x\"}",
    };

    (void)unused;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        const char *line = lines[i];
        KNDL_CLEANUP(kndl_buf_done) struct kndl_buf out = {0};
        struct kndl_json *before, *after;

        claude_shorten_line(kndl_slice_of(line), &out);
        if (kndl_json_parse(kndl_slice_of(line), 1 << 20, &before, NULL) < 0) {
            assert_int_equal(kndl_json_parse(kndl_buf_slice(&out), 1 << 20, &after, NULL), -1);
            continue;
        }
        KNDL_CLEANUP(kndl_buf_done) struct kndl_buf was = {0}, is = {0};
        assert_int_equal(kndl_json_parse(kndl_buf_slice(&out), 1 << 20, &after, NULL), 0);
        kndl_json_dump(kndl_json_root(before), &was);
        kndl_json_dump(kndl_json_root(after), &is);
        assert_string_equal(kndl_buf_text(&is), kndl_buf_text(&was));
        kndl_json_free(before);
        kndl_json_free(after);
    }
}

static void what_no_text_may_hold_is_replaced(void **unused)
{
    (void)unused;
    assert_shortened("{\"a\":\"x\\u0000\\ud83d\\u0041\\ude00\\ud83d\"}",
                     "{\"a\":\"x\\ufffd\\ufffd\\u0041\\ufffd\\ufffd\"}");
}

static void the_result_in_a_tools_own_form_is_left_out(void **unused)
{
    (void)unused;
    assert_shortened("{\"toolUseResult\" : {\"a\":[\"}\\\"\",{}],\"b\":1} ,\"uuid\":\"u\"}",
                     "{\"toolUseResult\":null,\"uuid\":\"u\"}");
    assert_shortened("{\"m\":{\"toolUseResult\":\"x\"},\"toolUseResult\":\"y\"}",
                     "{\"m\":{\"toolUseResult\":\"x\"},\"toolUseResult\":null}");
}

static void a_long_text_is_cut_and_says_how_long_it_was(void **state)
{
    struct fixture *f = *state;
    const EV1(Event) * event;

    write_line(f,
               "{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"",
               "漢", LONG / 3, "\"}]},\"uuid\":\"" UUID "\"}");
    event = read_line(f);
    assert_int_equal(event->text->full_bytes, LONG);
    assert_int_equal(strlen(event->text->text), 256 * 1024 / 3 * 3);

    kndl_buf_clear(&f->line);
    write_line(f,
               "{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"thinking\","
               "\"thinking\":\"",
               "\\n", LONG, "\"}]},\"uuid\":\"" UUID "\"}");
    event = read_line(f);
    assert_int_equal(event->thinking->full_bytes, LONG);

    kndl_buf_clear(&f->line);
    write_line(f, "{\"type\":\"user\",\"message\":{\"content\":\"", "\\u00e9", LONG / 2,
               "\"},\"origin\":{\"kind\":\"human\"},\"uuid\":\"" UUID "\"}");
    event = read_line(f);
    assert_int_equal(event->prompt->full_bytes, LONG);
}

static void a_long_result_is_kept_with_its_beginning(void **state)
{
    struct fixture *f = *state;
    static const char text[] = "{\"type\":\"user\",\"message\":{\"content\":[{\"type\":"
                               "\"tool_result\",\"tool_use_id\":\"t\",\"is_error\":true,"
                               "\"content\":\"";
    static const char picture[] = "{\"type\":\"user\",\"message\":{\"content\":[{\"type\":"
                                  "\"tool_result\",\"tool_use_id\":\"t\",\"content\":[{\"type\":"
                                  "\"image\",\"source\":{\"type\":\"base64\",\"data\":\"";
    const EV1(Event) * event;

    write_line(f, text, "0123456789", LONG / 10, "\"}]},\"toolUseResult\":{\"stdout\":\"");
    write_line(f, "", "0123456789", LONG / 10, "\"},\"uuid\":\"" UUID "\"}");
    event = read_line(f);
    assert_int_equal(event->tool_result->full_bytes, LONG / 10 * 10);
    assert_int_equal(strlen(event->tool_result->text), 256 * 1024);
    assert_true(event->tool_result->is_error);

    kndl_buf_clear(&f->line);
    write_line(f, picture, "QUJD", LONG / 4,
               "\"}},{\"type\":\"text\",\"text\":\"behind\"}]}]},\"uuid\":\"" UUID "\"}");
    event = read_line(f);
    assert_string_equal(event->tool_result->text, "[image]\nbehind");
    assert_int_equal(event->tool_result->full_bytes, 0);
}

static void a_long_input_has_the_lengths_of_what_is_left_out(void **state)
{
    struct fixture *f = *state;
    static const char call[] = "{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":"
                               "\"tool_use\",\"id\":\"t\",\"name\":\"Write\",\"input\":{"
                               "\"file_path\":\"/x\",\"content\":\"";
    const EV1(Event) * event;

    write_line(f, call, "0123456789", LONG / 10, "\"}}]},\"uuid\":\"" UUID "\"}");
    event = read_line(f);
    assert_string_equal(event->tool_call->input_json,
                        "{\"file_path\":\"/x\",\"content\":\"(3145720 bytes)\"}");
    assert_true(event->tool_call->full_bytes > LONG - 10 &&
                event->tool_call->full_bytes < LONG + 64);
}

static void a_line_says_when_it_was_written(void **unused)
{
    static const struct {
        const char *line;
        int64_t at_ms;
    } lines[] = {
        {"{\"timestamp\":\"2026-11-30T14:38:05.123Z\"}", 1796049485000},
        {"{\"timestamp\":\"1970-01-01T00:00:01Z\"}", 1000},
        {"{\"timestamp\":\"yesterday\"}", 0},
        {"{\"timestamp\":7}", 0},
        {"{}", 0},
    };

    (void)unused;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct kndl_json *json;

        assert_int_equal(claude_parse_line(kndl_slice_of(lines[i].line), &json), 0);
        assert_int_equal(claude_line_at_ms(json), lines[i].at_ms);
        kndl_json_free(json);
    }
}

static void a_line_of_too_much_else_is_passed_over(void **state)
{
    struct fixture *f = *state;

    write_line(f, "{\"type\":\"assistant\",\"message\":{\"content\":[", "\"some\",", LONG / 7,
               "1]},\"uuid\":\"" UUID "\"}");
    claude_read_line(f->reader, kndl_buf_slice(&f->line), "", f->arena, &f->news);
    assert_int_equal(f->news.count, 0);

    kndl_buf_clear(&f->line);
    write_line(f, "", "[", LONG, "");
    claude_read_line(f->reader, kndl_buf_slice(&f->line), "", f->arena, &f->news);
    assert_int_equal(f->news.count, 0);
}

static void a_key_without_end_takes_no_room(void **state)
{
    struct fixture *f = *state;
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf shortened = {0};

    write_line(f, "{\"", "k", LONG, "\":1}");
    claude_shorten_line(kndl_buf_slice(&f->line), &shortened);
    assert_true(shortened.size <= 2 * CLAUDE_LINE_BYTES_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        cmocka_unit_test(a_short_line_stays_as_it_is),
        cmocka_unit_test(what_no_text_may_hold_is_replaced),
        cmocka_unit_test(the_result_in_a_tools_own_form_is_left_out),
        TEST(a_long_text_is_cut_and_says_how_long_it_was),
        TEST(a_long_result_is_kept_with_its_beginning),
        TEST(a_long_input_has_the_lengths_of_what_is_left_out),
        cmocka_unit_test(a_line_says_when_it_was_written),
        TEST(a_line_of_too_much_else_is_passed_over),
        TEST(a_key_without_end_takes_no_room),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
