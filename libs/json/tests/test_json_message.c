#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kndl/json.h"
#include "kndl/repo_access/v1/repo_access_service.pb-c.h"
#include "kndl/sessions/v1/sessions_service.pb-c.h"

#define EVENTS &kndl__sessions__v1__list_events_response__descriptor
#define AUTHENTICATE &kndl__repo_access__v1__authenticate_request__descriptor

static struct kndl_arena *arena;

static int set_up(void **state)
{
    (void)state;
    arena = kndl_arena_new(KNDL_ARENA_PLAIN);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    kndl_arena_free(arena);
    return 0;
}

/* What a JSON reads as, written again; "" with err set if it is refused. */
static char *again(const ProtobufCMessageDescriptor *type, const char *text, struct kndl_error *err)
{
    struct kndl_buf out = {0};
    ProtobufCMessage *message;

    if (kndl_json_to_message(kndl_slice_of(text), type, arena, &message, err) == 0)
        kndl_json_from_message(message, &out);
    char *copy = kndl_arena_copy(arena, kndl_buf_text(&out));
    kndl_buf_done(&out);
    return copy;
}

static void assert_reads(const ProtobufCMessageDescriptor *type, const char *text,
                         const char *written)
{
    struct kndl_error err = {0};
    const char *out = again(type, text, &err);

    if (err.code != KNDL_OK)
        fail_msg("%s: %s", text, err.message);
    assert_string_equal(out, written);
}

static void assert_refused(const ProtobufCMessageDescriptor *type, const char *text,
                           const char *part)
{
    struct kndl_error err = {0};

    (void)again(type, text, &err);
    if (err.code != KNDL_INVALID_ARGUMENT || strstr(err.message, part) == NULL)
        fail_msg("%s: %d %s", text, err.code, err.message);
}

static void an_event_is_written_as_protobuf_says(void **state)
{
    static const char text[] =
        "{\"events\":[{\"seq\":\"7\",\"atMs\":\"1764441234567\",\"run\":\"1\","
        "\"text\":{\"blockId\":\"b1\",\"text\":\"h\u00e9 \\\"x\\\"\\n\"}},"
        "{\"turnEnded\":{\"reason\":\"REASON_ANSWER\",\"usage\":{\"inputTokens\":\"-3\"}}},"
        "{\"answer\":{\"answers\":[\"a\",\"\"]}}],\"hasMore\":true,\"lastSeq\":\"9\"}";

    (void)state;
    assert_reads(EVENTS, text, text);
}

static void defaults_are_left_out_but_a_chosen_oneof_is_not(void **state)
{
    (void)state;
    assert_reads(EVENTS, "{\"events\":[],\"hasMore\":false,\"lastSeq\":\"0\"}", "{}");
    assert_reads(EVENTS, "{\"events\":[{\"note\":{}}],\"session\":{}}",
                 "{\"events\":[{\"note\":{}}],\"session\":{}}");
}

static void both_spellings_are_read(void **state)
{
    (void)state;
    assert_reads(EVENTS, "{\"has_more\":true}", "{\"hasMore\":true}");
    assert_refused(EVENTS, "{\"lastSeq\":1,\"last_seq\":1}", "given twice");
}

static void numbers_are_read_in_each_form(void **state)
{
    static const char *const good[] = {"12", "\"12\"", "12.0", "1.2e1", "\"1.2e1\""};
    static const char *const bad[] = {
        "1.5",    "\"\"", "\" 1\"",  "\"0x10\"", "\"9223372036854775808\"", "1e300", "true",
        "\"1.\"", "[1]",  "\"NaN\"", "\"+1\""};
    char text[80];

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        snprintf(text, sizeof text, "{\"lastSeq\":%s}", good[i]);
        assert_reads(EVENTS, text, "{\"lastSeq\":\"12\"}");
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        snprintf(text, sizeof text, "{\"lastSeq\":%s}", bad[i]);
        assert_refused(EVENTS, text, "last_seq is not");
    }
    assert_reads(EVENTS, "{\"lastSeq\":\"-9223372036854775808\"}",
                 "{\"lastSeq\":\"-9223372036854775808\"}");
    assert_reads(EVENTS, "{\"session\":{\"queuedCount\":-2147483648}}",
                 "{\"session\":{\"queuedCount\":-2147483648}}");
    assert_refused(EVENTS, "{\"session\":{\"queuedCount\":2147483648}}", "queued_count");
    assert_refused(EVENTS, "{\"lastSeq\":18446744073709551616}", "line 1");
}

