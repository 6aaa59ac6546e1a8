/* What people read: lists, one Session, its Events, its view, heads. */

#include <stdlib.h>
#include <string.h>

#include "handlers.h"
#include "kndl/access.h"
#include "kndl/id.h"
#include "present.h"
#include "rpc.h"

#define V1(name) Kndl__Sessions__V1__##name

enum { PAGE_DEFAULT = 50, PAGE_MAX = 200, HEADS_MAX = 200 };

static int check_limit(struct kndl_call *call, int32_t limit, int64_t *ret_limit)
{
    if (limit < 0 || limit > PAGE_MAX)
        return kndl_fail(&call->err, KNDL_INVALID_ARGUMENT, "limit is %d; it goes from 1 to %d",
                         (int)limit, PAGE_MAX);
    *ret_limit = limit == 0 ? PAGE_DEFAULT : limit;
    return 0;
}

static int read_place(struct kndl_call *call, const V1(ListSessionsRequest) *req,
                      struct session_place *ret_place)
{
    if (req->before_changed_at_ms < 0)
        return kndl_fail(&call->err, KNDL_INVALID_ARGUMENT,
                         "before_changed_at_ms is %lld; it is a time or 0",
                         (long long)req->before_changed_at_ms);
    if ((req->before_changed_at_ms > 0) != kndl_id_is_valid(req->before_session_id) ||
        (req->before_changed_at_ms == 0 && req->before_session_id[0] != '\0'))
        return kndl_fail(&call->err, KNDL_INVALID_ARGUMENT,
                         "before_changed_at_ms and before_session_id go together: both of the last "
                         "Session of the page before");
    *ret_place = req->before_changed_at_ms > 0
                     ? (struct session_place){req->before_changed_at_ms, req->before_session_id}
                     : (struct session_place){INT64_MAX, ""};
    return 0;
}

int list_sessions(struct kndl_call *call, const V1(ListSessionsRequest) *req,
                  V1(ListSessionsResponse) *resp)
{
    struct sessions *sessions = call->state;
    const char *creator = req->mine ? call->actor.id : "";
    struct session_place behind;
    struct session *found;
    struct kndl_access access;
    int64_t *repo_ids;
    int64_t limit;
    size_t count;

    if (check_limit(call, req->limit, &limit) < 0 || read_place(call, req, &behind) < 0)
        return -1;
    if (req->repo_id != 0) {
        repo_ids = kndl_arena_alloc(call->arena, sizeof *repo_ids);
        repo_ids[0] = req->repo_id;
        count = 1;
    } else if (store_list_repos(sessions->store, call->arena, creator, &repo_ids, &count,
                                &call->err) < 0) {
        return -1;
    }
    if (kndl_access_check(sessions->bus, call, repo_ids, count, &access) < 0 ||
        store_list_sessions(sessions->store, call->arena, access.repo_ids, access.count, creator,
                            &behind, limit + 1, &found, &count, &call->err) < 0)
        return -1;

    resp->has_more = count > (size_t)limit;
    resp->n_sessions = resp->has_more ? (size_t)limit : count;
    resp->sessions = kndl_arena_alloc(call->arena, count * sizeof(*resp->sessions));
    for (size_t i = 0; i < resp->n_sessions; i++)
        resp->sessions[i] = present_session(call->arena, &found[i], call->actor.id);
    return 0;
}

static int present_with_steps(struct kndl_call *call, const struct session *session,
                              V1(Session) **ret_shown)
{
    struct sessions *sessions = call->state;

    *ret_shown = present_session(call->arena, session, call->actor.id);
    return store_read_steps(sessions->store, call->arena, session->id, session->run,
                            &(*ret_shown)->steps, &(*ret_shown)->n_steps, &call->err);
}

int get_session(struct kndl_call *call, const V1(GetSessionRequest) *req,
                V1(GetSessionResponse) *resp)
{
    struct sessions *sessions = call->state;
    const struct session *session = &named_session(call)->session;
    struct view view;

    (void)req;
    if (store_read_view(sessions->store, call->arena, session->id, &view, &call->err) < 0 ||
        present_with_steps(call, session, &resp->session) < 0)
        return -1;
    resp->queue = view.queue;
    resp->n_queue = view.queue_count;
    resp->questions = view.questions;
    resp->n_questions = view.question_count;
    resp->subagents = view.subagents;
    resp->n_subagents = view.subagent_count;
    return 0;
}

