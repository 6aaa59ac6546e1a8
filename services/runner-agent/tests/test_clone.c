/* A new Workspace: GI-06, and what holds while an untrusted Repo is cloned. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "git_host.h"
#include "host.h"
#include "kndl/buf.h"
#include "kndl/mem.h"
#include "program.h"
#include "uid_range.h"
#include "verb.h"

struct scene {
    struct host host;
    struct git_host git;
    char repos[256];
    char workspace[300];
    char url[300];
    size_t progress;
};

static void set_scene(struct scene *scene, const char *repo)
{
    static int count;
    char leaf[32];

    *scene = (struct scene){0};
    host_init(&scene->host);
    (void)snprintf(leaf, sizeof leaf, "repos-%d", ++count);
    host_folder(&scene->host, leaf, scene->repos);
    (void)snprintf(scene->workspace, sizeof scene->workspace, "%s/workspace-%d", scene->host.home,
                   count);
    git_host_start(&scene->git, scene->repos);
    (void)snprintf(scene->url, sizeof scene->url, "http://127.0.0.1:%u/%s", scene->git.port, repo);
}

static void clear_scene(struct scene *scene)
{
    git_host_stop(&scene->git);
    host_done(&scene->host);
}

static void on_progress(void *data, const char *text, unsigned percent)
{
    struct host *host = data;

    assert_true(text[0] != '\0' && percent <= 100);
    (void)host;
}

static enum kndl_code clone_it(struct scene *scene, const char *token, const char *base,
                               bool host_git)
{
    workspace_clone(scene->host.sandboxes,
                    &(struct workspace_clone){
                        .sandbox = "kt-clone",
                        .url = scene->url,
                        .directory = scene->workspace,
                        .base = base,
                        .branch = "kndl/say-hello-ab12",
                        .author_name = "Ada Lovelace",
                        .author_email = "1+ada@users.noreply.example.org",
                        .token = kndl_slice_of(token),
                        .host_git = host_git,
                    },
                    on_progress, host_on_answer, &scene->host);
    host_wait(&scene->host);
    return scene->host.answer.err.code;
}

/* What git itself says in the new Workspace. */
static void git_says(const struct scene *scene, const char *const *args, const char *expected)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf output = {0};
    const char *argv[16] = {"git", "-C", scene->workspace};
    struct kndl_error err = {0};
    size_t at = 3;

    while (*args != NULL)
        argv[at++] = *args++;
    if (program_run(&(struct program){.argv = argv, .output = &output}, &err) < 0)
        fail_msg("%s", err.message);
    assert_string_equal(kndl_buf_text(&output), expected);
}

/* No file beneath the folder holds the text. */
static void assert_nowhere(const char *folder, const char *text)
{
    struct kndl_error err = {0};

    /* grep exits 1 where it finds nothing, which is a failure to program_run. */
    assert_int_equal(
        program_run(&(struct program){.argv = (const char *[]){"grep", "-rqF", "-e", text, "--",
                                                               folder, NULL}},
                    &err),
        -1);
}

static void gi_06_a_clone_is_whole_and_keeps_no_token(void **unused)
{
    struct scene scene;
    struct stat about;
    char path[400];

    (void)unused;
    set_scene(&scene, "hello.git");
    if (clone_it(&scene, GIT_HOST_TOKEN, "", false) != KNDL_OK)
        fail_msg("%s", scene.host.answer.err.message);
    git_says(&scene, (const char *[]){"status", "--porcelain", "--branch", NULL},
             "## kndl/say-hello-ab12\n");
    git_says(&scene, (const char *[]){"config", "user.name", NULL}, "Ada Lovelace\n");
    git_says(&scene, (const char *[]){"log", "--format=%s", "--all", NULL}, "one\n");
    git_says(&scene, (const char *[]){"check-ignore", ".claude/worktrees/x", ".kndl/x", NULL},
             ".claude/worktrees/x\n.kndl/x\n");
    (void)snprintf(path, sizeof path, "%s\n", scene.url);
    git_says(&scene, (const char *[]){"remote", "get-url", "origin", NULL}, path);
    assert_nowhere(scene.workspace, GIT_HOST_TOKEN);

    /* root's on disk, as the Sandbox's root will see it; its links were not followed. */
    (void)snprintf(path, sizeof path, "%s/README", scene.workspace);
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_uid, 0);
    assert_int_equal(about.st_mode & 0777, 0644);
    (void)snprintf(path, sizeof path, "%s/evil", scene.workspace);
    assert_int_equal(lstat(path, &about), 0);
    assert_true(S_ISLNK(about.st_mode));
    clear_scene(&scene);
}

