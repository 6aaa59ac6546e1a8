#pragma once

/* Borrowed bytes with their length. Whoever keeps them longer than the call copies them. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct kndl_slice {
    const uint8_t *data;
    size_t size; /* bytes */
};

static inline struct kndl_slice kndl_slice(const void *data, size_t size)
{
    return (struct kndl_slice){(const uint8_t *)data, size};
}

static inline struct kndl_slice kndl_slice_of(const char *text)
{
    return kndl_slice(text, strlen(text));
}

static inline bool kndl_slice_equal(struct kndl_slice a, struct kndl_slice b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}