/* Numbers have no gap, so the ends of a page tell whether there is more. */
static bool has_more(Kndl__Event__V1__Event **events, size_t count, bool is_before, int64_t last)
{
    if (count == 0)
        return false;
    return is_before ? events[0]->seq > 1 : events[count - 1]->seq < last;
}

int list_events(struct kndl_call *call, const V1(ListEventsRequest) *req,
                V1(ListEventsResponse) *resp)
{
    struct sessions *sessions = call->state;
    bool is_before = req->page_case != KNDL__SESSIONS__V1__LIST_EVENTS_REQUEST__PAGE_AFTER_SEQ;
    int64_t before = !is_before ? 0
                     : req->page_case == KNDL__SESSIONS__V1__LIST_EVENTS_REQUEST__PAGE_BEFORE_SEQ &&
                             req->before_seq > 0
                         ? req->before_seq
                         : INT64_MAX;
    int64_t after = is_before || req->after_seq < 0 ? 0 : req->after_seq;
    const struct session *session = &named_session(call)->session;
    int64_t limit;

    if (check_limit(call, req->limit, &limit) < 0 ||
        store_read_page(sessions->store, call->arena, session->id, after, before, limit,
                        &resp->events, &resp->n_events, &call->err) < 0)
        return -1;

    /* Events may have come since the row was read. */
    resp->last_seq = session->last_seq;
    if (resp->n_events > 0 && resp->events[resp->n_events - 1]->seq > resp->last_seq)
        resp->last_seq = resp->events[resp->n_events - 1]->seq;
    resp->has_more = has_more(resp->events, resp->n_events, is_before, resp->last_seq);
    resp->session = present_session(call->arena, session, call->actor.id);
    return 0;
}

int open_view(struct kndl_call *call, const V1(OpenViewRequest) *req, V1(OpenViewResponse) *resp)
{
    struct sessions *sessions = call->state;
    bool is_before = req->after_seq <= 0;
    const struct session *session = &named_session(call)->session;
    struct view view;

    /* The version came first: what is read after it may be newer than it says, never older. */
    resp->access_until_ms = named_session(call)->access_until_ms;
    if (store_read_view(sessions->store, call->arena, session->id, &view, &call->err) < 0 ||
        present_with_steps(call, session, &resp->session) < 0 ||
        store_read_page(sessions->store, call->arena, session->id, req->after_seq,
                        is_before ? INT64_MAX : 0, is_before ? PAGE_DEFAULT : PAGE_MAX,
                        &resp->events, &resp->n_events, &call->err) < 0)
        return -1;
    resp->queue = view.queue;
    resp->n_queue = view.queue_count;
    resp->questions = view.questions;
    resp->n_questions = view.question_count;
    resp->subagents = view.subagents;
    resp->n_subagents = view.subagent_count;
    resp->has_more = has_more(resp->events, resp->n_events, is_before, session->last_seq);
    resp->view_version = session->view_version;
    return 0;
}

int heads(struct kndl_call *call, const V1(HeadsRequest) *req, V1(HeadsResponse) *resp)
{
    struct sessions *sessions = call->state;
    struct kndl_access access;
    int64_t *repo_ids;
    size_t count;

    if (req->n_session_ids > HEADS_MAX)
        return kndl_fail(&call->err, KNDL_INVALID_ARGUMENT, "%zu Sessions; the most is %d",
                         req->n_session_ids, HEADS_MAX);
    if (store_list_repos(sessions->store, call->arena, "", &repo_ids, &count, &call->err) < 0 ||
        kndl_access_check(sessions->bus, call, repo_ids, count, &access) < 0)
        return -1;
    resp->heads = kndl_arena_alloc(call->arena, (req->n_session_ids + 1) * sizeof(*resp->heads));
    for (size_t i = 0; i < req->n_session_ids; i++) {
        V1(HeadsResponse__Head) *head = kndl_arena_alloc(call->arena, sizeof *head);
        bool found;

        kndl__sessions__v1__heads_response__head__init(head);
        head->session_id = req->session_ids[i];
        if (store_read_head(sessions->store, call->arena, head->session_id, access.repo_ids,
                            access.count, &found, &head->last_seq, &head->view_version,
                            &call->err) < 0)
            return -1;
        if (found)
            resp->heads[resp->n_heads++] = head;
    }
    return 0;
}
