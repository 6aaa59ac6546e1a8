/* Asking repo-access, which here sees even Repos alone, and each batch a minute shorter. */

#include "kndl/access.h"

#include "kndl/arena.h"
#include "kndl/bus.h"
#include "kndl/clock.h"
#include "kndl/repo_access/v1/repo_access_service.pb-c.h"
#include "kndl/rpc.h"
#include "kndl/testing.h"

#define V1(name) Kndl__RepoAccess__V1__##name

struct kndl_bus {
    unsigned asked;
    size_t most;         /* Repos of one question */
    unsigned fails_from; /* that question on; 0: never */
    bool got_name;
};

static int answer_check(struct kndl_bus *bus, struct kndl_call *call,
                        const V1(CheckAccessRequest) *req, ProtobufCMessage **ret_response)
{
    V1(CheckAccessResponse) *resp = kndl_arena_alloc(call->arena, sizeof *resp);

    kndl__repo_access__v1__check_access_response__init(resp);
    assert_string_equal(req->person_id, "ada");
    bus->most = req->n_repo_ids > bus->most ? req->n_repo_ids : bus->most;
    resp->allowed_repo_ids =
        kndl_arena_alloc(call->arena, req->n_repo_ids * sizeof *resp->allowed_repo_ids);
    for (size_t i = 0; i < req->n_repo_ids; i++)
        if (req->repo_ids[i] % 2 == 0)
            resp->allowed_repo_ids[resp->n_allowed_repo_ids++] = req->repo_ids[i];
    resp->valid_until_ms = (int64_t)(10 - bus->asked) * 60000;
    *ret_response = &resp->base;
    return 0;
}

static int answer_resolve(struct kndl_bus *bus, struct kndl_call *call,
                          const V1(ResolveRepoRequest) *req, ProtobufCMessage **ret_response)
{
    V1(ResolveRepoResponse) *resp = kndl_arena_alloc(call->arena, sizeof *resp);
    V1(Repo) *repo = kndl_arena_alloc(call->arena, sizeof *repo);

    kndl__repo_access__v1__resolve_repo_response__init(resp);
    kndl__repo_access__v1__repo__init(repo);
    assert_string_equal(req->person_id, "ada");
    bus->got_name = req->name[0] != '\0';
    assert_true(bus->got_name != (req->repo_id != 0)); /* it refuses both */
    repo->id = 7;
    repo->name = (char *)"demo/hello";
    resp->repo = repo;
    *ret_response = &resp->base;
    return 0;
}

int kndl_bus_call(struct kndl_bus *bus, struct kndl_call *call,
                  const ProtobufCServiceDescriptor *service, const char *method,
                  const char *runner_id, const ProtobufCMessage *request,
                  ProtobufCMessage **ret_response)
{
    (void)service;
    (void)method;
    assert_null(runner_id);
    if (++bus->asked == bus->fails_from)
        return kndl_fail(&call->err, KNDL_UNAVAILABLE, "repo-access does not answer");
    if (request->descriptor == &kndl__repo_access__v1__check_access_request__descriptor)
        return answer_check(bus, call, (const V1(CheckAccessRequest) *)request, ret_response);
    return answer_resolve(bus, call, (const V1(ResolveRepoRequest) *)request, ret_response);
}

static struct kndl_call call;

static int open_call(void **unused)
{
    (void)unused;
    call = (struct kndl_call){.actor = {KNDL_PERSON, "ada"}};
    call.arena = kndl_arena_new(KNDL_ARENA_PLAIN);
    return 0;
}

static int close_call(void **unused)
{
    (void)unused;
    kndl_arena_free(call.arena);
    return 0;
}

static void many_repos_are_asked_for_in_batches_and_answered_in_their_places(void **unused)
{
    enum { COUNT = 450 };
    struct kndl_bus bus = {0};
    struct kndl_access access;
    int64_t ids[COUNT];

    (void)unused;
    for (size_t i = 0; i < COUNT; i++)
        ids[i] = (int64_t)i / 3; /* each thrice */
    assert_int_equal(kndl_access_check(&bus, &call, ids, COUNT, &access), 0);
    assert_int_equal(bus.asked, 3);
    assert_int_equal(bus.most, 200);
    for (size_t i = 0, at = 0; i < COUNT; i++) {
        assert_int_equal(access.allowed[i], ids[i] % 2 == 0);
        if (access.allowed[i])
            assert_int_equal(access.repo_ids[at++], ids[i]);
    }
    assert_int_equal(access.count, COUNT / 2);
    assert_int_equal(access.valid_until_ms, 7 * 60000); /* the shortest of the three */
}

static void nobody_is_asked_about_no_repo(void **unused)
{
    struct kndl_bus bus = {0};
    struct kndl_access access;

    (void)unused;
    assert_int_equal(kndl_access_check(&bus, &call, NULL, 0, &access), 0);
    assert_int_equal(bus.asked, 0);
    assert_int_equal(access.count, 0);
    assert_int_equal(access.valid_until_ms, 0);
}

static void a_batch_that_fails_fails_the_whole(void **unused)
{
    enum { COUNT = 201 };
    struct kndl_bus bus = {.fails_from = 2};
    struct kndl_access access = {.count = 99};
    int64_t ids[COUNT] = {0};

    (void)unused;
    assert_int_equal(kndl_access_check(&bus, &call, ids, COUNT, &access), -1);
    assert_int_equal(call.err.code, KNDL_UNAVAILABLE);
    assert_int_equal(access.count, 99);
}

static void a_repo_is_named_by_its_id_or_else_by_its_name(void **unused)
{
    struct kndl_bus bus = {0};
    const char *name;
    int64_t id;

    (void)unused;
    assert_int_equal(kndl_access_resolve_repo(&bus, &call, 7, "demo/hello", &id, &name), 0);
    assert_false(bus.got_name);
    assert_int_equal(kndl_access_resolve_repo(&bus, &call, 0, "demo/hello", &id, &name), 0);
    assert_true(bus.got_name);
    assert_int_equal(id, 7);
    assert_string_equal(name, "demo/hello");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            many_repos_are_asked_for_in_batches_and_answered_in_their_places, open_call,
            close_call),
        cmocka_unit_test_setup_teardown(nobody_is_asked_about_no_repo, open_call, close_call),
        cmocka_unit_test_setup_teardown(a_batch_that_fails_fails_the_whole, open_call, close_call),
        cmocka_unit_test_setup_teardown(a_repo_is_named_by_its_id_or_else_by_its_name, open_call,
                                        close_call),
    };

    return cmocka_run_group_tests_name("access", tests, NULL, NULL);
}
