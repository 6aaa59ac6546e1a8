/* The lower folders of a root filesystem. */

#include "image.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "beneath.h"
#include "kndl/mem.h"
#include "verb.h"

enum { PATH_SIZE = 4096, FILE_BYTES_MAX = 64 * 1024 };

/* The next folder of the list, or NULL. */
static const char *next_folder(const char **lowers, char folder[PATH_SIZE])
{
    size_t size = strcspn(*lowers, ":");

    if (size == 0)
        return NULL;
    (void)snprintf(folder, PATH_SIZE, "%.*s", (int)size, *lowers);
    *lowers += size + ((*lowers)[size] == ':');
    return folder;
}

int image_check(const char *lowers, struct kndl_error *err)
{
    const char *rest = lowers;
    char folder[PATH_SIZE];
    struct stat about;
    size_t count = 0;

    while (next_folder(&rest, folder) != NULL) {
        count++;
        if (folder[0] == '/' && stat(folder, &about) == 0 && S_ISDIR(about.st_mode))
            continue;
        verb_reason("no_image");
        return kndl_fail(err, KNDL_NOT_FOUND, "the image's folder %s does not exist", folder);
    }
    if (count == 0) {
        verb_reason("no_image");
        return kndl_fail(err, KNDL_NOT_FOUND, "there is no image: set RUNNER_DEFAULT_IMAGE");
    }
    return 0;
}

static bool read_from(const char *folder, const char *path, struct kndl_buf *out)
{
    KNDL_CLEANUP(kndl_close) int top = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    KNDL_CLEANUP(kndl_close)
    int fd = top < 0 ? -1 : beneath_open(top, path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW, 0);
    struct stat about;
    ssize_t n;

    if (fd < 0 || fstat(fd, &about) < 0 || !S_ISREG(about.st_mode))
        return false;
    n = read(fd, kndl_buf_reserve(out, FILE_BYTES_MAX), FILE_BYTES_MAX);
    if (n > 0)
        out->size += (size_t)n;
    if (out->data != NULL)
        out->data[out->size] = '\0';
    return true;
}

void image_read(const char *lowers, const char *path, struct kndl_buf *out)
{
    char folder[PATH_SIZE];

    while (next_folder(&lowers, folder) != NULL) {
        if (read_from(folder, path, out))
            return;
    }
}
