#include "stage.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kndl/db.h"
#include "kndl/env.h"
#include "kndl/mem.h"

static const uint8_t token_hash[32] = {7, 7, 7, 7};
const struct kndl_slice stage_token = {token_hash, sizeof token_hash};

static const struct kndl_env env[] = {
    {"HUB_DATABASE_URL", NULL, "the test's own"},
    {"HUB_RUNNER_JWT_MS", "3600000", "as in main.c"},
    {NULL, NULL, NULL},
};

/* The clock becomes the database's plus a row that tests add to. */
static const struct kndl_statement make_clock[] = {
    {"table", "CREATE TABLE sessions.test_clock (ms bigint)"},
    {NULL, NULL},
};
static const struct kndl_statement use_clock[] = {
    {"function", "CREATE OR REPLACE FUNCTION sessions.now_ms() RETURNS bigint LANGUAGE sql STABLE "
                 "AS 'SELECT (extract(epoch FROM statement_timestamp()) * 1000)::bigint + "
                 "coalesce((SELECT sum(ms) FROM sessions.test_clock), 0)::bigint'"},
    {"pass", "INSERT INTO sessions.test_clock VALUES ($1)"},
    {"leave_prompt", "INSERT INTO sessions.prompt (id, session_id, place, state, sealed, masked, "
                     "queued_at_ms, author_id) "
                     "SELECT $1::text || $2::text, $1::text, coalesce(max(place), 0) + 1, 1, "
                     "'sealed'::bytea, $3::text, sessions.now_ms(), $2::text "
                     "FROM sessions.prompt WHERE session_id = $1::text"},
    {"together", "UPDATE sessions.session SET changed_at_ms = sessions.now_ms()"},
    {"register", "INSERT INTO sessions.runner (id, name) VALUES ($1, $1) ON CONFLICT DO NOTHING"},
    {NULL, NULL},
};

static struct kndl_db *clock_db;
static struct kndl_arena *clock_arena;
static pthread_mutex_t clock_lock = PTHREAD_MUTEX_INITIALIZER; /* for both */

static void check(struct stage *stage, int result)
{
    if (result < 0)
        fail_msg("%s", stage->err.message);
}

static void prepare_clock(struct kndl_error *err)
{
    const char *url = kndl_env_get("HUB_DATABASE_URL");
    struct kndl_rows rows;
    struct kndl_db *db;

    clock_arena = kndl_arena_new(KNDL_ARENA_PLAIN);
    assert_int_equal(kndl_db_open(url, "sessions", make_clock, &db, err), 0);
    assert_int_equal(kndl_db_exec_params(db, "table", NULL, 0, clock_arena, &rows, err), 0);
    kndl_db_close(db);
    assert_int_equal(kndl_db_open(url, "sessions", use_clock, &clock_db, err), 0);
    assert_int_equal(kndl_db_exec_params(clock_db, "function", NULL, 0, clock_arena, &rows, err),
                     0);
}

int stage_open(void **state)
{
    struct stage *stage = kndl_new0(struct stage);

    setenv("HUB_DATABASE_URL", kndl_test_database(), 1);
    stage->arena = kndl_arena_new(KNDL_ARENA_PLAIN);
    check(stage, kndl_env_load(env, &stage->err));
    check(stage, store_migrate(&stage->err));
    prepare_clock(&stage->err);
    check(stage, store_open(&stage->store, &stage->err));
    *state = stage;
    return 0;
}

int stage_close(void **state)
{
    struct stage *stage = *state;

    store_close(stage->store);
    kndl_arena_free(stage->arena);
    free(stage);
    kndl_db_close(clock_db);
    kndl_arena_free(clock_arena);
    return 0;
}

struct store *stage_connect(void)
{
    struct kndl_error err = {0};
    struct store *store = NULL;

    if (store_open(&store, &err) < 0)
        fail_msg("%s", err.message);
    return store;
}

/* A statement of use_clock. */
static void run(const char *statement, const struct kndl_param *params, size_t count)
{
    struct kndl_error err = {0};
    struct kndl_rows rows;

    pthread_mutex_lock(&clock_lock);
    int done = kndl_db_exec_params(clock_db, statement, params, count, clock_arena, &rows, &err);
    pthread_mutex_unlock(&clock_lock);
    if (done < 0)
        fail_msg("%s", err.message);
}

void stage_pass(int64_t ms)
{
    run("pass", (const struct kndl_param[]){kndl_db_i64(ms)}, 1);
}

void stage_change_together(void)
{
    run("together", NULL, 0);
}

void stage_leave_prompt(const char *session_id, const char *author, const char *text)
{
    const struct kndl_param params[] = {kndl_db_text(session_id), kndl_db_text(author),
                                        kndl_db_text(text)};

    run("leave_prompt", params, 3);
}

