#include "fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "kndl/clock.h"
#include "kndl/mem.h"
#include "kndl/raw_client.h"
#include "kndl/repo_access/v1/repo_access_service.pb-c.h"
#include "kndl/token.h"

#define V1(name) Kndl__RepoAccess__V1__##name

char fixture_web_token[80];
char fixture_cli_token[80];
char fixture_bob_token[80];
char fixture_unknown_token[80];
char fixture_confirmed_token[80];

static fake_answer_fn answer_rest;
static bool repo_access_is_there;
static int purpose;

static void make_token(enum kndl_token_kind kind, char *out)
{
    struct kndl_secret token = {0};

    kndl_token_new(kind, &token);
    memcpy(out, token.data, token.size);
    out[token.size] = '\0';
    kndl_secret_done(&token);
}

static bool is_token(const ProtobufCBinaryData *hash, const char *token)
{
    uint8_t wanted[KNDL_HASH_BYTES];

    kndl_hash(kndl_slice_of(token), wanted);
    return hash->len == sizeof wanted && memcmp(hash->data, wanted, sizeof wanted) == 0;
}

static bool authenticate(const struct fake_request *request, struct kndl_buf *out,
                         struct kndl_error *err)
{
    V1(AuthenticateResponse) response = KNDL__REPO_ACCESS__V1__AUTHENTICATE_RESPONSE__INIT;
    V1(Person) person = KNDL__REPO_ACCESS__V1__PERSON__INIT;
    V1(AuthenticateRequest) *asked = kndl__repo_access__v1__authenticate_request__unpack(
        NULL, request->data.size, (const uint8_t *)request->data.data);

    assert_string_equal(request->actor, "service/api_gateway");
    bool is_web = asked->kind == KNDL__REPO_ACCESS__V1__AUTHENTICATE_REQUEST__KIND__KIND_WEB;
    bool is_confirmed =
        asked->kind == KNDL__REPO_ACCESS__V1__AUTHENTICATE_REQUEST__KIND__KIND_CONFIRMED;
    const char *adas = is_web         ? fixture_web_token
                       : is_confirmed ? fixture_confirmed_token
                                      : fixture_cli_token;
    response.purpose = is_confirmed ? (V1(Purpose))purpose : 0;
    if (!repo_access_is_there)
        kndl_fail(err, KNDL_UNAVAILABLE, "repo_access is not there");
    else if (is_token(&asked->credential_hash, adas))
        person.id = (char *)"ada";
    else if (is_web && is_token(&asked->credential_hash, fixture_bob_token))
        person.id = (char *)"bob";
    else
        kndl_fail(err, KNDL_UNAUTHENTICATED, "unknown");
    response.person = &person;
    response.valid_until_ms = kndl_clock_wall_ms() + 60000; /* the gateway has its own limit */
    fake_pack(out, &response.base);
    kndl__repo_access__v1__authenticate_request__free_unpacked(asked, NULL);
    return true;
}

static bool answer(const struct fake_request *request, struct kndl_buf *out, struct kndl_error *err)
{
    if (strcmp(request->method, "Authenticate") == 0)
        return authenticate(request, out, err);
    return answer_rest(request, out, err);
}

void fixture_set_repo_access(bool is_there)
{
    repo_access_is_there = is_there;
}

void fixture_set_purpose(int wanted)
{
    purpose = wanted;
}

static void *run(void *data)
{
    struct fixture *f = data;

    kndl_loop_run(f->gateway->loop, NULL, NULL);
    return NULL;
}

bool fixture_answer_nothing(const struct fake_request *request, struct kndl_buf *out,
                            struct kndl_error *err)
{
    (void)request;
    (void)out;
    (void)err;
    return true; /* with nothing in it */
}

int fixture_open(void **state, fake_answer_fn rest)
{
    struct fixture *f = kndl_new0(struct fixture);
    struct settings settings = {
        .address = "127.0.0.1", .dev_login = true, .web_dir = "", .runner_dir = ""};
    const char *dir = getenv("FIXTURE_WEB_DIR");
    const char *runner_dir = getenv("FIXTURE_RUNNER_DIR");
    struct kndl_error err;

    assert_int_equal(kndl_crypt_init(&err), 0);
    make_token(KNDL_TOKEN_WEB, fixture_web_token);
    make_token(KNDL_TOKEN_CLI, fixture_cli_token);
    make_token(KNDL_TOKEN_WEB, fixture_bob_token);
    make_token(KNDL_TOKEN_WEB, fixture_unknown_token);
    make_token(KNDL_TOKEN_CNF, fixture_confirmed_token);
    answer_rest = rest;
    repo_access_is_there = true;

    if (dir != NULL)
        settings.web_dir = dir;
    if (runner_dir != NULL)
        settings.runner_dir = runner_dir;
    settings.port = f->port = kndl_raw_free_port(); /* the public URL needs it first */
    snprintf(f->host, sizeof f->host, "127.0.0.1:%d", f->port);
    snprintf(f->origin, sizeof f->origin, "http://127.0.0.1:%d", f->port);
    snprintf(settings.host, sizeof settings.host, "%s", f->host);
    snprintf(settings.origin, sizeof settings.origin, "%s", f->origin);
    settings_name_cookies(&settings);
    if (gateway_open(fake_bus(answer), &settings, &f->gateway, &err) < 0)
        fail_msg("%s", err.message);
    f->cookie = f->gateway->settings.cookie;
    f->sign_in_cookie = f->gateway->settings.sign_in_cookie;
    pthread_create(&f->thread, NULL, run, f);
    *state = f;
    return 0;
}

