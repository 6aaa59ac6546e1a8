/* From a pipe to files. */

#include "logbook.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kndl/buf.h"
#include "kndl/mem.h"

enum { PIPE_BYTES = 1024 * 1024, PART_BYTES = 64 * 1024, PARTS_A_TURN = 32 };

struct logbook {
    char *path;
    char *older;
    int file; /* -1: it could not be opened again */
    int64_t size;
    int reader, writer;
};

static void open_file(struct logbook *book)
{
    struct stat st;

    book->file = open(book->path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640);
    book->size = book->file >= 0 && fstat(book->file, &st) == 0 ? st.st_size : 0;
}

int logbook_open(const char *folder, const char *name, struct logbook **ret_book,
                 struct kndl_error *err)
{
    struct logbook *book = kndl_new0(struct logbook);
    struct kndl_buf path = {0}, older = {0};
    int ends[2] = {-1, -1};

    kndl_buf_printf(&path, "%s/%s.log", folder, name);
    kndl_buf_printf(&older, "%s/%s.log.1", folder, name);
    book->path = kndl_buf_take(&path);
    book->older = kndl_buf_take(&older);
    open_file(book);
    if (book->file < 0 || pipe2(ends, O_CLOEXEC) < 0 ||
        fcntl(ends[0], F_SETFL, O_RDONLY | O_NONBLOCK) < 0) {
        (void)kndl_fail(err, KNDL_INTERNAL, "open %s: %s", book->path, strerror(errno));
        book->reader = ends[0];
        book->writer = ends[1];
        logbook_close(book);
        return -1;
    }
    (void)fcntl(ends[1], F_SETPIPE_SZ, PIPE_BYTES); /* with less it works too */
    book->reader = ends[0];
    book->writer = ends[1];
    *ret_book = book;
    return 0;
}

static void put(struct logbook *book, const char *bytes, size_t size)
{
    while (size > 0 && book->file >= 0) {
        ssize_t wrote = write(book->file, bytes, size);

        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return;
        book->size += wrote;
        bytes += wrote;
        size -= (size_t)wrote;
    }
}

static void begin_file(struct logbook *book)
{
    kndl_close(&book->file);
    (void)rename(book->path, book->older);
    open_file(book);
}

/* A full file ends with the line that filled it; one line that is longer than a file does not. */
static void write_down(struct logbook *book, const char *bytes, size_t size)
{
    const char *end;

    if (book->file < 0)
        open_file(book); /* what kept it from that may be over */
    if (book->size + (int64_t)size <= LOGBOOK_FILE_BYTES_MAX) {
        put(book, bytes, size);
        return;
    }
    end = memchr(bytes, '\n', size);
    if (end == NULL && book->size < 2 * (int64_t)LOGBOOK_FILE_BYTES_MAX) {
        put(book, bytes, size);
        return;
    }
    end = end == NULL ? bytes : end + 1;
    put(book, bytes, (size_t)(end - bytes));
    begin_file(book);
    put(book, end, size - (size_t)(end - bytes));
}

static bool take_part(struct logbook *book)
{
    char bytes[PART_BYTES];
    ssize_t size = read(book->reader, bytes, sizeof bytes);

    if (size > 0)
        write_down(book, bytes, (size_t)size);
    return size > 0;
}

void logbook_take(struct logbook *book)
{
    for (int i = 0; i < PARTS_A_TURN && take_part(book); i++)
        ;
}

void logbook_close(struct logbook *book)
{
    if (book == NULL)
        return;
    kndl_close(&book->writer);
    if (book->reader >= 0)
        logbook_take(book);
    kndl_close(&book->reader);
    kndl_close(&book->file);
    free(book->path);
    free(book->older);
    free(book);
}

int logbook_writer(const struct logbook *book)
{
    return book->writer;
}

int logbook_reader(const struct logbook *book)
{
    return book->reader;
}
