/*
 * Commands inside a Sandbox. The runtime runs detached: our pipes become the command's own, the
 * runtime is gone at once, and the command becomes our child, whose end the reaper tells.
 */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "box.h"
#include "kndl/buf.h"
#include "kndl/env.h"
#include "kndl/loop.h"
#include "kndl/mem.h"
#include "namespace_host.h"
#include "oci.h"
#include "reaper.h"

enum { READ_BYTES = 32 * 1024, READS_A_TURN = 16 };

/* One of its outputs, as it comes. */
struct output {
    int fd;
    struct kndl_watch *watch;
    struct kndl_buf text;
    size_t most;
};

struct sandbox_process {
    struct sandbox_host *host;
    struct sandbox_process *next;
    struct kndl_timer *timer; /* the deadline, or "it could not start" */
    struct output out;        /* not with stream */
    struct output err;
    int stream_in; /* the caller's ends, until it has them */
    int stream_out;
    bool stream;
    pid_t runtime; /* while it starts */
    pid_t pid;     /* the command, as this host counts */
    int status;    /* as waitpid gives it, once ended */
    bool killed;   /* by the deadline */
    struct kndl_error problem;
    char pid_file[256];
    sandbox_start_fn on_start;
    sandbox_exit_fn on_exit;
    void *data;
};

/* It leads a session of its own; not reaped yet, so the number is still its own. */
static void kill_process(const struct sandbox_process *process)
{
    if (process->pid > 0 && kill(-process->pid, SIGKILL) < 0)
        (void)kill(process->pid, SIGKILL);
}

/* -------------------------------------------------------------------------------- outputs */

static void stop_reading(struct output *output)
{
    if (output->watch != NULL)
        kndl_watch_free(output->watch);
    output->watch = NULL;
    kndl_close(&output->fd);
}

static void read_some(struct output *output)
{
    for (int i = 0; i < READS_A_TURN && output->fd >= 0; i++) {
        char bytes[READ_BYTES];
        ssize_t n = read(output->fd, bytes, sizeof bytes);
        size_t room = output->most - output->text.size;

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (n <= 0) {
            stop_reading(output);
            return;
        }
        /* What is over the limit is read and dropped, so that the command goes on. */
        kndl_buf_append(&output->text, bytes, (size_t)n < room ? (size_t)n : room);
    }
}

static void on_output(int fd, short events, void *data)
{
    (void)fd;
    (void)events;
    read_some(data);
}

/* ------------------------------------------------------------------------------------ end */

static void free_process(struct sandbox_process *process)
{
    struct sandbox_process **at = &process->host->processes;

    while (*at != process)
        at = &(*at)->next;
    *at = process->next;
    stop_reading(&process->out);
    stop_reading(&process->err);
    kndl_timer_free(process->timer);
    kndl_close(&process->stream_in);
    kndl_close(&process->stream_out);
    kndl_buf_done(&process->out.text);
    kndl_buf_done(&process->err.text);
    free(process);
}

void exec_forget_all(struct sandbox_host *host)
{
    while (host->processes != NULL) {
        struct sandbox_process *process = host->processes;

        reaper_forget(children_reaper(host->children),
                      process->runtime > 0 ? process->runtime : process->pid);
        free_process(process);
    }
}

static void finish(struct sandbox_process *process)
{
    struct sandbox_exit end = {.err = process->problem};

    /* What it printed is in the pipes; a child of it may hold them open for ever. */
    read_some(&process->out);
    read_some(&process->err);
    if (process->killed)
        (void)kndl_fail(&end.err, KNDL_DEADLINE_EXCEEDED, "the command took too long");
    if (end.err.code == KNDL_OK) {
        end.code = WIFEXITED(process->status) ? WEXITSTATUS(process->status) : 0;
        end.signal = WIFSIGNALED(process->status) ? WTERMSIG(process->status) : 0;
    }
    end.output = kndl_buf_slice(&process->out.text);
    end.errors = kndl_buf_slice(&process->err.text);
    if (process->on_exit != NULL)
        process->on_exit(process->data, &end);
    free_process(process);
}

static void on_end(void *data, int status)
{
    struct sandbox_process *process = data;

    process->status = status;
    process->pid = 0;
    finish(process);
}

static void on_time(void *data)
{
    struct sandbox_process *process = data;

    if (process->runtime == 0 && process->pid == 0) { /* it never began */
        finish(process);
        return;
    }
    process->killed = true;
    if (process->runtime > 0)
        (void)kill(process->runtime, SIGKILL);
    kill_process(process);
}

static pid_t take_pid(const char *path)
{
    FILE *file = fopen(path, "re");
    int pid = 0;

    if (file != NULL && fscanf(file, "%d", &pid) != 1)
        pid = 0;
    if (file != NULL)
        (void)fclose(file);
    (void)unlink(path);
    return pid;
}

/* The last line of what the runtime said. */
static void explain(struct sandbox_process *process)
{
    const char *text, *line;

    read_some(&process->err);
    text = kndl_buf_text(&process->err.text);
    line = strstr(text, "msg=\"");
    (void)kndl_fail(&process->problem, KNDL_FAILED_PRECONDITION,
                    "the command did not start: %.160s",
                    line != NULL ? line + strlen("msg=\"") : text);
}

