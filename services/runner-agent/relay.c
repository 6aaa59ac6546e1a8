/* The relay's routes. */

#include "relay.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "budget.h"
#include "kndl/clock.h"
#include "kndl/log.h"
#include "kndl/loop.h"
#include "kndl/mem.h"
#include "kndl/publics.h"
#include "kndl/web.h"

enum { HELD_MAX = 256, SWEEP_MS = 1000, CONNECTIONS_MAX = 64 };

/* A request that is answered later. */
struct relay_held {
    struct relay *relay;              /* NULL: closed */
    struct kndl_web_request *request; /* NULL: its client went away */
    enum { BATCH, ORDERS, ANSWER } what;
    int64_t after;
    char *question_id;
    int64_t until_ms; /* of the polls */
    struct relay_held *next;
};

struct relay {
    struct relay_options options;
    char *session_id;
    int listen_fd;
    struct kndl_web *web;
    struct kndl_timer *sweep;
    uint8_t hash[KNDL_HASH_BYTES];
    bool has_token;
    bool is_ready;
    struct budget budget;
    struct relay_held *held;
    size_t held_count;
};

static const struct kndl_web_header json_type[] = {
    {"content-type", "application/json"},
    {"cache-control", "no-store"},
    {NULL, NULL},
};

static void answer_text(struct kndl_web_request *request, int status, const char *text)
{
    kndl_web_answer(request, status, json_type, kndl_slice_of(text));
}

static void answer_after(struct kndl_web_request *request, int seconds)
{
    char text[16];
    const struct kndl_web_header headers[] = {{"retry-after", text}, {NULL, NULL}};

    (void)snprintf(text, sizeof text, "%d", seconds);
    kndl_web_answer(request, 503, headers, (struct kndl_slice){0});
}

static void answer_again(struct kndl_web_request *request)
{
    answer_after(request, 1);
}

/* ---------------------------------------------------------------------------- held requests */

static struct relay_held *hold(struct relay *relay, struct kndl_web_request *request)
{
    struct relay_held *held;

    if (relay->held_count >= HELD_MAX) {
        answer_again(request);
        return NULL;
    }
    held = kndl_new0(struct relay_held);
    held->relay = relay;
    held->request = request;
    held->next = relay->held;
    relay->held = held;
    relay->held_count++;
    kndl_web_set_data(request, held);
    return held;
}

static void let_go(struct relay_held *held)
{
    if (held->relay != NULL) {
        struct relay_held **at = &held->relay->held;

        while (*at != held)
            at = &(*at)->next;
        *at = held->next;
        held->relay->held_count--;
    }
    free(held->question_id);
    free(held);
}

static void on_abort(struct kndl_web_request *request, void *data)
{
    struct relay_held *held = kndl_web_data(request);

    (void)data;
    if (held == NULL)
        return;
    held->request = NULL;
    if (held->what != BATCH)
        let_go(held); /* a batch is still being stored */
}

void relay_taken(struct relay_held *held, uint64_t next)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf body = {0};

    if (held->request != NULL) {
        kndl_buf_printf(&body, "{\"next\":%llu}", (unsigned long long)next);
        kndl_web_set_data(held->request, NULL);
        kndl_web_answer(held->request, 200, json_type, kndl_buf_slice(&body));
    }
    let_go(held);
}

void relay_refuse(struct relay_held *held)
{
    if (held->request != NULL) {
        kndl_web_set_data(held->request, NULL);
        answer_again(held->request);
    }
    let_go(held);
}

/* -------------------------------------------------------------------------------- the polls */

static void log_fetched(struct relay *relay, const char *id, int64_t n)
{
    kndl_log(KNDL_INFO, "relay gave an order", KNDL_STR("session", relay->session_id),
             KNDL_STR("id", id), KNDL_I64("n", n), KNDL_I64("at_us", kndl_clock_us()));
}

/* Answers a poll if there is something; false: it goes on waiting. */
static bool try_poll(struct relay_held *held)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf body = {0};
    struct relay *relay = held->relay;
    struct kndl_web_request *request = held->request;
    const char *id = "";
    int status = 204;

    if (held->what == ORDERS) {
        int64_t n = relay->options.fetch_order(relay->options.data, held->after, &body, &id);

        if (n > 0) {
            status = 200;
            log_fetched(relay, id, n);
        }
    } else {
        enum answer_state state =
            relay->options.look_answer(relay->options.data, held->question_id, &body);

        status = state == ANSWER_HERE ? 200 : state == ANSWER_CLOSED ? 410 : 204;
    }
    if (status == 204 && kndl_clock_ms() < held->until_ms)
        return false;
    kndl_web_set_data(request, NULL);
    kndl_web_answer(request, status, json_type, kndl_buf_slice(&body));
    let_go(held);
    return true;
}

