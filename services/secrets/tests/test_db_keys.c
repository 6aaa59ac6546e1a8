/* Two keys live, and the change from one to the other, killed in the middle (CR-05). */

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fakes.h"
#include "kndl/db.h"
#include "kndl/env.h"
#include "kndl/id.h"
#include "kndl/mem.h"
#include "kndl/testing.h"
#include "variable.h"

enum { REPO = 41, PEOPLE = 260 };

static const struct kndl_statement statements[] = {
    {"count", "SELECT count(*) FILTER (WHERE substr(sealed, 2, 4) = '\\x00000008'), count(*) FROM "
              "(SELECT sealed FROM setup_token WHERE sealed IS NOT NULL UNION ALL SELECT sealed "
              "FROM mask UNION ALL SELECT sealed FROM variable) s"},
    {"lock", "SELECT person_id FROM setup_token WHERE person_id = (SELECT person_id FROM "
             "setup_token ORDER BY person_id OFFSET 150 LIMIT 1) FOR UPDATE"},
    {"hold", "SELECT pg_advisory_xact_lock(1)"},
    /* Whoever changes the 151st setup token waits while somebody "holds". */
    {"wait", "CREATE FUNCTION wait_until_free() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN IF "
             "(SELECT count(*) FROM setup_token t WHERE t.person_id < NEW.person_id) = 150 THEN "
             "PERFORM pg_advisory_xact_lock(1); END IF; RETURN NEW; END'"},
    {"must_wait", "CREATE TRIGGER held BEFORE UPDATE ON setup_token FOR EACH ROW EXECUTE FUNCTION "
                  "wait_until_free()"},
    {"waits_no_more", "DROP TRIGGER held ON setup_token"},
    {"waiting", "SELECT count(*) FROM pg_locks WHERE NOT granted AND pid IN (SELECT pid FROM "
                "pg_locks WHERE database = (SELECT oid FROM pg_database WHERE datname = "
                "current_database()))"},
    {"damage", "UPDATE variable SET version = version + 1"},
    {NULL, NULL},
};

struct fixture {
    struct kndl_db *db; /* beside the store's */
    struct kndl_arena *arena;
    struct kndl_rows rows; /* of the last statement */
    struct rotation rotation;
    struct kndl_error err;
};

static int set_up(void **state)
{
    struct fixture *f = kndl_new0(struct fixture);

    f->db = fake_connect(statements);
    f->arena = kndl_arena_new(KNDL_ARENA_PLAIN);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    kndl_db_close(f->db);
    kndl_arena_free(f->arena);
    free(f);
    return 0;
}

static void run(struct fixture *f, const char *statement)
{
    assert_int_equal(kndl_db_exec_params(f->db, statement, NULL, 0, f->arena, &f->rows, &f->err),
                     0);
}

/* Until somebody waits for a row that another holds; the child goes on meanwhile. */
static void await_waiting(struct fixture *f, pid_t child)
{
    do {
        assert_int_equal(waitpid(child, NULL, WNOHANG), 0);
        run(f, "waiting");
    } while (kndl_row_i64(&f->rows, 0, 0) == 0);
}

static struct store *open_store(void)
{
    struct store *store;
    struct kndl_error err = {0};

    if (store_open(&store, &err) < 0)
        fail_msg("%s", err.message);
    return store;
}

static void count(struct fixture *f, int64_t *ret_new, int64_t *ret_all)
{
    run(f, "count");
    *ret_new = kndl_row_i64(&f->rows, 0, 0);
    *ret_all = kndl_row_i64(&f->rows, 0, 1);
}

/* Setup tokens enough for three batches, a Variable, and a mask. */
static void fill(struct store *store)
{
    struct kndl_arena *arena = kndl_arena_new(KNDL_ARENA_SECRET);
    const struct new_variable new = {.name = "A", .value = "kept-value", .is_sensitive = true};
    const struct request request = {"somebody", "q1", 1, {0}};
    struct kndl_error err = {0};
    struct variables variables;
    struct setup_token token;
    bool changed;

    for (int i = 0; i < PEOPLE; i++) {
        char person[KNDL_ID_SIZE];
        const struct request theirs = {person, "q1", 1, {0}};

        kndl_id_new(person);
        assert_int_equal(store_set_token(store, &theirs, kndl_slice_of("sk-ant-oat01-x"), 2, arena,
                                         &token, &changed, &err),
                         0);
    }
    assert_int_equal(store_set_variables(store, &request, REPO, &new, 1, arena, &variables, &err),
                     0);
    kndl_arena_free(arena);
}

