/* The spool: what was answered is there after any end, and nothing else. */

#include "spool.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fake_disk.h"
#include "kndl/buf.h"
#include "kndl/mem.h"
#include "kndl/testing.h"

struct fixture {
    struct disk disk;
    struct spool *spool;
    struct kndl_arena *arena;
    char directory[64];
    int answered;
    int refused;
};

static void on_answer(void *data, const struct kndl_error *err)
{
    struct fixture *f = data;

    if (err->code == KNDL_OK)
        f->answered++;
    else
        f->refused++;
}

static void open_spool(struct fixture *f, size_t most)
{
    struct kndl_error err = {0};
    struct spool_options options = {&f->disk, f->directory, most};

    assert_int_equal(spool_open(&options, &f->spool, &err), 0);
}

static void reopen(struct fixture *f)
{
    spool_close(f->spool);
    open_spool(f, 64 << 20);
}

static int set_up(void **state)
{
    static struct fixture fixture;
    struct fixture *f = *state = &fixture;

    *f = (struct fixture){.directory = "/tmp/kndl-spool-XXXXXX"};
    assert_non_null(mkdtemp(f->directory));
    f->arena = kndl_arena_new(KNDL_ARENA_PLAIN);
    open_spool(f, 64 << 20);
    return 0;
}

static void segment_path(struct fixture *f, int first_n, char path[128])
{
    snprintf(path, 128, "%s/%019d.seg", f->directory, first_n);
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    char path[128];

    fake_disk_run(&f->disk);
    spool_close(f->spool);
    kndl_arena_free(f->arena);
    for (int n = 1; n < 4; n++) {
        segment_path(f, n, path);
        unlink(path);
    }
    rmdir(f->directory);
    return 0;
}

static void append(struct fixture *f, const char *text, const char *source, uint64_t m)
{
    Kndl__Event__V1__Text body = KNDL__EVENT__V1__TEXT__INIT;
    Kndl__Event__V1__Event event = KNDL__EVENT__V1__EVENT__INIT;
    Kndl__Event__V1__Event *events[] = {&event};
    struct spool_mark mark = {"epoch", m};

    body.text = (char *)text;
    event.source_id = (char *)source;
    event.runner_at_ms = (int64_t)m;
    event.kind_case = KNDL__EVENT__V1__EVENT__KIND_TEXT;
    event.text = &body;
    spool_append(f->spool, &mark, events, 1, on_answer, f);
}

static void assert_texts(struct fixture *f, int64_t from, size_t count, const char *const *texts)
{
    Kndl__Event__V1__Event **events;
    struct kndl_error err = {0};
    size_t got;

    assert_int_equal(spool_read(f->spool, from, 100, 1 << 20, f->arena, &events, &got, &err), 0);
    assert_int_equal(got, count);
    for (size_t i = 0; i < count; i++)
        assert_string_equal(events[i]->text->text, texts[i]);
}

static void an_append_counts_once_it_is_on_the_disk(void **state)
{
    struct fixture *f = *state;

    append(f, "one", "a", 1);
    assert_int_equal(f->answered, 0);
    assert_int_equal(spool_last_n(f->spool), 0);
    fake_disk_run(&f->disk);
    assert_int_equal(f->answered, 1);
    assert_int_equal(spool_last_n(f->spool), 1);
}

static void appends_that_wait_share_one_write_and_keep_their_order(void **state)
{
    struct fixture *f = *state;

    append(f, "one", "a", 1);
    append(f, "two", "b", 2);
    append(f, "three", "c", 3);
    assert_int_equal(f->disk.count, 1);
    fake_disk_run(&f->disk);
    assert_int_equal(f->answered, 3);
    assert_texts(f, 1, 3, (const char *const[]){"one", "two", "three"});
    assert_texts(f, 3, 1, (const char *const[]){"three"});
}

/* EV-07: an end between two runs of the process loses nothing that was answered. */
static void a_reopened_spool_has_all_that_was_answered(void **state)
{
    struct fixture *f = *state;

    append(f, "one", "row-a", 7);
    append(f, "two", "row-b", 8);
    fake_disk_run(&f->disk);
    reopen(f);
    assert_int_equal(spool_last_n(f->spool), 2);
    assert_int_equal(spool_mark_of(f->spool, "epoch"), 8);
    assert_int_equal(spool_mark_of(f->spool, "another"), 0);
    assert_true(spool_has_source(f->spool, "row-a"));
    assert_false(spool_has_source(f->spool, "row-c"));
    append(f, "three", "row-c", 9);
    fake_disk_run(&f->disk);
    assert_texts(f, 1, 3, (const char *const[]){"one", "two", "three"});
}

