/* Files of kndl-init: written whole or not at all, with an owner. */

#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kndl/buf.h"
#include "kndl/mem.h"

static int fail(const char *path, struct kndl_error *err)
{
    return kndl_fail(err, KNDL_FAILED_PRECONDITION, "%s: %s", path, strerror(errno));
}

int files_make_dir(const char *path, mode_t mode, uid_t uid, struct kndl_error *err)
{
    if (mkdir(path, mode) < 0 && errno != EEXIST)
        return fail(path, err);
    if (chmod(path, mode) < 0 || (uid != (uid_t)-1 && chown(path, uid, (gid_t)-1) < 0))
        return fail(path, err);
    return 0;
}

static int fill(int fd, mode_t mode, uid_t uid, struct kndl_slice content)
{
    while (content.size > 0) {
        ssize_t written = write(fd, content.data, content.size);
        if (written < 0)
            return -1;
        content.data += written;
        content.size -= (size_t)written;
    }
    if (fchmod(fd, mode) < 0 || (uid != (uid_t)-1 && fchown(fd, uid, (gid_t)-1) < 0))
        return -1;
    return fsync(fd);
}

int files_write(const char *path, mode_t mode, uid_t uid, struct kndl_slice content,
                struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf temporary = {0};

    kndl_buf_printf(&temporary, "%s.new", path);
    (void)unlink(kndl_buf_text(&temporary));
    KNDL_CLEANUP(kndl_close)
    int fd =
        open(kndl_buf_text(&temporary), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 || fill(fd, mode, uid, content) < 0 || rename(kndl_buf_text(&temporary), path) < 0)
        return fail(path, err);
    return 0;
}