static void assert_readable(struct store *store)
{
    struct kndl_arena *arena = kndl_arena_new(KNDL_ARENA_SECRET);
    struct kndl_error err = {0};
    struct mask_set set;

    assert_int_equal(store_list_person_masks(store, "nobody", REPO, arena, &set, &err), 0);
    assert_int_equal(set.count, 1);
    assert_string_equal(set.masks[0].value, "kept-value");
    kndl_arena_free(arena);
}

/* In a process of its own, which is killed in the middle of a batch. */
static void rotate_and_die(struct fixture *f)
{
    KNDL_CLEANUP(kndl_tx_done) struct kndl_tx tx;
    int status;

    run(f, "wait");
    run(f, "must_wait");
    assert_int_equal(kndl_tx_begin(f->db, &tx, &f->err), 0);
    run(f, "hold");
    pid_t child = fork();
    if (child == 0) {
        struct store *store;

        if (store_open(&store, &f->err) < 0 || store_rotate(store, &f->rotation, &f->err) < 0)
            fprintf(stderr, "%s\n", f->err.message);
        _exit(0);
    }
    await_waiting(f, child);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
}

/* CR-05 */
static void cr_05_a_rotation_that_was_killed_goes_on_where_it_was(void **state)
{
    struct fixture *f = *state;
    struct store *store = open_store();
    int64_t new, all;

    fill(store);
    store_close(store);

    fake_keys(FAKE_KEY_8 FAKE_KEY_7);
    rotate_and_die(f);
    run(f, "waits_no_more");
    count(f, &new, &all);
    assert_int_equal(new, 100); /* one batch; the second was never committed */
    store = open_store();
    assert_readable(store);
    assert_int_equal(store_check_keys(store, &f->err), 0);
    assert_int_equal(store_rotate(store, &f->rotation, &f->err), 0);
    assert_int_equal(f->rotation.sealed_anew, all - 100);
    assert_int_equal(f->rotation.unreadable, 0);
    count(f, &new, &all);
    assert_int_equal(new, all);
    assert_int_equal(store_rotate(store, &f->rotation, &f->err), 0);
    assert_int_equal(f->rotation.sealed_anew, 0);
    store_close(store);

    fake_keys(FAKE_KEY_8); /* the old one is not needed any more */
    store = open_store();
    assert_int_equal(store_check_keys(store, &f->err), 0);
    assert_readable(store);
    store_close(store);
}

