#pragma once

/*
 * Bytes that grow, always followed by a NUL. `= {0}` is an empty one; the owner calls
 * kndl_buf_done(). Never for secrets: growing leaves copies behind (struct kndl_secret is for
 * those). One thread at a time. Out of memory aborts.
 */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "kndl/slice.h"

struct kndl_buf {
    char *data;      /* NULL while empty and never grown; kndl_buf_text() never is */
    size_t size;     /* bytes used, without the NUL */
    size_t capacity; /* bytes allocated */
};

void kndl_buf_done(struct kndl_buf *buf);

/* Empties it and keeps the memory. */
void kndl_buf_clear(struct kndl_buf *buf);

/* Room for `more` bytes behind what is there; returns where they go. */
char *kndl_buf_reserve(struct kndl_buf *buf, size_t more);

void kndl_buf_append(struct kndl_buf *buf, const void *data, size_t size);
void kndl_buf_append_text(struct kndl_buf *buf, const char *text);
void kndl_buf_append_char(struct kndl_buf *buf, char c);
__attribute__((format(printf, 2, 3))) void kndl_buf_printf(struct kndl_buf *buf, const char *format,
                                                           ...);

/* Drops the first `size` bytes. */
void kndl_buf_consume(struct kndl_buf *buf, size_t size);

/* The text, "" when empty; valid until the buf changes. */
const char *kndl_buf_text(const struct kndl_buf *buf);
struct kndl_slice kndl_buf_slice(const struct kndl_buf *buf);

/* Gives the memory (NUL-terminated, to be freed) to the caller and leaves the buf empty. */
char *kndl_buf_take(struct kndl_buf *buf);
