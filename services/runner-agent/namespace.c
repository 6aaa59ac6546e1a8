/*
 * The namespace backend as the loop sees it: every call becomes a verb child, and its answer a
 * callback.
 */

#include "sandbox.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "child.h"
#include "hold.h"
#include "kndl/buf.h"
#include "kndl/mem.h"
#include "namespace_host.h"

enum {
    SHORT_MS = 30 * 1000,
    START_MS = 120 * 1000,
    REMOVE_MS = 30 * 60 * 1000,
    LISTENERS_MAX = 256,
};

struct sandbox_host *sandbox_host_new(struct children *children)
{
    struct sandbox_host *host = kndl_new0(struct sandbox_host);

    host->children = children;
    return host;
}

void sandbox_host_free(struct sandbox_host *host)
{
    if (host != NULL)
        exec_forget_all(host);
    free(host);
}

/* ------------------------------------------------------------------------------ arguments */

void args_add(struct args *args, const char *name, const char *value)
{
    struct kndl_buf text = {0};

    kndl_buf_printf(&text, "%s=%s", name, value);
    args->items = kndl_realloc(args->items, args->count + 2, sizeof *args->items);
    args->items[args->count++] = kndl_buf_take(&text);
    args->items[args->count] = NULL;
}

void args_add_number(struct args *args, const char *name, uint64_t value)
{
    char text[24];

    (void)snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    args_add(args, name, text);
}

void args_done(struct args *args)
{
    for (size_t i = 0; i < args->count; i++)
        free(args->items[i]);
    free(args->items);
}

struct sandbox_answer answer_of(const struct child_end *end)
{
    return (struct sandbox_answer){end->err, end->reason, end->took_ms};
}

/* -------------------------------------------------------------- calls that only say "done" */

struct simple {
    sandbox_fn fn;
    void *data;
};

static void on_simple_end(void *data, const struct child_end *end)
{
    struct simple *simple = data;
    struct sandbox_answer answer = answer_of(end);

    if (simple->fn != NULL)
        simple->fn(simple->data, &answer);
    free(simple);
}

void start_simple(struct sandbox_host *host, const char *verb, const struct args *args,
                  struct kndl_slice input, int64_t deadline_ms, sandbox_fn fn, void *data)
{
    struct simple *simple = kndl_new0(struct simple);

    *simple = (struct simple){fn, data};
    (void)child_start(host->children, &(struct child_options){
                                          .verb = verb,
                                          .args = (const char *const *)args->items,
                                          .input = input,
                                          .deadline_ms = deadline_ms,
                                          .on_end = on_simple_end,
                                          .data = simple,
                                      });
}

static const char *const mount_words[] = {
    [SANDBOX_BIND_READ_ONLY] = "read-only",
    [SANDBOX_BIND_OWNED] = "owned",
    [SANDBOX_FILE] = "file",
    [SANDBOX_TMPFS] = "tmpfs",
};

void sandbox_create(struct sandbox_host *host, const char *name, const struct sandbox_spec *spec,
                    sandbox_fn fn, void *data)
{
    KNDL_CLEANUP(args_done) struct args args = {0};

    args_add(&args, "name", name);
    args_add(&args, "image", spec->image == NULL ? "" : spec->image);
    args_add_number(&args, "cpu_percent", spec->cpu_percent);
    args_add_number(&args, "memory_mib", spec->memory_mib);
    args_add_number(&args, "pids", spec->pids);
    args_add_number(&args, "relay_port", spec->relay_port);
    for (size_t i = 0; i < spec->mount_count; i++) {
        const struct sandbox_mount *mount = &spec->mounts[i];

        args_add(&args, "mount", mount_words[mount->kind]);
        args_add(&args, "source", mount->source == NULL ? "" : mount->source);
        args_add(&args, "target", mount->target);
        args_add_number(&args, "size", mount->size_mib);
        args_add_number(&args, "mode", mount->mode);
    }
    start_simple(host, "sandbox-create", &args, (struct kndl_slice){0}, SHORT_MS, fn, data);
}

