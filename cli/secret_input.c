/* Reads a secret from a terminal or a pipe. */

#include "secret_input.h"

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include "kndl/mem.h"

enum { PASTE_MS = 100 }; /* in which more of what was pasted has come */

static size_t read_all(uint8_t *data, size_t most)
{
    size_t size = 0;
    ssize_t got = 1;

    while (size < most && got > 0) {
        got = read(STDIN_FILENO, data + size, most - size);
        if (got > 0)
            size += (size_t)got;
    }
    return size;
}

/* Up to the end of a line, or of all of them; -1 if a signal waits on `signals`. */
static ssize_t read_typed(int signals, enum secret_shape shape, uint8_t *data, size_t most)
{
    struct pollfd fds[] = {{STDIN_FILENO, POLLIN, 0}, {signals, POLLIN, 0}};
    size_t size = 0;

    while (size < most && (shape == SECRET_LINES || memchr(data, '\n', size) == NULL)) {
        if (poll(fds, 2, -1) < 0 || fds[1].revents != 0)
            return -1;
        ssize_t got = read(STDIN_FILENO, data + size, most - size);
        if (got <= 0)
            break;
        size += (size_t)got;
    }
    return (ssize_t)size;
}

/* Several lines were pasted where one is asked for: the rest of it must not pass as typed. The last
 * of them may have no line break; a terminal that gives whole lines would not tell of it. */
static bool has_more_lines(const struct termios *hidden)
{
    struct termios unbuffered = *hidden;
    struct pollfd fd = {STDIN_FILENO, POLLIN, 0};

    unbuffered.c_lflag &= (tcflag_t)~ICANON;
    tcsetattr(STDIN_FILENO, TCSANOW, &unbuffered);
    return poll(&fd, 1, PASTE_MS) > 0;
}

/* Whoever is ended meanwhile (Ctrl-C) leaves a terminal that shows again what is typed. */
static int ask(const char *prompt, enum secret_shape shape, const struct termios *shown,
               uint8_t *data, size_t most, size_t *ret_size, struct kndl_error *err)
{
    struct termios hidden = *shown;
    sigset_t enders, before;

    sigemptyset(&enders);
    sigaddset(&enders, SIGINT);
    sigaddset(&enders, SIGQUIT);
    sigaddset(&enders, SIGTERM);
    sigaddset(&enders, SIGHUP);
    sigprocmask(SIG_BLOCK, &enders, &before);
    KNDL_CLEANUP(kndl_close) int signals = signalfd(-1, &enders, SFD_CLOEXEC);

    hidden.c_lflag &= (tcflag_t)~ECHO;
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden);
    fprintf(stderr, "%s: ", prompt);
    ssize_t size = read_typed(signals, shape, data, most);
    bool has_more = shape == SECRET_LINE && size > 0 && has_more_lines(&hidden);
    tcsetattr(STDIN_FILENO, TCSAFLUSH, shown);
    fputc('\n', stderr);
    sigprocmask(SIG_SETMASK, &before, NULL); /* what waited ends us here */
    if (size < 0)
        return kndl_fail(err, KNDL_CANCELLED, "it was interrupted");
    if (has_more)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT,
                         "one line is asked for there and several came, so that nothing was taken; "
                         "give several lines from a file: < FILE");
    *ret_size = (size_t)size;
    return 0;
}

/* Without the line break at its end, of whichever system. */
static void trim_end(struct kndl_secret *text)
{
    if (text->size == 0 || text->data[text->size - 1] != '\n')
        return;
    text->size--;
    if (text->size > 0 && text->data[text->size - 1] == '\r')
        text->size--;
}

static int check_text(const struct kndl_secret *text, size_t most, struct kndl_error *err)
{
    if (text->size > most)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT,
                         "standard input holds more than the %zu bytes that are the most", most);
    if (memchr(text->data, '\0', text->size) != NULL)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT,
                         "standard input holds a NUL byte, and is no text; encode it first, as "
                         "base64 does");
    return 0;
}

int secret_input_read(const char *prompt, enum secret_shape shape, size_t most,
                      struct kndl_secret *ret_text, struct kndl_error *err)
{
    struct kndl_secret text;
    struct termios shown;

    kndl_secret_new(&text, most + 2);
    if (tcgetattr(STDIN_FILENO, &shown) < 0) {
        text.size = read_all(text.data, most + 2);
    } else if (ask(prompt, shape, &shown, text.data, most + 2, &text.size, err) < 0) {
        kndl_secret_done(&text);
        return -1;
    }
    trim_end(&text);
    if (check_text(&text, most, err) < 0) {
        kndl_secret_done(&text);
        return -1;
    }
    text.data[text.size] = '\0';
    *ret_text = text;
    return 0;
}
