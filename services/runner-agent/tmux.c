/* The tmux of one Sandbox: its server, its options, its keeper client. */

#include "tmux.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "control_mode.h"
#include "kndl/buf.h"
#include "kndl/clock.h"
#include "kndl/loop.h"
#include "kndl/mem.h"
#include "sandbox.h"

enum { COMMAND_MS_MAX = 5000, SERVER_MS_MAX = 15000, WAITING_MAX = 64 };

#define SOCKET "/run/kndl/tmux"

/* A command that was written and has no block yet. */
struct waiting {
    tmux_fn fn;
    void *data;
    struct waiting *next;
};

struct tmux {
    struct kndl_loop *loop;
    struct sandbox_host *sandboxes;
    char *sandbox;
    struct tmux_options options;
    struct sandbox_process *process; /* the server's start, then the client */
    int in, out;                     /* the client's stdin and stdout */
    struct kndl_watch *watch_in, *watch_out;
    struct kndl_timer *deadline;
    struct control_mode control;
    struct kndl_buf unwritten;
    struct waiting *first, **tail;
    size_t waiting;
    size_t options_left; /* answers to the options' commands that are still out */
    bool is_ready;
    bool is_gone;
    bool is_freed; /* by a callback of its own: the process's end frees it */
};

/* Never `set -g window-size manual` here: it crashes the server at the next new-window. */
static const char *const server_options[] = {
    "set -s message-limit 0",    "set -s exit-empty off",
    "set -g status off",         "set -s escape-time 0",
    "set -s set-clipboard off",  "set -g allow-passthrough off",
    "set -g allow-rename off",   "set -g automatic-rename off",
    "set -g history-limit 2000", "set -g default-terminal tmux-256color",
    "set -g focus-events on",
};

static void gone(struct tmux *tmux, enum kndl_code code, const char *why)
{
    struct kndl_error err;

    if (tmux->is_gone || tmux->is_freed)
        return;
    tmux->is_gone = true;
    kndl_timer_stop(tmux->deadline);
    kndl_fail(&err, code, "%s", why);
    tmux->options.on_gone(tmux->options.data, &err);
}

static void wipe(struct kndl_buf *buf)
{
    if (buf->data != NULL)
        explicit_bzero(buf->data, buf->capacity);
    kndl_buf_clear(buf);
}

static void write_more(struct tmux *tmux)
{
    while (tmux->unwritten.size > 0 && tmux->in >= 0) {
        ssize_t wrote = write(tmux->in, tmux->unwritten.data, tmux->unwritten.size);

        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote < 0 && errno == EAGAIN) {
            kndl_watch_events(tmux->watch_in, POLLOUT);
            return;
        }
        if (wrote < 0) {
            gone(tmux, KNDL_UNAVAILABLE, "tmux has closed its control client");
            return;
        }
        kndl_buf_consume(&tmux->unwritten, (size_t)wrote);
    }
    wipe(&tmux->unwritten);
    if (tmux->watch_in != NULL)
        kndl_watch_events(tmux->watch_in, 0);
}

static void can_write(int fd, short events, void *data)
{
    (void)fd;
    (void)events;
    write_more(data);
}

void tmux_command(struct tmux *tmux, const char *line, tmux_fn fn, void *data)
{
    struct waiting *waiting;

    /* An empty line would detach the client, and a break would begin another command. */
    if (line[0] == '\0' || strchr(line, '\n') != NULL)
        abort();
    waiting = kndl_new0(struct waiting);
    *waiting = (struct waiting){.fn = fn, .data = data};
    *tmux->tail = waiting;
    tmux->tail = &waiting->next;
    tmux->waiting++;
    if (tmux->waiting > WAITING_MAX) {
        gone(tmux, KNDL_UNAVAILABLE, "tmux does not answer");
        return;
    }
    kndl_buf_reserve(&tmux->unwritten, strlen(line) + 1);
    kndl_buf_append_text(&tmux->unwritten, line);
    kndl_buf_append_char(&tmux->unwritten, '\n');
    kndl_timer_start(tmux->deadline, COMMAND_MS_MAX, 0);
    write_more(tmux);
}

static void option_is_set(void *data, bool ok, struct kndl_slice text)
{
    struct tmux *tmux = data;

    (void)ok; /* an option that another version does not know is no reason to stop */
    (void)text;
    if (--tmux->options_left > 0)
        return;
    tmux->is_ready = true;
    tmux->options.on_ready(tmux->options.data);
}

static void on_block(void *data, bool ok, struct kndl_slice text)
{
    struct tmux *tmux = data;
    struct waiting *waiting = tmux->first;

    if (waiting == NULL || tmux->is_freed)
        return;
    tmux->first = waiting->next;
    if (tmux->first == NULL) {
        tmux->tail = &tmux->first;
        kndl_timer_stop(tmux->deadline);
    } else {
        kndl_timer_start(tmux->deadline, COMMAND_MS_MAX, 0);
    }
    tmux->waiting--;
    if (waiting->fn != NULL)
        waiting->fn(waiting->data, ok, text);
    free(waiting);
}

static bool starts_with(struct kndl_slice line, const char *word)
{
    return line.size >= strlen(word) && memcmp(line.data, word, strlen(word)) == 0;
}

static void on_notice(void *data, struct kndl_slice line)
{
    struct tmux *tmux = data;

    if (tmux->is_freed)
        return;
    if (starts_with(line, "%session-changed") && tmux->options_left == 0 && !tmux->is_ready) {
        tmux->options_left = sizeof server_options / sizeof server_options[0];
        for (size_t i = 0; i < sizeof server_options / sizeof server_options[0]; i++)
            tmux_command(tmux, server_options[i], option_is_set, tmux);
    } else if (starts_with(line, "%window-close") || starts_with(line, "%unlinked-window-close")) {
        tmux->options.on_window_closed(tmux->options.data);
    } else if (starts_with(line, "%exit")) {
        gone(tmux, KNDL_UNAVAILABLE, "the tmux server ended");
    }
}

