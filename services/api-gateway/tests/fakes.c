#include "fakes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kndl/id.h"
#include "kndl/mem.h"

enum { REQUESTS_MAX = 20000 };

struct waiting {
    struct fake_request *request;
    kndl_reply_fn fn;
    void *data;
    struct waiting *next;
};

struct kndl_subscription {
    char subject[128];
    kndl_message_fn fn;
    void *data;
    struct kndl_subscription *next;
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    fake_answer_fn answer;
    bool is_connected;
    struct fake_request *requests[REQUESTS_MAX];
    int count;
    struct waiting *waiting;
    struct kndl_subscription *subscriptions;
} fake = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

struct kndl_bus *fake_bus(fake_answer_fn answer)
{
    fake.answer = answer;
    fake.is_connected = true;
    return (struct kndl_bus *)&fake;
}

static void free_request(struct fake_request *request)
{
    kndl_buf_done(&request->data);
    free(request);
}

void fake_bus_done(void)
{
    for (int i = 0; i < fake.count; i++)
        free_request(fake.requests[i]);
    fake.count = 0;
    while (fake.waiting != NULL) {
        struct waiting *next = fake.waiting->next;
        free(fake.waiting);
        fake.waiting = next;
    }
}

void fake_set_connected(bool connected)
{
    pthread_mutex_lock(&fake.lock);
    fake.is_connected = connected;
    pthread_mutex_unlock(&fake.lock);
}

bool kndl_bus_is_connected(struct kndl_bus *bus)
{
    (void)bus;
    pthread_mutex_lock(&fake.lock);
    bool is_connected = fake.is_connected;
    pthread_mutex_unlock(&fake.lock);
    return is_connected;
}

static struct fake_request *copy(const struct kndl_request *request)
{
    static const char *const kinds[] = {"person", "runner", "service"};
    struct fake_request *kept = kndl_new0(struct fake_request);

    snprintf(kept->service, sizeof kept->service, "%s", request->service->name);
    snprintf(kept->method, sizeof kept->method, "%s", request->method);
    snprintf(kept->actor, sizeof kept->actor, "%s/%s", kinds[request->actor.kind],
             request->actor.id);
    snprintf(kept->trace, sizeof kept->trace, "%s", request->trace == NULL ? "" : request->trace);
    kept->timeout_ms = request->timeout_ms;
    kndl_buf_append(&kept->data, request->data.data, request->data.size);
    return kept;
}

/* True: it was answered. */
static bool try_answer(struct fake_request *request, kndl_reply_fn fn, void *data)
{
    struct kndl_buf out = {0};
    struct kndl_reply reply = {.trace = request->trace};

    if (!fake.answer(request, &out, &reply.err)) {
        kndl_buf_done(&out);
        return false;
    }
    reply.data = reply.err.code == KNDL_OK ? kndl_buf_slice(&out) : (struct kndl_slice){0};
    fn(&reply, data);
    kndl_buf_done(&out);
    return true;
}

int kndl_bus_send(struct kndl_bus *bus, const struct kndl_request *request, kndl_reply_fn fn,
                  void *data, struct kndl_error *err)
{
    struct fake_request *kept = copy(request);

    if (!kndl_bus_is_connected(bus)) {
        free_request(kept);
        return kndl_fail(err, KNDL_UNAVAILABLE, "NATS is away");
    }
    pthread_mutex_lock(&fake.lock);
    if (fake.count == REQUESTS_MAX)
        abort();
    fake.requests[fake.count++] = kept;
    pthread_cond_broadcast(&fake.changed);
    pthread_mutex_unlock(&fake.lock);
    if (try_answer(kept, fn, data))
        return 0;
    struct waiting *waiting = kndl_new0(struct waiting);
    *waiting = (struct waiting){kept, fn, data, NULL};
    pthread_mutex_lock(&fake.lock);
    waiting->next = fake.waiting;
    fake.waiting = waiting;
    pthread_mutex_unlock(&fake.lock);
    return 0;
}

void fake_release(void)
{
    pthread_mutex_lock(&fake.lock);
    struct waiting *list = fake.waiting;
    fake.waiting = NULL;
    pthread_mutex_unlock(&fake.lock);
    while (list != NULL) {
        struct waiting *next = list->next;

        if (try_answer(list->request, list->fn, list->data)) {
            free(list);
        } else {
            pthread_mutex_lock(&fake.lock);
            list->next = fake.waiting;
            fake.waiting = list;
            pthread_mutex_unlock(&fake.lock);
        }
        list = next;
    }
}

/* Under the lock. */
static int count_of(const char *method)
{
    int count = 0;

    for (int i = 0; i < fake.count; i++)
        count += strcmp(fake.requests[i]->method, method) == 0;
    return count;
}

int fake_count(const char *method)
{
    pthread_mutex_lock(&fake.lock);
    int count = count_of(method);
    pthread_mutex_unlock(&fake.lock);
    return count;
}

