/* Where a prompt comes from. */

#include "prompt_text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PROMPT_BYTES_MAX = 64 * 1024 };

static int read_input(struct kndl_buf *out, struct kndl_error *err)
{
    if (isatty(STDIN_FILENO))
        fputs("Type the prompt; Ctrl-D on a line of its own ends it.\n", stderr);
    for (;;) {
        ssize_t size = read(STDIN_FILENO, kndl_buf_reserve(out, 16384), 16384);

        if (size < 0 && errno == EINTR)
            continue;
        if (size < 0)
            return kndl_fail(err, KNDL_INVALID_ARGUMENT, "standard input cannot be read: %s",
                             strerror(errno));
        if (size == 0)
            return 0;
        out->size += (size_t)size;
        out->data[out->size] = '\0';
        if (out->size > PROMPT_BYTES_MAX)
            return 0;
    }
}

int prompt_text_read(const char *word, struct kndl_buf *out, struct kndl_error *err)
{
    if (word != NULL && strcmp(word, "-") != 0)
        kndl_buf_append_text(out, word);
    else if (read_input(out, err) < 0)
        return -1;
    while (out->size > 0 && strchr("\r\n", out->data[out->size - 1]) != NULL)
        out->data[--out->size] = '\0';
    if (out->size == 0)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT,
                         "the prompt is empty: give a TEXT, or write it to standard input");
    if (out->size > PROMPT_BYTES_MAX)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT,
                         "the prompt is longer than %d bytes: put what is long into a file of the "
                         "Repo",
                         PROMPT_BYTES_MAX);
    if (memchr(out->data, '\0', out->size) != NULL)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "the prompt has a NUL in it");
    return 0;
}
