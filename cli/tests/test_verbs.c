/* Verbs from their words to what a Hub is asked and a person reads. */

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fake_hub.h"
#include "kndl/id.h"
#include "kndl/mem.h"
#include "kndl/repo_access/v1/repo_access_service.pb-c.h"
#include "kndl/sessions/v1/sessions_service.pb-c.h"
#include "kndl/testing.h"
#include "verb.h"

#define V1(name) Kndl__Sessions__V1__##name
#define EVENT(name) Kndl__Event__V1__##name

#define SESSION "aaaaaaaaaaaaaaaaaaaaaaaaaa"

struct fixture {
    struct hub hub;
    V1(Session) session;
    V1(QueuedPrompt) prompt;
    EVENT(TurnStarted) started;
    EVENT(TurnEnded) ended;
    EVENT(Text) said;
    EVENT(Event) events[4];
    EVENT(Event) * event_list[4];
    V1(ListEventsResponse) page;
};

static int set_up(void **state)
{
    struct fixture *f = kndl_new0(struct fixture);

    f->session = (V1(Session))KNDL__SESSIONS__V1__SESSION__INIT;
    f->session.id = (char *)SESSION;
    f->session.state = KNDL__EVENT__V1__STATE__STATE_ACTIVE;
    f->prompt = (V1(QueuedPrompt))KNDL__SESSIONS__V1__QUEUED_PROMPT__INIT;
    f->prompt.id = (char *)"p1";
    f->started = (EVENT(TurnStarted))KNDL__EVENT__V1__TURN_STARTED__INIT;
    f->started.turn_id = (char *)"t1";
    f->started.prompt_id = (char *)"p1";
    f->ended = (EVENT(TurnEnded))KNDL__EVENT__V1__TURN_ENDED__INIT;
    f->ended.turn_id = (char *)"t1";
    f->ended.reason = KNDL__EVENT__V1__TURN_ENDED__REASON__REASON_ANSWER;
    f->said = (EVENT(Text))KNDL__EVENT__V1__TEXT__INIT;
    f->said.text = (char *)"Hello.";
    for (int i = 0; i < 4; i++) {
        f->events[i] = (EVENT(Event))KNDL__EVENT__V1__EVENT__INIT;
        f->events[i].seq = i + 5;
        f->event_list[i] = &f->events[i];
    }
    f->events[0].kind_case = KNDL__EVENT__V1__EVENT__KIND_TURN_STARTED;
    f->events[0].turn_started = &f->started;
    f->events[1].kind_case = KNDL__EVENT__V1__EVENT__KIND_TEXT;
    f->events[1].text = &f->said;
    f->events[2].kind_case = KNDL__EVENT__V1__EVENT__KIND_TURN_ENDED;
    f->events[2].turn_ended = &f->ended;
    f->page = (V1(ListEventsResponse))KNDL__SESSIONS__V1__LIST_EVENTS_RESPONSE__INIT;
    f->page.events = f->event_list;
    f->page.n_events = 3;
    f->page.session = &f->session;
    *state = f;
    return 0;
}

/* Runs a verb with these words against the Hub's script; all of it must have been asked. */
static int run(struct fixture *f, const struct verb *verb, char **words)
{
    return hub_run(&f->hub, verb, words);
}

#define RUN(f, verb, ...) run(f, verb, (char *[]){__VA_ARGS__, NULL})

/* The n-th request, unpacked; freed by the caller. */
static void *asked(struct fixture *f, size_t n, const ProtobufCMessageDescriptor *type)
{
    return hub_asked(&f->hub, n, type);
}

