/* openat2(2), which libc does not wrap yet. */

#include "beneath.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

static int open_with(int folder, const char *path, int flags, mode_t mode, uint64_t resolve)
{
    struct open_how how = {
        .flags = (uint64_t)(unsigned)(flags | O_CLOEXEC),
        .mode = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE ? mode : 0,
        .resolve = resolve,
    };

    return (int)syscall(SYS_openat2, folder, path, &how, sizeof how);
}

int beneath_open(int folder, const char *path, int flags, mode_t mode)
{
    return open_with(folder, path, flags, mode,
                     RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV);
}

int beneath_open_plain(int folder, const char *path, int flags, mode_t mode)
{
    return open_with(folder, path, flags, mode,
                     RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV);
}