void sandbox_start(struct sandbox_host *host, const char *name, sandbox_fn fn, void *data)
{
    KNDL_CLEANUP(args_done) struct args args = {0};

    args_add(&args, "name", name);
    start_simple(host, "sandbox-start", &args, (struct kndl_slice){0}, START_MS, fn, data);
}

void sandbox_stop(struct sandbox_host *host, const char *name, uint32_t grace_ms, sandbox_fn fn,
                  void *data)
{
    KNDL_CLEANUP(args_done) struct args args = {0};

    args_add(&args, "name", name);
    args_add_number(&args, "grace_ms", grace_ms);
    start_simple(host, "sandbox-stop", &args, (struct kndl_slice){0}, START_MS + grace_ms, fn,
                 data);
}

void sandbox_remove(struct sandbox_host *host, const char *name, sandbox_fn fn, void *data)
{
    KNDL_CLEANUP(args_done) struct args args = {0};

    args_add(&args, "name", name);
    start_simple(host, "sandbox-remove", &args, (struct kndl_slice){0}, REMOVE_MS, fn, data);
}

void workspace_remove(struct sandbox_host *host, const char *directory, sandbox_fn fn, void *data)
{
    KNDL_CLEANUP(args_done) struct args args = {0};

    args_add(&args, "path", directory);
    start_simple(host, "tree-remove", &args, (struct kndl_slice){0}, REMOVE_MS, fn, data);
}

/* ---------------------------------------------------------------------------------- probe */

struct probe {
    sandbox_probe_fn fn;
    void *data;
};

static void on_probe_end(void *data, const struct child_end *end)
{
    struct probe *probe = data;

    probe->fn(probe->data, &(struct sandbox_probe){
                               .answer = answer_of(end),
                               .backend = child_value(end->last, "backend"),
                               .runtime = child_value(end->last, "runtime"),
                               .cgroup = child_value(end->last, "cgroup"),
                           });
    free(probe);
}

void sandbox_probe(struct sandbox_host *host, sandbox_probe_fn fn, void *data)
{
    struct probe *probe = kndl_new0(struct probe);

    *probe = (struct probe){fn, data};
    (void)child_start(host->children, &(struct child_options){
                                          .verb = "sandbox-probe",
                                          .deadline_ms = SHORT_MS,
                                          .on_end = on_probe_end,
                                          .data = probe,
                                      });
}

/* ----------------------------------------------------------------------------------- list */

struct list {
    sandbox_list_fn fn;
    void *data;
};

static void on_list_entry(void *data, struct child_message *message)
{
    struct list *list = data;
    const char *word = child_value(message, "state");
    struct sandbox_answer ok = {.reason = ""};
    struct sandbox_entry entry = {
        .name = child_value(message, "name"),
        .state = strcmp(word, "running") == 0   ? SANDBOX_RUNNING
                 : strcmp(word, "crashed") == 0 ? SANDBOX_CRASHED
                                                : SANDBOX_STOPPED,
        .uid_base = (uint32_t)child_number(message, "uid"),
    };

    list->fn(list->data, &entry, &ok);
}

static void on_list_end(void *data, const struct child_end *end)
{
    struct list *list = data;
    struct sandbox_answer answer = answer_of(end);

    list->fn(list->data, NULL, &answer);
    free(list);
}

void sandbox_list(struct sandbox_host *host, sandbox_list_fn fn, void *data)
{
    struct list *list = kndl_new0(struct list);

    *list = (struct list){fn, data};
    (void)child_start(host->children, &(struct child_options){
                                          .verb = "sandbox-list",
                                          .deadline_ms = START_MS,
                                          .on_message = on_list_entry,
                                          .on_end = on_list_end,
                                          .data = list,
                                      });
}

/* -------------------------------------------------------------------------------- network */

int sandbox_relay_socket(struct sandbox_host *host, const char *name, int *ret_fd,
                         struct kndl_error *err)
{
    (void)host;
    return hold_socket(name, ret_fd, err);
}

struct dial {
    sandbox_dial_fn fn;
    void *data;
};

