#pragma once

/* Memory for secrets: zeroed, left out of core dumps, locked where the limit allows it, wiped
 * when it is given back. Out of memory aborts. */

#include <stddef.h>

void *secret_map(size_t size);
void secret_unmap(void *memory, size_t size);

/* On the heap, for small and short-lived things: only wiped. NULL is fine. */
void secret_free(void *memory, size_t size);

/* More of it, for things of this size: at least one more than the capacity, which is raised. */
void *secret_grow(void *memory, size_t used, size_t *capacity, size_t size);
