/* Summaries wait, a bounded number of them, until it is known whether their Repo may be seen. */

#include "watch.h"

#include <stdlib.h>
#include <string.h>

#include "ask.h"
#include "kndl/buf.h"
#include "kndl/clock.h"
#include "kndl/guard.h"
#include "kndl/mem.h"
#include "kndl/repo_access/v1/repo_access_service.pb-c.h"
#include "live.h"

#define REPOS(name) Kndl__RepoAccess__V1__##name
#define SESSION Kndl__Sessions__V1__Session

enum {
    REPOS_MAX = 256,  /* known at once; the oldest makes room */
    WAITING_MAX = 64, /* summaries; a list is fetched again every 30 s anyway */
    REFUSED_MS = 5000,
    ASK_MS = 5000,
};

struct watch {
    struct socket *socket;
    struct live_listener *listener;
    struct repo {
        int64_t id; /* 0: free */
        bool is_allowed;
        int64_t until_ms; /* kndl_clock_wall_ms() */
    } repos[REPOS_MAX];
    size_t next_repo; /* to be replaced */
    struct waiting {
        int64_t repo_id;
        struct kndl_buf summary; /* packed */
    } waiting[WAITING_MAX];
    size_t waiting_count;
    struct ask *ask;
    int64_t asked_repos[WAITING_MAX];
    size_t asked_count;
};

static struct repo *find_repo(struct watch *watch, int64_t id)
{
    for (size_t i = 0; i < REPOS_MAX; i++)
        if (watch->repos[i].id == id && watch->repos[i].until_ms > kndl_clock_wall_ms())
            return &watch->repos[i];
    return NULL;
}

static void remember(struct watch *watch, int64_t id, bool is_allowed, int64_t until_ms)
{
    for (size_t i = 0; i < REPOS_MAX; i++)
        if (watch->repos[i].id == id)
            watch->repos[i].id = 0;
    watch->repos[watch->next_repo] = (struct repo){id, is_allowed, until_ms};
    watch->next_repo = (watch->next_repo + 1) % REPOS_MAX;
}

/* The summary is as sessions says it to everybody; whose it is is said here. */
static void send_summary(struct watch *watch, SESSION *session)
{
    Kndl__Gateway__V1__SessionChanged body = KNDL__GATEWAY__V1__SESSION_CHANGED__INIT;
    Kndl__Gateway__V1__ServerFrame frame = KNDL__GATEWAY__V1__SERVER_FRAME__INIT;

    session->is_creator = strcmp(session->creator_id, watch->socket->principal.id) == 0;
    body.session = session;
    frame.kind_case = KNDL__GATEWAY__V1__SERVER_FRAME__KIND_SESSION_CHANGED;
    frame.session_changed = &body;
    (void)socket_send(watch->socket, &frame); /* dropped: the list is fetched again */
}

static void ask_waiting(struct watch *watch);

static bool is_in(int64_t id, const int64_t *ids, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (ids[i] == id)
            return true;
    return false;
}

static void take_access(struct watch *watch, const struct kndl_reply *reply)
{
    struct gateway *gateway = watch->socket->gateway;
    ProtobufCMessage *message;

    kndl_arena_reset(gateway->arena);
    ProtobufCAllocator allocator = kndl_arena_allocator(gateway->arena);
    if (reply->err.code != KNDL_OK ||
        kndl_guard_unpack(&kndl__repo_access__v1__check_access_response__descriptor, reply->data,
                          &allocator, &message, NULL) < 0)
        return; /* not known: nobody gains */
    const REPOS(CheckAccessResponse) *answer = (const void *)message;
    for (size_t i = 0; i < watch->asked_count; i++) {
        int64_t id = watch->asked_repos[i];
        bool is_allowed = is_in(id, answer->allowed_repo_ids, answer->n_allowed_repo_ids);

        remember(watch, id, is_allowed,
                 is_allowed ? answer->valid_until_ms : kndl_clock_wall_ms() + REFUSED_MS);
    }
}

