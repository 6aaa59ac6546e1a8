/* Tries until the Hub is there. */

#include "join.h"

#include "credential.h"
#include "kndl/bus.h"
#include "kndl/env.h"
#include "kndl/log.h"
#include "kndl/loop.h"
#include "kndl/token.h"
#include "runner.h"

enum { PAUSE_MS_LEAST = 100, PAUSE_MS_MOST = 5000 };

struct join {
    struct runner *runner;
    struct kndl_timer *timer; /* the next try */
    uint64_t pause_ms;
    struct kndl_error *err;
    bool has_failed, is_stopped;
};

/* Half of it to all of it. */
static uint64_t spread(uint64_t pause_ms)
{
    uint16_t part;

    kndl_random(&part, sizeof part);
    return pause_ms / 2 + pause_ms / 2 * part / UINT16_MAX;
}

static int try_once(struct runner *runner, uint64_t *ret_pause_ms, struct kndl_error *err)
{
    struct kndl_bus_signer signer = credential_signer(runner->credential);
    struct kndl_bus_options options = {
        .url = kndl_env_get("RUNNER_NATS_URL"),
        .signer = &signer,
        .user = "runner",
        .send_asap = true,
    };

    if (runner->id == NULL && credential_begin(runner->credential, ret_pause_ms, err) < 0)
        return -1;
    runner->id = credential_runner_id(runner->credential);
    options.runner_id = runner->id;
    return kndl_bus_open(&options, &runner->bus, err);
}

/* Another try would not change it. */
static bool is_final(enum kndl_code code)
{
    return code != KNDL_UNAVAILABLE && code != KNDL_DEADLINE_EXCEEDED &&
           code != KNDL_FAILED_PRECONDITION;
}

static void try_again(void *data)
{
    struct join *join = data;
    uint64_t refused_ms = 0;

    if (try_once(join->runner, &refused_ms, join->err) == 0) {
        kndl_loop_stop(join->runner->loop);
        return;
    }
    if (is_final(join->err->code)) {
        join->has_failed = true;
        kndl_loop_stop(join->runner->loop);
        return;
    }
    if (refused_ms == 0)
        kndl_log(KNDL_WARNING, "waiting for the Hub", KNDL_STR("why", join->err->message));
    kndl_timer_start(join->timer, refused_ms > 0 ? refused_ms : spread(join->pause_ms), 0);
    join->pause_ms = 2 * join->pause_ms > PAUSE_MS_MOST ? PAUSE_MS_MOST : 2 * join->pause_ms;
}

static void stop(void *data)
{
    struct join *join = data;

    join->is_stopped = true;
    kndl_loop_stop(join->runner->loop);
}

int join_hub(struct runner *runner, bool *ret_stopped, struct kndl_error *err)
{
    struct join join = {.runner = runner, .pause_ms = PAUSE_MS_LEAST, .err = err};

    join.timer = kndl_timer_new(runner->loop, try_again, &join);
    kndl_timer_start(join.timer, 0, 0);
    kndl_loop_run(runner->loop, stop, &join);
    kndl_timer_free(join.timer);
    *ret_stopped = join.is_stopped;
    return join.has_failed ? -1 : 0;
}
