/* A service that people ask through api-gateway: whom it believes, and how much it takes. */

#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "kndl/mem.h"
#include "kndl/permit.h"
#include "kndl/repo_access/v1/repo_access_service.pb-c.h"

#define ACCESS(name) Kndl__RepoAccess__V1__##name

/* Answers with who asked, in the person's id. */
static int answer_who(struct kndl_call *call, const ACCESS(WhoAmIRequest) * req,
                      ACCESS(WhoAmIResponse) * resp)
{
    ACCESS(Person) *person = kndl_arena_alloc(call->arena, sizeof *person);

    (void)req;
    kndl__repo_access__v1__person__init(person);
    person->id = kndl_arena_copy(call->arena, call->actor.id);
    resp->person = person;
    return 0;
}

/* Who is called nobody is no Member, and who is called away cannot be looked up. */
static int stand(struct kndl_call *call, const struct kndl_public *row,
                 const ProtobufCMessage *request, unsigned *ret_who)
{
    (void)row;
    (void)request;
    if (strcmp(call->actor.id, "away") == 0)
        return kndl_fail(&call->err, KNDL_UNAVAILABLE, "the rows are away");
    *ret_who = strcmp(call->actor.id, "nobody") == 0 ? 0 : KNDL_WHO_MEMBER;
    return 0;
}

static int list_invites(struct kndl_call *call, const ACCESS(ListInvitesRequest) * req,
                        ACCESS(ListInvitesResponse) * resp)
{
    (void)call;
    (void)req;
    (void)resp;
    abort(); /* nobody here is the Owner */
}

KNDL_PUBLIC(ACCESS, RepoAccessService, WhoAmI, answer_who, stand)
KNDL_PUBLIC(ACCESS, RepoAccessService, ListInvites, list_invites, stand)

static ACCESS(RepoAccessService_Service) people = {
    .base = {.descriptor = &kndl__repo_access__v1__repo_access_service__descriptor,
             .invoke = protobuf_c_service_invoke_internal},
    .who_am_i = rpc_answer_who,
    .list_invites = rpc_list_invites,
};
static ProtobufCService *const people_service = &people.base;
static ProtobufCService *const *const answers[] = {&people_service, NULL};
static const struct kndl_service service = {
    .name = "repo-access", .answers = answers, .arena = KNDL_ARENA_SECRET};

static struct server server;
static struct kndl_bus *server_bus;
static struct kndl_bus *gateway;

struct outcome {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_done;
    enum kndl_code code;
    char id[64];
};

static void take(const struct kndl_reply *reply, void *data)
{
    struct outcome *outcome = data;
    ACCESS(WhoAmIResponse) *response = NULL;

    if (reply->err.code == KNDL_OK)
        response = kndl__repo_access__v1__who_am_iresponse__unpack(NULL, reply->data.size,
                                                                   reply->data.data);
    pthread_mutex_lock(&outcome->lock);
    outcome->code = reply->err.code;
    if (response != NULL) {
        snprintf(outcome->id, sizeof outcome->id, "%s", response->person->id);
        kndl__repo_access__v1__who_am_iresponse__free_unpacked(response, NULL);
    }
    outcome->is_done = true;
    pthread_cond_signal(&outcome->changed);
    pthread_mutex_unlock(&outcome->lock);
}

static enum kndl_code ask_for(const char *method, int kind, const char *id, struct kndl_slice data,
                              struct outcome *outcome)
{
    struct kndl_request request = {
        .service = &kndl__repo_access__v1__repo_access_service__descriptor,
        .method = method,
        .timeout_ms = 10000,
        .data = data,
    };
    struct kndl_error err = {0};

