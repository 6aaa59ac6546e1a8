/* CC-07: Claude Code's download is whole and right, or it is not there. */

#include "download.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host.h"
#include "kndl/mem.h"
#include "program.h"
#include "verbs.h"

static void put(const char *folder, const char *leaf, const char *text)
{
    char path[400];
    FILE *file;

    (void)snprintf(path, sizeof path, "%s/%s", folder, leaf);
    file = fopen(path, "we");
    assert_non_null(file);
    (void)fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void cc_07_a_wrong_hash_is_told_and_nothing_is_installed(void **unused)
{
    struct host host;
    struct kndl_error err = {0};
    char folder[256], place[300];

    (void)unused;
    host_init(&host);
    host_folder(&host, "download", folder);
    (void)snprintf(place, sizeof place, "%s/claude-code", host.home);
    put(folder, "anthropic-ai-claude-code-linux-x64-" CLAUDE_CODE_VERSION ".tgz", "not it");
    assert_int_equal(download_install(folder, place, &err), -1);
    assert_int_equal(err.code, KNDL_DATA_LOSS);
    assert_non_null(strstr(err.message, "hash"));
    assert_int_equal(access(place, F_OK), -1);
    host_done(&host);
}

/* The verb where no network is: npm cannot reach any registry. */
static int download_without_network(void)
{
    struct kndl_error err = {0};

    if (unshare(CLONE_NEWNET) < 0)
        return 3;
    if (download_run((const char *[]){NULL}, &err) == 0)
        return 4;
    (void)fprintf(stderr, "%s\n", err.message);
    return err.code == KNDL_INTERNAL && strstr(err.message, "could not be downloaded") != NULL ? 0
                                                                                               : 5;
}

static void cc_07_a_broken_download_is_told_and_leaves_nothing(void **unused)
{
    struct host host;
    char path[300];
    int status = 0;
    pid_t pid;

    (void)unused;
    host_init(&host);
    pid = fork();
    if (pid == 0)
        _exit(download_without_network());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    (void)snprintf(path, sizeof path, "%s/claude-code", host.home);
    assert_int_equal(rmdir(path), 0); /* it is empty */
    host_done(&host);
}

static void cc_07_what_is_there_is_not_fetched_again(void **unused)
{
    struct host host;
    char folder[256];

    (void)unused;
    host_init(&host);
    host_folder(&host, "claude-code", folder);
    host_folder(&host, "claude-code/" CLAUDE_CODE_VERSION "-glibc", folder);
    put(folder, "claude", "#!/bin/true\n");
    (void)snprintf(folder, sizeof folder, "%s/claude-code/" CLAUDE_CODE_VERSION "-glibc/claude",
                   host.home);
    assert_int_equal(chmod(folder, 0755), 0);
    claude_code_ensure(host.sandboxes, NULL, host_on_answer, &host);
    host_wait(&host);
    assert_int_equal(host.answer.err.code, KNDL_OK);
    host_done(&host);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cc_07_a_wrong_hash_is_told_and_nothing_is_installed),
        cmocka_unit_test(cc_07_a_broken_download_is_told_and_leaves_nothing),
        cmocka_unit_test(cc_07_what_is_there_is_not_fetched_again),
    };
    int status;

    if (verb_main(argc, argv, &status))
        return status;
    return cmocka_run_group_tests(tests, host_prepare, host_clean);
}
