/* Value sets: what is refused, what is warned about, who owns them. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kndl/redact.h"

static int check(const char *value, enum kndl_redact_weakness *ret_weakness, struct kndl_error *err)
{
    return kndl_redact_check("DEPLOY_KEY", kndl_slice_of(value), ret_weakness, err);
}

static void rd_06_a_value_under_four_characters_is_refused_by_name(void **unused)
{
    static const char *const refused[] = {"",       "abc", "    ",         " a b\n",
                                          "{\n}\n", "äöü", "\033[31ma\r\n"};
    enum kndl_redact_weakness weakness;

    (void)unused; /* RD-06 */
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        struct kndl_error err = {0};
        assert_int_equal(check(refused[i], &weakness, &err), -1);
        assert_int_equal(err.code, KNDL_INVALID_ARGUMENT);
        assert_non_null(strstr(err.message, "DEPLOY_KEY"));
        assert_non_null(strstr(err.message, "at least 4"));
    }
    assert_int_equal(check("äöüß", &weakness, NULL), 0);
    assert_int_equal(check("******", &weakness, NULL), -1);
}

static void weak_values_are_accepted_with_a_warning(void **unused)
{
    static const struct {
        const char *value;
        enum kndl_redact_weakness weakness;
    } checks[] = {
        {"true", KNDL_REDACT_WORD},           {"Password", KNDL_REDACT_WORD},
        {"5432", KNDL_REDACT_WORD},           {"ab1zq", KNDL_REDACT_SHORT},
        {"xxxxxxxxxx", KNDL_REDACT_REPEATED}, {"lab-Tok3n-9Qx", KNDL_REDACT_STRONG},
    };

    (void)unused;
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
        enum kndl_redact_weakness weakness;
        assert_int_equal(check(checks[i].value, &weakness, NULL), 0);
        assert_int_equal(weakness, checks[i].weakness);
    }
}

static void a_set_with_a_refused_value_is_not_made(void **unused)
{
    const struct kndl_redact_value values[] = {
        {.name = "GOOD", .value = kndl_slice_of("long enough")},
        {.name = "BAD", .value = kndl_slice_of("no")},
    };
    struct kndl_redact_set *set = NULL;
    struct kndl_error err = {0};

    (void)unused;
    assert_int_equal(kndl_redact_set_new(values, 2, &set, &err), -1);
    assert_null(set);
    assert_non_null(strstr(err.message, "BAD"));
    assert_null(strstr(err.message, "no "));
}

static void sizes_have_limits(void **unused)
{
    static uint8_t bytes[KNDL_REDACT_VALUE_BYTES_MAX + 1];
    static struct kndl_redact_value values[KNDL_REDACT_VALUES_MAX + 1];
    struct kndl_redact_set *set = NULL;
    struct kndl_error err = {0};

    (void)unused;
    memset(bytes, 'x', sizeof bytes);
    bytes[0] = 'y';
    values[0] = (struct kndl_redact_value){.name = "BIG", .value = {bytes, sizeof bytes}};
    assert_int_equal(kndl_redact_set_new(values, 1, &set, &err), -1);
    assert_non_null(strstr(err.message, "BIG"));
    values[0].value.size--;
    assert_int_equal(kndl_redact_set_new(values, 1, &set, &err), 0);
    kndl_redact_set_unref(set);

    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        values[i] = (struct kndl_redact_value){.name = "V", .value = {bytes, 8}};
    assert_int_equal(kndl_redact_set_new(values, KNDL_REDACT_VALUES_MAX + 1, &set, &err), -1);
    assert_int_equal(err.code, KNDL_RESOURCE_EXHAUSTED);
    for (size_t i = 0; i < 40; i++)
        values[i] = (struct kndl_redact_value){.name = "V", .value = {bytes, sizeof bytes - 1}};
    assert_int_equal(kndl_redact_set_new(values, 40, &set, &err), -1);
    assert_int_equal(err.code, KNDL_RESOURCE_EXHAUSTED);
}

/* Lines of eight characters that every encoder spells in ways of its own. */
static void fill(uint8_t *bytes, size_t size)
{
    static uint32_t seed = 1;

    for (size_t i = 0; i < size; i++) {
        seed = seed * 1103515245 + 12345;
        bytes[i] = i % 9 == 8 ? (uint8_t)'\n' : (uint8_t) "</&\"x"[(seed >> 16) % 5];
    }
}

static void assert_stars(struct kndl_redact_set *set, const struct kndl_buf *text)
{
    struct kndl_buf out = {0};

    kndl_redact_text(set, kndl_buf_slice(text), &out);
    assert_int_equal(out.size, text->size);
    assert_int_equal(strspn(out.data, "*"), out.size);
    kndl_buf_done(&out);
}

/* What a Repo's Variables may be at most must not take a redactor's time and memory from others. */
static void a_set_stays_small_whatever_its_values_are(void **unused)
{
    enum { VALUES = 40, BYTES = 1300, LINE = 8, SET_BYTES_MAX = 8 * 1024 * 1024 };
    static uint8_t bytes[VALUES][BYTES];
    struct kndl_redact_value values[VALUES];
    struct kndl_redact_set *set = NULL;
    struct kndl_buf url = {0}, json = {0};

    (void)unused;
    for (size_t i = 0; i < VALUES; i++) {
        fill(bytes[i], BYTES);
        values[i] = (struct kndl_redact_value){.name = "V", .value = {bytes[i], BYTES}};
    }
    assert_int_equal(kndl_redact_set_new(values, VALUES, &set, NULL), 0);
    assert_in_range(kndl_redact_set_bytes(set), 1, SET_BYTES_MAX);
    for (size_t i = 0; i < LINE; i++) {
        kndl_buf_printf(&url, "%%%02X", bytes[7][i]);
        kndl_buf_printf(&json, "\\u%04x", bytes[7][i]);
    }
    assert_stars(set, &url);
    assert_stars(set, &json);
    kndl_buf_done(&url);
    kndl_buf_done(&json);
    kndl_redact_set_unref(set);
}

static void base64_is_found_where_it_is_asked_for(void **unused)
{
    const struct kndl_redact_value value = {
        .name = "V", .value = kndl_slice_of("user:lab-secret"), .with_base64 = true};
    struct kndl_redact_set *set = NULL;
    struct kndl_buf out = {0};

    (void)unused;
    assert_int_equal(kndl_redact_set_new(&value, 1, &set, NULL), 0);
    kndl_redact_text(set, kndl_slice_of("Basic dXNlcjpsYWItc2VjcmV0 eHVzZXI6bGFiLXNlY3JldHg="),
                     &out);
    assert_string_equal(out.data, "Basic ******************** eH*******************Hg=");
    kndl_buf_done(&out);
    kndl_redact_set_unref(set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rd_06_a_value_under_four_characters_is_refused_by_name),
        cmocka_unit_test(weak_values_are_accepted_with_a_warning),
        cmocka_unit_test(a_set_with_a_refused_value_is_not_made),
        cmocka_unit_test(sizes_have_limits),
        cmocka_unit_test(a_set_stays_small_whatever_its_values_are),
        cmocka_unit_test(base64_is_found_where_it_is_asked_for),
    };
    return cmocka_run_group_tests_name("redact set", tests, NULL, NULL);
}