static void speak(struct stage *stage, const char *runner, const char *instance,
                  const struct attended *runs, size_t count)
{
    static const uint8_t key[32] = {1};
    struct attendance attendance = {
        .runner_id = runner,
        .instance_id = instance,
        .hostname = "host",
        .version = "1",
        .backend = "namespace",
        .update_note = "",
        .seal_key = {key, sizeof key},
        .count = count,
        .runs = (struct attended *)runs,
    };
    const char **stop;
    size_t stop_count;
    int64_t now_ms;

    run("register", (const struct kndl_param[]){kndl_db_text(runner)}, 1);
    check(stage, store_attend(stage->store, stage->arena, &attendance, &now_ms, &stop, &stop_count,
                              &stage->changes, &stage->err));
}

void stage_attend(struct stage *stage, const char *runner, const struct attended *runs,
                  size_t count)
{
    speak(stage, runner, "i1", runs, count);
}

void stage_reconnect(struct stage *stage, const char *runner, const struct attended *runs,
                     size_t count)
{
    speak(stage, runner, "i2", runs, count);
}

const char *stage_make(struct stage *stage, const char *person, const char *runner,
                       const char *prompt)
{
    Kndl__Sessions__V1__QueuedPrompt *queued;
    struct session session;
    char id[KNDL_ID_SIZE];
    char content[300];

    kndl_id_new(id);
    snprintf(content, sizeof content, "repo=7%s%s", prompt[0] == '\0' ? "" : "\nprompt=", prompt);
    const struct new_session made = {
        .id = kndl_arena_copy(stage->arena, id),
        .request_id = kndl_arena_copy(stage->arena, id),
        .content = content,
        .creator_id = person,
        .creator_login = person,
        .creator_name = person,
        .creator_email = "ada@users.noreply.github.com",
        .repo_id = 7,
        .repo_name = "demo/hello",
        .runner_id = runner,
        .model = "",
        .effort = "",
        .prompt_masked = prompt,
        .prompt_sealed = kndl_slice("sealed", 6),
    };
    check(stage, store_create_session(stage->store, stage->arena, &made, &session, &queued,
                                      &stage->changes, &stage->err));
    return made.id;
}

const struct delivery *stage_claim(struct stage *stage, const char *session_id,
                                   enum delivery_kind kind)
{
    const struct delivery *due;

    for (;;) {
        check(stage,
              store_claim_delivery(stage->store, stage->arena, &due, &stage->changes, &stage->err));
        if (due == NULL)
            return NULL;
        if (due->kind == kind && strcmp(due->session_id, session_id) == 0)
            return due;
        check(stage, store_settle_delivery(stage->store, stage->arena, due, &stage->err));
    }
}

size_t stage_deliver(struct stage *stage, const char *session_id)
{
    const struct delivery *due;
    size_t count = 0;

    for (;;) {
        check(stage,
              store_claim_delivery(stage->store, stage->arena, &due, &stage->changes, &stage->err));
        if (due == NULL)
            return count;
        if (strcmp(due->session_id, session_id) == 0)
            count++;
        check(stage, store_settle_delivery(stage->store, stage->arena, due, &stage->err));
    }
}

void stage_run(struct stage *stage, const char *runner, const char *session_id)
{
    const struct run_of run = {runner, session_id, 0};

    stage_deliver(stage, session_id);
    check(stage, store_put_mod_token(stage->store, stage->arena, &run, stage_token, &stage->err));
    check(stage,
          store_report_running(stage->store, stage->arena, &run, "", &stage->changes, &stage->err));
}

const char *stage_make_active(struct stage *stage, const char *prompt)
{
    stage_attend(stage, "r1", NULL, 0);
    const char *id = stage_make(stage, "ada", "r1", prompt);
    stage_run(stage, "r1", id);
    return id;
}

struct session stage_read(struct stage *stage, const char *session_id)
{
    struct session session;

    check(stage, store_read_session(stage->store, stage->arena, session_id, &session, &stage->err));
    return session;
}

struct view stage_view(struct stage *stage, const char *session_id)
{
    struct view view;

    check(stage, store_read_view(stage->store, stage->arena, session_id, &view, &stage->err));
    return view;
}

int64_t stage_append(struct stage *stage, const char *runner, const char *session_id,
                     int64_t first_n, Kndl__Event__V1__Event **events, size_t count)
{
    const struct batch batch = {
        .runner_id = runner,
        .session_id = session_id,
        .run = stage_read(stage, session_id).run,
        .first_n = first_n,
        .events = events,
        .count = count,
        .mod_token_hash = stage_token,
    };
    int64_t expected;

    check(stage, store_append_events(stage->store, stage->arena, &batch, &expected, &stage->changes,
                                     &stage->err));
    return expected;
}

