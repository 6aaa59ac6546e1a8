/*
 * Faults 16: every method that changes something, asked again with the same request_id: at once,
 * side by side, after a restart of the service, and with another body. One effect and the same
 * answer; another body is refused. The table is checked against the descriptor, so that a new
 * method without a row fails.
 */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fakes.h"
#include "kndl/mem.h"
#include "kndl/secret.h"
#include "kndl/sessions/v1/sessions_service.pb-c.h"
#include "rpc.h"
#include "stage.h"

#define V1(name) Kndl__Sessions__V1__##name

/* How a Session is brought to where the method may be asked. */
enum where { ACTIVE, QUEUED, ASKED, IN_TURN, ASLEEP };

static const struct row {
    const char *method;
    enum where where;
    const char *field; /* what "another body" changes; NULL: the request says nothing more */
} rows[] = {
    {"CreateSession", ACTIVE, "prompt"},   {"SendPrompt", ACTIVE, "text"},
    {"CancelPrompt", QUEUED, "prompt_id"}, {"ResumeQueue", IN_TURN, NULL},
    {"AnswerQuestion", ASKED, "answers"},  {"StopTurn", IN_TURN, "turn_id"},
    {"SleepSession", ACTIVE, NULL},        {"WakeSession", ASLEEP, NULL},
};
enum { ROWS = sizeof rows / sizeof *rows };

struct fixture {
    struct stage *stage;
    struct kndl_bus bus;
};

static void set_field(ProtobufCMessage *message, const char *name, const char *text)
{
    const ProtobufCFieldDescriptor *field =
        protobuf_c_message_descriptor_get_field_by_name(message->descriptor, name);
    static char *one[1];

    if (field == NULL)
        return;
    char *member = (char *)message + field->offset;
    if (field->label == PROTOBUF_C_LABEL_REPEATED) {
        one[0] = (char *)text;
        *(size_t *)((char *)message + field->quantifier_offset) = 1;
        *(char ***)member = one;
    } else {
        *(char **)member = (char *)text;
    }
}

static const char *bring_to(struct stage *stage, enum where where, const char **ret_prompt)
{
    Kndl__Event__V1__Event *said[] = {stage_turn_started(stage, "t1", ""),
                                      stage_question(stage, "q1")};

    const char *id = stage_make_active(stage, "");
    *ret_prompt = "";
    if (where == IN_TURN || where == ASKED)
        stage_append(stage, "r1", id, 1, said, where == ASKED ? 2 : 1);
    if (where == QUEUED) {
        const struct asked asked = {"ada", id, "first", 0};
        Kndl__Sessions__V1__QueuedPrompt *queued;

        store_append_prompt(stage->store, stage->arena, &asked, "x", kndl_slice("s", 1), &queued,
                            &stage->changes, &stage->err);
        *ret_prompt = kndl_arena_copy(stage->arena, queued->id);
    }
    if (where == ASLEEP)
        stage_end(stage, "r1", id, 0, END_COMMANDED);
    return id;
}

/* The request of a row; `message` has room for any of them. */
static ProtobufCMessage *make_request(const ProtobufCMethodDescriptor *method, void *room,
                                      const char *session, const char *prompt, const char *request)
{
    ProtobufCMessage *message = room;

    protobuf_c_message_init(method->input, message);
    set_field(message, "session_id", session);
    set_field(message, "request_id", request);
    set_field(message, "prompt_id", prompt);
    set_field(message, "repo_name", "demo/hello");
    set_field(message, "prompt", "hello");
    set_field(message, "text", "hello");
    set_field(message, "question_id", "q1");
    set_field(message, "answers", "blue");
    return message;
}

/* What an answer is about, so that two can be compared: packed, without what time changes. */
static char *essence(const struct kndl_test_answer *answer)
{
    static const char *const ids[] = {"id", "turn_id"};
    char text[512] = "";

    if (answer->response == NULL)
        return kndl_strdup(answer->err.message);
    for (unsigned i = 0; i < answer->response->descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &answer->response->descriptor->fields[i];
        const ProtobufCMessage *from = answer->response;

        if (field->type == PROTOBUF_C_TYPE_MESSAGE && field->label != PROTOBUF_C_LABEL_REPEATED)
            from = *(ProtobufCMessage **)((char *)answer->response + field->offset);
        for (size_t j = 0; from != NULL && j < sizeof ids / sizeof *ids; j++) {
            const ProtobufCFieldDescriptor *id =
                protobuf_c_message_descriptor_get_field_by_name(from->descriptor, ids[j]);
            size_t used = strlen(text);
            if (id != NULL)
                snprintf(text + used, sizeof text - used, "%s=%s ", ids[j],
                         *(char *const *)((const char *)from + id->offset));
        }
    }
    return kndl_strdup(text);
}

