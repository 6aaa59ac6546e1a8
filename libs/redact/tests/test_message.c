/* JSON text and protobuf messages. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kndl/event/v1/event.pb-c.h"
#include "kndl/mem.h"
#include "kndl/redact_message.h"

#define V1(name) Kndl__Event__V1__##name

static struct kndl_redact_set *set_of(const char *first, const char *second)
{
    const struct kndl_redact_value values[] = {
        {.name = "A", .value = kndl_slice_of(first)},
        {.name = "B", .value = kndl_slice_of(second)},
    };
    struct kndl_redact_set *set = NULL;

    assert_int_equal(kndl_redact_set_new(values, 2, &set, NULL), 0);
    return set;
}

static void expect_json(const char *json, const char *masked)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf out = {0};
    struct kndl_redact_set *set = set_of("lab\"sec\nret", "123456");

    kndl_redact_json(set, kndl_slice_of(json), &out);
    kndl_redact_set_unref(set);
    assert_string_equal(kndl_buf_text(&out), masked);
}

static void rd_01_keys_values_and_numbers_of_json_are_masked(void **unused)
{
    (void)unused; /* RD-01 */
    expect_json("{ \"lab\\\"sec\\nret\" : [1, 123456, -12.5e3, true, \"x 123456\"] }\n",
                "{ \"*******\\n***\" : [1, \"******\", -12.5e3, true, \"x ******\"] }\n");
    expect_json("{\"a\":\"\\u006cab\\\"\\u0073ec\\nret\\u00e9\"}", "{\"a\":\"*******\\n***é\"}");
    expect_json("{\"a\":\"{\\\"k\\\":\\\"lab\\\\\\\"sec\\\\nret\\\"}\"}",
                "{\"a\":\"{\\\"k\\\":\\\"*************\\\"}\"}");
}

static void half_of_a_surrogate_pair_stays_an_escape(void **unused)
{
    (void)unused;
    expect_json("[\"\\ud83d 123456\\uDC00\"]", "[\"\\ud83d ******\\udc00\"]");
    expect_json("[\"\\ud83d\\ude00123456\"]", "[\"😀******\"]");
}

static void rd_01_a_value_that_is_json_is_masked_where_it_is_a_part_of_json(void **unused)
{
    static const char account[] = "{\"id\":\"lab-é\",\"n\":[1,2]}";
    const struct kndl_redact_value value = {.name = "V", .value = kndl_slice_of(account)};
    struct kndl_redact_set *set = NULL;
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf out = {0};

    (void)unused; /* RD-01 */
    assert_int_equal(kndl_redact_set_new(&value, 1, &set, NULL), 0);
    kndl_redact_json(set, kndl_slice_of("{\"a\":\"é\\\"\",\"b\":{\"id\":\"lab-é\",\"n\":[1,2]}}"),
                     &out);
    assert_string_equal(kndl_buf_text(&out), "{\"a\":\"é\\\"\",\"b\":************************}");
    kndl_buf_clear(&out);
    kndl_redact_json(set, kndl_slice_of("[\"{\\\"id\\\":\\\"lab-é\\\",\\\"n\\\":[1,2]}\"]"), &out);
    assert_string_equal(kndl_buf_text(&out), "[\"************************\"]");
    kndl_redact_set_unref(set);
}

static void json_in_which_nothing_is_found_stays_byte_for_byte(void **unused)
{
    static const char json[] = " {\"\\u0061\" : \"\\/\\ud83d\\ude00\", \"n\":1e5 , \"o\":{}}  ";

    (void)unused;
    expect_json(json, json);
    expect_json("", "");
}

static void what_is_not_json_is_masked_as_text(void **unused)
{
    (void)unused;
    expect_json("{\"cut\": \"lab\\\"sec\\nret", "{\"cut\": \"*************");
    expect_json("123456 123456x", "****** ******x");
}