static void a_torn_tail_is_cut_off_at_every_length(void **state)
{
    struct fixture *f = *state;
    char path[128];
    struct stat whole;

    append(f, "one", "a", 1);
    fake_disk_run(&f->disk);
    segment_path(f, 1, path);
    assert_int_equal(stat(path, &whole), 0);
    for (off_t cut = 1; cut < whole.st_size; cut++) {
        append(f, "two", "b", 2);
        fake_disk_run(&f->disk);
        assert_int_equal(spool_last_n(f->spool), 2);
        assert_int_equal(truncate(path, 2 * whole.st_size - cut), 0);
        reopen(f);
        assert_int_equal(spool_last_n(f->spool), 1);
        assert_int_equal(spool_mark_of(f->spool, "epoch"), 1);
        assert_texts(f, 1, 1, (const char *const[]){"one"});
    }
}

static void a_torn_append_is_cut_off_with_all_of_its_events(void **state)
{
    struct fixture *f = *state;
    Kndl__Event__V1__Text body = KNDL__EVENT__V1__TEXT__INIT;
    Kndl__Event__V1__Event one = KNDL__EVENT__V1__EVENT__INIT, two = one, three = one;
    Kndl__Event__V1__Event *events[] = {&one, &two, &three};
    char path[128];
    struct stat before, whole;

    for (int i = 0; i < 3; i++) {
        events[i]->kind_case = KNDL__EVENT__V1__EVENT__KIND_TEXT;
        events[i]->text = &body;
    }
    two.source_id = (char *)"row-two";
    two.runner_at_ms = 7;
    three.runner_at_ms = 8;
    append(f, "before", "a", 1);
    fake_disk_run(&f->disk);
    segment_path(f, 1, path);
    assert_int_equal(stat(path, &before), 0);
    for (off_t cut = 1;; cut++) {
        spool_append(f->spool, &(struct spool_mark){"epoch", 4}, events, 3, on_answer, f);
        fake_disk_run(&f->disk);
        assert_int_equal(spool_last_n(f->spool), 4);
        assert_int_equal(stat(path, &whole), 0);
        if (cut == whole.st_size - before.st_size)
            break;
        assert_int_equal(truncate(path, whole.st_size - cut), 0);
        reopen(f);
        assert_int_equal(spool_last_n(f->spool), 1);
        assert_int_equal(spool_mark_of(f->spool, "epoch"), 1);
        assert_false(spool_has_source(f->spool, "row-two"));
        assert_int_equal(spool_rows_at_ms(f->spool), 1);
    }
    reopen(f);
    assert_int_equal(spool_last_n(f->spool), 4);
    assert_int_equal(spool_mark_of(f->spool, "epoch"), 4);
    assert_true(spool_has_source(f->spool, "row-two"));
    assert_int_equal(spool_rows_at_ms(f->spool), 7);
}

static void a_damaged_record_ends_what_is_read(void **state)
{
    struct fixture *f = *state;
    char path[128];

    append(f, "one", "a", 1);
    append(f, "two", "b", 2);
    fake_disk_run(&f->disk);
    segment_path(f, 1, path);
    int fd = open(path, O_RDWR);
    assert_int_equal(pwrite(fd, "\xff", 1, lseek(fd, 0, SEEK_END) - 1), 1);
    close(fd);
    reopen(f);
    assert_int_equal(spool_last_n(f->spool), 1);
}

static void a_full_disk_refuses_and_gives_the_numbers_again(void **state)
{
    struct fixture *f = *state;

    append(f, "one", "a", 1);
    fake_disk_run(&f->disk);
    f->disk.is_full = true;
    append(f, "two", "b", 2);
    append(f, "three", "c", 3);
    fake_disk_run(&f->disk);
    assert_int_equal(f->refused, 2);
    assert_int_equal(spool_last_n(f->spool), 1);
    assert_int_equal(spool_mark_of(f->spool, "epoch"), 1);
    assert_false(spool_has_source(f->spool, "b"));
    assert_int_equal(spool_rows_at_ms(f->spool), 1);
    f->disk.is_full = false;
    append(f, "two", "b", 2);
    fake_disk_run(&f->disk);
    assert_int_equal(spool_last_n(f->spool), 2);
    assert_texts(f, 1, 2, (const char *const[]){"one", "two"});
}