static void new_prints_the_session_and_what_happens_until_the_turn_ends(void **state)
{
    struct fixture *f = *state;
    V1(CreateSessionResponse) created = KNDL__SESSIONS__V1__CREATE_SESSION_RESPONSE__INIT;

    created.session = &f->session;
    created.prompt = &f->prompt;
    hub_will_answer(&f->hub, "/CreateSession", &created.base);
    hub_will_answer(&f->hub, "/ListEvents", &f->page.base);
    assert_int_equal(RUN(f, &verb_new, "demo/hello", "--prompt", "hi", "--wait"), 0);
    assert_string_equal(f->hub.text, SESSION "\nHello.\n-- done\n");

    V1(CreateSessionRequest) *request =
        asked(f, 0, &kndl__sessions__v1__create_session_request__descriptor);
    assert_string_equal(request->repo_name, "demo/hello");
    assert_string_equal(request->prompt, "hi");
    assert_true(kndl_id_is_valid(request->request_id));
    protobuf_c_message_free_unpacked(&request->base, NULL);
}

static void new_in_json_is_the_session_first_and_then_events(void **state)
{
    struct fixture *f = *state;
    V1(CreateSessionResponse) created = KNDL__SESSIONS__V1__CREATE_SESSION_RESPONSE__INIT;

    created.session = &f->session;
    created.prompt = &f->prompt;
    hub_will_answer(&f->hub, "/CreateSession", &created.base);
    hub_will_answer(&f->hub, "/ListEvents", &f->page.base);
    assert_int_equal(RUN(f, &verb_new, "demo/hello", "--prompt", "hi", "--wait", "--json"), 0);
    assert_string_equal(
        f->hub.text,
        "{\"id\":\"" SESSION "\",\"state\":\"STATE_ACTIVE\"}\n"
        "{\"seq\":\"5\",\"turnStarted\":{\"turnId\":\"t1\",\"promptId\":\"p1\"}}\n"
        "{\"seq\":\"6\",\"text\":{\"text\":\"Hello.\"}}\n"
        "{\"seq\":\"7\",\"turnEnded\":{\"turnId\":\"t1\",\"reason\":\"REASON_ANSWER\"}}\n");
}

static void new_is_refused_with_the_hubs_sentence(void **state)
{
    struct fixture *f = *state;

    hub_will_fail(&f->hub, "/CreateSession", 409,
                  "{\"code\":\"aborted\",\"message\":\"you have no Claude setup token\"}");
    assert_int_equal(RUN(f, &verb_new, "demo/hello"), -1);
    assert_int_equal(f->hub.err.code, KNDL_ABORTED);
    assert_string_equal(f->hub.err.message, "you have no Claude setup token");
}

static void waiting_ends_when_the_session_fails(void **state)
{
    struct fixture *f = *state;
    V1(CreateSessionResponse) created = KNDL__SESSIONS__V1__CREATE_SESSION_RESPONSE__INIT;

    created.session = &f->session;
    created.prompt = &f->prompt;
    f->page.n_events = 0;
    f->session.state = KNDL__EVENT__V1__STATE__STATE_FAILED;
    f->session.reason = (char *)"the Repo cannot be cloned";
    hub_will_answer(&f->hub, "/CreateSession", &created.base);
    hub_will_answer(&f->hub, "/ListEvents", &f->page.base);
    assert_int_equal(RUN(f, &verb_new, "demo/broken", "--prompt", "hi", "--wait"), -1);
    assert_int_equal(f->hub.err.code, KNDL_UNKNOWN);
    assert_string_equal(f->hub.err.message, "the Repo cannot be cloned");
}