static void on_runtime_end(void *data, int status)
{
    struct sandbox_process *process = data;
    pid_t pid = take_pid(process->pid_file);

    process->runtime = 0;
    if (pid <= 0 || status != 0) {
        if (pid > 0)
            (void)kill(pid, SIGKILL); /* the deadline came just as it had begun */
        explain(process);
        finish(process);
        return;
    }
    process->pid = pid;
    if (process->stream && process->on_start != NULL)
        process->on_start(process->data, process, kndl_steal_fd(&process->stream_in),
                          kndl_steal_fd(&process->stream_out));
    reaper_adopt(children_reaper(process->host->children), pid, on_end, process);
}

/* -------------------------------------------------------------------------------- starting */

/* The text is in the pipe before the command is there: it never waits for us, nor we for it. */
static int fill(int fd, struct kndl_slice input)
{
    if (input.size > 65536 && fcntl(fd, F_SETPIPE_SZ, SANDBOX_EXEC_INPUT_BYTES_MAX) < 0)
        return -1;
    return input.size == 0 || write(fd, input.data, input.size) == (ssize_t)input.size ? 0 : -1;
}

static void watch(struct sandbox_process *process, struct output *output, int fd, size_t most)
{
    output->fd = fd;
    output->most = most;
    (void)fcntl(fd, F_SETFL, O_NONBLOCK);
    output->watch =
        kndl_watch_new(children_loop(process->host->children), fd, POLLIN, on_output, output);
}

static int spawn(struct sandbox_process *process, const char *name,
                 const struct sandbox_command *command, const int fds[3], struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_free) const char **argv = NULL;
    char path[OCI_PATH_SIZE], root[512];
    size_t count = 0, at = 0;
    const char *const *env = command->env;

    for (size_t i = 0; env != NULL && env[i] != NULL; i++)
        count += 2;
    for (size_t i = 0; command->argv[i] != NULL; i++)
        count++;
    if (oci_path(path, err) < 0)
        return -1;
    oci_root(root, sizeof root);
    argv = kndl_new_array(const char *, count + 16);
    for (const char *const *head =
             (const char *[]){path, "--root", root, "exec", "--detach", "--pid-file",
                              process->pid_file, "--cwd", command->cwd == NULL ? "/" : command->cwd,
                              NULL};
         *head != NULL; head++)
        argv[at++] = *head;
    for (size_t i = 0; env != NULL && env[i] != NULL; i++) {
        argv[at++] = "--env";
        argv[at++] = env[i];
    }
    argv[at++] = name;
    for (size_t i = 0; command->argv[i] != NULL; i++)
        argv[at++] = command->argv[i];
    return reaper_spawn(children_reaper(process->host->children), argv, fds, on_runtime_end,
                        process, &process->runtime, err);
}

static int begin(struct sandbox_process *process, const char *name,
                 const struct sandbox_command *command, struct kndl_error *err)
{
    int in[2] = {-1, -1}, out[2] = {-1, -1}, errors[2] = {-1, -1};
    int done = -1;

    if (!box_name_is_valid(name) || command->input.size > SANDBOX_EXEC_INPUT_BYTES_MAX)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "no such Sandbox, or too long an input");
    if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0 || pipe2(errors, O_CLOEXEC) < 0 ||
        (!command->stream && fill(in[1], command->input) < 0)) {
        (void)kndl_fail(err, KNDL_RESOURCE_EXHAUSTED, "pipes: %s", strerror(errno));
    } else {
        done = spawn(process, name, command, (int[]){in[0], out[1], errors[1]}, err);
    }
    if (done == 0) {
        if (command->stream) {
            (void)fcntl(in[1], F_SETFL, O_NONBLOCK);
            (void)fcntl(out[0], F_SETFL, O_NONBLOCK);
            process->stream_in = kndl_steal_fd(&in[1]);
            process->stream_out = kndl_steal_fd(&out[0]);
        } else {
            watch(process, &process->out, kndl_steal_fd(&out[0]), command->output_most);
        }
        watch(process, &process->err, kndl_steal_fd(&errors[0]),
              command->stream ? 4096 : command->output_most + 4096);
    }
    for (int i = 0; i < 2; i++) {
        kndl_close(&in[i]);
        kndl_close(&out[i]);
        kndl_close(&errors[i]);
    }
    return done;
}

struct sandbox_process *sandbox_exec(struct sandbox_host *host, const char *name,
                                     const struct sandbox_command *command,
                                     sandbox_start_fn on_start, sandbox_exit_fn on_exit, void *data)
{
    struct sandbox_process *process = kndl_new0(struct sandbox_process);

    process->host = host;
    process->next = host->processes;
    host->processes = process;
    process->out.fd = process->err.fd = process->stream_in = process->stream_out = -1;
    process->stream = command->stream;
    process->on_start = on_start;
    process->on_exit = on_exit;
    process->data = data;
    process->timer = kndl_timer_new(children_loop(host->children), on_time, process);
    (void)snprintf(process->pid_file, sizeof process->pid_file, "%s/exec-%d-%llu.pid",
                   kndl_env_get("RUNNER_HOME"), (int)getpid(), (unsigned long long)host->execs++);
    if (begin(process, name, command, &process->problem) < 0)
        kndl_timer_start(process->timer, 0, 0);
    else if (command->deadline_ms > 0)
        kndl_timer_start(process->timer, (uint64_t)command->deadline_ms, 0);
    return process;
}
