/* Sandboxes for tests. */

#include "host.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kndl/clock.h"
#include "kndl/env.h"
#include "kndl/mem.h"
#include "tree.h"

static void assert_done(const struct host *host)
{
    if (host->answer.err.code != KNDL_OK)
        fail_msg("%s (%s)", host->answer.err.message, host->reason);
}

void host_folder(const struct host *host, const char *leaf, char ret_path[256])
{
    (void)snprintf(ret_path, 256, "%s/%s", host->home, leaf);
    assert_true(mkdir(ret_path, 0755) == 0 || errno == EEXIST);
}

static void link_to(const struct host *host, const char *target, const char *leaf)
{
    char path[256];

    (void)snprintf(path, sizeof path, "%s/image/%s", host->home, leaf);
    assert_int_equal(symlink(target, path), 0);
}

static void write_file(const struct host *host, const char *leaf, const char *text)
{
    char path[256];
    FILE *file;

    (void)snprintf(path, sizeof path, "%s/%s", host->home, leaf);
    file = fopen(path, "we");
    assert_non_null(file);
    (void)fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

/* This machine's programs, read-only, and nothing else of it. */
static void make_image(const struct host *host)
{
    static const char *const folders[] = {"image",      "image/usr", "image/etc", "image/root",
                                          "image/proc", "image/sys", "image/dev", "image/tmp",
                                          "image/run",  "image/mnt"};
    char path[256];

    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
        host_folder(host, folders[i], path);
    link_to(host, "usr/bin", "bin");
    link_to(host, "usr/sbin", "sbin");
    link_to(host, "usr/lib", "lib");
    link_to(host, "usr/lib64", "lib64");
    write_file(host, "image/etc/passwd", "root:x:0:0:root:/root:/bin/bash\n");
    write_file(host, "image/etc/group", "root:x:0:\n");
    write_file(host, "image/etc/hosts", "127.0.0.1 localhost\n192.0.2.77 of.the.image\n");
}

static void set_environment(const struct host *host)
{
    char image[256];

    (void)snprintf(image, sizeof image, "%s/image", host->home);
    (void)setenv("RUNNER_HOME", host->home, 1);
    (void)setenv("RUNNER_NAME_PREFIX", host->prefix, 1);
    (void)setenv("RUNNER_SANDBOX_UID_BASE", "1700000000", 1);
    (void)setenv("RUNNER_DEFAULT_IMAGE", image, 1);
    (void)setenv("RUNNER_SANDBOX_ALLOW", "", 0); /* a test may have set one */
    assert_int_equal(kndl_env_load(sandbox_env, NULL), 0);
}

static void open_side(struct host *host)
{
    host->loop = kndl_loop_new();
    host->children = children_new(host->loop);
    host->sandboxes = sandbox_host_new(host->children);
}

static void close_side(struct host *host)
{
    sandbox_host_free(host->sandboxes);
    children_free(host->children);
    kndl_loop_free(host->loop);
}

void host_restart(struct host *host)
{
    close_side(host);
    open_side(host);
}

static void on_probe(void *data, const struct sandbox_probe *probe)
{
    host_on_answer(data, &probe->answer);
}

int host_prepare(void **state)
{
    struct host host = {.home = "/tmp/kndl-test-XXXXXX"};

    (void)state;
    children_prepare();
    assert_non_null(mkdtemp(host.home));
    assert_int_equal(chmod(host.home, 0711), 0);
    (void)snprintf(host.prefix, sizeof host.prefix, "kt%d", (int)getpid());
    make_image(&host);
    set_environment(&host);
    return 0;
}

int host_clean(void **state)
{
    (void)state;
    return tree_remove(kndl_env_get("RUNNER_HOME"), NULL);
}

void host_init(struct host *host)
{
    *host = (struct host){0};
    (void)snprintf(host->home, sizeof host->home, "%s", kndl_env_get("RUNNER_HOME"));
    (void)snprintf(host->prefix, sizeof host->prefix, "%s", kndl_env_get("RUNNER_NAME_PREFIX"));
    open_side(host);
    sandbox_probe(host->sandboxes, on_probe, host);
    host_wait(host);
    assert_done(host);
}

/* No line of this file of /proc speaks of this host. */
static void assert_no_line(const struct host *host, const char *file)
{
    char line[4096];
    FILE *lines = fopen(file, "re");

    assert_non_null(lines);
    while (fgets(line, sizeof line, lines) != NULL) {
        if (strstr(line, host->home) != NULL || strstr(line, host->prefix) != NULL)
            fail_msg("%s: %s", file, line);
    }
    (void)fclose(lines);
}

void host_done(struct host *host)
{
    assert_no_line(host, "/proc/self/mounts");
    close_side(host);
}

/* The loop turns until a callback has said that it is done. */
static void look(void *data)
{
    struct host *host = data;

    if (host->done)
        kndl_loop_stop(host->loop);
}

static void give_up(void *data)
{
    (void)data;
    print_error("waited a minute for something that did not come\n");
    abort();
}

void host_wait(struct host *host)
{
    struct kndl_timer *looking = kndl_timer_new(host->loop, look, host);
    struct kndl_timer *patience = kndl_timer_new(host->loop, give_up, NULL);

    host->done = false;
    kndl_timer_start(looking, 1, 2);
    kndl_timer_start(patience, 60000, 0);
    kndl_loop_run(host->loop, NULL, NULL);
    kndl_timer_free(looking);
    kndl_timer_free(patience);
}

void host_on_answer(void *data, const struct sandbox_answer *answer)
{
    struct host *host = data;

    host->answer = *answer;
    (void)snprintf(host->reason, sizeof host->reason, "%s", answer->reason);
    host->answer.reason = host->reason;
    host->done = true;
}

const char *host_name(const struct host *host, char letter, char ret_name[64])
{
    (void)snprintf(ret_name, 64, "%s-%c", host->prefix, letter);
    return ret_name;
}

void host_create(struct host *host, const char *name, const char *workspace)
{
    const struct sandbox_mount mounts[] = {
        {.kind = SANDBOX_BIND_READ_ONLY, .source = "/usr", .target = "/usr"},
        {.kind = SANDBOX_BIND_OWNED, .source = workspace, .target = "/workspace"},
        {.kind = SANDBOX_FILE,
         .source = "[safe]\n\tdirectory = *\n",
         .target = "/etc/gitconfig",
         .mode = 0644},
    };

    sandbox_create(host->sandboxes, name,
                   &(struct sandbox_spec){.cpu_percent = 50,
                                          .memory_mib = 64,
                                          .pids = 50,
                                          .relay_port = 18080,
                                          .mounts = mounts,
                                          .mount_count = 3},
                   host_on_answer, host);
    host_wait(host);
    assert_done(host);
}

void host_start(struct host *host, const char *name)
{
    sandbox_start(host->sandboxes, name, host_on_answer, host);
    host_wait(host);
    assert_done(host);
}

void host_with_sandbox(struct host *host, char ret_name[64], char ret_workspace[256])
{
    host_init(host);
    host_name(host, 'a', ret_name);
    host_workspace(host, "workspace", ret_workspace);
    host_create(host, ret_name, ret_workspace);
    host_start(host, ret_name);
}

void host_stop(struct host *host, const char *name)
{
    sandbox_stop(host->sandboxes, name, 3000, host_on_answer, host);
    host_wait(host);
    assert_done(host);
}

void host_remove(struct host *host, const char *name)
{
    sandbox_remove(host->sandboxes, name, host_on_answer, host);
    host_wait(host);
    assert_done(host);
}

static void on_exit_of_command(void *data, const struct sandbox_exit *end)
{
    struct host *host = data;

    host->exit = *end;
    (void)snprintf(host->output, sizeof host->output, "%.*s%.*s", (int)end->output.size,
                   (const char *)end->output.data, (int)end->errors.size,
                   (const char *)end->errors.data);
    host->done = true;
}

int host_bash(struct host *host, const char *name, const char *script)
{
    sandbox_exec(
        host->sandboxes, name,
        &(struct sandbox_command){.argv = (const char *[]){"/bin/bash", "-c", script, NULL},
                                  .deadline_ms = 30000,
                                  .output_most = 2000},
        NULL, on_exit_of_command, host);
    host_wait(host);
    if (host->exit.err.code != KNDL_OK)
        return -1;
    return host->exit.signal != 0 ? 128 + host->exit.signal : host->exit.code;
}

void host_workspace(const struct host *host, const char *leaf, char ret_path[256])
{
    char path[256], inner[200];

    host_folder(host, "private", path);
    assert_int_equal(chmod(path, 0700), 0);
    (void)snprintf(inner, sizeof inner, "private/%s", leaf);
    host_folder(host, inner, ret_path);
}

int host_sweep(void **state)
{
    struct host host = {0};
    char name[64];

    (void)state;
    (void)snprintf(host.prefix, sizeof host.prefix, "%s", kndl_env_get("RUNNER_NAME_PREFIX"));
    open_side(&host);
    host_remove(&host, host_name(&host, 'a', name));
    host_remove(&host, host_name(&host, 'b', name));
    close_side(&host);
    return 0;
}
