/* How often values were masked: from redactor's reports to what people are shown. */

#include <stdlib.h>
#include <string.h>

#include "fakes.h"
#include "kndl/id.h"
#include "kndl/mem.h"
#include "kndl/secrets/v1/secrets_service.pb-c.h"
#include "kndl/testing.h"
#include "rpc.h"
#include "variable.h"

#define V1(name) Kndl__Secrets__V1__##name
#define PHASE(name) KNDL__SECRETS__V1__PUT_ASSIGNMENT_REQUEST__PHASE__PHASE_##name

static const char git_token[] = "ghs_0123456789abcdefghij";
static const char setup_token[] = "sk-ant-oat01-0123456789abcdefghij";
static int64_t next_repo = 7000;

struct fixture {
    struct secrets secrets;
    struct kndl_arena *arena;
    char person[KNDL_ID_SIZE];
    char session[KNDL_ID_SIZE];
    char reporter[KNDL_ID_SIZE];
    int64_t repo, other;
    struct kndl_error err;
};

static int set_up(void **state)
{
    struct fixture *f = kndl_new0(struct fixture);

    fake_bus = (struct kndl_bus){0};
    f->secrets.bus = &fake_bus;
    f->arena = kndl_arena_new(KNDL_ARENA_SECRET);
    assert_int_equal(store_open(&f->secrets.store, &f->err), 0);
    kndl_id_new(f->person);
    kndl_id_new(f->session);
    kndl_id_new(f->reporter);
    f->repo = next_repo++;
    f->other = next_repo++;
    fake_bus.repos[0] = f->repo;
    fake_bus.repos[1] = f->other;
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    store_close(f->secrets.store);
    kndl_arena_free(f->arena);
    free(f);
    return 0;
}

/* A request of the fixture's person that was not done before. */
static struct request request_of(struct fixture *f)
{
    char *id = kndl_arena_alloc(f->arena, KNDL_ID_SIZE);

    kndl_id_new(id);
    return (struct request){f->person, id, 1000, {0}};
}

static void set(struct fixture *f, const char *name, const char *value)
{
    const struct new_variable new = {.name = name, .value = value, .is_sensitive = true};
    const struct request request = request_of(f);
    struct variables variables;

    assert_int_equal(store_set_variables(f->secrets.store, &request, f->repo, &new, 1, f->arena,
                                         &variables, &f->err),
                     0);
}

static void set_token(struct fixture *f, const char *value)
{
    const struct request request = request_of(f);
    struct setup_token token;
    bool changed;

    assert_int_equal(store_set_token(f->secrets.store, &request, kndl_slice_of(value), 2000,
                                     f->arena, &token, &changed, &f->err),
                     0);
}

/* Of the fixture's Session, which is on its Repo. */
static void assign(struct fixture *f)
{
    const struct assignment assignment = {f->session, 1, "r1", f->person, f->repo, PHASE_ACTIVE};
    int64_t version;

    assert_int_equal(
        store_put_assignment(f->secrets.store, &assignment, f->arena, &version, &f->err), 0);
    assert_int_equal(store_put_mask(f->secrets.store, f->session, "git_token",
                                    kndl_slice_of(git_token), f->arena, &version, &f->err),
                     0);
}

/* As redactor asks; freed by the caller. */
static struct kndl_test_answer masks(struct fixture *f, int64_t known_version)
{
    V1(GetMaskSetRequest) req = KNDL__SECRETS__V1__GET_MASK_SET_REQUEST__INIT;

    req.session_id = f->session;
    req.known_version = known_version;
    return kndl_test_call(secrets_internal_service, &f->secrets, "redactor", "GetMaskSet",
                          &req.base);
}

/* Reports that this value was found so often in the Repo's Sessions, for all that it counts for. */
static bool report(struct fixture *f, int64_t n, int64_t repo, const char *value, int64_t count)
{
    struct kndl_test_answer set = masks(f, 0);
    const V1(GetMaskSetResponse) *values = (V1(GetMaskSetResponse) *)set.response;
    V1(CountMaskedRequest) req = KNDL__SECRETS__V1__COUNT_MASKED_REQUEST__INIT;
    V1(CountMaskedRequest__Hits) hits[8], *list[8];

    req.reporter_id = f->reporter;
    req.n = n;
    req.hits = list;
    for (size_t i = 0; i < values->n_values; i++)
        for (size_t j = 0;
             strcmp(values->values[i]->value, value) == 0 && j < values->values[i]->n_counted;
             j++) {
            V1(CountMaskedRequest__Hits) *at = list[req.n_hits] = &hits[req.n_hits];

            *at = (V1(CountMaskedRequest__Hits))KNDL__SECRETS__V1__COUNT_MASKED_REQUEST__HITS__INIT;
            at->counted = values->values[i]->counted[j];
            at->repo_id = repo;
            at->count = count;
            at->last_at_ms = 1000 * n;
            req.n_hits++;
        }
    struct kndl_test_answer answer =
        kndl_test_call(secrets_internal_service, &f->secrets, "redactor", "CountMasked", &req.base);
    f->err = answer.err;
    kndl_test_done(&answer);
    kndl_test_done(&set);
    return f->err.code == KNDL_OK;
}

