/* Secret bytes in guarded, locked pages, and the start of a process that holds some. */

#include "kndl/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <sodium.h>

#include "kndl/mem.h"

/* What a process must be able to lock to be of use. */
enum { LOCKED_BYTES_LEAST = 1024 * 1024 };

int kndl_crypt_init(struct kndl_error *err)
{
    if (sodium_init() < 0)
        return kndl_fail(err, KNDL_INTERNAL, "libsodium cannot start");
    return 0;
}

static int check_locking(struct kndl_error *err)
{
    void *memory =
        mmap(NULL, LOCKED_BYTES_LEAST, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        abort();
    /* The kernel itself: AddressSanitizer's mlock() locks nothing, and says that it did. */
    long status = syscall(SYS_mlock, memory, LOCKED_BYTES_LEAST);
    munmap(memory, LOCKED_BYTES_LEAST);
    if (status < 0)
        return kndl_fail(err, KNDL_FAILED_PRECONDITION,
                         "memory cannot be locked; raise the limit on it (ulimit -l, "
                         "LimitMEMLOCK=) to 64 MiB");
    return 0;
}

int kndl_secret_guard_process(struct kndl_error *err)
{
    const struct rlimit none = {0, 0};
    struct rlimit locked;

    umask(077);
    if (setrlimit(RLIMIT_CORE, &none) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return kndl_fail(err, KNDL_FAILED_PRECONDITION, "the process cannot be guarded: %s",
                         strerror(errno));
#ifndef __SANITIZE_ADDRESS__ /* its leak check attaches to its own process */
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
        return kndl_fail(err, KNDL_FAILED_PRECONDITION, "the process stays dumpable: %s",
                         strerror(errno));
#endif
    if (getrlimit(RLIMIT_MEMLOCK, &locked) == 0 && locked.rlim_cur != locked.rlim_max) {
        locked.rlim_cur = locked.rlim_max;
        (void)setrlimit(RLIMIT_MEMLOCK, &locked);
    }
    if (check_locking(err) < 0)
        return -1;
    return kndl_crypt_init(err);
}

void kndl_secret_new(struct kndl_secret *secret, size_t size)
{
    uint8_t *data = size < SIZE_MAX ? sodium_malloc(size + 1) : NULL;

    /* sodium_malloc() goes on without locking once the limit is reached; asking again tells. */
    if (data == NULL || mlock(data, size + 1) < 0)
        abort();
    memset(data, 0, size + 1);
    *secret = (struct kndl_secret){data, size};
}

void kndl_secret_copy(struct kndl_secret *secret, struct kndl_slice bytes)
{
    kndl_secret_new(secret, bytes.size);
    if (bytes.size > 0)
        memcpy(secret->data, bytes.data, bytes.size);
}

void kndl_secret_done(struct kndl_secret *secret)
{
    sodium_free(secret->data);
    *secret = (struct kndl_secret){0};
}

int kndl_secret_read_file(const char *path, size_t most, struct kndl_secret *ret_secret,
                          struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat status;
    size_t size = 0;

    if (fd < 0 || fstat(fd, &status) < 0)
        return kndl_fail(err, KNDL_FAILED_PRECONDITION, "%s: %s", path, strerror(errno));
    if (!S_ISREG(status.st_mode) || (status.st_mode & 077) != 0)
        return kndl_fail(err, KNDL_FAILED_PRECONDITION,
                         "%s must be a regular file that only its owner may read (mode 0600)",
                         path);
    if (status.st_size < 0 || (size_t)status.st_size > most)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "%s has more than %zu bytes", path, most);

    struct kndl_secret secret;
    kndl_secret_new(&secret, (size_t)status.st_size);
    while (size < secret.size) {
        ssize_t got = read(fd, secret.data + size, secret.size - size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        size += (size_t)got;
    }
    if (size != secret.size) {
        kndl_secret_done(&secret);
        return kndl_fail(err, KNDL_FAILED_PRECONDITION, "%s cannot be read whole", path);
    }
    if (secret.size > 0 && secret.data[secret.size - 1] == '\n')
        secret.data[--secret.size] = '\0';
    *ret_secret = secret;
    return 0;
}
