/* buf, id, log, env: what all others lean on. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kndl/buf.h"
#include "kndl/env.h"
#include "kndl/id.h"
#include "kndl/log.h"
#include "kndl/mem.h"
#include "kndl/version.h"

static void a_buf_grows_and_is_always_terminated(void **unused)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf buf = {0};

    (void)unused;
    assert_string_equal(kndl_buf_text(&buf), "");
    for (int i = 0; i < 100; i++)
        kndl_buf_printf(&buf, "%d,", i);
    assert_int_equal(buf.data[buf.size], '\0');
    kndl_buf_consume(&buf, 2);
    assert_memory_equal(buf.data, "1,2,", 4);
}

static void a_descriptor_is_closed_once_however_often_one_closes(void **unused)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

    (void)unused;
    kndl_close(&fd);
    assert_int_equal(fd, -1);
    int other = open("/dev/null", O_RDONLY | O_CLOEXEC); /* likely of the same number */
    kndl_close(&fd);
    assert_int_equal(fcntl(other, F_GETFD) >= 0, 1);
    kndl_close(&other);
}

static void an_id_is_26_characters_and_maps_to_one_uuid(void **unused)
{
    char id[KNDL_ID_SIZE];
    char uuid[KNDL_UUID_SIZE];

    (void)unused;
    for (int i = 0; i < 100; i++) {
        kndl_id_new(id);
        assert_true(kndl_id_is_valid(id));
    }
    kndl_id_to_uuid("aaaaaaaaaaaaaaaaaaaaaaaaae", uuid);
    assert_string_equal(uuid, "00000000-0000-0000-0000-000000000001");
    assert_false(kndl_id_is_valid("aaaaaaaaaaaaaaaaaaaaaaaaab"));
    assert_false(kndl_id_is_valid("aaaaaaaaaaaa.aaaaaaaaaaaaa"));
    assert_false(kndl_id_is_valid("a"));
}

/* What `fields` make of a line. */
static void write_line(char text[4096], const struct kndl_field *fields, size_t count)
{
    int pipe_fds[2];
    int kept = dup(STDERR_FILENO);

    assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
    dup2(pipe_fds[1], STDERR_FILENO);
    kndl_log_fields(KNDL_INFO, "tried", fields, count);
    dup2(kept, STDERR_FILENO);
    close(kept);
    ssize_t size = read(pipe_fds[0], text, 4095);
    assert_true(size > 0);
    text[size] = '\0';
    close(pipe_fds[0]);
    close(pipe_fds[1]);
}

static void a_log_line_is_one_line_whatever_the_value(void **unused)
{
    char text[4096];

    (void)unused;
    write_line(text, &KNDL_STR("value", "a\r\n\x1b[31m\xff\xe2\x80\xa8\"b\\"), 1);
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
    assert_non_null(strstr(text, "a\\u000d\\u000a\\u001b[31m\\ufffd\\ufffd\\\"b\\\\"));
}

static void a_log_line_names_one_trace_and_its_own_before_the_threads(void **unused)
{
    char text[4096];

    (void)unused;
    kndl_log_context("of-the-thread", "person/ada");
    write_line(text, &KNDL_STR("trace", "of-the-line"), 1);
    kndl_log_context(NULL, NULL);
    assert_non_null(strstr(text, "\"trace\":\"of-the-line\""));
    assert_null(strstr(text, "of-the-thread"));
    assert_non_null(strstr(text, "\"actor\":\"person/ada\""));
}

static void a_missing_variable_is_named(void **unused)
{
    static const struct kndl_env table[] = {
        {"KNDL_TEST_SET", NULL, "something"},
        {"KNDL_TEST_MISSING", NULL, "where a thing is"},
        {NULL, NULL, NULL},
    };
    struct kndl_error err = {0};
    int64_t value;

    (void)unused;
    setenv("KNDL_TEST_SET", "12x", 1);
    assert_int_equal(kndl_env_load(table, &err), -1);
    assert_non_null(strstr(err.message, "KNDL_TEST_MISSING is not set"));
    assert_string_equal(kndl_env_get("KNDL_TEST_SET"), "12x");
    assert_int_equal(kndl_env_get_i64("KNDL_TEST_SET", 0, 100, &value, &err), -1);
    assert_non_null(strstr(err.message, "KNDL_TEST_SET is \"12x\""));
}

static void of_two_releases_the_newer_one_is_known_by_its_numbers(void **unused)
{
    (void)unused;
    assert_true(kndl_version_compare("0.9.0", "0.10.0") < 0);
    assert_true(kndl_version_compare("1.0", "0.99.99") > 0);
    assert_int_equal(kndl_version_compare("1", "1.0.0"), 0);
    assert_int_equal(kndl_version_compare("0.1.0", "0.1.0-dev"), 0);
    assert_true(kndl_version_compare("0.1.1", "0.1") > 0);
    assert_int_equal(kndl_version_compare("", "0"), 0);
    assert_true(kndl_version_compare("", "0.1") < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_buf_grows_and_is_always_terminated),
        cmocka_unit_test(a_descriptor_is_closed_once_however_often_one_closes),
        cmocka_unit_test(an_id_is_26_characters_and_maps_to_one_uuid),
        cmocka_unit_test(a_log_line_is_one_line_whatever_the_value),
        cmocka_unit_test(a_log_line_names_one_trace_and_its_own_before_the_threads),
        cmocka_unit_test(a_missing_variable_is_named),
        cmocka_unit_test(of_two_releases_the_newer_one_is_known_by_its_numbers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