/* What a list of the Repo says of a Variable, or of "git tokens"; -1: it is not there, or has no
 * count. */
static int64_t count_of(struct fixture *f, const char *name, int64_t *ret_last_at_ms)
{
    V1(ListVariablesRequest) req = KNDL__SECRETS__V1__LIST_VARIABLES_REQUEST__INIT;
    const V1(Masked) *masked = NULL;

    req.repo_id = f->repo;
    struct kndl_test_answer answer =
        kndl_test_call(secrets_service, &f->secrets, f->person, "ListVariables", &req.base);
    const V1(ListVariablesResponse) *resp = (V1(ListVariablesResponse) *)answer.response;
    assert_non_null(resp);
    if (strcmp(name, "git tokens") == 0)
        masked = resp->git_tokens;
    for (size_t i = 0; i < resp->n_variables; i++)
        if (strcmp(resp->variables[i]->name, name) == 0)
            masked = resp->variables[i]->masked;
    int64_t count = masked == NULL ? -1 : masked->count;
    if (ret_last_at_ms != NULL)
        *ret_last_at_ms = masked == NULL ? -1 : masked->last_at_ms;
    kndl_test_done(&answer);
    return count;
}

static int64_t token_count(struct fixture *f)
{
    V1(GetSetupTokenRequest) req = KNDL__SECRETS__V1__GET_SETUP_TOKEN_REQUEST__INIT;
    struct kndl_test_answer answer =
        kndl_test_call(secrets_service, &f->secrets, f->person, "GetSetupToken", &req.base);
    const V1(GetSetupTokenResponse) *resp = (V1(GetSetupTokenResponse) *)answer.response;
    int64_t count = resp->setup_token->masked->count;

    kndl_test_done(&answer);
    return count;
}

static void what_copies_report_is_added_up_and_shown(void **state)
{
    struct fixture *f = *state;
    int64_t last_at_ms;

    set(f, "A", "canary-value-a");
    set_token(f, setup_token);
    assign(f);
    assert_int_equal(count_of(f, "A", &last_at_ms), 0);
    assert_int_equal(last_at_ms, 0);
    assert_true(report(f, 1, f->repo, "canary-value-a", 3));
    assert_true(report(f, 2, f->repo, git_token, 2));
    assert_true(report(f, 3, f->repo, setup_token, 1));
    kndl_id_new(f->reporter); /* another copy, with numbers of its own */
    assert_true(report(f, 1, f->repo, "canary-value-a", 4));
    assert_int_equal(count_of(f, "A", &last_at_ms), 7);
    assert_int_equal(last_at_ms, 1000);
    assert_int_equal(count_of(f, "git tokens", NULL), 2);
    assert_int_equal(token_count(f), 1);
}

/* redactor sends a report again when it heard no answer. */
static void a_repeated_report_counts_once(void **state)
{
    struct fixture *f = *state;

    set(f, "A", "canary-value-a");
    assign(f);
    assert_true(report(f, 1, f->repo, "canary-value-a", 3));
    assert_true(report(f, 1, f->repo, "canary-value-a", 3));
    assert_int_equal(count_of(f, "A", NULL), 3);
    assert_true(report(f, 2, f->repo, "canary-value-a", 3));
    assert_true(report(f, 1, f->repo, "canary-value-a", 3));
    assert_int_equal(count_of(f, "A", NULL), 6);
}

static void a_count_is_of_the_value_that_is_set_now(void **state)
{
    struct fixture *f = *state;

    set(f, "A", "canary-value-a");
    set(f, "SAME", "canary-value-a"); /* both have what was found of it */
    assign(f);
    assert_true(report(f, 1, f->repo, "canary-value-a", 3));
    assert_int_equal(count_of(f, "A", NULL), 3);
    assert_int_equal(count_of(f, "SAME", NULL), 3);
    set(f, "A", "canary-value-b");
    assert_int_equal(count_of(f, "A", NULL), 0);
    assert_true(report(f, 2, f->repo, "canary-value-b", 5));
    assert_int_equal(count_of(f, "A", NULL), 5);
    assert_int_equal(count_of(f, "SAME", NULL), 3);

    /* What is reported late of an older value is not the newer one's. */
    set_token(f, setup_token);
    assert_true(report(f, 3, f->repo, setup_token, 2));
    set_token(f, "sk-ant-oat01-another-0123456789abcdefghij");
    assert_int_equal(token_count(f), 0);
}