static void another_branch_can_be_the_base(void **unused)
{
    struct scene scene;

    (void)unused;
    set_scene(&scene, "hello.git");
    assert_int_equal(clone_it(&scene, GIT_HOST_TOKEN, "nowhere", false), KNDL_UNAVAILABLE);
    assert_string_equal(scene.host.reason, "repo_clone_failed");
    assert_int_equal(clone_it(&scene, GIT_HOST_TOKEN, "other", false), KNDL_OK);
    clear_scene(&scene);
}

static void a_repo_that_cannot_be_cloned_says_why_and_leaves_nothing(void **unused)
{
    struct scene scene;
    char made[400];

    (void)unused;
    set_scene(&scene, "hello.git");
    assert_int_equal(clone_it(&scene, "wrong", "", false), KNDL_PERMISSION_DENIED);
    assert_string_equal(scene.host.reason, "repo_denied");
    assert_null(strstr(scene.host.answer.err.message, "wrong"));
    (void)snprintf(scene.url, sizeof scene.url, "http://127.0.0.1:%u/nope.git", scene.git.port);
    assert_int_equal(clone_it(&scene, GIT_HOST_TOKEN, "", false), KNDL_PERMISSION_DENIED);
    /* A redirect to another host could carry the token to somebody else. */
    (void)snprintf(scene.url, sizeof scene.url, "http://127.0.0.1:%u/moved.git", scene.git.port);
    assert_int_equal(clone_it(&scene, GIT_HOST_TOKEN, "", false), KNDL_UNAVAILABLE);
    assert_non_null(strstr(scene.host.answer.err.message, "redirect"));
    (void)snprintf(scene.url, sizeof scene.url, "http://127.0.0.1:1/hello.git");
    assert_int_equal(clone_it(&scene, GIT_HOST_TOKEN, "", false), KNDL_UNAVAILABLE);
    assert_string_equal(scene.host.reason, "repo_clone_failed");
    (void)snprintf(scene.url, sizeof scene.url, "file://%s/hello.git", scene.repos);
    assert_int_equal(clone_it(&scene, GIT_HOST_TOKEN, "", false), KNDL_INVALID_ARGUMENT);
    (void)snprintf(scene.url, sizeof scene.url, "http://a:b@127.0.0.1:%u/hello.git",
                   scene.git.port);
    assert_int_equal(clone_it(&scene, GIT_HOST_TOKEN, "", false), KNDL_INVALID_ARGUMENT);

    assert_int_equal(access(scene.workspace, F_OK), -1);
    (void)snprintf(made, sizeof made, "%s.cloning", scene.workspace);
    assert_int_equal(access(made, F_OK), -1);

    /* Retry works once the cause is gone; a Workspace that is there is not cloned over. */
    (void)snprintf(scene.url, sizeof scene.url, "http://127.0.0.1:%u/hello.git", scene.git.port);
    assert_int_equal(clone_it(&scene, GIT_HOST_TOKEN, "", false), KNDL_OK);
    assert_int_equal(clone_it(&scene, GIT_HOST_TOKEN, "", false), KNDL_ALREADY_EXISTS);
    clear_scene(&scene);
}

static void a_full_disk_is_told_as_such(void **unused)
{
    struct scene scene;
    char folder[256];

    (void)unused;
    set_scene(&scene, "hello.git");
    host_folder(&scene.host, "full", folder);
    assert_int_equal(mount("tmpfs", folder, "tmpfs", 0, "size=64k"), 0);
    (void)snprintf(scene.workspace, sizeof scene.workspace, "%s/workspace", folder);
    if (clone_it(&scene, GIT_HOST_TOKEN, "", false) == KNDL_FAILED_PRECONDITION) {
        print_message("skipped: this kernel has no idmapped tmpfs\n");
        assert_int_equal(umount(folder), 0);
        clear_scene(&scene);
        skip();
    }
    assert_int_equal(scene.host.answer.err.code, KNDL_RESOURCE_EXHAUSTED);
    assert_string_equal(scene.host.reason, "no_space");
    assert_int_equal(access(scene.workspace, F_OK), -1);

    /* Retry works once there is room. */
    assert_int_equal(mount("tmpfs", folder, "tmpfs", MS_REMOUNT, "size=64m"), 0);
    assert_int_equal(clone_it(&scene, GIT_HOST_TOKEN, "", false), KNDL_OK);
    assert_int_equal(umount(folder), 0);
    clear_scene(&scene);
}

