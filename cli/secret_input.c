/* Reads a secret from a terminal or a pipe. */

#include "secret_input.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

static size_t read_input(uint8_t *data, size_t most, bool one_line)
{
    size_t size = 0;
    ssize_t got = 1;

    while (size < most && got > 0 && !(one_line && memchr(data, '\n', size) != NULL)) {
        got = read(STDIN_FILENO, data + size, most - size);
        if (got > 0)
            size += (size_t)got;
    }
    return size;
}

int secret_input_read(const char *prompt, size_t most, struct kndl_secret *ret_text,
                      struct kndl_error *err)
{
    struct kndl_secret text;
    struct termios shown, hidden;
    bool is_terminal = tcgetattr(STDIN_FILENO, &shown) == 0;

    if (is_terminal) {
        fprintf(stderr, "%s: ", prompt);
        hidden = shown;
        hidden.c_lflag &= (tcflag_t)~ECHO;
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden);
    }
    kndl_secret_new(&text, most + 2);
    text.size = read_input(text.data, most + 2, is_terminal);
    if (is_terminal) {
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &shown);
        fputc('\n', stderr);
    }
    if (text.size > 0 && text.data[text.size - 1] == '\n')
        text.size--;
    if (text.size > most || memchr(text.data, '\0', text.size) != NULL) {
        kndl_secret_done(&text);
        return kndl_fail(err, KNDL_INVALID_ARGUMENT,
                         "standard input must hold at most %zu bytes of text", most);
    }
    text.data[text.size] = '\0';
    *ret_text = text;
    return 0;
}