static void shown_and_removed_ones_have_no_count(void **state)
{
    struct fixture *f = *state;
    const struct new_variable shown = {.name = "SHOWN", .value = "canary-value-a"};
    struct request request = request_of(f);
    struct variables variables;
    bool removed;

    assert_int_equal(store_set_variables(f->secrets.store, &request, f->repo, &shown, 1, f->arena,
                                         &variables, &f->err),
                     0);
    assert_int_equal(count_of(f, "SHOWN", NULL), -1);
    set(f, "A", "canary-value-a");
    assign(f);
    assert_true(report(f, 1, f->repo, "canary-value-a", 3));
    request = request_of(f);
    assert_int_equal(store_remove_variable(f->secrets.store, &request, f->repo, "A", f->arena,
                                           &removed, &f->err),
                     0);
    assert_int_equal(count_of(f, "A", NULL), -1);
    set(f, "A", "canary-value-a");
    assert_int_equal(count_of(f, "A", NULL), 0);
}

/* The count of a linked one tells nothing of Repos that one may not see. */
static void a_shared_variables_count_is_of_the_repos_that_one_sees(void **state)
{
    struct fixture *f = *state;
    const struct new_variable new = {
        .name = "S", .value = "canary-value-shared", .is_sensitive = true};
    struct request request = request_of(f);
    struct variable shared;
    const int64_t repos[] = {f->repo, f->other};

    assert_int_equal(
        store_set_shared(f->secrets.store, &request, NULL, &new, f->arena, &shared, &f->err), 0);
    for (size_t i = 0; i < 2; i++) {
        request = request_of(f);
        assert_int_equal(store_find_shared(f->secrets.store, shared.id, f->arena, &shared, &f->err),
                         0);
        assert_int_equal(store_link_shared(f->secrets.store, &request, &shared, repos[i], true,
                                           f->arena, &shared, &f->err),
                         0);
    }
    assign(f);
    assert_true(report(f, 1, f->repo, "canary-value-shared", 3));
    assert_true(report(f, 2, f->other, "canary-value-shared", 40));
    assert_int_equal(count_of(f, "S", NULL), 3);

    for (int sees = 2; sees > 0; sees--) {
        V1(ListSharedVariablesRequest)
        req = KNDL__SECRETS__V1__LIST_SHARED_VARIABLES_REQUEST__INIT;

        if (sees == 1)
            fake_bus.repos[1] = 0;
        struct kndl_test_answer answer = kndl_test_call(secrets_service, &f->secrets, f->person,
                                                        "ListSharedVariables", &req.base);
        const V1(ListSharedVariablesResponse) *resp =
            (V1(ListSharedVariablesResponse) *)answer.response;
        assert_int_equal(resp->n_variables, 1);
        assert_int_equal(resp->variables[0]->masked->count, sees == 2 ? 43 : 3);
        kndl_test_done(&answer);
    }
}

static void a_set_that_is_known_is_not_sent_again(void **state)
{
    struct fixture *f = *state;

    set(f, "A", "canary-value-a");
    assign(f);
    struct kndl_test_answer answer = masks(f, 0);
    int64_t version = ((V1(GetMaskSetResponse) *)answer.response)->version;
    assert_int_equal(((V1(GetMaskSetResponse) *)answer.response)->n_values, 2);
    kndl_test_done(&answer);
    answer = masks(f, version);
    assert_int_equal(((V1(GetMaskSetResponse) *)answer.response)->version, version);
    assert_int_equal(((V1(GetMaskSetResponse) *)answer.response)->n_values, 0);
    kndl_test_done(&answer);

    set(f, "B", "canary-value-b");
    answer = masks(f, version);
    assert_true(((V1(GetMaskSetResponse) *)answer.response)->version > version);
    assert_int_equal(((V1(GetMaskSetResponse) *)answer.response)->n_values, 3);
    kndl_test_done(&answer);
}

static void a_report_that_names_nothing_is_refused(void **state)
{
    struct fixture *f = *state;

    assign(f);
    assert_false(report(f, 0, f->repo, git_token, 1));
    assert_int_equal(f->err.code, KNDL_INVALID_ARGUMENT);
    assert_false(report(f, 1, f->repo, git_token, -1));
    assert_int_equal(f->err.code, KNDL_INVALID_ARGUMENT);
    f->reporter[0] = '\0';
    assert_false(report(f, 1, f->repo, git_token, 1));
    assert_int_equal(f->err.code, KNDL_INVALID_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(what_copies_report_is_added_up_and_shown),
        TEST(a_repeated_report_counts_once),
        TEST(a_count_is_of_the_value_that_is_set_now),
        TEST(shown_and_removed_ones_have_no_count),
        TEST(a_shared_variables_count_is_of_the_repos_that_one_sees),
        TEST(a_set_that_is_known_is_not_sent_again),
        TEST(a_report_that_names_nothing_is_refused),
    };

    return cmocka_run_group_tests(tests, fake_hub_open, fake_hub_close);
}
