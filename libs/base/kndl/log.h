#pragma once

/*
 * The log: one JSON object per line on stderr, for a machine to collect and a person to read.
 *
 * The message is a constant, so that it can be counted; what varies goes into fields. Values are
 * escaped (no line break or control character of theirs reaches the output), made valid UTF-8
 * and cut at 4 KiB. Never a secret. Safe from any thread: a line is one write.
 *
 *     kndl_log(KNDL_INFO, "session started", KNDL_STR("session", id), KNDL_I64("pid", pid));
 *
 * `at` (wall clock, ms), `level`, `service` and, inside a call, `trace` and `actor` are added.
 */

#include <stddef.h>
#include <stdint.h>

enum kndl_level {
    KNDL_DEBUG,
    KNDL_INFO,    /* a state changed */
    KNDL_WARNING, /* it went on; the line says how */
    KNDL_ERROR,   /* someone must act */
};

struct kndl_field {
    const char *name;
    enum { KNDL_FIELD_STR, KNDL_FIELD_I64, KNDL_FIELD_U64 } kind;
    union {
        const char *str; /* NULL is written as null */
        int64_t i64;
        uint64_t u64;
    };
};

#define KNDL_STR(name_, value) ((struct kndl_field){name_, KNDL_FIELD_STR, {.str = (value)}})
#define KNDL_I64(name_, value) ((struct kndl_field){name_, KNDL_FIELD_I64, {.i64 = (value)}})
#define KNDL_U64(name_, value) ((struct kndl_field){name_, KNDL_FIELD_U64, {.u64 = (value)}})

#define kndl_log(level, message, ...)                                                              \
    kndl_log_fields(level, message, (const struct kndl_field[]){__VA_ARGS__},                      \
                    sizeof((const struct kndl_field[]){__VA_ARGS__}) / sizeof(struct kndl_field))

void kndl_log_fields(enum kndl_level level, const char *message, const struct kndl_field *fields,
                     size_t count);

/* Names the process in every line; lines below `least` are not written. Once, at the start. */
void kndl_log_open(const char *service, enum kndl_level least);

/*
 * Puts trace and actor into this thread's lines until called with NULLs. Borrowed. A line with a
 * field of that name keeps its own: what is answered later is told of on another call's thread.
 */
void kndl_log_context(const char *trace, const char *actor);
