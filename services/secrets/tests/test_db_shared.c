/* Shared variables: whom they reach, and who may change them. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kndl/mem.h"
#include "scene.h"
#include "store.h"
#include "variable.h"

static void a_late_repeat_does_not_undo_a_newer_change_of_a_shared_variable(void **state)
{
    struct fixture *f = *state;
    char id[KNDL_ID_SIZE];
    bool more;

    assert_true(set_shared_as(f, "make", "", "S", "one", false));
    strcpy(id, f->shared_id);
    assert_true(link_as(f, "link", f->repo, true));
    assert_true(set_shared_as(f, "change-1", id, "S", "two", false));
    assert_true(set_shared_as(f, "change-2", id, "S", "three", false));
    assert_true(set_shared_as(f, "change-1", id, "S", "two", false));
    assert_true(list(f, f->repo));
    assert_string_equal(f->text, "S=three");

    assert_true(set_shared_as(f, "make", "", "S", "one", false));
    assert_string_equal(f->shared_id, id); /* no second one was made */
    assert_int_equal(count_shared(f, &more), 1);

    assert_true(link_as(f, "unlink", f->repo, false));
    assert_true(link_as(f, "link", f->repo, true));
    assert_true(list(f, f->repo));
    assert_string_equal(f->text, "");
    assert_true(remove_shared(f));
    assert_false(set_shared_as(f, "make", "", "S", "one", false));
    assert_int_equal(f->err.code, KNDL_NOT_FOUND);
    assert_int_equal(count_shared(f, &more), 0);
}

static void a_shared_variable_reaches_the_repos_it_is_linked_to_and_the_repos_own_wins(void **state)
{
    struct fixture *f = *state;

    assert_true(set_shared(f, "", "A", "shared-secret-value", true));
    assign(f, 1, PHASE(STARTING));
    assert_true(fetch(f, runner, 1));
    assert_string_equal(f->text, "");
    assert_true(link_shared(f, f->repo, true));
    assert_true(fetch(f, runner, 1));
    assert_string_equal(f->text, "A=shared-secret-value");
    assert_true(masks(f, "shared-secret-value"));
    assert_true(set(f, "A", "own-value", false));
    assert_true(list(f, f->repo));
    assert_string_equal(f->text, "A=own-value []=*");
    assert_true(fetch(f, runner, 1));
    assert_string_equal(f->text, "A=own-value");
    assert_true(remove_one(f, "A"));
    assert_true(link_shared(f, f->repo, false));
    assert_true(fetch(f, runner, 1));
    assert_string_equal(f->text, "");
}

static void two_shared_variables_of_one_name_are_not_linked_to_one_repo(void **state)
{
    struct fixture *f = *state;

    assert_true(set_shared(f, "", "A", "one", false));
    assert_true(link_shared(f, f->repo, true));
    assert_true(set_shared(f, "", "A", "two", false));
    assert_false(link_shared(f, f->repo, true));
    assert_int_equal(f->err.code, KNDL_ALREADY_EXISTS);
    assert_true(link_shared(f, f->other, true));
}

/* Else linking a foreign secret to a Repo of one's own would show it. */
static void a_shared_variable_is_changed_by_who_sees_all_of_its_repos_alone(void **state)
{
    struct fixture *f = *state;
    char maker[KNDL_ID_SIZE];
    bool more;

    strcpy(maker, f->person);
    assert_true(set_shared(f, "", "A", "a-secret-value", true));
    assert_int_equal(count_shared(f, &more), 1);
    kndl_id_new(f->person); /* somebody else, who sees both Repos */
    assert_int_equal(count_shared(f, &more), 0);
    assert_false(link_shared(f, f->other, true));
    assert_int_equal(f->err.code, KNDL_NOT_FOUND);
    assert_false(remove_shared(f));
    assert_int_equal(f->err.code, KNDL_NOT_FOUND);

    strcpy(f->person, maker);
    assert_true(link_shared(f, f->repo, true));
    assert_true(link_shared(f, f->other, true));
    kndl_id_new(f->person);
    fake_bus.repos[1] = 0; /* sees one of the two */
    assert_int_equal(count_shared(f, &more), 1);
    assert_true(more);
    assert_false(set_shared(f, f->shared_id, "A", "another-value", true));
    assert_int_equal(f->err.code, KNDL_PERMISSION_DENIED);
    fake_bus.repos[0] = 0; /* none */
    assert_int_equal(count_shared(f, &more), 0);
    assert_false(set_shared(f, f->shared_id, "A", "another-value", true));
    assert_int_equal(f->err.code, KNDL_NOT_FOUND);
    fake_bus.repos[0] = f->repo;
    fake_bus.repos[1] = f->other;
    assert_true(set_shared(f, f->shared_id, "A", "another-value", true));
    assert_false(set_shared(f, f->shared_id, "B", "another-value", true));
    assert_int_equal(f->err.code, KNDL_INVALID_ARGUMENT);
    assert_true(remove_shared(f));
    assert_true(list(f, f->repo));
    assert_string_equal(f->text, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(a_late_repeat_does_not_undo_a_newer_change_of_a_shared_variable),
        TEST(a_shared_variable_reaches_the_repos_it_is_linked_to_and_the_repos_own_wins),
        TEST(two_shared_variables_of_one_name_are_not_linked_to_one_repo),
        TEST(a_shared_variable_is_changed_by_who_sees_all_of_its_repos_alone),
    };

    return cmocka_run_group_tests(tests, fake_hub_open, fake_hub_close);
}