static void on_end(void *data, const struct child_end *end)
{
    struct host *host = data;

    host->answer.err = end->err;
    host->done = true;
}

static void a_clone_without_progress_is_ended(void **unused)
{
    struct scene scene;
    char url[320], directory[320];

    (void)unused;
    set_scene(&scene, "stuck.git");
    (void)snprintf(url, sizeof url, "url=%s", scene.url);
    (void)snprintf(directory, sizeof directory, "directory=%s", scene.workspace);
    (void)child_start(scene.host.children,
                      &(struct child_options){
                          .verb = "clone",
                          .args = (const char *[]){"name=kt-clone", url, directory, NULL},
                          .input = kndl_slice_of(GIT_HOST_TOKEN),
                          .idle_ms = 300,
                          .on_end = on_end,
                          .data = &scene.host,
                      });
    host_wait(&scene.host);
    assert_int_equal(scene.host.answer.err.code, KNDL_DEADLINE_EXCEEDED);
    /* What it left is no obstacle. */
    (void)snprintf(scene.url, sizeof scene.url, "http://127.0.0.1:%u/hello.git", scene.git.port);
    assert_int_equal(clone_it(&scene, GIT_HOST_TOKEN, "", false), KNDL_OK);
    clear_scene(&scene);
}

/* The clone is ended in the middle: it says so at once, and nothing of it is left. */
static void cancel_it(struct scene *scene, struct workspace_work *work)
{
    char half[320];
    uint32_t range;

    (void)snprintf(half, sizeof half, "%s.cloning", scene->workspace);
    assert_int_equal(access(half, F_OK), 0);
    workspace_cancel(work);
    host_wait(&scene->host);
    assert_int_equal(scene->host.answer.err.code, KNDL_CANCELLED);
    assert_int_equal(access(half, F_OK), -1);
    assert_int_equal(access(scene->workspace, F_OK), -1);
    assert_false(uid_range_find("kt-clone.clone", &range));
}

static struct workspace_work *start_clone(struct scene *scene)
{
    struct workspace_clone clone = {
        .sandbox = "kt-clone",
        .url = scene->url,
        .directory = scene->workspace,
        .token = kndl_slice_of(GIT_HOST_TOKEN),
    };

    return workspace_clone(scene->host.sandboxes, &clone, NULL, host_on_answer, &scene->host);
}

static void a_clone_that_is_cancelled_leaves_nothing(void **unused)
{
    struct scene scene;
    struct workspace_work *work;
    char stuck[300];

    (void)unused;
    set_scene(&scene, "stuck.git");
    (void)snprintf(stuck, sizeof stuck, "%s/stuck", scene.repos);
    work = start_clone(&scene);
    while (access(stuck, F_OK) < 0)
        (void)usleep(1000);
    cancel_it(&scene, work);
    (void)snprintf(scene.url, sizeof scene.url, "http://127.0.0.1:%u/hello.git", scene.git.port);
    assert_int_equal(clone_it(&scene, GIT_HOST_TOKEN, "", false), KNDL_OK);
    clear_scene(&scene);
}

static void a_clone_of_a_dead_remote_is_cancelled_at_once(void **unused)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct pollfd comes = {.fd = fd, .events = POLLIN};
    struct workspace_work *work;
    struct scene scene;

    (void)unused;
    set_scene(&scene, "hello.git");
    assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(fd, 4), 0); /* and nobody answers */
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    (void)snprintf(scene.url, sizeof scene.url, "http://127.0.0.1:%u/hello.git",
                   ntohs(address.sin_port));
    work = start_clone(&scene);
    assert_int_equal(poll(&comes, 1, -1), 1);
    cancel_it(&scene, work);
    (void)close(fd);
    clear_scene(&scene);
}

/* The number behind a key of /proc/PID/status, in that base; -1: not there. */
static long long status_of(const char *pid, const char *key, int base)
{
    char path[64], line[256];
    long long value = -1;
    FILE *file;

    (void)snprintf(path, sizeof path, "/proc/%.20s/status", pid);
    file = fopen(path, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, key, strlen(key)) == 0)
            value = strtoll(line + strlen(key), NULL, base);
    }
    if (file != NULL)
        (void)fclose(file);
    return value;
}

