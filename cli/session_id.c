/* Ids may be shortened, as long as it is clear which one is meant. */

#include "session_id.h"

#include <string.h>

#define V1(name) Kndl__Sessions__V1__##name

enum { PAGE_COUNT = 200, PAGES_MAX = 50 };

/* Counts those of a page that begin so; the first is kept. */
static size_t count_page(const V1(ListSessionsResponse) *page, const char *prefix,
                         char found[KNDL_ID_SIZE])
{
    size_t count = 0;

    for (size_t i = 0; i < page->n_sessions; i++) {
        const char *id = page->sessions[i]->id;

        /* A Session that changed meanwhile may come on two pages. */
        if (strncmp(id, prefix, strlen(prefix)) != 0 || strcmp(id, found) == 0 ||
            !kndl_id_is_valid(id))
            continue;
        if (count++ == 0)
            memcpy(found, id, KNDL_ID_SIZE);
    }
    return count;
}

int session_id_read(struct cli *cli, const char *text, char ret_id[KNDL_ID_SIZE],
                    struct kndl_error *err)
{
    V1(ListSessionsRequest) request = KNDL__SESSIONS__V1__LIST_SESSIONS_REQUEST__INIT;
    V1(ListSessionsResponse) *page;
    char found[KNDL_ID_SIZE] = "";
    size_t count = 0;

    if (kndl_id_is_valid(text)) {
        memcpy(ret_id, text, KNDL_ID_SIZE);
        return 0;
    }
    if (text[0] == '\0')
        return kndl_fail(err, KNDL_INVALID_ARGUMENT,
                         "the SESSION is empty; kndl ls lists those that you may see");
    request.limit = PAGE_COUNT;
    for (int i = 0; i < PAGES_MAX; i++) {
        if (CLIENT_CALL(V1, ListSessions, kndl__sessions__v1__sessions_service__descriptor, cli,
                        &request, &page, err) < 0)
            return -1;
        count += count_page(page, text, found);
        if (!page->has_more || page->n_sessions == 0)
            break;
        request.before_changed_at_ms = page->sessions[page->n_sessions - 1]->changed_at_ms;
        request.before_session_id = page->sessions[page->n_sessions - 1]->id;
    }
    if (count == 0)
        return kndl_fail(err, KNDL_NOT_FOUND,
                         "no Session begins with %.40s; kndl ls lists those that you may see",
                         text);
    if (count > 1)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT,
                         "%zu Sessions begin with %.40s; give more of its id", count, text);
    memcpy(ret_id, found, KNDL_ID_SIZE);
    return 0;
}

int session_look(struct cli *cli, const char *session_id, V1(GetSessionResponse) **ret_view,
                 struct kndl_error *err)
{
    V1(GetSessionRequest) request = KNDL__SESSIONS__V1__GET_SESSION_REQUEST__INIT;

    request.session_id = (char *)session_id;
    if (CLIENT_CALL(V1, GetSession, kndl__sessions__v1__sessions_service__descriptor, cli, &request,
                    ret_view, err) < 0)
        return -1;
    return (*ret_view)->session == NULL ? client_misread(err) : 0;
}
