#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "settings.h"

static int read_with(const char *listen, const char *url, const char *dev, struct settings *ret,
                     struct kndl_error *err)
{
    return settings_parse(&(struct settings_texts){listen, url, dev, "", "", ""}, ret, err);
}

static void the_origin_is_as_browsers_write_it(void **unused)
{
    struct settings settings;
    struct kndl_error err;

    (void)unused;
    assert_int_equal(
        read_with("127.0.0.1:8080", "https://Kndl.Example.com:443/", "", &settings, &err), 0);
    assert_string_equal(settings.origin, "https://kndl.example.com");
    assert_string_equal(settings.host, "kndl.example.com");
    assert_true(settings.is_https);
    assert_int_equal(settings.port, 8080);
    assert_int_equal(read_with("127.0.0.1:0", "http://127.0.0.1:8080", "1", &settings, &err), 0);
    assert_string_equal(settings.origin, "http://127.0.0.1:8080");
    assert_true(settings.dev_login);
}

static void what_is_wrong_is_named(void **unused)
{
    static const struct {
        const char *listen;
        const char *url;
        const char *dev;
        const char *named;
    } cases[] = {
        {"8080", "http://127.0.0.1", "", "HUB_LISTEN"},
        {"127.0.0.1:", "http://127.0.0.1", "", "HUB_LISTEN"},
        {"127.0.0.1:99999", "http://127.0.0.1", "", "HUB_LISTEN"},
        {"127.0.0.1:80", "kndl.example.com", "", "HUB_PUBLIC_URL"},
        {"127.0.0.1:80", "http://kndl.example.com", "", "HUB_PUBLIC_URL"},
        {"127.0.0.1:80", "https://kndl.example.com/path", "", "HUB_PUBLIC_URL"},
        {"127.0.0.1:80", "https://me@kndl.example.com", "", "HUB_PUBLIC_URL"},
        {"127.0.0.1:80", "https://kndl.example.com", "1", "HUB_DEV_LOGIN"},
        {"0.0.0.0:80", "http://127.0.0.1", "1", "HUB_DEV_LOGIN"},
        {"192.0.2.1:80", "http://localhost", "1", "HUB_DEV_LOGIN"},
        {"127.0.0.1:80", "http://localhost.example.com", "1", "HUB_PUBLIC_URL"},
    };
    struct settings settings;

    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct kndl_error err = {0};

        assert_int_equal(read_with(cases[i].listen, cases[i].url, cases[i].dev, &settings, &err),
                         -1);
        assert_non_null(strstr(err.message, cases[i].named));
    }
}

static void cookies_of_a_hub_without_https_have_its_port(void **state)
{
    static const struct {
        const char *url;
        const char *cookie;
        const char *sign_in_cookie;
    } cases[] = {
        {"http://127.0.0.1:12300", "kndl_dev_12300", "kndl_dev_12300_signin"},
        {"http://localhost", "kndl_dev_80", "kndl_dev_80_signin"},
        {"http://[::1]", "kndl_dev_80", "kndl_dev_80_signin"},
        {"http://[::1]:8080", "kndl_dev_8080", "kndl_dev_8080_signin"},
        {"http://localhost:8;x=1", "kndl_dev_80", "kndl_dev_80_signin"},
        {"https://kndl.example.com:8443", "__Host-kndl", "__Host-kndl-signin"},
    };
    struct settings settings;
    struct kndl_error err;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(read_with("127.0.0.1:8080", cases[i].url, "", &settings, &err), 0);
        assert_string_equal(settings.cookie, cases[i].cookie);
        assert_string_equal(settings.sign_in_cookie, cases[i].sign_in_cookie);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_origin_is_as_browsers_write_it),
        cmocka_unit_test(what_is_wrong_is_named),
        cmocka_unit_test(cookies_of_a_hub_without_https_have_its_port),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
