/* Allocation that aborts instead of failing. */

#include "kndl/mem.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *kndl_alloc(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size ? size : 1);

    if (memory == NULL)
        abort();
    return memory;
}

void *kndl_realloc(void *memory, size_t count, size_t size)
{
    void *moved = reallocarray(memory, count ? count : 1, size ? size : 1);

    if (moved == NULL)
        abort();
    return moved;
}

char *kndl_strdup(const char *text)
{
    return text == NULL ? NULL : kndl_memdup(text, strlen(text));
}

char *kndl_memdup(const void *bytes, size_t size)
{
    if (bytes == NULL)
        return NULL;

    char *copy = kndl_alloc(size + 1, 1);
    memcpy(copy, bytes, size);
    return copy;
}

void kndl_free(void *pointer_to_pointer)
{
    free(*(void **)pointer_to_pointer);
}

void kndl_close(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1; /* a second call must not close what has the number by then */
}

int kndl_steal_fd(int *fd)
{
    int stolen = *fd;

    *fd = -1;
    return stolen;
}
