/* Removing a group ends what is in it, and does not return before. Needs a host's root. */

#include "cgroup.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kndl/testing.h"

enum { PATH_SIZE = 512, MEMBERS = 20 };

static char name[32]; /* of this process's own: others test beside it */

/* Where a group of that name is for this process. */
static void find_folder(enum cgroup_version version, char ret_folder[PATH_SIZE])
{
    char line[PATH_SIZE], own[PATH_SIZE] = "";
    FILE *file = fopen("/proc/self/cgroup", "re");

    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        char *at = strstr(line, ":pids:");

        if (at != NULL)
            (void)snprintf(own, sizeof own, "%.*s", (int)strcspn(at + 6, "\n"), at + 6);
    }
    (void)fclose(file);
    if (version == CGROUP_V2)
        (void)snprintf(ret_folder, PATH_SIZE, "/sys/fs/cgroup/%s", name);
    else
        (void)snprintf(ret_folder, PATH_SIZE, "/sys/fs/cgroup/pids%.300s/%s",
                       strcmp(own, "/") == 0 ? "" : own, name);
}

static pid_t join(const char *folder)
{
    char path[PATH_SIZE + 32];
    int ready[2];
    char byte = 0;

    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        (void)signal(SIGTERM, SIG_IGN);
        (void)snprintf(path, sizeof path, "%s/cgroup.procs", folder);
        FILE *file = fopen(path, "we");
        if (file == NULL || fputs("0", file) < 0 || fclose(file) != 0)
            _exit(1);
        if (write(ready[1], "x", 1) == 1)
            (void)pause();
        _exit(0);
    }
    (void)close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    (void)close(ready[0]);
    return pid;
}

static void whatever_is_in_a_group_that_is_removed_has_ended_by_then(void **unused)
{
    enum cgroup_version version;
    char folder[PATH_SIZE];
    pid_t members[MEMBERS];

    (void)unused;
    if (cgroup_probe(&version, NULL) < 0)
        skip();
    (void)snprintf(name, sizeof name, "kndl-test-%ld", (long)getpid());
    find_folder(version, folder);
    if (mkdir(folder, 0755) < 0 && errno != EEXIST)
        skip();
    for (size_t i = 0; i < MEMBERS; i++)
        members[i] = join(folder);
    cgroup_remove(version, name);
    for (size_t i = 0; i < MEMBERS; i++) {
        int status;

        assert_int_equal(waitpid(members[i], &status, WNOHANG), members[i]);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    }
    assert_int_equal(access(folder, F_OK), -1);
    cgroup_remove(version, name); /* none is fine */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whatever_is_in_a_group_that_is_removed_has_ended_by_then),
    };

    return cmocka_run_group_tests_name("cgroup", tests, NULL, NULL);
}
