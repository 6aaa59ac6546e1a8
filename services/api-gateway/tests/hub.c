#include "hub.h"

#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "kndl/gateway/v1/frame.pb-c.h"
#include "kndl/mem.h"
#include "kndl/repo_access/v1/repo_access_service.pb-c.h"

#define G(name) Kndl__Gateway__V1__##name
#define S(name) Kndl__Sessions__V1__##name

enum { EVENTS_MAX = 4000 };

struct hub hub;

static void add_events(S(OpenViewResponse) * view, S(ListEventsResponse) * page, int64_t first,
                       int64_t last, struct kndl_buf *out)
{
    Kndl__Event__V1__Event *events = kndl_new_array(Kndl__Event__V1__Event, EVENTS_MAX);
    Kndl__Event__V1__Event **list = kndl_new_array(Kndl__Event__V1__Event *, EVENTS_MAX);
    Kndl__Event__V1__Text text = KNDL__EVENT__V1__TEXT__INIT;
    size_t count = 0;

    text.text = kndl_alloc((size_t)hub.text_bytes + 1, 1);
    memset(text.text, 'x', (size_t)hub.text_bytes);
    for (int64_t seq = first; seq <= last; seq++) {
        kndl__event__v1__event__init(&events[count]);
        events[count].seq = seq;
        if (hub.text_bytes > 0) {
            events[count].kind_case = KNDL__EVENT__V1__EVENT__KIND_TEXT;
            events[count].text = &text;
        }
        list[count] = &events[count];
        count++;
    }
    if (view != NULL) {
        view->events = list;
        view->n_events = count;
        fake_pack(out, &view->base);
    } else {
        page->events = list;
        page->n_events = count;
        fake_pack(out, &page->base);
    }
    free(text.text);
    free(events);
    free(list);
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void answer_view(const struct fake_request *request, struct kndl_buf *out)
{
    S(OpenViewResponse) view = KNDL__SESSIONS__V1__OPEN_VIEW_RESPONSE__INIT;
    S(Session) session = KNDL__SESSIONS__V1__SESSION__INIT;
    S(OpenViewRequest) *asked = kndl__sessions__v1__open_view_request__unpack(
        NULL, request->data.size, (const uint8_t *)request->data.data);
    int64_t first = asked->after_seq + 1;

    session.last_seq = hub.last_seq;
    view.session = &session;
    view.view_version = hub.version;
    view.access_until_ms = hub.access_until_ms;
    if (asked->after_seq == 0 && hub.last_seq > 50)
        first = hub.last_seq - 49;
    add_events(&view, NULL, first, least(hub.last_seq, first + 199), out);
    kndl__sessions__v1__open_view_request__free_unpacked(asked, NULL);
}

static void answer_events(const struct fake_request *request, struct kndl_buf *out)
{
    S(ListEventsResponse) page = KNDL__SESSIONS__V1__LIST_EVENTS_RESPONSE__INIT;
    S(ListEventsRequest) *asked = kndl__sessions__v1__list_events_request__unpack(
        NULL, request->data.size, (const uint8_t *)request->data.data);

    page.last_seq = hub.last_seq;
    add_events(NULL, &page, asked->after_seq + 1, least(hub.last_seq, asked->after_seq + 50), out);
    kndl__sessions__v1__list_events_request__free_unpacked(asked, NULL);
}

static void answer_heads(struct kndl_buf *out)
{
    S(HeadsResponse) response = KNDL__SESSIONS__V1__HEADS_RESPONSE__INIT;
    S(HeadsResponse__Head) head = KNDL__SESSIONS__V1__HEADS_RESPONSE__HEAD__INIT;
    S(HeadsResponse__Head) * heads[] = {&head};

    head.session_id = (char *)SESSION;
    head.last_seq = hub.last_seq;
    head.view_version = hub.version;
    response.heads = heads;
    response.n_heads = hub.is_hidden ? 0 : 1;
    fake_pack(out, &response.base);
}

static void answer_access(struct kndl_buf *out)
{
    Kndl__RepoAccess__V1__CheckAccessResponse response =
        KNDL__REPO_ACCESS__V1__CHECK_ACCESS_RESPONSE__INIT;
    int64_t allowed[] = {7};

    response.allowed_repo_ids = allowed;
    response.n_allowed_repo_ids = 1;
    response.valid_until_ms = INT64_MAX;
    fake_pack(out, &response.base);
}

static bool answer(const struct fake_request *request, struct kndl_buf *out, struct kndl_error *err)
{
    if (strcmp(request->method, "CheckAccess") == 0)
        answer_access(out);
    else if (hub.is_away)
        kndl_fail(err, KNDL_UNAVAILABLE, "sessions is not there");
    else if (strcmp(request->method, "Heads") == 0)
        answer_heads(out);
    else if (hub.is_hidden)
        kndl_fail(err, KNDL_NOT_FOUND, "Session %s does not exist", SESSION);
    else if (strcmp(request->method, "OpenView") == 0)
        answer_view(request, out);
    else if (strcmp(request->method, "ListEvents") == 0)
        answer_events(request, out);
    return true;
}

int hub_open(void **state)
{
    memset(&hub, 0, sizeof hub);
    hub.last_seq = 3;
    hub.version = 1;
    return fixture_open(state, answer);
}

void hub_say_live(int64_t first, int64_t last, int64_t version)
{
    G(Live) live = KNDL__GATEWAY__V1__LIVE__INIT;
    Kndl__Event__V1__Event events[50];
    Kndl__Event__V1__Event *list[50];

    for (int64_t seq = first; seq <= last; seq++) {
        kndl__event__v1__event__init(&events[seq - first]);
        events[seq - first].seq = seq;
        list[seq - first] = &events[seq - first];
    }
    live.session_id = (char *)SESSION;
    live.events = list;
    live.n_events = (size_t)(last - first + 1);
    live.last_seq = last;
    live.view_version = version;
    fake_live(SESSION, KNDL_LIVE_EVENT, &live.base);
}
