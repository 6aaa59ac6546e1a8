/*
 * `runner-agent clone`: a new Workspace. git runs in a process of its own that is nobody: a uid
 * of its own, no capability, and of the whole disk only the new folder to write to. The folder
 * takes its place when it is whole.
 */

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "box.h"
#include "confine.h"
#include "git.h"
#include "kndl/env.h"
#include "kndl/mem.h"
#include "overlay.h"
#include "program.h"
#include "tree.h"
#include "uid_range.h"
#include "verbs.h"

enum { PATH_SIZE = 1024, HOST_GIT_MS = 30 * 60 * 1000 };

/* Where the new folder is in the private mount namespace; exists on every Linux. */
static const char inside[] = "/mnt";

static const char excluded[] = ".claude/worktrees/\n.kndl/\n";

static void say_progress(const char *text, unsigned percent)
{
    char number[8];

    (void)snprintf(number, sizeof number, "%u", percent);
    verb_say("progress", -1, "text", text, "percent", number, NULL);
}

/* Leaves the copies of other Sandboxes' mounts behind: they would stay mounted as long as we run.
 */
static void forget_sandboxes(void)
{
    const char *home = kndl_env_get("RUNNER_HOME");
    char line[4096], path[1024];
    FILE *mounts = fopen("/proc/self/mounts", "re");

    while (mounts != NULL && fgets(line, sizeof line, mounts) != NULL) {
        if (sscanf(line, "%*s %1023s", path) == 1 && strncmp(path, home, strlen(home)) == 0 &&
            path[strlen(home)] == '/')
            (void)umount2(path, MNT_DETACH);
    }
    if (mounts != NULL)
        (void)fclose(mounts);
}

/* The new folder alone, root's on disk, is writable, and only as `uid`. */
static int enter(const char *folder, uid_t uid, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_close) int userns = -1;
    KNDL_CLEANUP(kndl_close) int tree = -1;

    if (overlay_userns(uid, 1, &userns, err) < 0 ||
        overlay_clone(folder, userns, false, &tree, err) < 0)
        return -1;
    if (unshare(CLONE_NEWNS) < 0 || mount("", "/", "", MS_REC | MS_PRIVATE, NULL) < 0)
        return kndl_fail(err, KNDL_INTERNAL, "a mount namespace: %s", strerror(errno));
    forget_sandboxes();
    if (overlay_attach(tree, inside, err) < 0)
        return -1;
    (void)umask(022);
    return confine(uid, err);
}

static int make_whole(const char *const *args, const char *token, struct kndl_error *err)
{
    const struct git_remote_repo repo = {
        .url = verb_arg(args, "url"),
        .path = inside,
        .base = verb_arg(args, "base"),
        .token = token,
        .on_progress = say_progress,
    };

    if (verb_arg(args, "host_git")[0] == '\0' && git_clone_whole(&repo, err) < 0)
        return -1;
    if (git_exclude(inside, excluded, err) < 0)
        return -1;
    return git_begin(inside, verb_arg(args, "branch"), verb_arg(args, "author_name"),
                     verb_arg(args, "author_email"), err);
}

static const char *reason_of(enum kndl_code code)
{
    if (code == KNDL_RESOURCE_EXHAUSTED)
        return "no_space";
    return code == KNDL_PERMISSION_DENIED ? "repo_denied" : "repo_clone_failed";
}

/* The confined process; says itself what went wrong, since its words are the last ones. */
static _Noreturn void be_nobody(const char *const *args, const char *folder, uid_t uid,
                                const char *token, pid_t parent)
{
    struct kndl_error err = {0};
    char code[16];

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (enter(folder, uid, &err) == 0) {
        /* Changing uid forgets it. */
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        if (getppid() == parent && make_whole(args, token, &err) == 0)
            _exit(0);
    }
    (void)snprintf(code, sizeof code, "%d", (int)err.code);
    verb_reason(reason_of(err.code));
    verb_say("error", -1, "code", code, "message", err.message, NULL);
    _exit(1);
}

static int run_confined(const char *const *args, const char *folder, uid_t uid, char *token,
                        size_t token_size, struct kndl_error *err)
{
    int status = 0;
    pid_t parent = getpid();
    pid_t pid = fork();

    if (pid < 0)
        return kndl_fail(err, KNDL_RESOURCE_EXHAUSTED, "fork: %s", strerror(errno));
    if (pid == 0)
        be_nobody(args, folder, uid, token_size > 0 ? token : NULL, parent);
    explicit_bzero(token, token_size);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    verb_reason("repo_clone_failed");
    return kndl_fail(err, KNDL_UNAVAILABLE, "the clone ended by itself");
}

/* ------------------------------------------------------------- GI-06: without the GitHub App */

static bool still_wanted(void *data)
{
    (void)data;
    say_progress("the host's git clones", 0);
    return true;
}

/* The host's own git, with its owner's credentials; it only clones, and runs nothing of the Repo.
 */
