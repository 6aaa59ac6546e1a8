/* Variables of Repos: from people's hands to Sessions, what stays masked, what is sealed. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kndl/db.h"
#include "kndl/mem.h"
#include "scene.h"
#include "store.h"
#include "variable.h"

static void a_variable_is_set_replaced_listed_and_removed(void **state)
{
    struct fixture *f = *state;

    assert_true(set(f, "B", "two", false));
    assert_true(set(f, "A", "hunter2-and-more", true));
    assert_true(list(f, f->repo));
    assert_string_equal(f->text, "A=* B=two");
    assert_true(set(f, "B", "three", false));
    assert_true(list(f, f->repo));
    assert_string_equal(f->text, "A=* B=three");
    assert_true(list(f, f->other));
    assert_string_equal(f->text, "");
    assert_true(remove_one(f, "B"));
    assert_false(remove_one(f, "B"));
    assert_int_equal(f->err.code, KNDL_OK);
    assert_true(list(f, f->repo));
    assert_string_equal(f->text, "A=*");
}

static void a_repeat_of_a_request_does_not_undo_what_came_after(void **state)
{
    struct fixture *f = *state;

    assert_true(set_as(f, "same", "A", "one", false));
    assert_true(set(f, "A", "two", false));
    assert_true(set_as(f, "same", "A", "one", false));
    assert_true(list(f, f->repo));
    assert_string_equal(f->text, "A=two");
}

/* Faults 16: neither done nor said to be. */
static void a_request_id_that_was_used_for_something_else_is_refused(void **state)
{
    struct fixture *f = *state;

    assert_true(set_as(f, "used", "A", "value-one", true));
    assert_false(set_as(f, "used", "A", "value-two", true));
    assert_int_equal(f->err.code, KNDL_INVALID_ARGUMENT);
    assert_false(set_as(f, "used", "B", "value-one", true));
    assert_int_equal(f->err.code, KNDL_INVALID_ARGUMENT);
    assert_false(remove_as(f, "used", "A"));
    assert_int_equal(f->err.code, KNDL_INVALID_ARGUMENT);
    assert_false(set_shared_as(f, "used", "", "S", "one", false));
    assert_int_equal(f->err.code, KNDL_INVALID_ARGUMENT);
    assert_true(list(f, f->repo));
    assert_string_equal(f->text, "A=*");
}

/* Whoever sent it heard no answer and tries again, late: the newer change stays. */
static void a_late_repeat_of_an_older_request_does_not_undo_a_newer_one(void **state)
{
    struct fixture *f = *state;

    assert_true(set_as(f, "set-1", "A", "one", false));
    assert_true(set_as(f, "set-2", "A", "two", false));
    assert_true(set_as(f, "set-1", "A", "one", false));
    assert_true(list(f, f->repo));
    assert_string_equal(f->text, "A=two");

    assert_true(remove_as(f, "remove-1", "A"));
    assert_true(set_as(f, "set-3", "A", "three", false));
    assert_true(remove_as(f, "remove-1", "A")); /* it did remove one */
    assert_true(set_as(f, "set-1", "A", "one", false));
    assert_true(list(f, f->repo));
    assert_string_equal(f->text, "A=three");
}

static void a_repo_that_is_not_seen_is_as_one_that_does_not_exist(void **state)
{
    struct fixture *f = *state;
    char text[64];

    assert_true(set(f, "A", "value", false));
    fake_bus.repos[0] = 0;
    assert_false(list(f, f->repo));
    assert_int_equal(f->err.code, KNDL_NOT_FOUND);
    snprintf(text, sizeof text, "you have no access to a Repo with the id %lld",
             (long long)f->repo);
    assert_string_equal(f->err.message, text);
    assert_false(list(f, 999999));
    assert_int_equal(f->err.code, KNDL_NOT_FOUND);
    assert_string_equal(f->err.message, "you have no access to a Repo with the id 999999");
    assert_false(set(f, "A", "other", false));
    assert_int_equal(f->err.code, KNDL_NOT_FOUND);
    assert_false(remove_one(f, "A"));
    assert_int_equal(f->err.code, KNDL_NOT_FOUND);
    assign(f, 1, PHASE(ACTIVE));
    assert_false(is_changed(f));
    assert_int_equal(f->err.code, KNDL_NOT_FOUND);
}

