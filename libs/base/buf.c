/* Growing bytes, doubled when full. */

#include "kndl/buf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kndl/mem.h"

void kndl_buf_done(struct kndl_buf *buf)
{
    free(buf->data);
    *buf = (struct kndl_buf){0};
}

void kndl_buf_clear(struct kndl_buf *buf)
{
    buf->size = 0;
    if (buf->data != NULL)
        buf->data[0] = '\0';
}

char *kndl_buf_reserve(struct kndl_buf *buf, size_t more)
{
    size_t wanted;

    if (__builtin_add_overflow(buf->size, more, &wanted) ||
        __builtin_add_overflow(wanted, 1, &wanted))
        abort();
    if (wanted > buf->capacity) {
        size_t capacity = buf->capacity < 64 ? 64 : buf->capacity;
        while (capacity < wanted)
            capacity = capacity > SIZE_MAX / 2 ? wanted : capacity * 2;
        buf->data = kndl_realloc(buf->data, capacity, 1);
        buf->capacity = capacity;
    }
    return buf->data + buf->size;
}

void kndl_buf_append(struct kndl_buf *buf, const void *data, size_t size)
{
    char *at = kndl_buf_reserve(buf, size);

    if (size > 0)
        memcpy(at, data, size);
    at[size] = '\0';
    buf->size += size;
}

void kndl_buf_append_text(struct kndl_buf *buf, const char *text)
{
    kndl_buf_append(buf, text, strlen(text));
}

void kndl_buf_append_char(struct kndl_buf *buf, char c)
{
    kndl_buf_append(buf, &c, 1);
}

void kndl_buf_printf(struct kndl_buf *buf, const char *format, ...)
{
    va_list args;
    va_list again;

    va_start(args, format);
    va_copy(again, args);
    int size = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (size < 0)
        abort();
    vsnprintf(kndl_buf_reserve(buf, (size_t)size), (size_t)size + 1, format, again);
    va_end(again);
    buf->size += (size_t)size;
}

void kndl_buf_consume(struct kndl_buf *buf, size_t size)
{
    if (size >= buf->size) {
        kndl_buf_clear(buf);
        return;
    }
    memmove(buf->data, buf->data + size, buf->size - size + 1);
    buf->size -= size;
}

const char *kndl_buf_text(const struct kndl_buf *buf)
{
    return buf->data == NULL ? "" : buf->data;
}

struct kndl_slice kndl_buf_slice(const struct kndl_buf *buf)
{
    return kndl_slice(buf->data, buf->size);
}

char *kndl_buf_take(struct kndl_buf *buf)
{
    char *data = buf->data == NULL ? kndl_strdup("") : buf->data;

    *buf = (struct kndl_buf){0};
    return data;
}
