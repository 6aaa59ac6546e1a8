/*
 * Does the time of a look-up tell how near a token is (faults 35)? Asks for tokens that differ from
 * a good one in the first character, in the last one, and in all of them, in random order. Prints
 * the mean of each, the ratio of the means to the first's, and p of Welch's t-test between the
 * kinds: a small p (0.01) with a ratio that is not 1.00 would be a leak. Nothing passes or fails by
 * it.
 */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kndl/clock.h"
#include "kndl/env.h"
#include "kndl/mem.h"
#include "kndl/secret.h"
#include "kndl/testing.h"
#include "kndl/token.h"
#include "settings.h"
#include "signin.h"
#include "store.h"

enum {
    TRIES = 100000,
    WARM_UP = 1000,
    OTHERS = 1000,
    KINDS = 3,
    SECRET_AT = 9,
    SECRET_CHARS = 43,
    WRONGS = 61
};

static const char *const names[KINDS] = {"first character wrong", "last character wrong",
                                         "unknown"};

struct series {
    double count;
    double sum;
    double squares;
};

static void add(struct series *series, double took_ns)
{
    series->count++;
    series->sum += took_ns;
    series->squares += took_ns * took_ns;
}

static double mean(const struct series *series)
{
    return series->sum / series->count;
}

/* Of the mean, squared. */
static double error_of(const struct series *series)
{
    return (series->squares - series->sum * series->sum / series->count) / (series->count - 1) /
           series->count;
}

/* Two-sided; of so many tries t is as good as normal. */
static double p_of(const struct series *a, const struct series *b)
{
    return erfc(fabs(mean(a) - mean(b)) / sqrt(2 * (error_of(a) + error_of(b))));
}

static void open_store(struct store **ret_store, char ret_person[64])
{
    const struct person ada = {.id = "ada", .github_id = 501, .login = "ada", .name = "Ada"};
    struct kndl_arena *arena = kndl_arena_new(KNDL_ARENA_PLAIN);
    struct kndl_error err;
    struct person person;

    setenv("HUB_DATABASE_URL", kndl_test_database(), 1);
    setenv("HUB_PUBLIC_URL", "http://127.0.0.1:8080", 1);
    if (kndl_secret_guard_process(&err) < 0 || kndl_env_load(settings, &err) < 0 ||
        store_migrate(&err) < 0 || store_open(ret_store, &err) < 0 ||
        store_admit_person(*ret_store, &ada, kndl_clock_wall_ms(), arena, &person, &err) < 0) {
        fprintf(stderr, "%s\n", err.message);
        exit(1);
    }
    snprintf(ret_person, 64, "%s", person.id);
    kndl_arena_free(arena);
}

static void issue(struct store *store, const char *person, struct kndl_secret *ret_token)
{
    struct kndl_error err;
    int64_t expires_at_ms;

    if (signin_issue(store, person, SIGNIN_CLI, "laptop", ret_token, &expires_at_ms, &err) < 0)
        abort();
}

/* The wrong tokens, made before: so many of each kind, so that each is as familiar to the caches.
 */
static char wrong[KINDS][WRONGS][KNDL_TOKEN_CHARS + 1];

static void spoil(const struct kndl_secret *good)
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

    for (int kind = 0; kind < KINDS; kind++) {
        size_t at = kind == 0 ? SECRET_AT : SECRET_AT + SECRET_CHARS - 1;
        const char *digit = digits;

        for (int i = 0; i < WRONGS; i++) {
            KNDL_CLEANUP(kndl_secret_done) struct kndl_secret other = {0};

            kndl_token_new(KNDL_TOKEN_CLI, &other);
            memcpy(wrong[kind][i], kind == 2 ? other.data : good->data, KNDL_TOKEN_CHARS + 1);
            if (kind == 2)
                continue;
            digit += *digit == (char)good->data[at];
            wrong[kind][i][at] = *digit++;
        }
    }
}

/* Nanoseconds of what authenticating takes: the hash, the row, the comparison, the refusal. */
static double ask(struct store *store, struct kndl_arena *arena, const char *text)
{
    uint8_t hash[KNDL_HASH_BYTES];
    struct kndl_error err = {0};
    struct holder holder;
    struct timespec began, ended;

    kndl_arena_reset(arena);
    clock_gettime(CLOCK_MONOTONIC, &began);
    kndl_hash(kndl_slice_of(text), hash);
    int result = signin_find(store, &(ProtobufCBinaryData){sizeof hash, hash}, SIGNIN_CLI, arena,
                             &holder, &err);
    clock_gettime(CLOCK_MONOTONIC, &ended);
    if (result == 0 || err.code != KNDL_UNAUTHENTICATED)
        abort();
    return (double)(ended.tv_sec - began.tv_sec) * 1e9 + (double)(ended.tv_nsec - began.tv_nsec);
}

int main(void)
{
    KNDL_CLEANUP(kndl_secret_done) struct kndl_secret good = {0};
    struct kndl_arena *arena = kndl_arena_new(KNDL_ARENA_PLAIN);
    struct series series[KINDS] = {0};
    char person[64];
    struct store *store;

    open_store(&store, person);
    for (int i = 0; i < OTHERS; i++) {
        KNDL_CLEANUP(kndl_secret_done) struct kndl_secret other = {0};

        issue(store, person, &other);
    }
    issue(store, person, &good);
    spoil(&good);
    for (int tries = -WARM_UP; tries < KINDS * TRIES; tries++) {
        uint8_t drawn[2];

        kndl_random(drawn, sizeof drawn); /* in no order: what was asked before tells nothing */
        int kind = drawn[0] % KINDS;
        double took_ns = ask(store, arena, wrong[kind][drawn[1] % WRONGS]);
        if (tries >= 0)
            add(&series[kind], took_ns);
    }
    for (int kind = 0; kind < KINDS; kind++)
        printf("%-22s mean %.1f us, ratio %.4f, p %.3f (%.0f tries)\n", names[kind],
               mean(&series[kind]) / 1000, mean(&series[kind]) / mean(&series[0]),
               p_of(&series[kind], &series[0]), series[kind].count);
    printf("last character wrong against unknown: p %.3f\n", p_of(&series[1], &series[2]));
    kndl_arena_free(arena);
    store_close(store);
    return 0;
}
