/* What a restart reads again of a run. */

#include "run_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fake_disk.h"
#include "kndl/testing.h"

struct fixture {
    struct disk disk;
    char path[64];
};

static void set_up(struct fixture *f)
{
    int fd;

    *f = (struct fixture){.path = "/tmp/kndl-run-XXXXXX"};
    fd = mkstemp(f->path);
    assert_true(fd >= 0);
    close(fd);
}

static void write_run(struct fixture *f, enum run_phase phase)
{
    Kndl__Runner__V1__StartRunRequest start = KNDL__RUNNER__V1__START_RUN_REQUEST__INIT;
    Kndl__Sessions__V1__ReportEndedRequest ended = KNDL__SESSIONS__V1__REPORT_ENDED_REQUEST__INIT;

    start.session_id = (char *)"session";
    start.run = 4;
    ended.last_n = 17;
    ended.reason = (char *)"why";
    run_file_write(&f->disk, f->path,
                   &(struct run_file){phase, &start, phase == RUN_ENDED ? &ended : NULL}, NULL,
                   NULL);
    fake_disk_run(&f->disk);
}

static void a_run_is_read_as_it_was_written(void **unused)
{
    struct fixture f;
    struct run_file file;
    struct kndl_error err = {0};

    (void)unused;
    set_up(&f);
    write_run(&f, RUN_RUNNING);
    assert_int_equal(run_file_read(f.path, &file, &err), 0);
    assert_int_equal(file.phase, RUN_RUNNING);
    assert_int_equal(file.start->run, 4);
    assert_null(file.ended);
    run_file_done(&file);

    write_run(&f, RUN_ENDED);
    assert_int_equal(run_file_read(f.path, &file, &err), 0);
    assert_int_equal(file.ended->last_n, 17);
    assert_string_equal(file.ended->reason, "why");
    run_file_done(&file);
    unlink(f.path);
}

static void a_file_that_is_missing_and_one_that_is_damaged_are_told_apart(void **unused)
{
    struct fixture f;
    struct run_file file;
    struct kndl_error err = {0};
    struct stat st;

    (void)unused;
    set_up(&f);
    write_run(&f, RUN_ENDED);
    assert_int_equal(stat(f.path, &st), 0);
    for (off_t size = st.st_size - 1; size >= 0; size--) {
        assert_int_equal(truncate(f.path, size), 0);
        assert_int_equal(run_file_read(f.path, &file, &err), -1);
        assert_int_equal(err.code, KNDL_DATA_LOSS);
    }
    unlink(f.path);
    assert_int_equal(run_file_read(f.path, &file, &err), -1);
    assert_int_equal(err.code, KNDL_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_is_read_as_it_was_written),
        cmocka_unit_test(a_file_that_is_missing_and_one_that_is_damaged_are_told_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