bool fake_wait(const char *method, int times)
{
    struct timespec deadline;
    int result = 0;

    clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_sec += 20;
    pthread_mutex_lock(&fake.lock);
    while (count_of(method) < times && result == 0)
        result = pthread_cond_timedwait(&fake.changed, &fake.lock, &deadline);
    bool reached = count_of(method) >= times;
    pthread_mutex_unlock(&fake.lock);
    return reached;
}

const struct fake_request *fake_newest(const char *method)
{
    const struct fake_request *found = NULL;

    pthread_mutex_lock(&fake.lock);
    for (int i = 0; i < fake.count; i++)
        if (strcmp(fake.requests[i]->method, method) == 0)
            found = fake.requests[i];
    pthread_mutex_unlock(&fake.lock);
    return found;
}

static const char *live_word(enum kndl_live what)
{
    return what == KNDL_LIVE_EVENT ? "event" : what == KNDL_LIVE_DELTA ? "delta" : "summary";
}

static int subscribe(const char *subject, kndl_message_fn fn, void *data,
                     struct kndl_subscription **ret_sub)
{
    struct kndl_subscription *sub = kndl_new0(struct kndl_subscription);

    snprintf(sub->subject, sizeof sub->subject, "%s", subject);
    sub->fn = fn;
    sub->data = data;
    pthread_mutex_lock(&fake.lock);
    sub->next = fake.subscriptions;
    fake.subscriptions = sub;
    pthread_mutex_unlock(&fake.lock);
    *ret_sub = sub;
    return 0;
}

int kndl_bus_subscribe_live(struct kndl_bus *bus, const char *session_id, enum kndl_live what,
                            kndl_message_fn fn, void *data, struct kndl_subscription **ret_sub,
                            struct kndl_error *err)
{
    char subject[128];

    (void)bus;
    (void)err;
    snprintf(subject, sizeof subject, "kndl.live.%s.%s", session_id == NULL ? "*" : session_id,
             live_word(what));
    return subscribe(subject, fn, data, ret_sub);
}

int kndl_bus_subscribe_fact(struct kndl_bus *bus, const char *owner, const char *what,
                            kndl_message_fn fn, void *data, struct kndl_subscription **ret_sub,
                            struct kndl_error *err)
{
    char subject[128];

    (void)bus;
    (void)err;
    snprintf(subject, sizeof subject, "kndl.fact.%s.%s", owner, what);
    return subscribe(subject, fn, data, ret_sub);
}

void kndl_bus_unsubscribe(struct kndl_subscription *gone)
{
    if (gone == NULL)
        return;
    pthread_mutex_lock(&fake.lock);
    struct kndl_subscription **at = &fake.subscriptions;
    while (*at != gone)
        at = &(*at)->next;
    *at = gone->next;
    pthread_mutex_unlock(&fake.lock);
    free(gone);
}

int fake_subscriptions(void)
{
    int count = 0;

    pthread_mutex_lock(&fake.lock);
    for (struct kndl_subscription *sub = fake.subscriptions; sub != NULL; sub = sub->next)
        count++;
    pthread_mutex_unlock(&fake.lock);
    return count;
}

/* Of "*" and the subject itself. */
static void publish(const char *subject, const char *wildcard, struct kndl_slice data)
{
    pthread_mutex_lock(&fake.lock);
    for (struct kndl_subscription *sub = fake.subscriptions; sub != NULL; sub = sub->next)
        if (strcmp(sub->subject, subject) == 0 || strcmp(sub->subject, wildcard) == 0)
            sub->fn(subject, data, sub->data);
    pthread_mutex_unlock(&fake.lock);
}

void fake_pack(struct kndl_buf *out, const ProtobufCMessage *message)
{
    size_t size = protobuf_c_message_get_packed_size(message);

    protobuf_c_message_pack(message, (uint8_t *)kndl_buf_reserve(out, size));
    out->size += size;
}

void fake_live(const char *session_id, enum kndl_live what, const ProtobufCMessage *message)
{
    struct kndl_buf data = {0};
    char subject[128];
    char wildcard[128];

    fake_pack(&data, message);
    snprintf(subject, sizeof subject, "kndl.live.%s.%s", session_id, live_word(what));
    snprintf(wildcard, sizeof wildcard, "kndl.live.*.%s", live_word(what));
    publish(subject, wildcard, kndl_buf_slice(&data));
    kndl_buf_done(&data);
}

static void publish_fact(const char *owner, const char *what, struct kndl_slice data)
{
    char subject[128];
    char wildcard[128];

    snprintf(subject, sizeof subject, "kndl.fact.%s.%s", owner, what);
    snprintf(wildcard, sizeof wildcard, "kndl.fact.%s.*", owner);
    publish(subject, wildcard, data);
}

void fake_fact(const char *owner, const char *what)
{
    publish_fact(owner, what, (struct kndl_slice){0});
}

void fake_fact_of(const char *owner, const char *what, const ProtobufCMessage *message)
{
    struct kndl_buf data = {0};

    fake_pack(&data, message);
    publish_fact(owner, what, kndl_buf_slice(&data));
    kndl_buf_done(&data);
}