static void prompt_waits_for_its_own_turn_from_where_the_session_was(void **state)
{
    struct fixture *f = *state;
    V1(GetSessionResponse) got = KNDL__SESSIONS__V1__GET_SESSION_RESPONSE__INIT;
    V1(SendPromptResponse) sent = KNDL__SESSIONS__V1__SEND_PROMPT_RESPONSE__INIT;
    V1(ListEventsResponse) other = f->page;

    f->session.last_seq = 4;
    got.session = &f->session;
    sent.prompt = &f->prompt;
    /* The Turn of an earlier prompt ends first. */
    EVENT(TurnEnded) earlier = f->ended;
    EVENT(Event) event = f->events[2];
    EVENT(Event) * list[] = {&event};
    earlier.turn_id = (char *)"t0";
    event.turn_ended = &earlier;
    event.seq = 5;
    other.events = list;
    other.n_events = 1;
    f->events[0].seq = 6;
    f->events[1].seq = 7;
    f->events[2].seq = 8;
    f->ended.reason = KNDL__EVENT__V1__TURN_ENDED__REASON__REASON_ERROR;
    f->ended.error = (char *)"the token is not good";

    hub_will_answer(&f->hub, "/GetSession", &got.base);
    hub_will_answer(&f->hub, "/SendPrompt", &sent.base);
    hub_will_answer(&f->hub, "/ListEvents", &other.base);
    hub_will_fail(&f->hub, "/ListEvents", 503, "{\"code\":\"unavailable\"}");
    hub_will_answer(&f->hub, "/ListEvents", &f->page.base);
    assert_int_equal(RUN(f, &verb_prompt, SESSION, "again", "--wait"), -1);
    assert_int_equal(f->hub.err.code, KNDL_UNKNOWN);
    assert_string_equal(f->hub.err.message, "the token is not good");

    V1(ListEventsRequest) *request =
        asked(f, 2, &kndl__sessions__v1__list_events_request__descriptor);
    assert_int_equal(request->after_seq, 4);
    protobuf_c_message_free_unpacked(&request->base, NULL);
    request = asked(f, 4, &kndl__sessions__v1__list_events_request__descriptor);
    assert_int_equal(request->after_seq, 5);
    protobuf_c_message_free_unpacked(&request->base, NULL);
}

static void a_prompt_that_was_cancelled_is_not_waited_for(void **state)
{
    struct fixture *f = *state;
    V1(GetSessionResponse) got = KNDL__SESSIONS__V1__GET_SESSION_RESPONSE__INIT;
    V1(SendPromptResponse) sent = KNDL__SESSIONS__V1__SEND_PROMPT_RESPONSE__INIT;

    got.session = &f->session;
    sent.prompt = &f->prompt;
    f->page.n_events = 0;
    hub_will_answer(&f->hub, "/GetSession", &got.base);
    hub_will_answer(&f->hub, "/SendPrompt", &sent.base);
    for (int i = 0; i < 2; i++) {
        hub_will_answer(&f->hub, "/ListEvents", &f->page.base);
        hub_will_answer(&f->hub, "/GetSession", &got.base);
    }
    assert_int_equal(RUN(f, &verb_prompt, SESSION, "again", "--wait"), -1);
    assert_string_equal(f->hub.err.message, "the prompt was refused or cancelled");
}

/* The n-th request was for the Events after that one, waiting for new ones or not. */
static void assert_asked_events(struct fixture *f, size_t n, int64_t after_seq, bool waits)
{
    V1(ListEventsRequest) *request =
        asked(f, n, &kndl__sessions__v1__list_events_request__descriptor);

    assert_int_equal(request->after_seq, after_seq);
    assert_int_equal(request->wait_ms > 0, waits);
    protobuf_c_message_free_unpacked(&request->base, NULL);
}

static void events_are_read_page_by_page(void **state)
{
    struct fixture *f = *state;
    V1(ListEventsResponse) last = f->page;

    f->page.has_more = true;
    f->page.n_events = 2;
    last.events = &f->event_list[2];
    last.n_events = 1;
    hub_will_answer(&f->hub, "/ListEvents", &f->page.base);
    hub_will_answer(&f->hub, "/ListEvents", &last.base);
    assert_int_equal(RUN(f, &verb_events, SESSION, "--after", "4"), 0);
    assert_string_equal(f->hub.text, "Hello.\n-- done\n");
    assert_asked_events(f, 1, 6, false);
}

