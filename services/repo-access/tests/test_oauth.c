/* oauth.c against the stand-in for GitHub. */

#include "oauth.h"

#include <stdio.h>
#include <string.h>

#include "kndl/buf.h"
#include "kndl/http.h"
#include "kndl/mem.h"
#include "peer.h"

/* Goes where the browser would, as grace; the query that GitHub sends it back with. */
static void go_to_github(const struct oauth *oauth, struct kndl_slice browser, char *ret_query,
                         size_t size)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf url = {0};
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf location = {0};
    KNDL_CLEANUP(kndl_http_response_done) struct kndl_http_response response = {0};
    struct kndl_http *http = kndl_http_new("test");
    struct kndl_error err = {0};

    oauth_write_url(oauth, browser, &url);
    kndl_buf_append_text(&url, "&as=grace");
    const struct kndl_http_request request = {.method = "GET",
                                              .url = kndl_buf_text(&url),
                                              .timeout_ms = 10000,
                                              .response_bytes_max = 1 << 20};
    assert_int_equal(kndl_http_do(http, &request, &response, &err), 0);
    assert_int_equal(response.status, 302);
    const char *back = kndl_http_header(&response, "location", &location);
    assert_non_null(back);
    assert_int_equal(strncmp(back, "http://127.0.0.1/auth/github/callback?", 38), 0);
    snprintf(ret_query, size, "%s", back + 38);
    kndl_http_free(http);
}

static void read_value(const char *query, const char *name, char *ret_value, size_t size)
{
    const char *at = strstr(query, name);

    assert_non_null(at);
    snprintf(ret_value, size, "%.*s", (int)strcspn(at + strlen(name), "&"), at + strlen(name));
}

/* AC-01, ASVS 10.2: state and PKCE are the browser's own. */
static void ac_01_a_code_is_for_the_browser_that_went_and_good_once(void **state)
{
    struct fixture *f = *state;
    struct kndl_slice mine = kndl_slice_of("kndl_sgn_mine");
    struct kndl_slice other = kndl_slice_of("kndl_sgn_other");
    char query[512], code[128], given[128];
    struct github_user user;
    struct oauth *oauth;

    assert_int_equal(oauth_open(&oauth, &f->err), 0);
    assert_true(oauth_is_on(oauth));
    go_to_github(oauth, mine, query, sizeof query);
    read_value(query, "code=", code, sizeof code);
    read_value(query, "state=", given, sizeof given);
    assert_true(oauth_is_state(mine, given));
    assert_false(oauth_is_state(other, given));
    assert_false(oauth_is_state(mine, ""));

    assert_int_equal(oauth_find_user(oauth, mine, code, f->arena, &user, &f->err), 0);
    assert_int_equal(user.id, 502);
    assert_string_equal(user.login, "grace");
    assert_int_equal(oauth_find_user(oauth, mine, code, f->arena, &user, &f->err), -1);
    assert_int_equal(f->err.code, KNDL_UNAUTHENTICATED);

    /* Another browser has another verifier: the code is of no use to it. */
    go_to_github(oauth, mine, query, sizeof query);
    read_value(query, "code=", code, sizeof code);
    assert_int_equal(oauth_find_user(oauth, other, code, f->arena, &user, &f->err), -1);
    assert_int_equal(f->err.code, KNDL_UNAUTHENTICATED);
    oauth_close(oauth);
}

static void a_github_that_cannot_say_who_it_is_lets_nobody_in(void **state)
{
    static const char *const faults[] = {
        "[{\"path\":\"access_token\",\"status\":502,\"body\":\"<html>Unicorn!</html>\"}]",
        "[{\"path\":\"access_token\",\"status\":200,\"body\":\"access_token=x\"}]",
        "[{\"path\":\"access_token\",\"status\":200,\"body\":{}}]",
        "[{\"path\":\"/user$\",\"status\":500,\"body\":\"<html>Unicorn!</html>\"}]",
        "[{\"path\":\"/user$\",\"status\":403,\"body\":{\"message\":\"API rate limit\"}}]",
        "[{\"path\":\"/user$\",\"status\":200,\"body\":{\"login\":\"ada\"}}]",
    };
    struct fixture *f = *state;
    struct kndl_slice browser = kndl_slice_of("kndl_sgn_mine");
    char query[512], code[128];
    struct github_user user;
    struct oauth *oauth;

    assert_int_equal(oauth_open(&oauth, &f->err), 0);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        fault("[]");
        go_to_github(oauth, browser, query, sizeof query);
        read_value(query, "code=", code, sizeof code);
        fault(faults[i]);
        f->err = (struct kndl_error){0};
        assert_int_equal(oauth_find_user(oauth, browser, code, f->arena, &user, &f->err), -1);
        assert_int_equal(f->err.code, KNDL_UNAVAILABLE);
    }
    oauth_close(oauth);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(ac_01_a_code_is_for_the_browser_that_went_and_good_once),
        TEST(a_github_that_cannot_say_who_it_is_lets_nobody_in),
    };

    return cmocka_run_group_tests(tests, peer_start, peer_stop);
}
