/* Pages of the Sessions that a person may see: every one once, however they stand in time. */

#include <string.h>

#include "fakes.h"
#include "kndl/id.h"
#include "kndl/sessions/v1/sessions_service.pb-c.h"
#include "rpc.h"
#include "stage.h"

#define V1(name) Kndl__Sessions__V1__##name

enum { SESSIONS = 7 };

struct fixture {
    struct stage *stage;
    struct kndl_bus bus;
    struct sessions sessions;
    struct kndl_test_answer answer; /* of the last page */
    V1(ListSessionsRequest) next;
    char last_id[KNDL_ID_SIZE];
    const char *ids[SESSIONS];
};

static void set_up(struct fixture *f, void **state)
{
    *f = (struct fixture){.stage = *state, .bus = {.peers = {.has_token = true}}};
    f->sessions = (struct sessions){.store = f->stage->store, .bus = &f->bus};
    f->next = (V1(ListSessionsRequest))KNDL__SESSIONS__V1__LIST_SESSIONS_REQUEST__INIT;
    f->next.mine = true;
}

/* Sessions of this person alone, all changed in the same millisecond. */
static void make_sessions(struct fixture *f, const char *person)
{
    stage_attend(f->stage, "r1", NULL, 0);
    for (size_t i = 0; i < SESSIONS; i++)
        f->ids[i] = stage_make(f->stage, person, "r1", "");
    stage_change_together();
}

static enum kndl_code ask(struct fixture *f, const char *person)
{
    kndl_test_done(&f->answer);
    f->answer =
        kndl_test_call(sessions_service, &f->sessions, person, "ListSessions", &f->next.base);
    return f->answer.err.code;
}

/* The next page; how many are on it. The one after it is asked for next. */
static size_t turn_page(struct fixture *f, const char *person, bool *ret_more)
{
    assert_int_equal(ask(f, person), KNDL_OK);
    const V1(ListSessionsResponse) *page = (const void *)f->answer.response;

    if (page->n_sessions > 0) {
        const V1(Session) *last = page->sessions[page->n_sessions - 1];

        f->next.before_changed_at_ms = last->changed_at_ms;
        memcpy(f->last_id, last->id, sizeof f->last_id);
        f->next.before_session_id = f->last_id;
    }
    *ret_more = page->has_more;
    return page->n_sessions;
}

static void count_each(const struct fixture *f, unsigned seen[SESSIONS])
{
    const V1(ListSessionsResponse) *page = (const void *)f->answer.response;

    for (size_t i = 0; i < page->n_sessions; i++)
        for (size_t j = 0; j < SESSIONS; j++)
            seen[j] += strcmp(page->sessions[i]->id, f->ids[j]) == 0;
}

static void sessions_that_changed_together_are_on_one_page_each(void **state)
{
    unsigned seen[SESSIONS] = {0};
    struct fixture f;
    bool more = true;

    set_up(&f, state);
    make_sessions(&f, "paula");
    f.next.limit = 3;
    for (size_t pages = 0; more; pages++) {
        assert_true(pages < SESSIONS);
        (void)turn_page(&f, "paula", &more);
        count_each(&f, seen);
    }
    for (size_t i = 0; i < SESSIONS; i++)
        assert_int_equal(seen[i], 1);
    kndl_test_done(&f.answer);
}

static void a_page_at_the_exact_limit_is_the_last_one(void **state)
{
    struct fixture f;
    bool more;

    set_up(&f, state);
    make_sessions(&f, "quinn");
    f.next.limit = SESSIONS;
    assert_int_equal(turn_page(&f, "quinn", &more), SESSIONS);
    assert_false(more);
    assert_int_equal(turn_page(&f, "quinn", &more), 0);
    assert_false(more);
    kndl_test_done(&f.answer);

    set_up(&f, state);
    f.next.limit = SESSIONS - 1;
    assert_int_equal(turn_page(&f, "quinn", &more), SESSIONS - 1);
    assert_true(more);
    assert_int_equal(turn_page(&f, "quinn", &more), 1);
    assert_false(more);
    kndl_test_done(&f.answer);
}

static void half_a_place_is_refused(void **state)
{
    struct fixture f;

    set_up(&f, state);
    f.next.before_changed_at_ms = 1;
    assert_int_equal(ask(&f, "ada"), KNDL_INVALID_ARGUMENT);
    f.next.before_session_id = (char *)"no id";
    assert_int_equal(ask(&f, "ada"), KNDL_INVALID_ARGUMENT);
    f.next.before_changed_at_ms = 0;
    assert_int_equal(ask(&f, "ada"), KNDL_INVALID_ARGUMENT);
    kndl_test_done(&f.answer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sessions_that_changed_together_are_on_one_page_each),
        cmocka_unit_test(a_page_at_the_exact_limit_is_the_last_one),
        cmocka_unit_test(half_a_place_is_refused),
    };
    return cmocka_run_group_tests_name("sessions pages", tests, stage_open, stage_close);
}