static void names_and_values_have_their_limits(void **state)
{
    static const char *const bad[] = {
        "",           "1A",       "A-B",  "A B",   "\xc3\xa9",      "PATH",
        "KNDL_URL",   "CLAUDE_X", "HOME", "A=B",   "LANG",          "TERM",
        "IS_SANDBOX", "PWD",      "USER", "SHELL", "KNDL_MOD_TOKEN"};
    struct fixture *f = *state;
    char name[VARIABLE_NAME_CHARS_MAX + 2];
    char value[VARIABLE_VALUE_BYTES_MAX + 2];

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_false(set(f, bad[i], "value", false));
        assert_int_equal(f->err.code, KNDL_INVALID_ARGUMENT);
    }
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = '\0';
    assert_false(set(f, name, "value", false));
    assert_true(set(f, name + 1, "value", false));
    memset(value, 'v', sizeof value);
    value[sizeof value - 1] = '\0';
    assert_false(set(f, "A", value, false));
    assert_int_equal(f->err.code, KNDL_INVALID_ARGUMENT);
    assert_null(strstr(f->err.message, "vvvv"));
    assert_true(set(f, "A", value + 1, false));
    /* CC-06: kept from Claude Code, yet a Variable: a Start script may use it. */
    assert_true(set(f, "ANTHROPIC_API_KEY", "sk-ant-api-value", true));
}

static void a_scope_has_fifty_variables_and_64_kib(void **state)
{
    struct fixture *f = *state;
    char name[16];
    char value[VARIABLE_VALUE_BYTES_MAX + 1];

    memset(value, 'v', sizeof value);
    value[sizeof value - 1] = '\0';
    for (int i = 0; i < 4; i++) {
        snprintf(name, sizeof name, "BIG%d", i);
        assert_true(set(f, name, value, false));
    }
    assert_false(set(f, "BIG4",
                     "and another sixty-five bytes are more than are let off, these "
                     "ones here, I say",
                     false));
    assert_int_equal(f->err.code, KNDL_RESOURCE_EXHAUSTED);
    for (int i = 0; i < 4; i++) {
        snprintf(name, sizeof name, "BIG%d", i);
        assert_true(remove_one(f, name));
    }
    for (int i = 0; i < VARIABLES_MAX; i++) {
        snprintf(name, sizeof name, "N%d", i);
        assert_true(set(f, name, "x", false));
    }
    assert_false(set(f, "ONE_MORE", "x", false));
    assert_int_equal(f->err.code, KNDL_RESOURCE_EXHAUSTED);
    assert_true(set(f, "N7", "y", false));
}

/* RD-06 */
static void
rd_06_a_sensitive_value_under_four_characters_is_refused_and_a_weak_one_warned_of(void **state)
{
    struct fixture *f = *state;

    assert_false(set(f, "A", "abc", true));
    assert_int_equal(f->err.code, KNDL_INVALID_ARGUMENT);
    assert_non_null(strstr(f->err.message, "A"));
    assert_false(set(f, "A", "  abc \n", true));
    assert_true(set(f, "A", "abc", false));
    assert_int_equal(f->warnings, 0);
    assert_true(set(f, "A", "abcd", true));
    assert_int_equal(f->warnings, 1);
    assert_true(set(f, "A", "admin", true));
    assert_int_equal(f->warnings, 1);
    assert_true(set(f, "A", "a long and odd value", true));
    assert_int_equal(f->warnings, 0);
}

/* BU-10 */
static void bu_10_only_the_runner_of_a_run_that_starts_or_is_active_gets_them(void **state)
{
    struct fixture *f = *state;

    assert_true(set(f, "A", "hunter2-and-more", true));
    assert_true(set(f, "B", "two\nlines", false));
    assign(f, 1, PHASE(MADE));
    assert_false(fetch(f, runner, 1));
    assert_int_equal(f->err.code, KNDL_NOT_FOUND);
    assign(f, 1, PHASE(STARTING));
    assert_true(fetch(f, runner, 1));
    assert_string_equal(f->text, "A=hunter2-and-more B=two\nlines");
    assert_false(fetch(f, "runnerbbbbbbbbbbbbbbbbbbbb", 1));
    assert_int_equal(f->err.code, KNDL_NOT_FOUND);
    assert_false(fetch(f, runner, 2));
    assert_int_equal(f->err.code, KNDL_NOT_FOUND);
    assign(f, 1, PHASE(ACTIVE));
    assert_true(fetch(f, runner, 1));
    assign(f, 1, PHASE(ENDED));
    assert_false(fetch(f, runner, 1));
    assert_int_equal(f->err.code, KNDL_NOT_FOUND);
}