void relay_wake(struct relay *relay)
{
    struct relay_held *next;

    if (relay == NULL)
        return;
    for (struct relay_held *held = relay->held; held != NULL; held = next) {
        next = held->next;
        if (held->what != BATCH)
            (void)try_poll(held);
    }
}

static void look_again(void *data)
{
    struct relay *relay = data;

    if (budget_is_long_over(&relay->budget, kndl_clock_ms()))
        relay->options.on_slowed(relay->options.data);
    relay_wake(relay);
}

/* --------------------------------------------------------------------------------- routes */

static void refuse_body(struct relay *relay, struct kndl_web_request *request,
                        const struct kndl_error *err)
{
    kndl_log(KNDL_WARNING, "the relay refused what it cannot read",
             KNDL_STR("session", relay->session_id), KNDL_STR("why", err->message));
    kndl_web_answer(request, 400, NULL, (struct kndl_slice){0});
}

/* Within the Sandbox's share of the loop; NULL: it was answered. */
static struct kndl_json *parse_body(struct relay *relay, struct kndl_web_request *request)
{
    struct kndl_slice body = kndl_web_body(request);
    struct kndl_json *json;
    struct kndl_error err = {0};
    int again_s;

    if (!budget_allows(&relay->budget, kndl_clock_ms(), &again_s)) {
        answer_after(request, again_s);
        return NULL;
    }
    if (kndl_json_parse_some(body, RELAY_BODY_BYTES_MAX, RELAY_VALUES_MAX, &json, &err) < 0) {
        budget_spend(&relay->budget, body.size, RELAY_VALUES_MAX);
        refuse_body(relay, request, &err);
        return NULL;
    }
    budget_spend(&relay->budget, body.size, kndl_json_value_count(json));
    return json;
}

static void take_hello(struct relay *relay, struct kndl_web_request *request)
{
    struct kndl_json *json = parse_body(relay, request);
    struct claude_hello hello;
    struct kndl_error err = {0};

    if (json == NULL)
        return;
    if (claude_read_hello(json, &hello, &err) < 0) {
        refuse_body(relay, request, &err);
    } else {
        answer_text(request, 200, "{}");
        relay->options.on_hello(relay->options.data, &hello);
    }
    kndl_json_free(json);
}

/* Pieces of text as it streams are no Events. */
static size_t count_events(const struct kndl_value *events)
{
    size_t count = 0;

    for (size_t i = 0; i < kndl_json_count(events); i++) {
        const struct kndl_value *type = kndl_json_get(kndl_json_at(events, i), "type");

        count += strcmp(kndl_json_text(type, ""), "delta") != 0;
    }
    return count;
}

static void take_batch(struct relay *relay, struct kndl_web_request *request)
{
    int64_t received_us = kndl_web_received_us(request);
    struct kndl_json *json = parse_body(relay, request);
    struct claude_batch batch;
    struct relay_held *held;
    struct kndl_error err = {0};

    if (json == NULL)
        return;
    if (claude_read_batch(json, &batch, &err) < 0) {
        refuse_body(relay, request, &err);
    } else if ((held = hold(relay, request)) != NULL) {
        kndl_log(KNDL_INFO, "relay took events", KNDL_STR("session", relay->session_id),
                 KNDL_U64("first", batch.first), KNDL_U64("count", kndl_json_count(batch.events)),
                 KNDL_I64("received_us", received_us));
        held->what = BATCH;
        budget_spend_events(&relay->budget, count_events(batch.events));
        relay->options.on_batch(relay->options.data, held, &batch, received_us);
    }
    kndl_json_free(json);
}

static void take_result(struct relay *relay, struct kndl_web_request *request)
{
    struct kndl_json *json = parse_body(relay, request);
    struct claude_result result;
    struct kndl_error err = {0};

    if (json == NULL)
        return;
    if (claude_read_result(json, &result, &err) < 0) {
        refuse_body(relay, request, &err);
    } else {
        answer_text(request, 200, "{}");
        relay->options.on_result(relay->options.data, &result);
    }
    kndl_json_free(json);
}