struct asker {
    pthread_t thread;
    struct sessions sessions;
    const char *method;
    const ProtobufCMessage *request;
    char *essence;
    enum kndl_code code;
};

static void *ask(void *data)
{
    struct asker *asker = data;
    struct kndl_test_answer answer =
        kndl_test_call(sessions_service, &asker->sessions, "ada", asker->method, asker->request);

    asker->code = answer.err.code;
    asker->essence = essence(&answer);
    kndl_test_done(&answer);
    return NULL;
}

static void ask_with(struct fixture *f, struct asker *asker, struct store *store,
                     const char *method, const ProtobufCMessage *request)
{
    *asker = (struct asker){
        .sessions = {.store = store, .bus = &f->bus},
        .method = method,
        .request = request,
    };
}

static int64_t rows_of(struct stage *stage, const char *session)
{
    struct view view = stage_view(stage, session);
    struct session row = stage_read(stage, session);

    return (int64_t)view.queue_count * 1000 + row.last_seq + row.run * 100000;
}

static void try_row(struct fixture *f, const struct row *row)
{
    const ProtobufCMethodDescriptor *method =
        protobuf_c_service_descriptor_get_method_by_name(sessions_service->descriptor, row->method);
    struct asker first, again, beside[2], restarted, other;
    static _Alignas(16) char room[4096];
    const char *prompt;
    const char *id = bring_to(f->stage, row->where, &prompt);
    char request[64];

    snprintf(request, sizeof request, "side-%s", row->method);
    ProtobufCMessage *req = make_request(method, room, id, prompt, request);

    /* Side by side, on two connections. */
    struct store *stores[2] = {stage_connect(), stage_connect()};
    for (int i = 0; i < 2; i++) {
        ask_with(f, &beside[i], stores[i], row->method, req);
        pthread_create(&beside[i].thread, NULL, ask, &beside[i]);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(beside[i].thread, NULL);
    assert_int_equal(beside[0].code, KNDL_OK);
    assert_int_equal(beside[1].code, KNDL_OK);
    assert_string_equal(beside[0].essence, beside[1].essence);
    int64_t made = rows_of(f->stage, id);

    /* At once, and after a restart. */
    ask_with(f, &again, f->stage->store, row->method, req);
    ask(&again);
    store_close(stores[0]);
    store_close(stores[1]);
    stores[0] = stage_connect();
    ask_with(f, &restarted, stores[0], row->method, req);
    ask(&restarted);
    assert_string_equal(again.essence, beside[0].essence);
    assert_string_equal(restarted.essence, beside[0].essence);
    assert_int_equal(rows_of(f->stage, id), made);

    /* With another body, and for another method. */
    if (row->field != NULL) {
        set_field(req, row->field, "another");
        ask_with(f, &other, stores[0], row->method, req);
        ask(&other);
        assert_int_equal(other.code, KNDL_INVALID_ARGUMENT);
        free(other.essence);
    }
    if (strcmp(row->method, "CreateSession") != 0) {
        const bool is_sleep = strcmp(row->method, "SleepSession") == 0;
        const char *foreign = is_sleep ? "ResumeQueue" : "SleepSession";
        const ProtobufCMethodDescriptor *wrong =
            protobuf_c_service_descriptor_get_method_by_name(sessions_service->descriptor, foreign);

        req = make_request(wrong, room, id, prompt, request);
        ask_with(f, &first, stores[0], foreign, req);
        ask(&first);
        assert_int_equal(first.code, KNDL_INVALID_ARGUMENT);
        free(first.essence);
    }
    assert_int_equal(rows_of(f->stage, id), made);
    store_close(stores[0]);
    free(beside[0].essence);
    free(beside[1].essence);
    free(again.essence);
    free(restarted.essence);
}

static void each_method_that_changes_something_has_one_effect_for_one_request_id(void **state)
{
    struct fixture f = {.stage = *state, .bus = {.peers = {.has_token = true}}};

    for (size_t i = 0; i < ROWS; i++)
        try_row(&f, &rows[i]);
}

static void every_method_with_a_request_id_has_a_row(void **unused)
{
    const ProtobufCServiceDescriptor *service = sessions_service->descriptor;

    (void)unused;
    for (unsigned i = 0; i < service->n_methods; i++) {
        bool found = protobuf_c_message_descriptor_get_field_by_name(service->methods[i].input,
                                                                     "request_id") == NULL;
        for (size_t j = 0; j < ROWS; j++)
            found |= strcmp(rows[j].method, service->methods[i].name) == 0;
        if (!found)
            fail_msg("%s has no row", service->methods[i].name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_method_with_a_request_id_has_a_row),
        cmocka_unit_test(each_method_that_changes_something_has_one_effect_for_one_request_id),
    };
    struct kndl_error err;

    if (kndl_crypt_init(&err) < 0)
        return 1;
    return cmocka_run_group_tests_name("sessions requests", tests, stage_open, stage_close);
}
