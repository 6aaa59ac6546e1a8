/*
 * `runner-agent download`: the pinned Claude Code, by the host's npm as its owner configured it.
 * The folder appears whole or not at all, and only with the integrity that is pinned here.
 */

#include "download.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "box.h"
#include "kndl/mem.h"
#include "program.h"
#include "sandbox.h"
#include "tree.h"
#include "verbs.h"

enum { HEX_CHARS = 128, NPM_MS = 20 * 60 * 1000, UNPACK_MS = 10 * 60 * 1000 };

static const char package[] = "@anthropic-ai/claude-code-linux-x64@" CLAUDE_CODE_VERSION;
static const char tarball[] = "anthropic-ai-claude-code-linux-x64-" CLAUDE_CODE_VERSION ".tgz";

/* Of the package's dist.integrity, in hexadecimal. */
static const char sha512[HEX_CHARS + 1] =
    "7f8256873c18bad2481d2702eff75838f5fab36f2db7b6400e1b0e8bccf0387a"
    "b97c53c4b94782861d8d31f8a74a0d06ad472463169e79b0b88740ea88accb73";

static bool still_wanted(void *data)
{
    verb_say("progress", -1, "text", data, "percent", "0", NULL);
    return true;
}

static int run(const char *const *argv, const char *cwd, const char *const *env, int64_t ms,
               const char *doing, struct kndl_buf *output, struct kndl_error *err)
{
    struct program program = {
        .argv = argv,
        .cwd = cwd,
        .env = env,
        .deadline_ms = ms,
        .output = output,
        .on_wait = still_wanted,
        .data = (void *)(uintptr_t)doing,
    };

    return program_run(&program, err);
}

/* npm pack: no script of the package runs, and the host's registry settings count. */
static int fetch(const char *folder, struct kndl_error *err)
{
    const struct passwd *owner = getpwuid(getuid());
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf output = {0};
    char home[256], cache[BOX_PATH_SIZE + 32];
    struct kndl_error problem = {0};

    (void)snprintf(home, sizeof home, "HOME=%s", owner == NULL ? "/" : owner->pw_dir);
    (void)snprintf(cache, sizeof cache, "npm_config_cache=%s/npm", folder);
    if (run((const char *[]){"npm", "pack", package, "--pack-destination", folder, NULL}, folder,
            (const char *[]){home, cache, "npm_config_ignore_scripts=true",
                             "npm_config_update_notifier=false", "npm_config_loglevel=error",
                             "npm_config_logs_max=0", "npm_config_fetch_retries=2",
                             "npm_config_fetch_retry_mintimeout=1000",
                             "npm_config_fetch_retry_maxtimeout=5000", NULL},
            NPM_MS, "downloading Claude Code", &output, &problem) == 0)
        return 0;
    verb_reason("download_failed");
    return kndl_fail(err, problem.code,
                     "Claude Code " CLAUDE_CODE_VERSION " could not be downloaded; npm says: %.*s",
                     (int)strcspn(kndl_buf_text(&output), "\n"), kndl_buf_text(&output));
}

static int check(const char *folder, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf output = {0};

    if (run((const char *[]){"sha512sum", "--", tarball, NULL}, folder, NULL, UNPACK_MS,
            "checking Claude Code", &output, err) < 0)
        return -1;
    if (output.size > HEX_CHARS && memcmp(output.data, sha512, HEX_CHARS) == 0)
        return 0;
    verb_reason("wrong_hash");
    return kndl_fail(err, KNDL_DATA_LOSS,
                     "what was downloaded as Claude Code " CLAUDE_CODE_VERSION
                     " does not have the right hash; nothing of it was kept");
}

static int unpack(const char *folder, struct kndl_error *err)
{
    if (run((const char *[]){"tar", "--extract", "--gzip", "--file", tarball, "--no-same-owner",
                             "--no-same-permissions", "--strip-components=1", "package/claude",
                             NULL},
            folder, NULL, UNPACK_MS, "unpacking Claude Code", NULL, err) == 0)
        return 0;
    verb_reason("download_failed");
    return kndl_wrap(err, "Claude Code could not be unpacked");
}

/* The binary alone moves into its place, in a folder that is renamed when it is on the disk. */
static int install(const char *folder, const char *place, struct kndl_error *err)
{
    char from[BOX_PATH_SIZE + 32], made[BOX_PATH_SIZE + 32], to[BOX_PATH_SIZE + 64];
    KNDL_CLEANUP(kndl_close) int file = -1;

    (void)snprintf(from, sizeof from, "%s/claude", folder);
    (void)snprintf(made, sizeof made, "%s/whole", folder);
    (void)snprintf(to, sizeof to, "%s/claude", made);
    file = open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (file < 0 || fchmod(file, 0755) < 0 || fsync(file) < 0 || mkdir(made, 0755) < 0 ||
        rename(from, to) < 0 || (rename(made, place) < 0 && errno != EEXIST && errno != ENOTEMPTY))
        return kndl_fail(err, errno == ENOSPC ? KNDL_RESOURCE_EXHAUSTED : KNDL_INTERNAL,
                         "install Claude Code at %s: %s", place, strerror(errno));
    return 0;
}

int download_install(const char *folder, const char *place, struct kndl_error *err)
{
    return check(folder, err) < 0 || unpack(folder, err) < 0 || install(folder, place, err) < 0 ? -1
                                                                                                : 0;
}

int download_run(const char *const *args, struct kndl_error *err)
{
    char home[BOX_PATH_SIZE], place[BOX_PATH_SIZE], file[BOX_PATH_SIZE], folder[BOX_PATH_SIZE];
    int done;

    (void)args;
    box_home_path("claude-code", home);
    box_home_path("claude-code/" CLAUDE_CODE_VERSION "-glibc", place);
    box_home_path("claude-code/" CLAUDE_CODE_VERSION "-glibc/claude", file);
    if (access(file, X_OK) == 0) {
        verb_done(-1, NULL);
        return 0;
    }
    box_home_path("claude-code/.new-XXXXXX", folder);
    if ((mkdir(home, 0755) < 0 && errno != EEXIST) || mkdtemp(folder) == NULL)
        return kndl_fail(err, errno == ENOSPC ? KNDL_RESOURCE_EXHAUSTED : KNDL_INTERNAL, "%s: %s",
                         home, strerror(errno));
    done = fetch(folder, err) < 0 ? -1 : download_install(folder, place, err);
    if (done < 0 && err->code == KNDL_RESOURCE_EXHAUSTED)
        verb_reason("no_space");
    (void)tree_remove(folder, NULL);
    if (done == 0)
        verb_done(-1, NULL);
    return done;
}
