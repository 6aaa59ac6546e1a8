/* pwrite(), until all is written. */

#include "write_at.h"

#include <errno.h>
#include <unistd.h>

int write_at(int fd, struct kndl_slice bytes, off_t at)
{
    size_t done = 0;

    while (done < bytes.size) {
        ssize_t wrote = pwrite(fd, bytes.data + done, bytes.size - done, at + (off_t)done);

        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return -1;
        done += (size_t)wrote;
    }
    return 0;
}
