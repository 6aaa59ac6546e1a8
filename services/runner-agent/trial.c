/* A release says its version, or why it cannot run. */

#include "trial.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kndl/buf.h"
#include "kndl/clock.h"
#include "kndl/mem.h"
#include "reaper.h"

enum { SAID_BYTES_MAX = 16 * 1024, TRIAL_MS = 10 * 1000 };

static const char says[] = "runner-agent runs, version ";

void trial_say(const char *version)
{
    printf("%s%s\n", says, version);
}

/* Until it closed its output; false: it took too long, or said too much. */
static bool listen_to(int fd, struct kndl_buf *said)
{
    int64_t until_ms = kndl_clock_ms() + TRIAL_MS;

    for (;;) {
        struct pollfd watched = {.fd = fd, .events = POLLIN};
        int64_t left_ms = until_ms - kndl_clock_ms();

        if (left_ms <= 0 || said->size >= SAID_BYTES_MAX ||
            (poll(&watched, 1, (int)left_ms) < 0 && errno != EINTR))
            return false;
        if (watched.revents == 0)
            continue;
        ssize_t got = read(fd, kndl_buf_reserve(said, 1024), 1024);
        if (got <= 0)
            return got == 0;
        said->size += (size_t)got;
        said->data[said->size] = '\0';
    }
}

/* Its last line that says something. */
static const char *last_line(struct kndl_buf *said)
{
    const char *line;

    while (said->size > 0 && said->data[said->size - 1] == '\n')
        said->data[--said->size] = '\0';
    line = strrchr(kndl_buf_text(said), '\n');
    return line == NULL ? kndl_buf_text(said) : line + 1;
}

int trial_run(const char *program, const char *version, struct kndl_error *err)
{
    char *argv[] = {(char *)program, (char *)"--check", NULL};
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf said = {0}, wanted = {0};
    KNDL_CLEANUP(kndl_close) int from = -1;
    int ends[2];
    pid_t pid;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return kndl_fail(err, KNDL_RESOURCE_EXHAUSTED, "pipe: %s", strerror(errno));
    from = ends[0];
    int problem = reaper_begin(program, argv, environ, (int[]){-1, ends[1], ends[1], -1}, &pid);
    kndl_close(&ends[1]);
    if (problem != 0)
        return kndl_fail(err, KNDL_FAILED_PRECONDITION, "it cannot be started: %s",
                         strerror(problem));
    if (!listen_to(from, &said)) {
        (void)kill(pid, SIGKILL);
        return kndl_fail(err, KNDL_FAILED_PRECONDITION, "it does not say its version");
    }
    kndl_buf_printf(&wanted, "%s%s", says, version);
    const char *line = last_line(&said);
    if (strcmp(line, kndl_buf_text(&wanted)) == 0)
        return 0;
    return kndl_fail(err, KNDL_FAILED_PRECONDITION, "it does not run here: %.300s",
                     line[0] == '\0' ? "it said nothing" : line);
}
