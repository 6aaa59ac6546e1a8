#pragma once

/* What a Session stores or shows, each with the text in it that would be masked, for a test:
 * nothing leaves. */

#include <stdbool.h>

#include "kndl/id.h"
#include "kndl/redactor/v1/trial.pb-c.h"

struct blocks;
struct kndl_arena;
struct masks;

/* What sinks work with; what they answer is in the arena. */
struct sinking {
    struct blocks *blocks;
    struct kndl_arena *arena;
    struct masks *masks;
    char session_id[KNDL_ID_SIZE]; /* of no Session */
};

struct sink {
    Kndl__Redactor__V1__Trial__Sink id;
    bool is_json; /* the text is JSON there */

    /* What comes out of a text; what streams comes in these two pieces. */
    char *(*pass)(const struct sink *sink, const struct sinking *sinking, const char *first,
                  const char *second);
};

extern const struct sink sinks[];
extern const size_t sink_count;