/* Sends or drops those that were asked about; others came meanwhile. */
static void settle(struct watch *watch)
{
    struct gateway *gateway = watch->socket->gateway;
    size_t left = 0;

    for (size_t i = 0; i < watch->waiting_count; i++) {
        struct waiting waiting = watch->waiting[i];
        struct repo *repo = find_repo(watch, waiting.repo_id);
        ProtobufCMessage *message;

        if (!is_in(waiting.repo_id, watch->asked_repos, watch->asked_count)) {
            watch->waiting[left++] = waiting;
            continue;
        }
        kndl_arena_reset(gateway->arena);
        ProtobufCAllocator allocator = kndl_arena_allocator(gateway->arena);
        if (repo != NULL && repo->is_allowed &&
            kndl_guard_unpack(&kndl__sessions__v1__session__descriptor,
                              kndl_buf_slice(&waiting.summary), &allocator, &message, NULL) == 0)
            send_summary(watch, (SESSION *)message);
        kndl_buf_done(&waiting.summary);
    }
    watch->waiting_count = left;
}

static void on_access(const struct kndl_reply *reply, void *data)
{
    struct watch *watch = data;

    watch->ask = NULL;
    take_access(watch, reply);
    settle(watch);
    ask_waiting(watch);
}

static void ask_waiting(struct watch *watch)
{
    REPOS(CheckAccessRequest) request = KNDL__REPO_ACCESS__V1__CHECK_ACCESS_REQUEST__INIT;
    struct gateway *gateway = watch->socket->gateway;
    uint8_t packed[WAITING_MAX * 10 + 256];

    if (watch->ask != NULL || watch->waiting_count == 0)
        return;
    watch->asked_count = 0;
    for (size_t i = 0; i < watch->waiting_count; i++)
        if (!is_in(watch->waiting[i].repo_id, watch->asked_repos, watch->asked_count))
            watch->asked_repos[watch->asked_count++] = watch->waiting[i].repo_id;
    request.person_id = watch->socket->principal.id;
    request.repo_ids = watch->asked_repos;
    request.n_repo_ids = watch->asked_count;
    size_t size = protobuf_c_message_pack(&request.base, packed);
    watch->ask =
        ask_send(gateway,
                 &(struct kndl_request){
                     .service = &kndl__repo_access__v1__repo_access_internal_service__descriptor,
                     .method = "CheckAccess",
                     .actor = {KNDL_SERVICE, "api_gateway"},
                     .timeout_ms = ASK_MS,
                     .data = kndl_slice(packed, size),
                 },
                 on_access, watch);
}

static void on_summary(const ProtobufCMessage *message, struct kndl_slice data, void *user_data)
{
    struct watch *watch = user_data;
    SESSION session = *(const SESSION *)(const void *)message; /* others get the same message */
    struct repo *repo = find_repo(watch, session.repo_id);

    if (repo != NULL) {
        if (repo->is_allowed)
            send_summary(watch, &session);
        return;
    }
    if (watch->waiting_count == WAITING_MAX)
        return;
    struct waiting *waiting = &watch->waiting[watch->waiting_count++];
    *waiting = (struct waiting){.repo_id = session.repo_id};
    kndl_buf_append(&waiting->summary, data.data, data.size);
    ask_waiting(watch);
}

struct watch *watch_open(struct socket *socket)
{
    struct watch *watch = kndl_new0(struct watch);

    watch->socket = socket;
    watch->listener = live_join(socket->gateway, NULL, KNDL_LIVE_SUMMARY, on_summary, watch);
    return watch;
}

void watch_check(struct watch *watch)
{
    memset(watch->repos, 0, sizeof watch->repos);
}

void watch_free(struct watch *watch)
{
    if (watch == NULL)
        return;
    ask_cancel(watch->ask);
    live_leave(watch->listener);
    for (size_t i = 0; i < watch->waiting_count; i++)
        kndl_buf_done(&watch->waiting[i].summary);
    free(watch);
}