/* CL-02: the last so many, since Events are numbered without gaps. */
static void cl_02_logs_shows_the_last_events_and_goes_on(void **state)
{
    struct fixture *f = *state;
    V1(GetSessionResponse) got = KNDL__SESSIONS__V1__GET_SESSION_RESPONSE__INIT;

    f->session.last_seq = 7;
    got.session = &f->session;
    hub_will_answer(&f->hub, "/GetSession", &got.base);
    hub_will_answer(&f->hub, "/ListEvents", &f->page.base);
    hub_will_fail(&f->hub, "/ListEvents", 404,
                  "{\"code\":\"not_found\",\"message\":\"it is gone\"}");
    assert_int_equal(RUN(f, &verb_logs, SESSION, "-f", "-n", "3"), -1);
    assert_string_equal(f->hub.text, "Hello.\n-- done\n");
    assert_string_equal(f->hub.err.message, "it is gone");
    assert_asked_events(f, 1, 4, true);
    assert_asked_events(f, 2, 7, true);
}

static void logs_begins_at_the_beginning_and_ends(void **state)
{
    struct fixture *f = *state;

    hub_will_answer(&f->hub, "/ListEvents", &f->page.base);
    assert_int_equal(RUN(f, &verb_logs, SESSION), 0);
    assert_string_equal(f->hub.text, "Hello.\n-- done\n");
    assert_asked_events(f, 0, 0, false);
}

/* CL-02 */
static void cl_02_attach_says_how_a_session_is_and_looks_on(void **state)
{
    struct fixture *f = *state;
    V1(GetSessionResponse) got = KNDL__SESSIONS__V1__GET_SESSION_RESPONSE__INIT;

    f->session.last_seq = 57;
    f->session.repo_name = (char *)"demo/hello";
    f->session.title = (char *)"Say hello";
    got.session = &f->session;
    hub_will_answer(&f->hub, "/GetSession", &got.base);
    hub_will_answer(&f->hub, "/ListEvents", &f->page.base);
    hub_will_fail(&f->hub, "/ListEvents", 404,
                  "{\"code\":\"not_found\",\"message\":\"it is gone\"}");
    assert_int_equal(RUN(f, &verb_attach, SESSION), -1);
    assert_int_equal(f->hub.err.code, KNDL_NOT_FOUND);
    assert_non_null(strstr(f->hub.text, "Active"));
    assert_non_null(strstr(f->hub.text, "demo/hello  Say hello"));
    assert_non_null(strstr(f->hub.text, "7 Events before: kndl logs " SESSION "\n"));
    assert_non_null(strstr(f->hub.text, "\n\nHello.\n-- done\n"));
    assert_asked_events(f, 1, 7, true);
}

static void sleep_wake_and_resume_show_what_becomes_of_it(void **state)
{
    struct fixture *f = *state;
    V1(SleepSessionResponse) sleeps = KNDL__SESSIONS__V1__SLEEP_SESSION_RESPONSE__INIT;
    V1(WakeSessionResponse) wakes = KNDL__SESSIONS__V1__WAKE_SESSION_RESPONSE__INIT;
    V1(ResumeQueueResponse) resumes = KNDL__SESSIONS__V1__RESUME_QUEUE_RESPONSE__INIT;
    const struct {
        const struct verb *verb;
        const char *method;
        const ProtobufCMessage *answer;
        enum _Kndl__Event__V1__State state;
        const char *word;
    } cases[] = {
        {&verb_sleep, "/SleepSession", &sleeps.base, KNDL__EVENT__V1__STATE__STATE_GOING_TO_SLEEP,
         "Going to sleep"},
        {&verb_wake, "/WakeSession", &wakes.base, KNDL__EVENT__V1__STATE__STATE_WAKING, "Waking"},
        {&verb_resume, "/ResumeQueue", &resumes.base, KNDL__EVENT__V1__STATE__STATE_ACTIVE,
         "Active"},
    };

    sleeps.session = wakes.session = resumes.session = &f->session;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        hub_forget(&f->hub);
        f->session.state = cases[i].state;
        hub_will_answer(&f->hub, cases[i].method, cases[i].answer);
        assert_int_equal(RUN(f, cases[i].verb, SESSION), 0);
        assert_non_null(strstr(f->hub.text, cases[i].word));
        /* Both have the session_id and the request_id in the same fields. */
        V1(WakeSessionRequest) *request =
            asked(f, 0, &kndl__sessions__v1__wake_session_request__descriptor);
        assert_string_equal(request->session_id, SESSION);
        assert_true(kndl_id_is_valid(request->request_id));
        protobuf_c_message_free_unpacked(&request->base, NULL);
    }
}

