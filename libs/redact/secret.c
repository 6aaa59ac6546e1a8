/* Memory for secrets. */

#include "secret.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "kndl/mem.h"

void *secret_map(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        abort();
    (void)madvise(memory, size, MADV_DONTDUMP);
    /* Thousands of sets don't fit a usual RLIMIT_MEMLOCK; the services also forbid swap. */
    (void)mlock(memory, size);
    return memory;
}

void secret_unmap(void *memory, size_t size)
{
    if (memory == NULL)
        return;
    explicit_bzero(memory, size);
    munmap(memory, size);
}

void secret_free(void *memory, size_t size)
{
    if (memory == NULL)
        return;
    explicit_bzero(memory, size);
    free(memory);
}

void *secret_grow(void *memory, size_t used, size_t *capacity, size_t size)
{
    size_t grown = *capacity * 2 + 64;
    void *moved = kndl_alloc(grown, size);

    if (memory != NULL)
        memcpy(moved, memory, used * size);
    secret_free(memory, *capacity * size);
    *capacity = grown;
    return moved;
}