/* Does that file of /proc/PID hold the text? */
static bool proc_has(const char *pid, const char *file, const char *text)
{
    char path[64];
    static char bytes[64 * 1024];
    ssize_t size;
    int fd;

    (void)snprintf(path, sizeof path, "/proc/%.20s/%s", pid, file);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    size = fd < 0 ? 0 : read(fd, bytes, sizeof bytes);
    kndl_close(&fd);
    return size > 0 && memmem(bytes, (size_t)size, text, strlen(text)) != NULL;
}

static void a_clone_is_nobody_and_shows_its_token_to_nobody(void **unused)
{
    struct scene scene;
    char url[320], directory[320], stuck[300];
    struct dirent *entry;
    struct child *child;
    size_t nobodies = 0;
    DIR *processes;

    (void)unused;
    set_scene(&scene, "stuck.git");
    (void)snprintf(url, sizeof url, "url=%s", scene.url);
    (void)snprintf(directory, sizeof directory, "directory=%s", scene.workspace);
    (void)snprintf(stuck, sizeof stuck, "%s/stuck", scene.repos);
    child = child_start(scene.host.children,
                        &(struct child_options){
                            .verb = "clone",
                            .args = (const char *[]){"name=kt-clone", url, directory, NULL},
                            .input = kndl_slice_of(GIT_HOST_TOKEN),
                            .on_end = on_end,
                            .data = &scene.host,
                        });
    while (access(stuck, F_OK) < 0)
        (void)usleep(1000);
    processes = opendir("/proc");
    while ((entry = readdir(processes)) != NULL) {
        const char *pid = entry->d_name;

        if (pid[0] < '0' || pid[0] > '9' || strtol(pid, NULL, 10) == getpid())
            continue;
        assert_false(proc_has(pid, "cmdline", GIT_HOST_TOKEN));
        assert_false(proc_has(pid, "environ", GIT_HOST_TOKEN));
        if (!proc_has(pid, "cmdline", directory) || status_of(pid, "Uid:", 10) == 0)
            continue;
        nobodies++;
        assert_true(status_of(pid, "Uid:", 10) > 1700000000);
        assert_true(status_of(pid, "Uid:", 10) < 1700065536);
        assert_int_equal(status_of(pid, "CapEff:", 16), 0);
        assert_int_equal(status_of(pid, "CapPrm:", 16), 0);
        assert_int_equal(status_of(pid, "NoNewPrivs:", 10), 1);
    }
    (void)closedir(processes);
    assert_int_equal(nobodies, 1);
    child_kill(child);
    host_wait(&scene.host);
    assert_int_equal(scene.host.answer.err.code, KNDL_CANCELLED);
    clear_scene(&scene);
}

static void gi_06_without_the_app_the_hosts_own_git_clones(void **unused)
{
    struct scene scene;

    (void)unused;
    set_scene(&scene, "hello.git");
    /* This host has no credentials for it. */
    assert_int_not_equal(clone_it(&scene, "", "", true), KNDL_OK);
    assert_string_equal(scene.host.reason, "repo_clone_failed");
    (void)snprintf(scene.url, sizeof scene.url, "%s/hello.git", scene.repos);
    if (clone_it(&scene, "", "", true) != KNDL_OK)
        fail_msg("%s", scene.host.answer.err.message);
    git_says(&scene, (const char *[]){"status", "--porcelain", "--branch", NULL},
             "## kndl/say-hello-ab12\n");
    git_says(&scene, (const char *[]){"config", "user.name", NULL}, "Ada Lovelace\n");
    clear_scene(&scene);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gi_06_a_clone_is_whole_and_keeps_no_token),
        cmocka_unit_test(another_branch_can_be_the_base),
        cmocka_unit_test(a_repo_that_cannot_be_cloned_says_why_and_leaves_nothing),
        cmocka_unit_test(a_full_disk_is_told_as_such),
        cmocka_unit_test(a_clone_without_progress_is_ended),
        cmocka_unit_test(a_clone_that_is_cancelled_leaves_nothing),
        cmocka_unit_test(a_clone_of_a_dead_remote_is_cancelled_at_once),
        cmocka_unit_test(a_clone_is_nobody_and_shows_its_token_to_nobody),
        cmocka_unit_test(gi_06_without_the_app_the_hosts_own_git_clones),
    };
    int status;

    if (verb_main(argc, argv, &status))
        return status;
    return cmocka_run_group_tests(tests, host_prepare, host_clean);
}