static void a_number_that_is_none_is_usage(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(RUN(f, &verb_events, SESSION, "--after", "x4"), -1);
    assert_int_equal(f->hub.err.code, KNDL_INVALID_ARGUMENT);
}

static void a_session_may_be_named_by_the_beginning_of_its_id(void **state)
{
    struct fixture *f = *state;
    V1(Session) other = KNDL__SESSIONS__V1__SESSION__INIT;
    V1(Session) *sessions[] = {&f->session, &other};
    V1(ListSessionsResponse) list = KNDL__SESSIONS__V1__LIST_SESSIONS_RESPONSE__INIT;
    V1(StopTurnResponse) stopped = KNDL__SESSIONS__V1__STOP_TURN_RESPONSE__INIT;

    other.id = (char *)"aabbbbbbbbbbbbbbbbbbbbbbba";
    list.sessions = sessions;
    list.n_sessions = 2;
    hub_will_answer(&f->hub, "/ListSessions", &list.base);
    hub_will_answer(&f->hub, "/StopTurn", &stopped.base);
    assert_int_equal(RUN(f, &verb_stop, "aaa"), 0);
    V1(StopTurnRequest) *request = asked(f, 1, &kndl__sessions__v1__stop_turn_request__descriptor);
    assert_string_equal(request->session_id, SESSION);
    protobuf_c_message_free_unpacked(&request->base, NULL);

    hub_forget(&f->hub);
    hub_will_answer(&f->hub, "/ListSessions", &list.base);
    assert_int_equal(RUN(f, &verb_stop, "aa"), -1);
    assert_int_equal(f->hub.err.code, KNDL_INVALID_ARGUMENT);
    hub_forget(&f->hub);
    hub_will_answer(&f->hub, "/ListSessions", &list.base);
    assert_int_equal(RUN(f, &verb_stop, "b"), -1);
    assert_int_equal(f->hub.err.code, KNDL_NOT_FOUND);
}

static void an_answer_goes_with_one_word_for_each_question(void **state)
{
    struct fixture *f = *state;
    V1(AnswerQuestionResponse) answered = KNDL__SESSIONS__V1__ANSWER_QUESTION_RESPONSE__INIT;

    hub_will_answer(&f->hub, "/AnswerQuestion", &answered.base);
    assert_int_equal(RUN(f, &verb_answer, SESSION, "q1", "Blue", "--", "-1, 2"), 0);
    V1(AnswerQuestionRequest) *request =
        asked(f, 0, &kndl__sessions__v1__answer_question_request__descriptor);
    assert_string_equal(request->question_id, "q1");
    assert_int_equal(request->n_answers, 2);
    assert_string_equal(request->answers[1], "-1, 2");
    protobuf_c_message_free_unpacked(&request->base, NULL);
}

static void repos_are_listed_by_name(void **state)
{
    struct fixture *f = *state;
    Kndl__RepoAccess__V1__Repo repo = KNDL__REPO_ACCESS__V1__REPO__INIT;
    Kndl__RepoAccess__V1__Repo *repos[] = {&repo};
    Kndl__RepoAccess__V1__ListReposResponse list = KNDL__REPO_ACCESS__V1__LIST_REPOS_RESPONSE__INIT;

    repo.id = 3001;
    repo.name = (char *)"demo/hello";
    repo.description = (char *)"Says hello";
    list.repos = repos;
    list.n_repos = 1;
    hub_will_answer(&f->hub, "/ListRepos", &list.base);
    assert_int_equal(run(f, &verb_repos, (char *[]){NULL}), 0);
    assert_string_equal(f->hub.text, "demo/hello  Says hello\n");
}

