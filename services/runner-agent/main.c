/*
 * runner-agent: what runs on each host that starts Sandboxes.
 *
 * One loop. It takes the Hub's commands, keeps Sessions (session.h), and tells the Hub every 5 s
 * what runs here. What may block is a child (`runner-agent <verb>`), the disk's thread, or a
 * request on the bus. SIGTERM ends this process alone: Claude Code and Sandboxes go on, and the
 * next one takes them back (LI-07).
 */

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attend.h"
#include "child.h"
#include "commands.h"
#include "credential.h"
#include "disk.h"
#include "hub.h"
#include "hub_http.h"
#include "join.h"
#include "kndl/buf.h"
#include "kndl/bus.h"
#include "kndl/env.h"
#include "kndl/log.h"
#include "kndl/loop.h"
#include "kndl/mem.h"
#include "own_release.h"
#include "runner.h"
#include "sandbox.h"
#include "session.h"
#include "trial.h"
#include "update.h"
#include "verb.h"

static const struct kndl_env runner_env[] = {
    {"RUNNER_NATS_URL", "nats://127.0.0.1:4222", "where the Hub's NATS is"},
    {"RUNNER_PROXY_PORT", "", "the older name of RUNNER_RELAY_PORT"},
    {"RUNNER_MOD_DIR", "",
     "folder with hub-link and hub-link-commands, where no mod/ lies beside this program"},
    {"RUNNER_SANDBOX_MAX_CPUS", "0", "the most CPUs of a Sandbox; 0: two"},
    {"RUNNER_SANDBOX_MAX_MEMORY_MIB", "0",
     "the most memory of a Sandbox; 0: 2048 unless the Session asks for another"},
    {NULL, NULL, NULL},
};

enum { KEYPAIR_BYTES_MAX = 256 };

static void stop(void *data)
{
    struct runner *runner = data;

    kndl_log(KNDL_INFO, "runner-agent ends; Sessions go on", KNDL_STR("runner", runner->id));
    runner->ends = true;
    kndl_loop_stop(runner->loop);
}

/* The zone that Claude Code sees as TZ: the link of /etc/localtime below zoneinfo. */
static const char *time_zone(char path[PATH_MAX])
{
    ssize_t size = readlink("/etc/localtime", path, PATH_MAX - 1);
    const char *zone;

    if (size < 0)
        return "UTC";
    path[size] = '\0';
    zone = strstr(path, "zoneinfo/");
    return zone == NULL ? "UTC" : zone + strlen("zoneinfo/");
}

/* What lies beside this program, as run-claude. */
static char *find_beside(const char *name)
{
    char path[PATH_MAX];
    ssize_t size = readlink("/proc/self/exe", path, sizeof path - 1);
    struct kndl_buf found = {0};

    path[size < 0 ? 0 : size] = '\0';
    if (strrchr(path, '/') != NULL)
        *strrchr(path, '/') = '\0';
    kndl_buf_printf(&found, "%s/%s", path, name);
    return kndl_buf_take(&found);
}

/* A release brings its own. */
static int find_mod(struct runner *runner, struct kndl_error *err)
{
    runner->mod_dir = find_beside("mod");
    if (access(runner->mod_dir, R_OK | X_OK) == 0)
        return 0;
    free(runner->mod_dir);
    runner->mod_dir = kndl_strdup(kndl_env_get("RUNNER_MOD_DIR"));
    if (runner->mod_dir[0] == '\0')
        return kndl_fail(err, KNDL_INVALID_ARGUMENT,
                         "RUNNER_MOD_DIR is not set, and there is no mod/ beside this program");
    return 0;
}

/*
 * The key that prompts and answers are sealed to. Its public half follows from the file's; a new
 * pair is made once. What was sealed to a pair that is gone is refused: send it again.
 */
static int load_seal_key(struct runner *runner, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf path = {0}, file = {0};

    kndl_buf_printf(&path, "%s/seal.key", runner->home);
    if (access(kndl_buf_text(&path), F_OK) == 0) {
        if (kndl_secret_read_file(kndl_buf_text(&path), KEYPAIR_BYTES_MAX, &runner->seal_pair,
                                  err) < 0)
            return -1;
        if (runner->seal_pair.size <= KNDL_SEAL_PUBLIC_BYTES)
            return kndl_fail(err, KNDL_DATA_LOSS, "%s is no key pair", kndl_buf_text(&path));
        /* Public half first, then the pair. */
        memcpy(runner->seal_public, runner->seal_pair.data, KNDL_SEAL_PUBLIC_BYTES);
        struct kndl_secret pair = {0};
        kndl_secret_copy(&pair, kndl_slice(runner->seal_pair.data + KNDL_SEAL_PUBLIC_BYTES,
                                           runner->seal_pair.size - KNDL_SEAL_PUBLIC_BYTES));
        kndl_secret_done(&runner->seal_pair);
        runner->seal_pair = pair;
        return 0;
    }
    kndl_seal_keypair(&runner->seal_pair, runner->seal_public);
    kndl_buf_reserve(&file, KEYPAIR_BYTES_MAX);
    kndl_buf_append(&file, runner->seal_public, sizeof runner->seal_public);
    kndl_buf_append(&file, runner->seal_pair.data, runner->seal_pair.size);
    if (disk_write_file_now(kndl_buf_text(&path), file.data, file.size, err) < 0)
        return -1;
    explicit_bzero(file.data, file.capacity);
    return 0;
}

