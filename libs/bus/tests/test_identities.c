/* What kndl-init makes and what sessions mints with its signing key, on a real nats-server. */

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kndl/bus.h"
#include "kndl/clock.h"
#include "kndl/mem.h"
#include "kndl/nkey.h"
#include "kndl/permissions.h"
#include "kndl/testing.h"
#include "wire.h"

static void read_line(const char *name, char *text, size_t room)
{
    char path[512];

    snprintf(path, sizeof path, "%s/%s", kndl_test_nats()->dir, name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(text, (int)room, file));
    fclose(file);
}

/* Mints a user as sessions does; `claims` lacks whom it is for. Returns the credentials' path. */
static const char *mint(struct kndl_user_claims claims)
{
    static char path[512];
    struct kndl_nkey signer, user;
    struct kndl_buf jwt = {0};
    struct kndl_secret creds;
    struct kndl_error err;
    char seed[128];
    char account[128];

    read_line("creds/runner-signing.seed", seed, sizeof seed);
    read_line("account", account, sizeof account);
    assert_int_equal(kndl_nkey_from_seed(kndl_slice_of(seed), &signer, &err), 0);
    kndl_nkey_new(KNDL_NKEY_USER, &user);
    claims.user_public = user.public;
    claims.issuer_account = account;
    kndl_jwt_user(&signer, &claims, &jwt);
    kndl_nkey_creds(kndl_buf_text(&jwt), &user, &creds);
    snprintf(path, sizeof path, "%s/minted.creds", kndl_test_nats()->dir);
    FILE *file = fopen(path, "w");
    fwrite(creds.data, 1, creds.size, file);
    fclose(file);
    kndl_secret_done(&creds);
    kndl_buf_done(&jwt);
    kndl_nkey_done(&user);
    kndl_nkey_done(&signer);
    return path;
}

static void a_minted_runner_has_its_own_subjects(void **unused)
{
    const struct kndl_user_claims claims = {.name = "r7",
                                            .expires_at_ms = kndl_clock_wall_ms() + 3600000};
    struct wire *wire = wire_open(kndl_test_nats()->url, mint(claims));

    (void)unused;
    assert_true(
        wire_may_publish(wire, "kndl.runner.r7.rpc.sessions.v1.SessionsRunnerService.Attend"));
    assert_false(
        wire_may_publish(wire, "kndl.runner.r1.rpc.sessions.v1.SessionsRunnerService.Attend"));
    assert_true(wire_may_subscribe(wire, "_INBOX.runner.r7.>"));
    assert_false(wire_may_subscribe(wire, "_INBOX.runner.r1.>"));
    wire_close(wire);
}

static void the_signing_key_mints_runners_only(void **unused)
{
    static const char *const all[] = {">", NULL};
    const struct kndl_user_claims greedy = {
        .name = "sessions", .publish = all, .subscribe = all, .responses = 1};

    (void)unused;
    assert_true(wire_is_refused(kndl_test_nats()->url, mint(greedy)));
}

/* nats-server would let `*` in, with every Runner's subjects. */
static void a_runner_named_like_a_pattern_is_never_minted(void **unused)
{
    static const char *const names[] = {"*", ">", "r1.>", "", NULL};

    (void)unused;
    for (size_t i = 0; names[i] != NULL; i++) {
        int status;
        pid_t pid = fork();
        if (pid == 0) {
            signal(SIGABRT, SIG_DFL);
            mint((struct kndl_user_claims){.name = names[i]});
            _exit(0);
        }
        waitpid(pid, &status, 0);
        assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) != 0);
    }
}

static void credentials_end(void **unused)
{
    const struct kndl_user_claims claims = {.name = "r7",
                                            .expires_at_ms = kndl_clock_wall_ms() - 2000};

    (void)unused;
    assert_true(wire_is_refused(kndl_test_nats()->url, mint(claims)));
}

/* What a Runner gives its bus: JWTs that last two seconds each, for one key. */
struct short_lived {
    struct kndl_nkey user;
    atomic_int asked;
};

