#pragma once

/* What deltas are made of. Only delta*.c include it. */

#include "delta.h"
#include "kndl/buf.h"

struct kndl_timer;

enum { DELTA_ID_SIZE = 33 };

struct block {
    bool is_open;
    bool is_over;   /* until delta_settle() */
    bool is_broken; /* a piece is not here: what follows is left out */
    uint64_t order; /* rising: the oldest has the lowest */
    char id[DELTA_ID_SIZE];
    char *turn_id;
    char *subagent_id;
    char *tool_use_id;
    char *tool_name;
    int64_t step;
    int64_t index;
    enum claude_block kind;
    int64_t offset; /* of what is held back */
    struct kndl_buf held;
    struct kndl_buf text; /* from its beginning, as much as there is room for */
    int64_t full_bytes;   /* of all of it */
    bool was_named;       /* the first piece, which carries the tool's name, has been sent */
};

struct deltas {
    struct deltas_options options;
    struct block blocks[DELTA_BLOCKS_MAX];
    uint64_t orders;
    struct kndl_timer *timer;
    bool is_held; /* the timer runs */
};

/* Opens the block of a piece, whatever else is open; NULL: there are too many. */
struct block *delta_open(struct deltas *deltas, const struct claude_delta *piece);
void delta_close(struct block *block);

/* As much of the text as there is room for, and none behind a gap. */
void delta_keep_text(struct deltas *deltas, struct block *block, struct kndl_slice text);