/* RD-02 */
static void
rd_02_a_replaced_value_stays_masked_while_a_session_that_started_with_it_runs(void **state)
{
    struct fixture *f = *state;
    int64_t before;

    assert_true(set(f, "A", "the-first-value", true));
    assert_true(set(f, "B", "open-value", false));
    assign(f, 1, PHASE(STARTING));
    before = f->version;
    assert_true(fetch(f, runner, 1));
    assert_true(f->version > before); /* in the set before it is given */
    assert_true(masks(f, "the-first-value"));
    assert_false(masks(f, "open-value"));
    assign(f, 1, PHASE(ACTIVE));
    before = f->version;
    fake_bus.masks_changed = 0;
    assert_true(set(f, "A", "the-second-value", true));
    assert_int_equal(fake_bus.masks_changed, 1);
    assert_true(masks(f, "the-first-value"));
    assert_true(masks(f, "the-second-value"));
    assert_true(f->version > before);
    assert_true(remove_one(f, "A"));
    assert_true(masks(f, "the-first-value"));
    assert_false(masks(f, "the-second-value"));
    assign(f, 1, PHASE(SETTLED));
    assert_false(masks(f, "the-first-value"));
}

/* RD-02: sessions tells the end of a run whenever secrets is there to hear it, and the start of the
 * next one does not wait for that. */
static void rd_02_the_end_of_a_run_that_is_told_late_takes_no_mask_of_the_next(void **state)
{
    struct fixture *f = *state;

    assert_true(set(f, "A", "the-first-value", true));
    assign(f, 1, PHASE(STARTING));
    assert_true(fetch(f, runner, 1));
    assign(f, 1, PHASE(ACTIVE));
    assign(f, 2, PHASE(STARTING));
    assert_true(fetch(f, runner, 2));
    assign(f, 1, PHASE(SETTLED));
    assert_true(set(f, "A", "the-second-value", true));
    assert_true(masks(f, "the-first-value"));
    assert_true(masks(f, "the-second-value"));
    assign(f, 2, PHASE(SETTLED));
    assert_false(masks(f, "the-first-value"));
}

static void a_change_since_the_start_is_said_until_the_next_start(void **state)
{
    struct fixture *f = *state;

    assert_true(set(f, "A", "one", false));
    assign(f, 1, PHASE(STARTING));
    assert_false(is_changed(f)); /* it has none yet */
    assert_true(fetch(f, runner, 1));
    assign(f, 1, PHASE(ACTIVE));
    assert_false(is_changed(f));
    assert_true(set(f, "A", "two", false));
    assert_true(is_changed(f));
    assign(f, 1, PHASE(SETTLED));
    assert_false(is_changed(f)); /* asleep: it will have it */
    assign(f, 2, PHASE(STARTING));
    assert_true(fetch(f, runner, 2));
    assert_string_equal(f->text, "A=two");
    assert_false(is_changed(f));
    assert_true(set_shared(f, "", "S", "shared", false));
    assert_true(link_shared(f, f->repo, true));
    assert_true(is_changed(f));
}

static void what_changed_since_the_start_is_said_by_name(void **state)
{
    struct fixture *f = *state;

    assert_true(set(f, "GOES", "one", false));
    assert_true(set(f, "STAYS", "one", false));
    assert_true(set(f, "TURNS", "canary-one", true));
    assign(f, 1, PHASE(STARTING));
    assert_true(fetch(f, runner, 1));
    assign(f, 1, PHASE(ACTIVE));
    assert_true(set(f, "TURNS", "canary-two", true));
    assert_true(set(f, "COMES", "one", false));
    assert_true(remove_one(f, "GOES"));
    assert_true(is_changed(f));
    assert_string_equal(f->text, "COMES=added GOES=removed TURNS=replaced");

    /* A linked one that the Repo's own wins over changes nothing; where it wins, it does. */
    assert_true(set_shared(f, "", "STAYS", "shared", false));
    assert_true(link_shared(f, f->repo, true));
    assert_true(is_changed(f));
    assert_string_equal(f->text, "COMES=added GOES=removed TURNS=replaced");
    assert_true(remove_one(f, "STAYS"));
    assert_true(remove_one(f, "COMES"));
    assert_true(is_changed(f));
    assert_string_equal(f->text, "GOES=removed STAYS=replaced TURNS=replaced");

    assign(f, 2, PHASE(STARTING));
    assert_true(fetch(f, runner, 2));
    assert_false(is_changed(f));
    assert_string_equal(f->text, "");
}

static const struct kndl_statement attacks[] = {
    {"flip", "UPDATE variable SET sealed = set_byte(sealed, 40, get_byte(sealed, 40) # 1) "
             "WHERE repo_id = $1 AND name = $2"},
    {"swap", "UPDATE variable a SET sealed = b.sealed FROM variable b WHERE a.repo_id = $1 AND "
             "b.repo_id = $1 AND a.name = $2 AND b.name = $3"},
    {"show", "UPDATE variable SET is_sensitive = false WHERE repo_id = $1 AND name = $2"},
    {"move", "UPDATE variable SET repo_id = $2 WHERE repo_id = $1 AND name = $3"},
    {"search", "SELECT count(*) FROM (SELECT encode(sealed, 'escape') AS t FROM variable "
               "UNION ALL SELECT encode(sealed, 'escape') FROM mask) s WHERE t LIKE '%canary%'"},
    {NULL, NULL},
};