static int clone_by_host(const char *const *args, const char *folder, struct kndl_error *err)
{
    const struct passwd *owner = getpwuid(getuid());
    const char *base = verb_arg(args, "base");
    char home[256];
    const char *argv[32] = {"git",
                            "-c",
                            "core.hooksPath=/dev/null",
                            "-c",
                            "core.fsmonitor=false",
                            "-c",
                            "protocol.ext.allow=never",
                            "-c",
                            "http.followRedirects=false",
                            "-c",
                            "http.lowSpeedLimit=1",
                            "-c",
                            "http.lowSpeedTime=120",
                            "clone",
                            "--quiet",
                            "--no-hardlinks",
                            "--template=",
                            "--origin",
                            "origin"};
    struct program git = {
        .argv = argv,
        .env = (const char *[]){home, "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=/bin/false", NULL},
        .deadline_ms = HOST_GIT_MS,
        .on_wait = still_wanted,
    };
    size_t at = 0;

    (void)snprintf(home, sizeof home, "HOME=%s", owner == NULL ? "/" : owner->pw_dir);
    while (argv[at] != NULL)
        at++;
    if (base[0] != '\0') {
        argv[at++] = "--branch";
        argv[at++] = base;
    }
    argv[at++] = "--";
    argv[at++] = verb_arg(args, "url");
    argv[at++] = folder;
    if (program_run(&git, err) == 0)
        return 0;
    verb_reason("repo_clone_failed");
    return kndl_wrap(err, "the Repo could not be cloned with this host's credentials");
}

/* ------------------------------------------------------------------------------ the whole */

static int clone_into(const char *const *args, const char *folder, uid_t uid,
                      struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_free) char *token = NULL;
    size_t size;

    if (verb_input(&token, &size, err) < 0)
        return -1;
    while (size > 0 && (token[size - 1] == '\n' || token[size - 1] == '\r'))
        token[--size] = '\0';
    if (strlen(token) != size)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "the token is no text");
    if (verb_arg(args, "host_git")[0] != '\0' && clone_by_host(args, folder, err) < 0)
        return -1;
    return run_confined(args, folder, uid, token, size, err);
}

enum { OWNER_SIZE = SANDBOX_NAME_CHARS_MAX + 8 };

/* Whose uid a clone has, and where its folder grows. */
static int read_names(const char *const *args, char owner[OWNER_SIZE], char made[PATH_SIZE],
                      struct kndl_error *err)
{
    const char *directory = verb_arg(args, "directory");

    if (!box_name_is_valid(verb_arg(args, "name")))
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "name= is no name of a Sandbox");
    if (directory[0] != '/' || strlen(directory) > PATH_SIZE - 16)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "directory=%s is not absolute", directory);
    (void)snprintf(owner, OWNER_SIZE, "%s.clone", verb_arg(args, "name"));
    (void)snprintf(made, PATH_SIZE, "%s.cloning", directory);
    return 0;
}

static int clone_as_nobody(const char *const *args, const char *owner, const char *folder,
                           struct kndl_error *err)
{
    uint32_t range;
    int done;

    if (uid_range_take(owner, &range, err) < 0)
        return -1;
    done = clone_into(args, folder, uid_range_clone(range), err);
    uid_range_give(owner);
    return done;
}

int clone_run(const char *const *args, struct kndl_error *err)
{
    const char *directory = verb_arg(args, "directory");
    char owner[OWNER_SIZE], made[PATH_SIZE];

    /* The Runner that comes after would clone into the same folder. */
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (read_names(args, owner, made, err) < 0)
        return -1;
    if (rmdir(directory) < 0 && errno != ENOENT) {
        (void)kndl_fail(err, KNDL_ALREADY_EXISTS, "%s: %s", directory, strerror(errno));
        verb_reason("repo_clone_failed");
        return -1;
    }
    if (tree_remove(made, err) < 0)
        return -1;
    if (mkdir(made, 0755) < 0) {
        (void)kndl_fail(err, errno == ENOSPC ? KNDL_RESOURCE_EXHAUSTED : KNDL_INTERNAL,
                        "mkdir %s: %s", made, strerror(errno));
        verb_reason(reason_of(err->code));
        return -1;
    }
    if (clone_as_nobody(args, owner, made, err) < 0) {
        (void)tree_remove(made, NULL);
        return -1;
    }
    if (rename(made, directory) < 0)
        return kndl_fail(err, KNDL_INTERNAL, "rename to %s: %s", directory, strerror(errno));
    verb_done(-1, NULL);
    return 0;
}

/* What a clone that was killed left behind: its folder and its uid. No process of it runs any more:
 * each holds the socket whose end its Runner waited for. */
int clone_clear_run(const char *const *args, struct kndl_error *err)
{
    char owner[OWNER_SIZE], made[PATH_SIZE];

    if (read_names(args, owner, made, err) < 0 || tree_remove(made, err) < 0)
        return -1;
    uid_range_give(owner);
    verb_done(-1, NULL);
    return 0;
}