static void rd_01_every_string_of_an_event_is_masked_but_handles(void **unused)
{
    struct kndl_arena *arena = kndl_arena_new(KNDL_ARENA_SECRET);
    struct kndl_redact_set *set = set_of("123456", "toolu_1234");
    V1(Event) event = KNDL__EVENT__V1__EVENT__INIT;
    V1(ToolCall) call = KNDL__EVENT__V1__TOOL_CALL__INIT;

    (void)unused;
    event.source_id = (char *)"123456";
    event.kind_case = KNDL__EVENT__V1__EVENT__KIND_TOOL_CALL;
    event.tool_call = &call;
    call.tool_use_id = (char *)"toolu_1234";
    call.name = (char *)"run 123456";
    call.input_json = (char *)"{\"n\": 123456}";
    kndl_redact_message(set, &event.base, arena);
    assert_string_equal(event.source_id, "123456");
    assert_string_equal(call.tool_use_id, "toolu_1234");
    assert_string_equal(call.name, "run ******");
    assert_string_equal(call.input_json, "{\"n\": \"******\"}");
    assert_int_equal(call.full_bytes, 0);
    kndl_redact_set_unref(set);
    kndl_arena_free(arena);
}

static void repeated_strings_and_inner_messages_are_masked(void **unused)
{
    struct kndl_arena *arena = kndl_arena_new(KNDL_ARENA_SECRET);
    struct kndl_redact_set *set = set_of("123456", "abcdef");
    V1(Event) event = KNDL__EVENT__V1__EVENT__INIT;
    V1(Question) question = KNDL__EVENT__V1__QUESTION__INIT;
    V1(Question__Asked) asked = KNDL__EVENT__V1__QUESTION__ASKED__INIT;
    V1(Question__Asked) *questions[] = {&asked};
    V1(Answer) answer = KNDL__EVENT__V1__ANSWER__INIT;
    char *answers[] = {(char *)"fine", (char *)"use abcdef"};

    (void)unused;
    event.kind_case = KNDL__EVENT__V1__EVENT__KIND_QUESTION;
    event.question = &question;
    question.id = (char *)"123456";
    question.questions = questions;
    question.n_questions = 1;
    asked.header = (char *)"123456?";
    kndl_redact_message(set, &event.base, arena);
    assert_string_equal(question.id, "123456");
    assert_string_equal(asked.header, "******?");

    event.kind_case = KNDL__EVENT__V1__EVENT__KIND_ANSWER;
    event.answer = &answer;
    answer.answers = answers;
    answer.n_answers = 2;
    kndl_redact_message(set, &event.base, arena);
    assert_string_equal(answers[0], "fine");
    assert_string_equal(answers[1], "use ******");
    kndl_redact_set_unref(set);
    kndl_arena_free(arena);
}

static void a_long_text_is_masked_whole_and_then_cut(void **unused)
{
    enum { BYTES = KNDL_REDACT_FIELD_BYTES_MAX };
    static char text[BYTES + 100];
    struct kndl_arena *arena = kndl_arena_new(KNDL_ARENA_SECRET);
    struct kndl_redact_set *set = set_of("123456", "abcdef");
    V1(ToolResult) result = KNDL__EVENT__V1__TOOL_RESULT__INIT;

    (void)unused;
    memset(text, '.', BYTES + 10);
    memcpy(text + BYTES - 10,
           "abcdef1\xe2\x9c\x93"
           "23456 123456",
           23);
    result.text = text;
    kndl_redact_message(set, &result.base, arena);
    assert_int_equal(strlen(result.text), BYTES);
    assert_string_equal(result.text + BYTES - 12, "..******1\xe2\x9c\x93");
    assert_int_equal(result.full_bytes, BYTES + 12);

    memcpy(text + BYTES - 10,
           ".abcdef1\xe2\x9c\x93"
           "23456 123456",
           24);
    result.text = text;
    result.full_bytes = 0;
    kndl_redact_message(set, &result.base, arena);
    assert_int_equal(strlen(result.text), BYTES - 2);
    kndl_redact_set_unref(set);
    kndl_arena_free(arena);
}

