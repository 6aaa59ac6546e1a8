#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kndl/json.h"

static struct kndl_json *parse(const char *text)
{
    struct kndl_error err = {0};
    struct kndl_json *json = NULL;

    if (kndl_json_parse(kndl_slice_of(text), 1 << 20, &json, &err) < 0)
        fail_msg("%s: %s", text, err.message);
    return json;
}

static void assert_refused(struct kndl_slice text, const char *part)
{
    struct kndl_error err = {0};
    struct kndl_json *json;

    assert_int_equal(kndl_json_parse(text, 1 << 20, &json, &err), -1);
    assert_int_equal(err.code, KNDL_INVALID_ARGUMENT);
    assert_non_null(strstr(err.message, part));
}

static void values_are_read_by_kind(void **state)
{
    struct kndl_json *json = parse("{\"t\":\"é\",\"i\":-9223372036854775808,\"b\":true,"
                                   "\"r\":1.5,\"n\":null,\"a\":[1,[2]],\"o\":{\"k\":3}}");
    const struct kndl_value *root = kndl_json_root(json);
    const char *key;

    (void)state;
    assert_string_equal(kndl_json_text(kndl_json_get(root, "t"), "?"), "é");
    assert_true(kndl_json_i64(kndl_json_get(root, "i"), 0) == INT64_MIN);
    assert_true(kndl_json_bool(kndl_json_get(root, "b"), false));
    assert_int_equal(kndl_json_kind(kndl_json_get(root, "r")), KNDL_JSON_REAL);
    assert_int_equal(kndl_json_kind(kndl_json_get(root, "n")), KNDL_JSON_NULL);
    assert_int_equal(kndl_json_count(kndl_json_get(root, "a")), 2);
    assert_int_equal(kndl_json_i64(kndl_json_at(kndl_json_at(kndl_json_get(root, "a"), 1), 0), 0),
                     2);
    assert_int_equal(kndl_json_i64(kndl_json_member(kndl_json_get(root, "o"), 0, &key), 0), 3);
    assert_string_equal(key, "k");
    kndl_json_free(json);
}

static void what_is_absent_or_of_another_kind_is_the_fallback(void **state)
{
    struct kndl_json *json = parse("{\"t\":1}");
    const struct kndl_value *root = kndl_json_root(json);

    (void)state;
    assert_string_equal(kndl_json_text(kndl_json_get(root, "t"), "none"), "none");
    assert_null(kndl_json_get(root, "x"));
    assert_null(kndl_json_get(kndl_json_get(root, "x"), "y"));
    assert_null(kndl_json_at(root, 0));
    assert_null(kndl_json_member(NULL, 0, NULL));
    assert_int_equal(kndl_json_i64(NULL, 7), 7);
    assert_true(kndl_json_bool(kndl_json_get(root, "t"), true));
    assert_int_equal(kndl_json_kind(NULL), KNDL_JSON_ABSENT);
    assert_int_equal(kndl_json_count(NULL), 0);
    kndl_json_free(json);
}

static void members_keep_the_order_of_the_document(void **state)
{
    struct kndl_json *json = parse("{\"z\":1,\"a\":2,\"m\":3}");
    const char *key;
    struct kndl_buf order = {0};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        kndl_json_member(kndl_json_root(json), i, &key);
        kndl_buf_append_text(&order, key);
    }
    assert_string_equal(kndl_buf_text(&order), "zam");
    kndl_buf_done(&order);
    kndl_json_free(json);
}

static void a_dump_is_compact(void **state)
{
    struct kndl_json *json = parse(" { \"b\" : [ 1 , \"x\\\"\" , null ] , \"a\" : { } } ");
    struct kndl_buf out = {0};

    (void)state;
    kndl_json_dump(kndl_json_root(json), &out);
    assert_string_equal(kndl_buf_text(&out), "{\"b\":[1,\"x\\\"\",null],\"a\":{}}");
    kndl_buf_done(&out);
    kndl_json_free(json);
}

static void hostile_documents_are_refused(void **state)
{
    char deep[200];
    static char many[300000];

    (void)state;
    memset(deep, '[', 65);
    memset(deep + 65, ']', 65);
    deep[130] = '\0';
    assert_refused(kndl_slice_of(deep), "nested deeper than 64");
    assert_refused(kndl_slice_of("{\"a\":1,\"a\":2}"), "line 1");
    assert_refused(kndl_slice_of("\"\\u0000\""), "line 1");
    assert_refused(kndl_slice("\"a\0b\"", 5), "line 1");
    assert_refused(kndl_slice_of("\"\xff\""), "line 1");
    assert_refused(kndl_slice_of("[1,]"), "line 1");
    assert_refused(kndl_slice_of("{} {}"), "line 1");
    assert_refused(kndl_slice_of(""), "line 1");
    assert_refused((struct kndl_slice){0}, "line 1");
    assert_refused(kndl_slice_of("1e400"), "line 1");
    memset(many, ',', sizeof many);
    assert_refused(kndl_slice(many, sizeof many), "values");
}

static void a_document_over_the_limit_is_refused(void **state)
{
    struct kndl_error err = {0};
    struct kndl_json *json;

    (void)state;
    assert_int_equal(kndl_json_parse(kndl_slice_of("[1,2]"), 4, &json, &err), -1);
    assert_string_equal(err.message, "JSON has 5 bytes; the most is 4");
}

static void an_error_does_not_quote_the_document(void **state)
{
    struct kndl_error err = {0};
    struct kndl_json *json;

    (void)state;
    assert_int_equal(
        kndl_json_parse(kndl_slice_of("{\"token\":\"s3cret\" oops}"), 100, &json, &err), -1);
    assert_null(strstr(err.message, "s3cret"));
    assert_null(strstr(err.message, "oops"));
}

static void strings_are_escaped(void **state)
{
    struct kndl_buf out = {0};

    (void)state;
    kndl_json_append_string(&out, "a\"\\\n\t\x01\x1f é😀\xff\xed\xa0\x80.");
    assert_string_equal(kndl_buf_text(&out),
                        "\"a\\\"\\\\\\n\\t\\u0001\\u001f é😀\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
                        "\xef\xbf\xbd.\"");
    kndl_buf_done(&out);
}

static void a_reader_may_take_fewer_values_than_a_document_has(void **state)
{
    struct kndl_slice text = kndl_slice_of("{\"a\":[1,2,3]}");
    struct kndl_json *json;
    struct kndl_error err = {0};

    (void)state;
    assert_int_equal(kndl_json_parse_some(text, 100, 4, &json, &err), -1);
    assert_int_equal(err.code, KNDL_INVALID_ARGUMENT);
    assert_int_equal(kndl_json_parse_some(text, 100, 5, &json, &err), 0);
    assert_int_equal(kndl_json_value_count(json), 5);
    kndl_json_free(json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_read_by_kind),
        cmocka_unit_test(a_reader_may_take_fewer_values_than_a_document_has),
        cmocka_unit_test(what_is_absent_or_of_another_kind_is_the_fallback),
        cmocka_unit_test(members_keep_the_order_of_the_document),
        cmocka_unit_test(a_dump_is_compact),
        cmocka_unit_test(hostile_documents_are_refused),
        cmocka_unit_test(a_document_over_the_limit_is_refused),
        cmocka_unit_test(an_error_does_not_quote_the_document),
        cmocka_unit_test(strings_are_escaped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