/* CR-05, CR-06 */
static void
cr_05_a_ciphertext_that_was_flipped_swapped_moved_or_unmarked_does_not_open(void **state)
{
    struct fixture *f = *state;
    struct kndl_db *db = fake_connect(attacks);
    struct kndl_arena *arena = kndl_arena_new(KNDL_ARENA_PLAIN);
    struct kndl_rows rows;

    assert_true(set(f, "A", "canary-value-a", true));
    assert_true(set(f, "B", "canary-value-b", true));
    assign(f, 1, PHASE(STARTING));
    assert_true(fetch(f, runner, 1));
    assert_int_equal(kndl_db_exec_params(db, "search", NULL, 0, arena, &rows, &f->err), 0);
    assert_int_equal(kndl_row_i64(&rows, 0, 0), 0);

    for (int i = 0; i < 2; i++) {
        assert_int_equal(
            kndl_db_exec(db, "flip", arena, NULL, &f->err, kndl_db_i64(f->repo), kndl_db_text("A")),
            0);
        assert_int_equal(fetch(f, runner, 1), i == 1);
    }
    assert_int_equal(kndl_db_exec(db, "swap", arena, NULL, &f->err, kndl_db_i64(f->repo),
                                  kndl_db_text("A"), kndl_db_text("B")),
                     0);
    assert_false(fetch(f, runner, 1));
    assert_int_equal(f->err.code, KNDL_FAILED_PRECONDITION);
    assert_non_null(strstr(f->err.message, "Variable "));
    assert_null(strstr(f->err.message, "canary"));
    assert_true(set(f, "A", "canary-value-a", true)); /* what cannot be read can be set again */
    assert_true(fetch(f, runner, 1));
    assert_int_equal(
        kndl_db_exec(db, "show", arena, NULL, &f->err, kndl_db_i64(f->repo), kndl_db_text("A")), 0);
    assert_true(list(f, f->repo)); /* people are told which one, and set it again */
    assert_non_null(strstr(f->text, "A=unreadable"));
    assert_null(strstr(f->text, "canary"));
    assert_true(set(f, "A", "canary-value-a", true));
    assert_true(list(f, f->repo));
    assert_null(strstr(f->text, "unreadable"));
    assert_true(set(f, "C", "canary-value-c", true));

    int64_t from = f->repo;
    f->repo = f->other;
    assert_true(set(f, "OF_OTHER", "x", false)); /* the Repo has an Environment */
    f->repo = from;
    assert_int_equal(kndl_db_exec(db, "move", arena, NULL, &f->err, kndl_db_i64(f->repo),
                                  kndl_db_i64(f->other), kndl_db_text("C")),
                     0);
    f->repo = f->other;
    kndl_id_new(f->session);
    assign(f, 1, PHASE(STARTING));
    assert_false(fetch(f, runner, 1));
    assert_int_equal(f->err.code, KNDL_FAILED_PRECONDITION);
    kndl_db_close(db);
    kndl_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(a_variable_is_set_replaced_listed_and_removed),
        TEST(a_repeat_of_a_request_does_not_undo_what_came_after),
        TEST(a_request_id_that_was_used_for_something_else_is_refused),
        TEST(a_late_repeat_of_an_older_request_does_not_undo_a_newer_one),
        TEST(a_repo_that_is_not_seen_is_as_one_that_does_not_exist),
        TEST(names_and_values_have_their_limits),
        TEST(a_scope_has_fifty_variables_and_64_kib),
        TEST(rd_06_a_sensitive_value_under_four_characters_is_refused_and_a_weak_one_warned_of),
        TEST(bu_10_only_the_runner_of_a_run_that_starts_or_is_active_gets_them),
        TEST(rd_02_a_replaced_value_stays_masked_while_a_session_that_started_with_it_runs),
        TEST(rd_02_the_end_of_a_run_that_is_told_late_takes_no_mask_of_the_next),
        TEST(a_change_since_the_start_is_said_until_the_next_start),
        TEST(what_changed_since_the_start_is_said_by_name),
        TEST(cr_05_a_ciphertext_that_was_flipped_swapped_moved_or_unmarked_does_not_open),
    };

    return cmocka_run_group_tests(tests, fake_hub_open, fake_hub_close);
}