#define NEW(type, init)                                                                            \
    ({                                                                                             \
        type *new_ = kndl_arena_alloc(stage->arena, sizeof *new_);                                 \
        init(new_);                                                                                \
        new_;                                                                                      \
    })
#define KIND(name) KNDL__EVENT__V1__EVENT__KIND_##name

/* An Event that is such a message, which is the member of that name. */
#define NEW_EVENT(NAME, member, Type)                                                              \
    ({                                                                                             \
        Kndl__Event__V1__Event *event_ =                                                           \
            NEW(Kndl__Event__V1__Event, kndl__event__v1__event__init);                             \
        event_->kind_case = KIND(NAME);                                                            \
        event_->member = NEW(Kndl__Event__V1__##Type, kndl__event__v1__##member##__init);          \
        event_;                                                                                    \
    })

Kndl__Event__V1__Event *stage_text(struct stage *stage, const char *text)
{
    Kndl__Event__V1__Event *event = NEW_EVENT(TEXT, text, Text);

    event->text->text = kndl_arena_copy(stage->arena, text);
    return event;
}

Kndl__Event__V1__Event *stage_prompt(struct stage *stage, const char *prompt_id, const char *text)
{
    Kndl__Event__V1__Event *event = NEW_EVENT(PROMPT, prompt, Prompt);

    event->prompt->prompt_id = kndl_arena_copy(stage->arena, prompt_id);
    event->prompt->text = kndl_arena_copy(stage->arena, text);
    return event;
}

Kndl__Event__V1__Event *stage_turn_started(struct stage *stage, const char *turn_id,
                                           const char *prompt_id)
{
    Kndl__Event__V1__Event *event = NEW_EVENT(TURN_STARTED, turn_started, TurnStarted);

    event->turn_started->turn_id = kndl_arena_copy(stage->arena, turn_id);
    event->turn_started->prompt_id = kndl_arena_copy(stage->arena, prompt_id);
    return event;
}

Kndl__Event__V1__Event *stage_turn_ended(struct stage *stage, const char *turn_id,
                                         const char *error_code)
{
    Kndl__Event__V1__Event *event = NEW_EVENT(TURN_ENDED, turn_ended, TurnEnded);

    event->turn_ended->turn_id = kndl_arena_copy(stage->arena, turn_id);
    event->turn_ended->error_code = kndl_arena_copy(stage->arena, error_code);
    return event;
}

Kndl__Event__V1__Event *stage_question(struct stage *stage, const char *id)
{
    Kndl__Event__V1__Event *event = NEW_EVENT(QUESTION, question, Question);
    Kndl__Event__V1__Question__Asked *asked =
        NEW(Kndl__Event__V1__Question__Asked, kndl__event__v1__question__asked__init);

    asked->question = kndl_arena_copy(stage->arena, "Which?");
    event->question->id = kndl_arena_copy(stage->arena, id);
    event->question->n_questions = 1;
    event->question->questions = kndl_arena_alloc(stage->arena, sizeof asked);
    event->question->questions[0] = asked;
    return event;
}

Kndl__Event__V1__Event *stage_subagent(struct stage *stage, const char *id)
{
    Kndl__Event__V1__Event *event = NEW_EVENT(SUBAGENT_STARTED, subagent_started, SubagentStarted);

    event->subagent_id = kndl_arena_copy(stage->arena, id);
    return event;
}

int64_t stage_end(struct stage *stage, const char *runner, const char *session_id, int64_t last_n,
                  enum end_cause cause)
{
    const struct run_of run = {runner, session_id, 0};
    const struct ending ending = {
        .last_n = last_n,
        .cause = cause,
        .reason_code = "",
        .reason = "",
        .last_output = cause == END_COMMANDED ? "" : "the last lines",
        .conversation_exists = true,
    };
    int64_t expected;

    check(stage, store_report_ended(stage->store, stage->arena, &run, &ending, &expected,
                                    &stage->changes, &stage->err));
    return expected;
}

size_t stage_events(struct stage *stage, const char *session_id,
                    Kndl__Event__V1__Event ***ret_events)
{
    size_t count;

    check(stage, store_read_page(stage->store, stage->arena, session_id, 0, 0, 5000, ret_events,
                                 &count, &stage->err));
    for (size_t i = 0; i < count; i++)
        assert_int_equal((*ret_events)[i]->seq, i + 1);
    assert_int_equal(stage_read(stage, session_id).last_seq, count);
    return count;
}

void stage_overdue(struct stage *stage)
{
    bool found;

    do
        assert_int_equal(
            store_overdue_next(stage->store, stage->arena, &found, &stage->changes, &stage->err),
            0);
    while (found);
}
