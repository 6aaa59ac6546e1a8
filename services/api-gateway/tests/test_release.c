/* CL-05: what a Runner updates itself to, for Runners alone. */

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
#include "kndl/sessions/v1/sessions_internal_service.pb-c.h"
#include "kndl/token.h"
#include "kndl/version.h"
#include "release.h"

#define BUF KNDL_CLEANUP(kndl_buf_done) struct kndl_buf

static char dir[] = "/tmp/kndl-release-XXXXXX";
static char token[80]; /* of a Runner */

static void put(const char *name, mode_t mode)
{
    char path[256];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "this is %s", name);
    fclose(file);
    assert_int_equal(chmod(path, mode), 0);
}

static void put_folder(const char *name)
{
    char path[256];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    assert_int_equal(mkdir(path, 0700), 0);
}

static void drop(const char *name)
{
    char path[256];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    remove(path);
}

static bool answer(const struct fake_request *request, struct kndl_buf *out, struct kndl_error *err)
{
    Kndl__Sessions__V1__CheckRunnerTokenResponse response =
        KNDL__SESSIONS__V1__CHECK_RUNNER_TOKEN_RESPONSE__INIT;
    uint8_t hash[KNDL_HASH_BYTES];

    if (strcmp(request->method, "CheckRunnerToken") != 0)
        return true;
    Kndl__Sessions__V1__CheckRunnerTokenRequest *asked =
        kndl__sessions__v1__check_runner_token_request__unpack(NULL, request->data.size,
                                                               (const uint8_t *)request->data.data);
    kndl_hash(kndl_slice_of(token), hash);
    if (memcmp(asked->token_hash.data, hash, sizeof hash) != 0)
        kndl_fail(err, KNDL_UNAUTHENTICATED, "unknown");
    response.runner_id = (char *)"r1";
    fake_pack(out, &response.base);
    kndl__sessions__v1__check_runner_token_request__free_unpacked(asked, NULL);
    return true;
}

static void new_token(char out[80])
{
    KNDL_CLEANUP(kndl_secret_done) struct kndl_secret made = {0};

    kndl_token_new(KNDL_TOKEN_RUN, &made);
    memcpy(out, made.data, made.size);
    out[made.size] = '\0';
}

static int set_up(void **state)
{
    strcpy(dir + strlen(dir) - 6, "XXXXXX");
    assert_non_null(mkdtemp(dir));
    put("runner-agent", 0755);
    put("run-claude", 0755);
    put_folder("mod");
    put_folder("mod/.claude-plugin");
    put("mod/.claude-plugin/plugin.json", 0644);
    setenv("FIXTURE_RUNNER_DIR", dir, 1);
    fixture_open(state, answer);
    new_token(token);
    return 0;
}

static int tear_down(void **state)
{
    fixture_close(state);
    unsetenv("FIXTURE_RUNNER_DIR");
    drop("mod/.claude-plugin/plugin.json");
    drop("mod/.claude-plugin");
    drop("mod");
    drop("run-claude");
    drop("runner-agent");
    drop("");
    return 0;
}

static int get(struct fixture *f, const char *path, const char *bearer, struct kndl_buf *body)
{
    BUF head = {0};

    return fixture_ask(f, &(struct ask_options){.method = "GET", .path = path, .bearer = bearer},
                       &head, body);
}

static void cl_05_the_manifest_names_version_and_digest_of_every_file(void **state)
{
    struct fixture *f = *state;
    BUF body = {0};

    assert_int_equal(get(f, "/runner/release", token, &body), 200);
    assert_non_null(strstr(body.data, "{\"version\":\"" KNDL_VERSION "\",\"protocol\":1,"));
    assert_non_null(strstr(body.data,
                           "{\"name\":\"runner-agent\",\"size\":20,\"sha256\":\""
                           "c92b237de815db36cab02708b33589e19f4309e60310aa40e054f8fd04fae8c8\","
                           "\"executable\":true}"));
    assert_non_null(strstr(body.data, "{\"name\":\"mod/.claude-plugin/plugin.json\""));
    assert_non_null(strstr(body.data, "\"executable\":false}"));
}

static void cl_05_each_file_is_answered_as_it_is(void **state)
{
    struct fixture *f = *state;
    BUF body = {0};

    assert_int_equal(get(f, "/runner/release/mod/.claude-plugin/plugin.json", token, &body), 200);
    assert_string_equal(body.data, "this is mod/.claude-plugin/plugin.json");
    assert_int_equal(get(f, "/runner/release/run-claude", token, &body), 200);
    assert_string_equal(body.data, "this is run-claude");
    assert_int_equal(get(f, "/runner/release/kndl", token, &body), 404);
    assert_int_equal(get(f, "/runner/release/", token, &body), 404);
    assert_int_equal(get(f, "/runner/release/mod", token, &body), 404);
}

static void ac_03_nobody_but_a_runner_gets_any_of_it(void **state)
{
    static const char *const paths[] = {"/runner/release", "/runner/release/runner-agent",
                                        "/runner/release/absent"};
    struct fixture *f = *state;
    char other[80];
    BUF head = {0}, body = {0};

    new_token(other);
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        assert_int_equal(get(f, paths[i], NULL, &body), 401);
        assert_int_equal(get(f, paths[i], other, &body), 401);
        assert_int_equal(get(f, paths[i], fixture_cli_token, &body), 401);
    }
    assert_int_equal(
        FIXTURE_STATUS(f, .method = "POST", .path = "/runner/release", .bearer = token), 404);
}

/* A newer Runner says things that this Hub does not know: it is told that it is too new, not that
 * it cannot be read. */
static void ac_10_what_a_runner_says_besides_is_ignored(void **state)
{
    struct fixture *f = *state;
    BUF head = {0}, body = {0};

    assert_int_equal(
        FIXTURE_STATUS(f, .path = "/runner/credential", .bearer = token,
                       .body = kndl_slice_of("{\"userPublic\":\"UA\",\"protocol\":7,\"version\":"
                                             "\"9.1\",\"updateNote\":\"up\",\"mood\":\"fine\"}")),
        200);
    const struct fake_request *request = fake_newest("MintRunnerCredential");
    Kndl__Sessions__V1__MintRunnerCredentialRequest *asked =
        kndl__sessions__v1__mint_runner_credential_request__unpack(
            NULL, request->data.size, (const uint8_t *)request->data.data);
    assert_int_equal(asked->protocol, 7);
    assert_string_equal(asked->version, "9.1");
    assert_string_equal(asked->update_note, "up");
    kndl__sessions__v1__mint_runner_credential_request__free_unpacked(asked, NULL);
}

static void a_folder_without_its_programs_is_refused(void **state)
{
    struct gateway gateway = {.settings = {.runner_dir = dir}};
    struct kndl_error err;

    (void)state;
    drop("run-claude");
    assert_int_equal(release_open(&gateway, &err), -1);
    assert_int_equal(err.code, KNDL_INVALID_ARGUMENT);
    assert_non_null(strstr(err.message, "HUB_RUNNER_DIR has no program run-claude"));
    release_close(&gateway);
}

#define WITH_GATEWAY(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_GATEWAY(cl_05_the_manifest_names_version_and_digest_of_every_file),
        WITH_GATEWAY(cl_05_each_file_is_answered_as_it_is),
        WITH_GATEWAY(ac_03_nobody_but_a_runner_gets_any_of_it),
        WITH_GATEWAY(ac_10_what_a_runner_says_besides_is_ignored),
        WITH_GATEWAY(a_folder_without_its_programs_is_refused),
    };
    return cmocka_run_group_tests_name("release", tests, NULL, NULL);
}