static int read_settings(struct runner *runner, struct kndl_error *err)
{
    int64_t cpus, memory, port;
    const char *older = kndl_env_get("RUNNER_PROXY_PORT");

    if (kndl_env_get_i64("RUNNER_SANDBOX_MAX_CPUS", 0, 1024, &cpus, err) < 0 ||
        kndl_env_get_i64("RUNNER_SANDBOX_MAX_MEMORY_MIB", 0, 1 << 24, &memory, err) < 0 ||
        kndl_env_get_i64(older[0] != '\0' ? "RUNNER_PROXY_PORT" : "RUNNER_RELAY_PORT", 1, 65535,
                         &port, err) < 0)
        return -1;
    runner->max_cpus = (int32_t)cpus;
    runner->max_memory_mib = (int32_t)memory;
    runner->relay_port = (int)port;
    runner->home = kndl_env_get("RUNNER_HOME");
    if (runner->home[0] != '/')
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "RUNNER_HOME must be an absolute path");
    if (mkdir(runner->home, 0755) < 0 && errno != EEXIST)
        return kndl_fail(err, KNDL_INTERNAL, "cannot make %s: %s", runner->home, strerror(errno));
    return find_mod(runner, err);
}

static int load_env(struct kndl_error *err)
{
    return kndl_env_load(sandbox_env, err) < 0 || kndl_env_load(runner_env, err) < 0 ||
                   kndl_env_load(update_env, err) < 0 || kndl_env_load(hub_http_env, err) < 0
               ? -1
               : 0;
}

static void give_way(void *data)
{
    struct runner *runner = data;

    if (runner->ends)
        return;
    runner->gives_way = true;
    kndl_loop_stop(runner->loop);
}

/* On the credential's thread. */
static void on_update(void *data)
{
    struct runner *runner = data;

    kndl_loop_post(runner->loop, give_way, runner);
}

/* On the Hub: serves until SIGTERM, or until another release is to take over. */
static int serve(struct runner *runner, struct kndl_error *err)
{
    runner->disk = disk_new(runner->loop);
    runner->hub = hub_new(runner->loop, runner->bus, runner->id);
    runner->children = children_new(runner->loop);
    runner->sandboxes = sandbox_host_new(runner->children);
    session_adopt_all(runner);
    if (commands_serve(runner, err) < 0)
        return -1;
    runner->attend = attend_new(runner);
    kndl_log(KNDL_INFO, "runner-agent is ready", KNDL_STR("runner", runner->id),
             KNDL_STR("version", own_release.version), KNDL_STR("instance", runner->instance_id));
    kndl_loop_run(runner->loop, stop, runner);

    attend_free(runner->attend);
    session_free_all(runner);
    kndl_bus_close(runner->bus);
    sandbox_host_free(runner->sandboxes);
    children_free(runner->children);
    disk_free(runner->disk);
    return 0;
}

static int run(struct runner *runner, struct kndl_error *err)
{
    const struct credential_options options = {runner->update, on_update, runner};
    bool is_stopped = false;
    char zone[PATH_MAX];
    int result;

    if (kndl_crypt_init(err) < 0 || load_seal_key(runner, err) < 0 ||
        credential_open(&options, &runner->credential, err) < 0)
        return -1;
    kndl_id_new(runner->instance_id);
    runner->time_zone = time_zone(zone);
    runner->launcher = find_beside("run-claude");
    runner->loop = kndl_loop_new();
    result = join_hub(runner, &is_stopped, err);
    if (result < 0)
        runner->gives_way = err->code == KNDL_ABORTED;
    else if (runner->bus != NULL && !is_stopped && !runner->gives_way)
        result = serve(runner, err);
    else if (runner->bus != NULL)
        kndl_bus_close(runner->bus);
    runner->ends = runner->ends || is_stopped;
    credential_close(runner->credential);
    kndl_loop_free(runner->loop);
    hub_free(runner->hub);
    return result;
}

/* Runs as this release, or becomes another one. */
static int be(char **argv, struct kndl_error *err)
{
    struct runner runner = {0};
    int result;

    if (load_env(err) < 0 || read_settings(&runner, err) < 0 ||
        update_new(runner.home, &runner.update, err) < 0)
        return -1;
    update_give_way(runner.update, argv);
    result = run(&runner, err);
    if (runner.gives_way) {
        update_become(runner.update, argv);
        result = kndl_fail(err, KNDL_INTERNAL, "the newer release could not be started");
    }
    update_free(runner.update);
    kndl_secret_done(&runner.seal_pair);
    free(runner.launcher);
    free(runner.mod_dir);
    return result;
}

/* Would it run? For the release before it (trial.h). */
static int check(void)
{
    struct runner runner = {0};
    struct kndl_error err;

    if (load_env(&err) < 0 || read_settings(&runner, &err) < 0 || kndl_crypt_init(&err) < 0) {
        (void)fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    free(runner.mod_dir);
    trial_say(own_release.version);
    return 0;
}

int main(int argc, char **argv)
{
    struct kndl_error err = {0};
    int status;

    if (verb_main(argc, argv, &status))
        return status;
    if (argc > 1 && strcmp(argv[1], "--check") == 0)
        return check();
    if (argc > 1 && strcmp(argv[1], "--help") == 0) {
        kndl_env_print(hub_http_env, stdout);
        kndl_env_print(update_env, stdout);
        kndl_env_print(runner_env, stdout);
        kndl_env_print(sandbox_env, stdout);
        return 0;
    }
    kndl_log_open("runner-agent", KNDL_INFO);
    children_prepare();
    if (be(argv, &err) < 0) {
        kndl_log(KNDL_ERROR, "runner-agent cannot start", KNDL_STR("why", err.message));
        return 1;
    }
    return 0;
}