static void can_read(int fd, short events, void *data)
{
    struct tmux *tmux = data;
    char bytes[16384];
    ssize_t got = read(fd, bytes, sizeof bytes);

    (void)events;
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) {
        kndl_watch_events(tmux->watch_out, 0);
        gone(tmux, KNDL_UNAVAILABLE, "tmux has closed its control client");
        return;
    }
    control_mode_feed(&tmux->control, kndl_slice(bytes, (size_t)got));
    if (tmux->control.is_broken)
        gone(tmux, KNDL_DATA_LOSS, "tmux's control client wrote what it never writes");
}

static void too_late(void *data)
{
    gone(data, KNDL_DEADLINE_EXCEEDED, "tmux did not answer within 5 s");
}

static void free_now(struct tmux *tmux)
{
    kndl_timer_free(tmux->deadline);
    control_mode_done(&tmux->control);
    kndl_buf_done(&tmux->unwritten);
    free(tmux->sandbox);
    free(tmux);
}

static void client_ended(void *data, const struct sandbox_exit *end)
{
    struct tmux *tmux = data;

    tmux->process = NULL;
    if (tmux->is_freed) {
        free_now(tmux);
        return;
    }
    gone(tmux, KNDL_UNAVAILABLE,
         end->err.code == KNDL_OK ? "tmux's control client ended" : end->err.message);
}

static void client_started(void *data, struct sandbox_process *process, int in, int out)
{
    struct tmux *tmux = data;

    (void)process;
    tmux->in = in;
    tmux->out = out;
    if (tmux->is_freed) {
        close(kndl_steal_fd(&tmux->in));
        close(kndl_steal_fd(&tmux->out));
        return;
    }
    tmux->watch_in = kndl_watch_new(tmux->loop, in, 0, can_write, tmux);
    tmux->watch_out = kndl_watch_new(tmux->loop, out, POLLIN, can_read, tmux);
}

static const char *const tmux_env[] = {"LANG=C.UTF-8",
                                       "TERM=xterm-256color",
                                       "HOME=/root",
                                       "SHELL=/bin/bash",
                                       "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/"
                                       "sbin:/bin",
                                       NULL};

static void attach(struct tmux *tmux)
{
    static const char *const argv[] = {
        "tmux", "-u", "-S", SOCKET, "-C", "attach", "-f", "no-output,ignore-size", "-t", "s", NULL};
    struct sandbox_command command = {.argv = argv, .env = tmux_env, .stream = true};

    kndl_timer_start(tmux->deadline, SERVER_MS_MAX, 0);
    tmux->process =
        sandbox_exec(tmux->sandboxes, tmux->sandbox, &command, client_started, client_ended, tmux);
}

static void server_started(void *data, const struct sandbox_exit *end)
{
    struct tmux *tmux = data;

    tmux->process = NULL;
    if (tmux->is_freed) {
        free_now(tmux);
        return;
    }
    if (end->err.code != KNDL_OK) {
        gone(tmux, end->err.code, end->err.message);
    } else if (end->code != 0) {
        KNDL_CLEANUP(kndl_buf_done) struct kndl_buf why = {0};

        kndl_buf_append_text(&why, "tmux did not start: ");
        kndl_buf_append(&why, end->errors.data, end->errors.size > 160 ? 160 : end->errors.size);
        gone(tmux, KNDL_FAILED_PRECONDITION, kndl_buf_text(&why));
    } else {
        attach(tmux);
    }
}

static void start_server(struct tmux *tmux)
{
    static const char *const argv[] = {
        "tmux", "-u", "-S", SOCKET, "-f", "/dev/null", "new-session",    "-d",
        "-s",   "s",  "-x", "120",  "-y", "40",        "sleep infinity", NULL};
    struct sandbox_command command = {
        .argv = argv, .env = tmux_env, .deadline_ms = SERVER_MS_MAX, .output_most = 4096};

    tmux->process =
        sandbox_exec(tmux->sandboxes, tmux->sandbox, &command, NULL, server_started, tmux);
}

struct tmux *tmux_open(const struct tmux_options *options)
{
    struct tmux *tmux = kndl_new0(struct tmux);

    tmux->options = *options;
    tmux->loop = options->loop;
    tmux->sandboxes = options->sandboxes;
    tmux->sandbox = kndl_strdup(options->sandbox);
    tmux->in = tmux->out = -1;
    tmux->tail = &tmux->first;
    tmux->deadline = kndl_timer_new(tmux->loop, too_late, tmux);
    tmux->control =
        (struct control_mode){.on_block = on_block, .on_notice = on_notice, .data = tmux};
    if (options->start_server)
        start_server(tmux);
    else
        attach(tmux);
    return tmux;
}

void tmux_free(struct tmux *tmux)
{
    if (tmux == NULL || tmux->is_freed)
        return;
    tmux->is_freed = true;
    kndl_timer_stop(tmux->deadline);
    kndl_watch_free(kndl_steal(&tmux->watch_in));
    kndl_watch_free(kndl_steal(&tmux->watch_out));
    kndl_close(&tmux->in);
    kndl_close(&tmux->out);
    wipe(&tmux->unwritten);
    for (struct waiting *waiting = tmux->first; waiting != NULL;) {
        struct waiting *next = waiting->next;

        free(waiting);
        waiting = next;
    }
    tmux->first = NULL;
    tmux->tail = &tmux->first;
    /* A closed stdin ends the client; its end frees what is left. */
    if (tmux->process == NULL)
        free_now(tmux);
}
