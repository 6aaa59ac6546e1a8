/* One program's log without the program: files that fill up, and a folder that goes and comes. */

#include "logbook.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

struct fixture {
    char folder[64], away[80], log[96], older[96];
    struct logbook *book;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    struct kndl_error err;

    assert_non_null(f);
    strcpy(f->folder, "/tmp/kndl-logbook-XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    (void)snprintf(f->away, sizeof f->away, "%s-away", f->folder);
    (void)snprintf(f->log, sizeof f->log, "%s/a.log", f->folder);
    (void)snprintf(f->older, sizeof f->older, "%s/a.log.1", f->folder);
    assert_int_equal(logbook_open(f->folder, "a", &f->book, &err), 0);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    logbook_close(f->book);
    (void)unlink(f->log);
    (void)unlink(f->older);
    (void)rmdir(f->folder);
    free(f);
    return 0;
}

static void say(struct fixture *f, const char *line)
{
    assert_int_equal(write(logbook_writer(f->book), line, strlen(line)), (ssize_t)strlen(line));
    logbook_take(f->book);
}

/* As if so much had been written already. */
static void fill(struct fixture *f)
{
    static char line[64 * 1024 + 1];

    memset(line, 'x', sizeof line - 1);
    line[sizeof line - 2] = '\n';
    for (size_t at = 0; at < LOGBOOK_FILE_BYTES_MAX; at += sizeof line - 1)
        say(f, line);
}

/* Its last bytes. */
static void assert_ends_with(const char *path, const char *line)
{
    FILE *file = fopen(path, "r");
    char text[64];

    assert_non_null(file);
    assert_int_equal(fseek(file, -(long)strlen(line), SEEK_END), 0);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    assert_string_equal(text, line);
}

static void a_log_that_could_not_be_begun_anew_is_once_it_can(void **state)
{
    struct fixture *f = *state;

    fill(f);
    assert_int_equal(rename(f->folder, f->away), 0);
    say(f, "ends it\n"); /* and nothing new can be begun: its folder is not there */
    say(f, "lost\n");
    assert_int_equal(rename(f->away, f->folder), 0);
    say(f, "is taken\n");
    say(f, "begins the next\n");
    assert_ends_with(f->older, "ends it\nis taken\n");
    assert_ends_with(f->log, "begins the next\n");
}

static void a_full_log_is_kept_beside_the_new_one(void **state)
{
    struct fixture *f = *state;
    struct stat st;

    fill(f);
    say(f, "ends it\n");
    say(f, "begins the next\n");
    assert_int_equal(stat(f->older, &st), 0);
    assert_true(st.st_size >= LOGBOOK_FILE_BYTES_MAX);
    assert_int_equal(stat(f->log, &st), 0);
    assert_int_equal(st.st_size, strlen("begins the next\n"));
    assert_ends_with(f->log, "begins the next\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_log_that_could_not_be_begun_anew_is_once_it_can, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_full_log_is_kept_beside_the_new_one, set_up, tear_down),
    };

    return cmocka_run_group_tests_name("logbook", tests, NULL, NULL);
}