/* AC-05: what is wrong with GitHub goes to standard error, so that the list stays one. */
static void ac_05_a_suspended_app_is_said_beside_the_list_of_repos(void **state)
{
    struct fixture *f = *state;
    Kndl__RepoAccess__V1__ListReposResponse list = KNDL__REPO_ACCESS__V1__LIST_REPOS_RESPONSE__INIT;
    char *notices[] = {(char *)"The GitHub App is suspended on demo."};
    char said[200] = "";
    int kept = dup(STDERR_FILENO);
    FILE *err = tmpfile();

    list.notices = notices;
    list.n_notices = 1;
    hub_will_answer(&f->hub, "/ListRepos", &list.base);
    dup2(fileno(err), STDERR_FILENO);
    int result = run(f, &verb_repos, (char *[]){NULL});
    dup2(kept, STDERR_FILENO);
    close(kept);
    rewind(err);
    assert_non_null(fgets(said, sizeof said, err));
    fclose(err);
    assert_int_equal(result, 0);
    assert_string_equal(said, "The GitHub App is suspended on demo.\n");
    assert_string_equal(f->hub.text, "");
}

/* CL-01 */
static void cl_01_login_shows_the_code_and_keeps_the_token_that_it_waited_for(void **state)
{
    struct fixture *f = *state;
    char path[] = "/tmp/kndl-cli-XXXXXX";
    struct config config;
    struct stat status;
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    close(fd);
    unlink(path);
    setenv("KNDL_CONFIG", path, 1);
    assert_int_equal(kndl_env_load(config_env, &f->hub.err), 0);
    hub_will_fail(&f->hub, "/auth/device", 200,
                  "{\"deviceCode\":\"kndl_dev_x\",\"userCode\":\"BCDF-GHJK\","
                  "\"url\":\"https://hub.test/device\",\"endsAtMs\":\"9\",\"intervalS\":1}");
    hub_will_fail(&f->hub, "/auth/device/token", 200, "{\"pending\":true}");
    hub_will_fail(&f->hub, "/auth/device/token", 200,
                  "{\"person\":{\"login\":\"ada\"},\"token\":\"kndl_cli_y\"}");
    assert_int_equal(run(f, &verb_login, (char *[]){NULL}), 0);
    assert_non_null(strstr(f->hub.text, "https://hub.test/device#BCDF-GHJK\n"));
    assert_non_null(strstr(f->hub.text, "Signed in as ada at "));
    assert_null(strstr(f->hub.text, "kndl_dev_x"));
    assert_null(strstr(f->hub.text, "kndl_cli_y"));
    assert_string_equal(f->hub.bodies[1], "{\"deviceCode\":\"kndl_dev_x\"}");
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
    assert_int_equal(config_load(&config, &f->hub.err), 0);
    assert_string_equal((const char *)config.token.data, "kndl_cli_y");
    config_done(&config);
    unlink(path);
}

static void a_login_that_was_refused_says_so(void **state)
{
    struct fixture *f = *state;

    hub_will_fail(&f->hub, "/auth/device", 200,
                  "{\"deviceCode\":\"kndl_dev_x\",\"userCode\":\"BCDF-GHJK\","
                  "\"url\":\"https://hub.test/device\",\"endsAtMs\":\"9\",\"intervalS\":1}");
    hub_will_fail(&f->hub, "/auth/device/token", 401,
                  "{\"code\":\"unauthenticated\",\"message\":\"this sign-in was refused\"}");
    assert_int_equal(run(f, &verb_login, (char *[]){NULL}), -1);
    assert_int_equal(f->hub.err.code, KNDL_UNAUTHENTICATED);
}