static void poll_orders(struct relay *relay, struct kndl_web_request *request)
{
    const char *query = kndl_web_query(request);
    struct relay_held *held;
    char *end;
    long long after;

    if (strncmp(query, "after=", 6) != 0) {
        kndl_web_answer(request, 400, NULL, (struct kndl_slice){0});
        return;
    }
    after = strtoll(query + 6, &end, 10);
    if (end == query + 6 || *end != '\0' || after < 0) {
        kndl_web_answer(request, 400, NULL, (struct kndl_slice){0});
        return;
    }
    held = hold(relay, request);
    if (held == NULL)
        return;
    held->what = ORDERS;
    held->after = after;
    held->until_ms = kndl_clock_ms() + RELAY_POLL_MS;
    (void)try_poll(held);
}

static void poll_answer(struct relay *relay, struct kndl_web_request *request, const char *id)
{
    struct relay_held *held = hold(relay, request);

    if (held == NULL)
        return;
    held->what = ANSWER;
    held->question_id = kndl_strdup(id);
    held->until_ms = kndl_clock_ms() + RELAY_POLL_MS;
    (void)try_poll(held);
}

/* In constant time, and of every wrong token alike. */
static bool is_let_in(const struct relay *relay, const struct kndl_web_request *request)
{
    const char *header = kndl_web_header(request, "authorization");
    uint8_t hash[KNDL_HASH_BYTES];

    if (header == NULL || strncmp(header, "Bearer ", 7) != 0)
        return false;
    kndl_hash(kndl_slice_of(header + 7), hash);
    return relay->has_token && kndl_hash_equal(hash, relay->hash);
}

static void take(struct relay *relay, struct kndl_web_request *request)
{
    const char *path = kndl_web_path(request);

    switch ((int)kndl_path_find(KNDL_DOOR_RELAY, kndl_web_method(request), path)) {
    case KNDL_PATH_MOD_HELLO:
        take_hello(relay, request);
        break;
    case KNDL_PATH_MOD_EVENTS:
        take_batch(relay, request);
        break;
    case KNDL_PATH_MOD_RESULTS:
        take_result(relay, request);
        break;
    case KNDL_PATH_MOD_COMMANDS:
        poll_orders(relay, request);
        break;
    case KNDL_PATH_MOD_ANSWER:
        poll_answer(relay, request, path + strlen("/mod/answers/"));
        break;
    default:
        kndl_web_answer(request, 404, NULL, (struct kndl_slice){0});
    }
}

static void on_request(struct kndl_web_request *request, void *data)
{
    struct relay *relay = data;

    if (!is_let_in(relay, request))
        kndl_web_answer(request, 401, NULL, (struct kndl_slice){0});
    else if (!relay->is_ready)
        answer_again(request);
    else
        take(relay, request);
}

int relay_open(const struct relay_options *options, struct relay **ret_relay,
               struct kndl_error *err)
{
    struct relay *relay = kndl_new0(struct relay);
    struct kndl_web_options web = {
        .listen_fd = options->listen_fd,
        .body_bytes_max = RELAY_BODY_BYTES_MAX,
        .bodies_bytes_max = RELAY_BODIES_BYTES_MAX,
        .connections_max = CONNECTIONS_MAX,
        .data = relay,
        .on_request = on_request,
        .on_abort = on_abort,
    };

    relay->options = *options;
    relay->listen_fd = options->listen_fd;
    if (kndl_web_open(options->loop, &web, &relay->web, err) < 0) {
        close(relay->listen_fd);
        free(relay);
        return -1;
    }
    relay->session_id = kndl_strdup(options->session_id);
    budget_init(&relay->budget, kndl_clock_ms());
    relay->sweep = kndl_timer_new(options->loop, look_again, relay);
    kndl_timer_start(relay->sweep, SWEEP_MS, SWEEP_MS);
    *ret_relay = relay;
    return 0;
}

void relay_close(struct relay *relay)
{
    if (relay == NULL)
        return;
    kndl_timer_free(relay->sweep);
    while (relay->held != NULL) {
        struct relay_held *held = relay->held;

        relay->held = held->next;
        held->relay = NULL;
        if (held->request != NULL)
            kndl_web_set_data(held->request, NULL);
        held->request = NULL;
        if (held->what != BATCH)
            let_go(held);
    }
    kndl_web_close(relay->web);
    close(relay->listen_fd);
    explicit_bzero(relay->hash, sizeof relay->hash);
    free(relay->session_id);
    free(relay);
}

void relay_set_token(struct relay *relay, const uint8_t hash[KNDL_HASH_BYTES])
{
    memcpy(relay->hash, hash, KNDL_HASH_BYTES);
    relay->has_token = true;
}

void relay_set_ready(struct relay *relay, bool is_ready)
{
    relay->is_ready = is_ready;
}
