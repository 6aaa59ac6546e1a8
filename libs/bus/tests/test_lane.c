/* Lanes: in order, bounded, and no Runner takes another's place. */

#include "lane.h"

#include <string.h>

#include <nats/nats.h>

#include "kndl/testing.h"

static void fill(struct lane *lane, unsigned count, uint32_t runner, bool is_shared)
{
    struct job job = {.runner = runner, .is_shared = is_shared};

    for (unsigned i = 0; i < count; i++) {
        natsMsg_Create(&job.message, "x", NULL, NULL, 0);
        job.taken_us = i;
        assert_int_equal(lane_put(lane, &job), LANE_TAKEN);
    }
}

static enum lane_verdict try(struct lane *lane, uint32_t runner, bool is_shared)
{
    struct job job = {.runner = runner, .is_shared = is_shared};

    natsMsg_Create(&job.message, "x", NULL, NULL, 0);
    enum lane_verdict verdict = lane_put(lane, &job);
    if (verdict != LANE_TAKEN)
        natsMsg_Destroy(job.message);
    return verdict;
}

static void a_lane_without_an_open_worker_takes_nothing(void **unused)
{
    static struct lane lane;

    (void)unused;
    memset(&lane, 0, sizeof lane);
    lane_init(&lane);
    assert_int_equal(try(&lane, 0, false), LANE_NOT_READY);
    lane_ready(&lane);
    assert_int_equal(try(&lane, 0, false), LANE_TAKEN);
    lane_done(&lane);
}

static void jobs_come_out_in_order_and_a_stopped_lane_gives_the_rest(void **unused)
{
    static struct lane lane;
    struct job job;

    (void)unused;
    memset(&lane, 0, sizeof lane);
    lane_init(&lane);
    lane_ready(&lane);
    for (int round = 0; round < 3; round++) {
        fill(&lane, KNDL_LANE_MAX, 0, false);
        assert_int_equal(try(&lane, 0, false), LANE_FULL);
        for (unsigned i = 0; i < KNDL_LANE_MAX; i++) {
            assert_true(lane_take(&lane, &job));
            assert_int_equal(job.taken_us, i);
            natsMsg_Destroy(job.message);
            lane_finish(&lane);
        }
    }
    fill(&lane, 1, 0, false);
    assert_false(lane_wait_idle(&lane, 0));
    lane_stop(&lane);
    assert_true(lane_take(&lane, &job));
    natsMsg_Destroy(job.message);
    lane_finish(&lane);
    assert_true(lane_wait_idle(&lane, 0));
    assert_false(lane_take(&lane, &job));
    lane_done(&lane);
}

static void runners_leave_room_for_each_other_and_for_services(void **unused)
{
    static struct lane lane;

    (void)unused;
    memset(&lane, 0, sizeof lane);
    lane_init(&lane);
    lane_ready(&lane);
    fill(&lane, KNDL_LANE_RUNNER_MAX, 1, true);
    assert_int_equal(try(&lane, 1, true), LANE_FULL);
    fill(&lane, KNDL_LANE_RUNNER_MAX, 2, true);
    assert_int_equal(try(&lane, 3, true), LANE_FULL);
    fill(&lane, KNDL_LANE_MAX - KNDL_LANE_RUNNERS_MAX, 0, false);
    assert_int_equal(try(&lane, 0, false), LANE_FULL);

    /* a place that is given back is anybody's again */
    struct job job;
    assert_true(lane_take(&lane, &job));
    natsMsg_Destroy(job.message);
    lane_finish(&lane);
    assert_int_equal(try(&lane, 1, true), LANE_TAKEN);
    lane_done(&lane);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lane_without_an_open_worker_takes_nothing),
        cmocka_unit_test(jobs_come_out_in_order_and_a_stopped_lane_gives_the_rest),
        cmocka_unit_test(runners_leave_room_for_each_other_and_for_services),
    };
    if (nats_Open(-1) != NATS_OK)
        return 1;
    int failed = cmocka_run_group_tests_name("lane", tests, NULL, NULL);
    nats_CloseAndWait(0);
    return failed;
}