static void enums_are_read_by_name_and_number(void **state)
{
    (void)state;
    assert_reads(EVENTS, "{\"session\":{\"state\":\"STATE_ASLEEP\"}}",
                 "{\"session\":{\"state\":\"STATE_ASLEEP\"}}");
    assert_reads(EVENTS, "{\"session\":{\"state\":4}}",
                 "{\"session\":{\"state\":\"STATE_ASLEEP\"}}");
    assert_reads(EVENTS, "{\"session\":{\"state\":99}}", "{\"session\":{\"state\":99}}");
    assert_refused(EVENTS, "{\"session\":{\"state\":\"STATE_NOPE\"}}", "state is not");
}

static void bytes_are_read_in_each_alphabet(void **state)
{
    static const char *const good[] = {"+/+/AQ==", "+/+/AQ", "-_-_AQ==", "-_-_AQ"};
    static const char *const bad[] = {"A", "A===", "AQ=", "A!==", "AR==", "=", "AQ==AQ=="};
    char text[80];

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        snprintf(text, sizeof text, "{\"credentialHash\":\"%s\"}", good[i]);
        assert_reads(AUTHENTICATE, text, "{\"credentialHash\":\"+/+/AQ==\"}");
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        snprintf(text, sizeof text, "{\"credentialHash\":\"%s\"}", bad[i]);
        assert_refused(AUTHENTICATE, text, "base64");
    }
    assert_reads(AUTHENTICATE, "{\"credentialHash\":\"\"}", "{}");
    assert_reads(AUTHENTICATE, "{\"credentialHash\":\"AAEC\"}", "{\"credentialHash\":\"AAEC\"}");
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    assert_refused(EVENTS, "[]", "not an object");
    assert_refused(EVENTS, "null", "not an object");
    assert_refused(EVENTS, "{\"nope\":1}", "no field nope");
    assert_refused(EVENTS, "{\"events\":{}}", "events is not a list");
    assert_refused(EVENTS, "{\"events\":[null]}", "events is not an object");
    assert_refused(EVENTS, "{\"events\":[{\"text\":{},\"note\":{}}]}", "beside another");
    assert_refused(EVENTS, "{\"hasMore\":1}", "true or false");
    assert_refused(EVENTS, "{\"session\":{\"title\":1}}", "title is not a text");
}

static void null_is_the_default(void **state)
{
    (void)state;
    assert_reads(EVENTS, "{\"lastSeq\":null,\"session\":null,\"events\":null}", "{}");
}

static void a_short_text_cannot_make_endless_messages(void **state)
{
    struct kndl_buf text = {0};

    (void)state;
    kndl_buf_append_text(&text, "{\"events\":[{}");
    for (int i = 0; i < 20001; i++)
        kndl_buf_append_text(&text, ",{}");
    kndl_buf_append_text(&text, "]}");
    assert_refused(EVENTS, kndl_buf_text(&text), "more than 20000 objects");
    kndl_buf_done(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(an_event_is_written_as_protobuf_says),
        TEST(defaults_are_left_out_but_a_chosen_oneof_is_not),
        TEST(both_spellings_are_read),
        TEST(numbers_are_read_in_each_form),
        TEST(enums_are_read_by_name_and_number),
        TEST(bytes_are_read_in_each_alphabet),
        TEST(what_does_not_fit_is_refused),
        TEST(null_is_the_default),
        TEST(a_short_text_cannot_make_endless_messages),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
