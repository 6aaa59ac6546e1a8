/* Buckets in a table of small sets; in a full set the fullest bucket (the idlest) makes room. */

#include "rate.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "kndl/clock.h"
#include "kndl/mem.h"
#include "kndl/token.h"

enum { SETS = 4096, WAYS = 4 };

/* A level counts in what one of an hour gains in a ms, so that no refill is rounded away however
 * often it is looked at. */
enum { TOKEN = 3600 * 1000 };

static const struct {
    int64_t most; /* at once */
    int64_t in_an_hour;
    const char *what; /* was too much */
} table[] = {
    [RATE_SIGN_IN] = {10, 10 * 60, "too many sign-ins from here"},
    [RATE_RETURN] = {30, 30 * 60, "too many sign-ins from here"},
    [RATE_POLL] = {60, 60 * 60, "asked too often from here"},
    [RATE_BAD_TOKEN] = {20, 20 * 60, "too many tokens that are not known"},
    [RATE_COMMAND] = {60, 30 * 3600, "too many requests"},
    [RATE_COMMAND_ADDRESS] = {600, 300 * 3600, "too many requests"},
    [RATE_READ] = {400, 200 * 3600, "too many requests"},
    [RATE_INVITE] = {20, 20, "20 Invites an hour"},
    [RATE_GUESS] = {20, 20 * 60, "too many codes"},
    [RATE_CONFIRM] = {10, 10 * 60, "too many confirmations"},
    [RATE_SOCKET] = {20, 10 * 3600, "too many sockets at once"},
    [RATE_SOCKET_ADDRESS] = {20, 10 * 3600, "too many sockets at once"},
};

struct bucket {
    uint64_t key; /* 0: free */
    enum rate rate;
    int64_t level;
    int64_t at_ms;
};

struct rates {
    uint64_t seed;
    struct bucket buckets[SETS][WAYS];
};

const char *rate_address(const struct gateway *gateway, const struct kndl_web_request *request)
{
    static char address[INET6_ADDRSTRLEN]; /* on the loop's thread */
    const char *peer = kndl_web_peer(request);
    const char *forwarded = kndl_web_header(request, "x-forwarded-for");
    struct in6_addr any;

    if (gateway->settings.proxy[0] == '\0' || forwarded == NULL ||
        strcmp(peer, gateway->settings.proxy) != 0)
        return peer;
    /* The last one is the proxy's own; what stands before it anybody can have written. */
    const char *comma = strrchr(forwarded, ',');
    const char *last = comma == NULL ? forwarded : comma + 1;
    last += strspn(last, " ");
    if (strlen(last) >= sizeof address ||
        (inet_pton(AF_INET, last, &any) != 1 && inet_pton(AF_INET6, last, &any) != 1))
        return peer;
    return strcpy(address, last);
}

static uint64_t hash(uint64_t state, const void *data, size_t size)
{
    const uint8_t *bytes = data;

    for (size_t i = 0; i < size; i++)
        state = (state ^ bytes[i]) * 0x100000001b3;
    return state;
}

/* IPv6 addresses count by their /64: who has one has all of it. */
static uint64_t key_of(const struct rates *rates, enum rate rate, const char *who)
{
    struct in6_addr six;
    uint8_t kind = (uint8_t)rate;
    uint64_t key = hash(rates->seed ^ 0xcbf29ce484222325, &kind, 1);

    if (strchr(who, ':') != NULL && inet_pton(AF_INET6, who, &six) == 1)
        key = hash(key, &six, 8);
    else
        key = hash(key, who, strlen(who));
    return key == 0 ? 1 : key;
}

static int64_t most_of(enum rate rate)
{
    return table[rate].most * TOKEN;
}

static int64_t level_now(const struct bucket *bucket, int64_t now_ms)
{
    int64_t level = bucket->level + (now_ms - bucket->at_ms) * table[bucket->rate].in_an_hour;

    return level < most_of(bucket->rate) ? level : most_of(bucket->rate);
}

static struct bucket *find(struct rates *rates, enum rate rate, uint64_t key, int64_t now_ms)
{
    struct bucket *set = rates->buckets[key % SETS];
    struct bucket *idlest = &set[0];

    for (int i = 0; i < WAYS; i++) {
        if (set[i].key == key)
            return &set[i];
        if (idlest->key != 0 &&
            (set[i].key == 0 || most_of(set[i].rate) - level_now(&set[i], now_ms) <
                                    most_of(idlest->rate) - level_now(idlest, now_ms)))
            idlest = &set[i];
    }
    *idlest = (struct bucket){key, rate, most_of(rate), now_ms};
    return idlest;
}

static int refuse(enum rate rate, int64_t level, struct kndl_error *err)
{
    int64_t in_an_hour = table[rate].in_an_hour;
    int64_t wait_ms = (TOKEN - level + in_an_hour - 1) / in_an_hour;
    int64_t wait_s = (wait_ms + 999) / 1000;

    if (wait_s == 1)
        kndl_fail(err, KNDL_RESOURCE_EXHAUSTED, "%s; come back in a second", table[rate].what);
    else if (wait_s <= 90)
        kndl_fail(err, KNDL_RESOURCE_EXHAUSTED, "%s; come back in %d seconds", table[rate].what,
                  (int)wait_s);
    else
        kndl_fail(err, KNDL_RESOURCE_EXHAUSTED, "%s; come back in %d minutes", table[rate].what,
                  (int)((wait_s + 59) / 60));
    if (err != NULL)
        err->retry_ms = (uint32_t)wait_ms;
    return -1;
}

int rate_take(struct gateway *gateway, enum rate rate, const char *who, struct kndl_error *err)
{
    struct rates *rates = gateway->rates;
    int64_t now_ms = kndl_clock_ms();
    struct bucket *bucket = find(rates, rate, key_of(rates, rate, who), now_ms);

    bucket->level = level_now(bucket, now_ms);
    bucket->at_ms = now_ms;
    if (bucket->level < TOKEN)
        return refuse(rate, bucket->level, err);
    bucket->level -= TOKEN;
    return 0;
}

void rate_open(struct gateway *gateway)
{
    gateway->rates = kndl_new0(struct rates);
    kndl_random(&gateway->rates->seed, sizeof gateway->rates->seed);
}

void rate_close(struct gateway *gateway)
{
    free(gateway->rates);
}