/* Nothing of it reaches a Hub, and it is not said to be one that cannot be reached. */
static void a_word_that_a_verb_does_not_know_is_usage(void **state)
{
    struct fixture *f = *state;
    const struct verb *const verbs[] = {&verb_vars, &verb_token, &verb_members, &verb_invites,
                                        &verb_runners};

    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        char wanted[64];

        snprintf(wanted, sizeof wanted, "; it goes: kndl %s ", verbs[i]->name);
        f->hub.err = (struct kndl_error){0};
        assert_int_equal(RUN(f, verbs[i], "frob", "x"), -1);
        assert_int_equal(f->hub.err.code, KNDL_INVALID_ARGUMENT);
        assert_non_null(strstr(f->hub.err.message, wanted));
        snprintf(wanted, sizeof wanted, "; kndl %s --help says more", verbs[i]->name);
        assert_non_null(strstr(f->hub.err.message, wanted));
    }
}

static void what_is_not_there_is_said_with_where_to_look(void **state)
{
    struct fixture *f = *state;
    const struct {
        const struct verb *verb;
        const char *method;
        char *words[4];
        const char *hint;
    } cases[] = {
        {&verb_new, "/CreateSession", {"demo/nope"}, "it is not there; kndl repos lists yours"},
        {&verb_vars, "/ListVariables", {"demo/nope"}, "it is not there; kndl repos lists yours"},
        {&verb_cancel,
         "/CancelPrompt",
         {SESSION, "p1"},
         "it is not there; kndl show SESSION lists those that wait"},
        {&verb_answer,
         "/AnswerQuestion",
         {SESSION, "q1", "Blue"},
         "it is not there; kndl show SESSION lists the open ones"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *words[4];

        memcpy(words, cases[i].words, sizeof words);
        hub_forget(&f->hub);
        hub_will_fail(&f->hub, cases[i].method, 404,
                      "{\"code\":\"not_found\",\"message\":\"it is not there\"}");
        assert_int_equal(run(f, cases[i].verb, words), -1);
        assert_int_equal(f->hub.err.code, KNDL_NOT_FOUND);
        assert_string_equal(f->hub.err.message, cases[i].hint);
    }
}

/* What others could see in a list of processes is not repeated besides. */
static void a_value_among_the_words_is_refused_without_it(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(RUN(f, &verb_vars, "demo/hello", "set", "NAME", "a-secret"), -1);
    assert_int_equal(f->hub.err.code, KNDL_INVALID_ARGUMENT);
    assert_non_null(
        strstr(f->hub.err.message, "a value comes from standard input alone; it goes: "));
    assert_non_null(strstr(f->hub.err.message, "kndl vars --help says more"));
    assert_null(strstr(f->hub.err.message, "a-secret"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, hub_tear_down)
        TEST(new_prints_the_session_and_what_happens_until_the_turn_ends),
        TEST(cl_01_login_shows_the_code_and_keeps_the_token_that_it_waited_for),
        TEST(a_login_that_was_refused_says_so),
        TEST(new_in_json_is_the_session_first_and_then_events),
        TEST(new_is_refused_with_the_hubs_sentence),
        TEST(waiting_ends_when_the_session_fails),
        TEST(prompt_waits_for_its_own_turn_from_where_the_session_was),
        TEST(a_prompt_that_was_cancelled_is_not_waited_for),
        TEST(events_are_read_page_by_page),
        TEST(cl_02_logs_shows_the_last_events_and_goes_on),
        TEST(logs_begins_at_the_beginning_and_ends),
        TEST(cl_02_attach_says_how_a_session_is_and_looks_on),
        TEST(sleep_wake_and_resume_show_what_becomes_of_it),
        TEST(a_number_that_is_none_is_usage),
        TEST(a_word_that_a_verb_does_not_know_is_usage),
        TEST(what_is_not_there_is_said_with_where_to_look),
        TEST(a_value_among_the_words_is_refused_without_it),
        TEST(a_session_may_be_named_by_the_beginning_of_its_id),
        TEST(an_answer_goes_with_one_word_for_each_question),
        TEST(repos_are_listed_by_name),
        TEST(ac_05_a_suspended_app_is_said_beside_the_list_of_repos),
    };
    struct kndl_error err = {0};

    return kndl_crypt_init(&err) < 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