static char *give_short_jwt(void *data)
{
    struct short_lived *runner = data;
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf jwt = {0};
    struct kndl_nkey signer;
    struct kndl_error err;
    char seed[128];
    char account[128];

    read_line("creds/runner-signing.seed", seed, sizeof seed);
    read_line("account", account, sizeof account);
    assert_int_equal(kndl_nkey_from_seed(kndl_slice_of(seed), &signer, &err), 0);
    kndl_jwt_user(&signer,
                  &(struct kndl_user_claims){.name = "r1",
                                             .user_public = runner->user.public,
                                             .issuer_account = account,
                                             .expires_at_ms = kndl_clock_wall_ms() + 2000},
                  &jwt);
    kndl_nkey_done(&signer);
    atomic_fetch_add(&runner->asked, 1);
    return kndl_buf_take(&jwt);
}

static void sign_short(void *data, struct kndl_slice nonce, uint8_t ret_signature[64])
{
    struct short_lived *runner = data;

    kndl_nkey_sign(&runner->user, nonce, ret_signature);
}

/* The server ends the connection with the JWT; the bus comes back with the next one. */
static void a_runner_outlives_its_credentials(void **unused)
{
    struct short_lived runner = {0};
    struct kndl_bus_signer signer = {give_short_jwt, sign_short, &runner};
    struct kndl_error err = {0};
    struct kndl_bus *bus;

    (void)unused;
    kndl_nkey_new(KNDL_NKEY_USER, &runner.user);
    if (kndl_bus_open(&(struct kndl_bus_options){.url = kndl_test_nats()->url,
                                                 .signer = &signer,
                                                 .user = "runner",
                                                 .runner_id = "r1"},
                      &bus, &err) < 0)
        fail_msg("%s", err.message);
    int first = atomic_load(&runner.asked);
    for (int renewals = 1; renewals <= 2; renewals++) {
        int64_t until_ms = kndl_clock_ms() + 30000;

        while (atomic_load(&runner.asked) < first + renewals || !kndl_bus_is_connected(bus)) {
            if (kndl_clock_ms() > until_ms)
                fail_msg("the bus did not come back with newer credentials");
            sched_yield();
        }
    }
    kndl_bus_close(bus);
    kndl_nkey_done(&runner.user);
}

static void run_init(void)
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        execl(KNDL_INIT_PATH, "kndl-init", kndl_test_nats()->dir, "--listen",
              strrchr(kndl_test_nats()->url, '/') + 1, "--runner-creds", "r1", (char *)NULL);
        _exit(127);
    }
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
}

static void a_repeat_keeps_keys_and_its_users_are_let_in(void **unused)
{
    static const char *const kept[] = {"account", "keys/operator.seed", "keys/account.seed",
                                       "keys/system.seed", "creds/runner-signing.seed"};
    char before[5][128], after[128], path[512];
    struct stat status;

    (void)unused;
    for (size_t i = 0; i < 5; i++)
        read_line(kept[i], before[i], sizeof before[i]);
    kndl_test_nats_kill();
    run_init();
    kndl_test_nats_start();
    for (size_t i = 0; i < 5; i++) {
        read_line(kept[i], after, sizeof after);
        assert_string_equal(before[i], after);
    }
    for (size_t i = 0; kndl_bus_users[i] != NULL; i++) {
        snprintf(path, sizeof path, "%s/creds/%s.creds", kndl_test_nats()->dir, kndl_bus_users[i]);
        assert_int_equal(stat(path, &status), 0);
        assert_int_equal(status.st_mode & 0777, 0600);
        wire_close(wire_open(kndl_test_nats()->url, path));
    }
    snprintf(path, sizeof path, "%s/creds/runner-r1.creds", kndl_test_nats()->dir);
    wire_close(wire_open(kndl_test_nats()->url, path));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_minted_runner_has_its_own_subjects),
        cmocka_unit_test(the_signing_key_mints_runners_only),
        cmocka_unit_test(a_runner_named_like_a_pattern_is_never_minted),
        cmocka_unit_test(credentials_end),
        cmocka_unit_test(a_runner_outlives_its_credentials),
        cmocka_unit_test(a_repeat_keeps_keys_and_its_users_are_let_in),
    };

    if (kndl_crypt_init(NULL) < 0)
        return 1;
    return cmocka_run_group_tests_name("identities", tests, NULL, NULL);
}
