/* The page's files from memory. */

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "fixture.h"
#include "kndl/mem.h"

#define BUF KNDL_CLEANUP(kndl_buf_done) struct kndl_buf

static char dir[] = "/tmp/kndl-files-XXXXXX";

static const char *const names[] = {"index.html",         "index.html.br",
                                    "assets/app-1a2b.js", "assets/app-1a2b.js.gz",
                                    "favicon.svg",        ".hidden"};

static void path_of(const char *name, char path[256])
{
    snprintf(path, 256, "%s/%s", dir, name);
}

static bool answer(const struct fake_request *request, struct kndl_buf *out, struct kndl_error *err)
{
    (void)request;
    (void)out;
    (void)err;
    return true;
}

static int set_up(void **state)
{
    char path[256];

    strcpy(dir + strlen(dir) - 6, "XXXXXX");
    assert_non_null(mkdtemp(dir));
    path_of("assets", path);
    mkdir(path, 0700);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        path_of(names[i], path);
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        fprintf(file, "this is %s", names[i]);
        fclose(file);
    }
    path_of("secret.txt", path);
    assert_int_equal(symlink("/etc/hostname", path), 0);
    setenv("FIXTURE_WEB_DIR", dir, 1);
    return fixture_open(state, answer);
}

static int tear_down(void **state)
{
    char path[256];

    fixture_close(state);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        path_of(names[i], path);
        unlink(path);
    }
    path_of("secret.txt", path);
    unlink(path);
    path_of("assets", path);
    rmdir(path);
    rmdir(dir);
    return 0;
}

static int get(struct fixture *f, const char *path, const char *extra, struct kndl_buf *head,
               struct kndl_buf *body)
{
    return fixture_ask(f, &(struct ask_options){.method = "GET", .path = path, .extra = extra},
                       head, body);
}

static void a_file_is_answered_in_the_form_the_browser_takes(void **state)
{
    struct fixture *f = *state;
    BUF head = {0};
    BUF body = {0};

    assert_int_equal(get(f, "/assets/app-1a2b.js", NULL, &head, &body), 200);
    assert_string_equal(body.data, "this is assets/app-1a2b.js");
    assert_non_null(strstr(head.data, "\r\nContent-Type: text/javascript; charset=utf-8\r\n"));
    assert_non_null(
        strstr(head.data, "\r\nCache-Control: public, max-age=31536000, immutable\r\n"));
    assert_non_null(strstr(head.data, "\r\nVary: Accept-Encoding\r\n"));
    assert_null(strstr(head.data, "Content-Encoding"));

    assert_int_equal(get(f, "/assets/app-1a2b.js", "Accept-Encoding: br, gzip\r\n", &head, &body),
                     200);
    assert_string_equal(body.data, "this is assets/app-1a2b.js.gz"); /* there is no .br of it */
    assert_non_null(strstr(head.data, "\r\nContent-Encoding: gzip\r\n"));
    assert_int_equal(get(f, "/", "Accept-Encoding: gzip, deflate, br;q=0.5\r\n", &head, &body),
                     200);
    assert_string_equal(body.data, "this is index.html.br");
    assert_int_equal(get(f, "/", "Accept-Encoding: br;q=0\r\n", &head, &body), 200);
    assert_string_equal(body.data, "this is index.html");
    assert_non_null(strstr(head.data, "\r\nCache-Control: no-cache\r\n"));
}

static void a_known_etag_is_not_sent_again(void **state)
{
    struct fixture *f = *state;
    BUF head = {0};
    BUF body = {0};
    char extra[128];

    assert_int_equal(get(f, "/favicon.svg", NULL, &head, &body), 200);
    const char *etag = strstr(head.data, "\r\nETag: \"") + 8;
    snprintf(extra, sizeof extra, "If-None-Match: W/%.34s\r\n", etag);
    assert_int_equal(get(f, "/favicon.svg", extra, &head, &body), 304);
    assert_int_equal(get(f, "/", extra, &head, &body), 200);
}

static void paths_of_the_pages_own_are_the_page(void **state)
{
    struct fixture *f = *state;
    BUF head = {0};
    BUF body = {0};

    assert_int_equal(get(f, "/sessions/abc", NULL, &head, &body), 200);
    assert_string_equal(body.data, "this is index.html");
    assert_int_equal(get(f, "/assets/app-old.js", NULL, &head, &body), 404);
    assert_int_equal(get(f, "/auth/nothing", NULL, &head, &body), 404);
}

static void hidden_files_and_links_are_left_out(void **state)
{
    struct fixture *f = *state;
    BUF head = {0};
    BUF body = {0};

    assert_int_equal(get(f, "/.hidden", NULL, &head, &body), 404);
    assert_int_equal(get(f, "/.git/config", NULL, &head, &body), 404);
    assert_int_equal(get(f, "/secret.txt", NULL, &head, &body), 200);
    assert_string_equal(body.data, "this is index.html");
    assert_int_equal(get(f, "/assets/..%2f..%2fetc/passwd", NULL, &head, &body), 400);
}

/* Never a file from elsewhere, however the path is spelt. */
static void faults_37_no_spelling_of_a_path_leads_out_of_the_page(void **state)
{
    static const char *const paths[] = {
        "/../etc/passwd",
        "/assets/../../etc/passwd",
        "/%2e%2e/etc/passwd",
        "/%2e%2e%2fetc%2fpasswd",
        "/..%c0%af..%c0%afetc/passwd",
        "/%c0%ae%c0%ae/etc/passwd",
        "/..\\..\\etc\\passwd",
        "/%5c..%5cetc",
        "//etc/passwd",
        "/assets//etc/passwd",
        "/etc%00.html",
        "/.git/HEAD",
        "/%2egit/HEAD",
        "/assets/.hidden",
        "/./.env",
    };
    struct fixture *f = *state;
    char longest[4096];
    BUF head = {0};
    BUF body = {0};

    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        kndl_buf_clear(&body);
        int status = get(f, paths[i], NULL, &head, &body);

        /* A path of the page's own form is the page; anything else is refused. */
        if (status == 200)
            assert_string_equal(body.data, "this is index.html");
        else
            assert_true(status == 400 || status == 404);
        assert_null(strstr(kndl_buf_text(&body), "root:"));
    }
    memset(longest, 'a', sizeof longest);
    longest[0] = '/';
    longest[sizeof longest - 1] = '\0';
    assert_true(get(f, longest, NULL, &head, &body) != 500);
}

#define WITH_GATEWAY(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_GATEWAY(a_file_is_answered_in_the_form_the_browser_takes),
        WITH_GATEWAY(a_known_etag_is_not_sent_again),
        WITH_GATEWAY(paths_of_the_pages_own_are_the_page),
        WITH_GATEWAY(hidden_files_and_links_are_left_out),
        WITH_GATEWAY(faults_37_no_spelling_of_a_path_leads_out_of_the_page),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