struct errand {
    struct fixture *f;
    void (*fn)(struct fixture *f, int64_t number);
    int64_t number;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_done;
};

static void do_errand(void *data)
{
    struct errand *errand = data;

    errand->fn(errand->f, errand->number);
    pthread_mutex_lock(&errand->lock);
    errand->is_done = true;
    pthread_cond_broadcast(&errand->changed);
    pthread_mutex_unlock(&errand->lock);
}

static void do_on_loop(struct fixture *f, void (*fn)(struct fixture *f, int64_t number),
                       int64_t number)
{
    struct errand errand = {f,    fn, number, PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER,
                            false};

    kndl_loop_post(f->gateway->loop, do_errand, &errand);
    pthread_mutex_lock(&errand.lock);
    while (!errand.is_done)
        pthread_cond_wait(&errand.changed, &errand.lock);
    pthread_mutex_unlock(&errand.lock);
}

static void nothing(struct fixture *f, int64_t number)
{
    (void)f;
    (void)number;
}

void fixture_sync(struct fixture *f)
{
    for (int i = 0; i < 3; i++)
        do_on_loop(f, nothing, 0);
}

static void shift(struct fixture *f, int64_t number)
{
    (void)f;
    kndl_clock_shift(number);
}

void fixture_shift(struct fixture *f, int64_t ms)
{
    do_on_loop(f, shift, ms);
}

static void stop(struct fixture *f, int64_t number)
{
    (void)number;
    kndl_loop_stop(f->gateway->loop);
}

static bool refuse_all(const struct fake_request *request, struct kndl_buf *out,
                       struct kndl_error *err)
{
    (void)request;
    (void)out;
    kndl_fail(err, KNDL_UNAVAILABLE, "the test is over");
    return true;
}

int fixture_close(void **state)
{
    struct fixture *f = *state;

    do_on_loop(f, stop, 0);
    pthread_join(f->thread, NULL);
    answer_rest = refuse_all; /* what waits is answered, as the bus's timeouts do */
    fake_release();
    gateway_close(f->gateway);
    assert_int_equal(fake_subscriptions(), 0);
    fake_bus_done();
    free(f);
    return 0;
}

void fixture_wait_asked(const char *method, int times)
{
    assert_true(fake_wait(method, times));
}

static void add_line(struct kndl_buf *out, const char *format, const char *value)
{
    if (value != NULL) {
        kndl_buf_append_text(out, format);
        kndl_buf_append_text(out, value);
        kndl_buf_append_text(out, "\r\n");
    }
}

bool fixture_is_set(const struct kndl_buf *head, const char *cookie, const char *rest)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf line = {0};

    kndl_buf_printf(&line, "\r\nSet-Cookie: %s=%s\r\n", cookie, rest);
    return strstr(head->data, kndl_buf_text(&line)) != NULL;
}

int fixture_send(struct fixture *f, const struct ask_options *options)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf out = {0};
    const char *method = options->method == NULL ? "POST" : options->method;
    const char *origin = options->origin;
    int fd = kndl_raw_connect(f->port);

    if (origin != NULL && strcmp(origin, "own") == 0)
        origin = f->origin;
    kndl_buf_printf(&out, "%s %s HTTP/1.1\r\n", method, options->path);
    add_line(&out, "Host: ", options->host == NULL ? f->host : options->host);
    add_line(&out, "Origin: ", origin);
    if (options->cookie != NULL)
        kndl_buf_printf(&out, "Cookie: other=1; %s=%s\r\n", f->cookie, options->cookie);
    add_line(&out, "Authorization: Bearer ", options->bearer);
    if (strcmp(method, "POST") == 0) {
        add_line(&out,
                 "Content-Type: ", options->type == NULL ? "application/json" : options->type);
        kndl_buf_printf(&out, "Content-Length: %zu\r\n", options->body.size);
    }
    if (options->extra != NULL)
        kndl_buf_append_text(&out, options->extra);
    kndl_buf_append_text(&out, "\r\n");
    kndl_buf_append(&out, options->body.data, options->body.size);
    kndl_raw_send_bytes(fd, out.data, out.size);
    return fd;
}

int fixture_ask(struct fixture *f, const struct ask_options *options, struct kndl_buf *head,
                struct kndl_buf *body)
{
    int fd = fixture_send(f, options);
    int status = kndl_raw_read_answer(fd, head, body);

    close(fd);
    return status;
}

int fixture_status(struct fixture *f, const struct ask_options *options)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf head = {0}, body = {0};

    return fixture_ask(f, options, &head, &body);
}

int fixture_call(struct fixture *f, const char *method, const char *json, struct kndl_buf *body)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf head = {0};

    return fixture_ask(f,
                       &(struct ask_options){
                           .path = method,
                           .origin = "own",
                           .cookie = fixture_web_token,
                           .body = kndl_slice_of(json),
                       },
                       &head, body);
}