    *outcome =
        (struct outcome){.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    request.actor.kind = (__typeof__(request.actor.kind))kind;
    request.actor.id = id;
    if (kndl_bus_send(gateway, &request, take, outcome, &err) < 0)
        return err.code;
    pthread_mutex_lock(&outcome->lock);
    while (!outcome->is_done)
        pthread_cond_wait(&outcome->changed, &outcome->lock);
    pthread_mutex_unlock(&outcome->lock);
    return outcome->code;
}

static enum kndl_code ask(int kind, const char *id, struct kndl_slice data, struct outcome *outcome)
{
    return ask_for("WhoAmI", kind, id, data, outcome);
}

static int set_up(void **unused)
{
    struct outcome outcome;
    struct kndl_error err = {0};

    (void)unused;
    gateway = open_bus("api_gateway");
    server_bus = open_bus("repo_access");
    if (server_open(&server, &service, server_bus, &err) < 0)
        fail_msg("%s", err.message);
    server_start(&server);
    natsConnection_Flush(server_bus->nats);
    while (ask(KNDL_PERSON, "ada", kndl_slice("", 0), &outcome) == KNDL_UNAVAILABLE)
        ;
    return 0;
}

static int tear_down(void **unused)
{
    (void)unused;
    server_close(&server);
    kndl_bus_close(server_bus);
    kndl_bus_close(gateway);
    return 0;
}

static void a_person_is_who_the_gateway_says(void **unused)
{
    struct outcome outcome;

    (void)unused;
    assert_int_equal(ask(KNDL_PERSON, "ada", kndl_slice("", 0), &outcome), KNDL_OK);
    assert_string_equal(outcome.id, "ada");
}

static void nobody_but_a_person_is_taken_for_one(void **unused)
{
    struct outcome outcome;

    (void)unused;
    assert_int_equal(ask(KNDL_SERVICE, "sessions", kndl_slice("", 0), &outcome),
                     KNDL_UNAUTHENTICATED);
    assert_int_equal(ask(KNDL_RUNNER, "r1", kndl_slice("", 0), &outcome), KNDL_UNAUTHENTICATED);
}

/* AC-08: the row of the table is looked at before the handler, which never runs without. */
static void ac_08_the_row_decides_before_the_handler_runs(void **unused)
{
    const struct kndl_slice none = kndl_slice("", 0);
    struct outcome outcome;

    (void)unused;
    assert_int_equal(ask(KNDL_PERSON, "nobody", none, &outcome), KNDL_UNAUTHENTICATED);
    assert_int_equal(ask(KNDL_PERSON, "away", none, &outcome), KNDL_UNAVAILABLE);
    assert_int_equal(ask_for("ListInvites", KNDL_PERSON, "ada", none, &outcome),
                     KNDL_PERMISSION_DENIED);
    assert_int_equal(ask_for("ListInvites", KNDL_PERSON, "nobody", none, &outcome),
                     KNDL_UNAUTHENTICATED);
}

/* Requests live in locked memory there, of which a process has 8 MiB as a rule. */
static void a_person_cannot_use_up_locked_memory(void **unused)
{
    enum { MOST = 256 * 1024 };
    uint8_t *bytes = kndl_alloc(MOST + 3, 1);
    struct outcome outcome;

    (void)unused;
    /* one unknown field, which is kept in the arena too */
    bytes[0] = 0x7a;
    bytes[1] = (uint8_t)((MOST - 4) & 127) | 128;
    bytes[2] = (uint8_t)((MOST - 4) >> 7 & 127) | 128;
    bytes[3] = (uint8_t)((MOST - 4) >> 14);
    assert_int_equal(ask(KNDL_PERSON, "ada", kndl_slice(bytes, MOST), &outcome), KNDL_OK);
    bytes[1] = (uint8_t)((MOST - 1) & 127) | 128;
    bytes[2] = (uint8_t)((MOST - 1) >> 7 & 127) | 128;
    bytes[3] = (uint8_t)((MOST - 1) >> 14);
    assert_int_equal(ask(KNDL_PERSON, "ada", kndl_slice(bytes, MOST + 3), &outcome),
                     KNDL_INVALID_ARGUMENT);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_person_is_who_the_gateway_says),
        cmocka_unit_test(nobody_but_a_person_is_taken_for_one),
        cmocka_unit_test(ac_08_the_row_decides_before_the_handler_runs),
        cmocka_unit_test(a_person_cannot_use_up_locked_memory),
    };
    return cmocka_run_group_tests_name("people", tests, set_up, tear_down);
}