static void on_dial_end(void *data, const struct child_end *end)
{
    struct dial *dial = data;
    struct sandbox_answer answer = answer_of(end);
    int fd = -1;

    if (answer.err.code == KNDL_OK && end->last->fd_count == 1)
        fd = kndl_steal_fd(&end->last->fds[0]);
    else if (answer.err.code == KNDL_OK)
        (void)kndl_fail(&answer.err, KNDL_INTERNAL, "no connection came back");
    dial->fn(dial->data, &answer, fd);
    free(dial);
}

void sandbox_dial(struct sandbox_host *host, const char *name, uint16_t port, sandbox_dial_fn fn,
                  void *data)
{
    KNDL_CLEANUP(args_done) struct args args = {0};
    struct dial *dial = kndl_new0(struct dial);

    *dial = (struct dial){fn, data};
    args_add(&args, "name", name);
    args_add_number(&args, "port", port);
    (void)child_start(host->children, &(struct child_options){
                                          .verb = "sandbox-dial",
                                          .args = (const char *const *)args.items,
                                          .deadline_ms = SHORT_MS,
                                          .on_end = on_dial_end,
                                          .data = dial,
                                      });
}

struct listeners {
    sandbox_listeners_fn fn;
    void *data;
    char addresses[LISTENERS_MAX][INET6_ADDRSTRLEN];
    struct sandbox_listener items[LISTENERS_MAX];
    size_t count;
};

static void on_listener(void *data, struct child_message *message)
{
    struct listeners *listeners = data;
    uint16_t port = (uint16_t)child_number(message, "port");
    size_t i = listeners->count;

    if (i == LISTENERS_MAX)
        return;
    (void)snprintf(listeners->addresses[i], INET6_ADDRSTRLEN, "%s",
                   child_value(message, "address"));
    listeners->items[i] = (struct sandbox_listener){listeners->addresses[i], port};
    listeners->count++;
}

static void on_listeners_end(void *data, const struct child_end *end)
{
    struct listeners *listeners = data;
    struct sandbox_answer answer = answer_of(end);

    listeners->fn(listeners->data, &answer, listeners->items, listeners->count);
    free(listeners);
}

void sandbox_listeners(struct sandbox_host *host, const char *name, sandbox_listeners_fn fn,
                       void *data)
{
    KNDL_CLEANUP(args_done) struct args args = {0};
    struct listeners *listeners = kndl_new0(struct listeners);

    listeners->fn = fn;
    listeners->data = data;
    args_add(&args, "name", name);
    (void)child_start(host->children, &(struct child_options){
                                          .verb = "sandbox-listeners",
                                          .args = (const char *const *)args.items,
                                          .deadline_ms = SHORT_MS,
                                          .on_message = on_listener,
                                          .on_end = on_listeners_end,
                                          .data = listeners,
                                      });
}

/* ---------------------------------------------------------------------------------- stats */

struct stats {
    sandbox_stats_fn fn;
    void *data;
};

static void on_stats_end(void *data, const struct child_end *end)
{
    struct stats *stats = data;

    stats->fn(stats->data, &(struct sandbox_stats){
                               .answer = answer_of(end),
                               .cpu_us = child_number(end->last, "cpu_us"),
                               .memory_bytes = child_number(end->last, "memory"),
                               .memory_peak_bytes = child_number(end->last, "peak"),
                               .pids = child_number(end->last, "pids"),
                           });
    free(stats);
}

void sandbox_stats(struct sandbox_host *host, const char *name, sandbox_stats_fn fn, void *data)
{
    KNDL_CLEANUP(args_done) struct args args = {0};
    struct stats *stats = kndl_new0(struct stats);

    *stats = (struct stats){fn, data};
    args_add(&args, "name", name);
    (void)child_start(host->children, &(struct child_options){
                                          .verb = "sandbox-stats",
                                          .args = (const char *const *)args.items,
                                          .deadline_ms = SHORT_MS,
                                          .on_end = on_stats_end,
                                          .data = stats,
                                      });
}