static void a_spool_over_its_bound_refuses_what_the_mod_keeps(void **state)
{
    struct fixture *f = *state;
    Kndl__Event__V1__Event own = KNDL__EVENT__V1__EVENT__INIT;

    spool_close(f->spool);
    open_spool(f, 100);
    append(f, "a text of some length, to fill it", "a", 1);
    fake_disk_run(&f->disk);
    append(f, "another text of some length, to fill it up", "b", 2);
    fake_disk_run(&f->disk);
    assert_true(spool_is_full(f->spool));
    append(f, "more", "c", 3);
    assert_int_equal(f->refused, 0);
    fake_disk_run(&f->disk);
    assert_int_equal(f->refused, 1);
    assert_int_equal(f->answered, 2);

    /* Nobody else keeps this. */
    spool_append(f->spool, NULL, &(Kndl__Event__V1__Event *){&own}, 1, on_answer, f);
    fake_disk_run(&f->disk);
    assert_int_equal(f->answered, 3);
    assert_int_equal(spool_last_n(f->spool), 3);
}

static void what_sessions_stored_goes_by_segments_and_the_numbers_go_on(void **state)
{
    struct fixture *f = *state;
    KNDL_CLEANUP(kndl_free) char *big = kndl_alloc(1, 5 << 20);
    Kndl__Event__V1__Event **events;
    struct kndl_error err = {0};
    size_t got;

    memset(big, 'x', (5 << 20) - 1);
    append(f, big, "a", 1);
    fake_disk_run(&f->disk);
    append(f, "two", "b", 2 + SPOOL_ROW_MS_MAX);
    fake_disk_run(&f->disk);
    spool_forget(f->spool, 1);
    assert_int_equal(spool_first_n(f->spool), 2);
    assert_int_equal(spool_read(f->spool, 1, 10, 100, f->arena, &events, &got, &err), -1);
    assert_int_equal(err.code, KNDL_OUT_OF_RANGE);
    spool_forget(f->spool, 2);
    reopen(f);
    assert_int_equal(spool_last_n(f->spool), 2);
    append(f, "three", "c", 3 + SPOOL_ROW_MS_MAX);
    fake_disk_run(&f->disk);
    assert_int_equal(spool_last_n(f->spool), 3);
}

/* By its time alone nobody knows that the row was told. */
static void li_06_a_row_that_just_came_is_known_after_a_restart(void **state)
{
    struct fixture *f = *state;
    KNDL_CLEANUP(kndl_free) char *big = kndl_alloc(1, 5 << 20);

    memset(big, 'x', (5 << 20) - 1);
    append(f, big, "row-a", 1);
    fake_disk_run(&f->disk);
    append(f, "two", "row-b", SPOOL_ROW_MS_MAX);
    fake_disk_run(&f->disk);
    spool_forget(f->spool, 2);
    reopen(f);
    assert_true(spool_has_source(f->spool, "row-a"));

    append(f, "three", "row-c", 1 + SPOOL_ROW_MS_MAX);
    fake_disk_run(&f->disk);
    spool_forget(f->spool, 3);
    assert_int_equal(spool_first_n(f->spool), 2);
}

static void waiting_without_events_comes_after_those_before(void **state)
{
    struct fixture *f = *state;

    append(f, "one", "a", 1);
    spool_append(f->spool, NULL, NULL, 0, on_answer, f);
    assert_int_equal(f->answered, 0);
    fake_disk_run(&f->disk);
    assert_int_equal(f->answered, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(an_append_counts_once_it_is_on_the_disk),
        TEST(appends_that_wait_share_one_write_and_keep_their_order),
        TEST(a_reopened_spool_has_all_that_was_answered),
        TEST(a_torn_tail_is_cut_off_at_every_length),
        TEST(a_torn_append_is_cut_off_with_all_of_its_events),
        TEST(a_damaged_record_ends_what_is_read),
        TEST(a_full_disk_refuses_and_gives_the_numbers_again),
        TEST(a_spool_over_its_bound_refuses_what_the_mod_keeps),
        TEST(what_sessions_stored_goes_by_segments_and_the_numbers_go_on),
        TEST(li_06_a_row_that_just_came_is_known_after_a_restart),
        TEST(waiting_without_events_comes_after_those_before),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