static void rd_01_an_unfinished_text_does_not_show_most_of_a_value(void **unused)
{
    struct kndl_arena *arena = kndl_arena_new(KNDL_ARENA_SECRET);
    struct kndl_redact_set *set = set_of("abcdefghijkl", "123456");
    V1(Text) said = KNDL__EVENT__V1__TEXT__INIT;

    (void)unused;
    said.is_unfinished = true;
    said.text = (char *)"123456 is abcdefghij";
    kndl_redact_message(set, &said.base, arena);
    assert_string_equal(said.text, "****** is **********");

    said.text = (char *)"a few, such as abcd";
    kndl_redact_message(set, &said.base, arena);
    assert_string_equal(said.text, "a few, such as abcd");

    said.text = (char *)"nothing of them";
    kndl_redact_message(set, &said.base, arena);
    assert_string_equal(said.text, "nothing of them");
    assert_int_equal(said.full_bytes, 0);
    kndl_redact_set_unref(set);
    kndl_arena_free(arena);
}

static void rd_01_an_unfinished_input_does_not_show_most_of_a_value(void **unused)
{
    struct kndl_arena *arena = kndl_arena_new(KNDL_ARENA_SECRET);
    struct kndl_redact_set *set = set_of("abcdefghijkl", "12\n3456");
    V1(ToolCall) call = KNDL__EVENT__V1__TOOL_CALL__INIT;

    (void)unused;
    call.name = (char *)"Write";
    call.is_unfinished = true;
    call.input_json = (char *)"{\"a\":\"12\\n3456\",\"b\":\"abcdefghijkl or abcdefghij";
    kndl_redact_message(set, &call.base, arena);
    assert_null(strstr(call.input_json, "3456"));
    assert_null(strstr(call.input_json, "abcdef"));
    assert_non_null(strstr(call.input_json, "\"b\":\"************ or **********"));
    kndl_redact_set_unref(set);
    kndl_arena_free(arena);
}

static void rd_01_a_text_that_came_cut_does_not_show_the_beginning_of_a_value(void **unused)
{
    struct kndl_arena *arena = kndl_arena_new(KNDL_ARENA_SECRET);
    struct kndl_redact_set *set = set_of("123456", "abcdef");
    V1(ToolResult) result = KNDL__EVENT__V1__TOOL_RESULT__INIT;
    V1(ToolCall) call = KNDL__EVENT__V1__TOOL_CALL__INIT;

    (void)unused;
    result.text = (char *)"123456 and abcde";
    result.full_bytes = 1000;
    kndl_redact_message(set, &result.base, arena);
    assert_string_equal(result.text, "****** and ");
    assert_int_equal(result.full_bytes, 1000);

    result.text = (char *)"abcd";
    kndl_redact_message(set, &result.base, arena);
    assert_string_equal(result.text, "");

    result.text = (char *)"all of abcde";
    result.full_bytes = 0;
    kndl_redact_message(set, &result.base, arena);
    assert_string_equal(result.text, "all of abcde");

    call.name = (char *)"abcde"; /* whole: its input alone was made shorter */
    call.input_json = (char *)"{}";
    call.full_bytes = 1000;
    kndl_redact_message(set, &call.base, arena);
    assert_string_equal(call.name, "abcde");
    kndl_redact_set_unref(set);
    kndl_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rd_01_keys_values_and_numbers_of_json_are_masked),
        cmocka_unit_test(half_of_a_surrogate_pair_stays_an_escape),
        cmocka_unit_test(rd_01_a_value_that_is_json_is_masked_where_it_is_a_part_of_json),
        cmocka_unit_test(json_in_which_nothing_is_found_stays_byte_for_byte),
        cmocka_unit_test(what_is_not_json_is_masked_as_text),
        cmocka_unit_test(rd_01_every_string_of_an_event_is_masked_but_handles),
        cmocka_unit_test(repeated_strings_and_inner_messages_are_masked),
        cmocka_unit_test(a_long_text_is_masked_whole_and_then_cut),
        cmocka_unit_test(rd_01_an_unfinished_text_does_not_show_most_of_a_value),
        cmocka_unit_test(rd_01_an_unfinished_input_does_not_show_most_of_a_value),
        cmocka_unit_test(rd_01_a_text_that_came_cut_does_not_show_the_beginning_of_a_value),
    };
    return cmocka_run_group_tests_name("redact message", tests, NULL, NULL);
}
