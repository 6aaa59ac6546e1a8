#pragma once

/*
 * The head of an HTTP/1.x request: found, checked and cut up, in place. Pure; any thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    HEAD_BYTES_MAX = 16 * 1024,
    HEAD_FIELDS_MAX = 100,
};

struct head_field {
    const char *name; /* lower case */
    const char *value;
};

/* Pointers go into the text that head_parse() was given. */
struct head {
    const char *method;
    const char *path;  /* decoded */
    const char *query; /* "" if none */
    struct head_field fields[HEAD_FIELDS_MAX];
    size_t count;
    uint64_t length; /* of the body */
    bool keep_alive;
    bool expects_continue;
    const char *socket_key; /* of an upgrade to a WebSocket, else NULL */
};

/*
 * Where the head ends: its size with the empty line, 0 if it isn't whole yet, -1 if it never will
 * be (a bare line feed). `scanned` is kept between calls on data that grows; it starts at 0.
 */
ssize_t head_find_end(const char *data, size_t size, size_t *scanned);

/*
 * Parses a whole head in place (text[size] is a NUL). 0, or the HTTP status to refuse it with;
 * *ret_why says why, a constant.
 */
int head_parse(char *text, size_t size, struct head *ret, const char **ret_why);

/* The value, or NULL. */
const char *head_get(const struct head *head, const char *name);