/* `secrets --rotate` as somebody types it: its exit status, and what it printed. */
static int run_command(char *output, size_t most)
{
    char program[PATH_MAX + 16];
    char url[512], key[PATH_MAX];
    ssize_t size = readlink("/proc/self/exe", program, PATH_MAX);
    char *argv[] = {program, "--rotate", NULL};
    char *env[] = {url, key, NULL};
    int out[2], status;

    assert_true(size > 0);
    program[size] = '\0';
    strcpy(strrchr(program, '/'), "/secrets");
    snprintf(url, sizeof url, "HUB_DATABASE_URL=%s", kndl_env_get("HUB_DATABASE_URL"));
    snprintf(key, sizeof key, "HUB_SECRETS_KEY_FILE=%s", kndl_env_get("HUB_SECRETS_KEY_FILE"));
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(out[1], STDOUT_FILENO);
        execve(program, argv, env);
        _exit(126);
    }
    close(out[1]);
    size_t have = 0;
    ssize_t got;
    while (have < most - 1 && (got = read(out[0], output + have, most - 1 - have)) > 0)
        have += (size_t)got;
    output[have] = '\0';
    close(out[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* CR-05 */
static void cr_05_the_command_says_how_many_and_what_cannot_be_read(void **state)
{
    char output[256];

    (void)state;
    fake_keys(FAKE_KEY_7 FAKE_KEY_8); /* and back again */
    assert_int_equal(run_command(output, sizeof output), 0);
    assert_string_equal(output, "261 values were sealed anew under the current key.\n");
    assert_int_equal(run_command(output, sizeof output), 0);
    assert_string_equal(output, "0 values were sealed anew under the current key.\n");
    fake_keys(FAKE_KEY_8); /* the only key that opens them is not there */
    assert_int_equal(run_command(output, sizeof output), 1);
    assert_non_null(strstr(output, "261 cannot be read"));
    fake_keys(FAKE_KEY_8 FAKE_KEY_7);
    assert_int_equal(run_command(output, sizeof output), 0);
}

/* CR-05 */
static void cr_05_a_value_that_somebody_holds_is_left_counted_and_sealed_later(void **state)
{
    struct fixture *f = *state;
    char output[256];

    fake_keys(FAKE_KEY_7 FAKE_KEY_8);
    {
        KNDL_CLEANUP(kndl_tx_done) struct kndl_tx tx;

        assert_int_equal(kndl_tx_begin(f->db, &tx, &f->err), 0);
        run(f, "lock");
        assert_int_equal(run_command(output, sizeof output), 1);
        assert_non_null(strstr(output, "260 values were sealed anew"));
        assert_non_null(strstr(output, "1 are left"));
    }
    struct store *store = open_store();
    assert_int_equal(store_rotate(store, &f->rotation, &f->err), 0);
    assert_int_equal(f->rotation.sealed_anew, 1);
    assert_int_equal(f->rotation.in_use, 0);
    store_close(store);
    fake_keys(FAKE_KEY_8 FAKE_KEY_7);
    assert_int_equal(run_command(output, sizeof output), 0);
}

/* In a process of its own, which says by its exit status whether somebody still held one. */
static pid_t rotate_meanwhile(void)
{
    pid_t child = fork();

    if (child == 0) {
        struct kndl_error err = {0};
        struct rotation rotation;
        struct store *store;

        _exit(store_open(&store, &err) < 0 || store_rotate(store, &rotation, &err) < 0 ||
              rotation.in_use > 0);
    }
    return child;
}

/* CR-05 */
static void cr_05_a_value_that_is_let_go_of_meanwhile_is_sealed_in_the_same_run(void **state)
{
    struct fixture *f = *state;
    int status;
    pid_t child;

    fake_keys(FAKE_KEY_7 FAKE_KEY_8);
    {
        KNDL_CLEANUP(kndl_tx_done) struct kndl_tx tx;

        assert_int_equal(kndl_tx_begin(f->db, &tx, &f->err), 0);
        run(f, "lock");
        child = rotate_meanwhile();
        await_waiting(f, child);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    fake_keys(FAKE_KEY_8 FAKE_KEY_7);
    assert_int_equal(waitpid(rotate_meanwhile(), &status, 0) > 0 ? status : -1, 0);
}

/* CR-05 */
static void cr_05_a_missing_key_is_said_at_the_start(void **state)
{
    struct fixture *f = *state;
    struct store *store;

    fake_keys(FAKE_KEY_7); /* what is kept needs 8 by now */
    store = open_store();
    assert_int_equal(store_check_keys(store, &f->err), -1);
    assert_int_equal(f->err.code, KNDL_FAILED_PRECONDITION);
    assert_non_null(strstr(f->err.message, "key 8"));
    store_close(store);
}

/* CR-05: values would be sealed with it beside those that it does not open. */
static void cr_05_another_key_of_the_same_id_is_refused_at_the_start(void **state)
{
    struct fixture *f = *state;
    struct store *store;

    fake_keys(FAKE_KEY_8_OF_ANOTHER_HUB FAKE_KEY_7);
    store = open_store();
    assert_int_equal(store_check_keys(store, &f->err), -1);
    assert_int_equal(f->err.code, KNDL_FAILED_PRECONDITION);
    assert_non_null(strstr(f->err.message, "key 8 of HUB_SECRETS_KEY_FILE is not the one"));
    store_close(store);
    fake_keys(FAKE_KEY_8 FAKE_KEY_7);
    store = open_store();
    assert_int_equal(store_check_keys(store, &f->err), 0);
    store_close(store);
}

/* It is said where it is needed, and can be set again: no reason to be away. */
static void cr_05_a_damaged_value_does_not_keep_a_service_from_starting(void **state)
{
    struct fixture *f = *state;
    struct store *store = open_store();

    run(f, "damage");
    assert_int_equal(store_check_keys(store, &f->err), 0);
    store_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(cr_05_a_rotation_that_was_killed_goes_on_where_it_was),
        TEST(cr_05_the_command_says_how_many_and_what_cannot_be_read),
        TEST(cr_05_a_value_that_somebody_holds_is_left_counted_and_sealed_later),
        TEST(cr_05_a_value_that_is_let_go_of_meanwhile_is_sealed_in_the_same_run),
        TEST(cr_05_a_missing_key_is_said_at_the_start),
        TEST(cr_05_another_key_of_the_same_id_is_refused_at_the_start),
        TEST(cr_05_a_damaged_value_does_not_keep_a_service_from_starting),
    };

    return cmocka_run_group_tests(tests, fake_hub_open, fake_hub_close);
}
