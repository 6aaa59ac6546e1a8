#pragma once

/*
 * The newest lines of a file's end, oldest first. The file is a Sandbox's, which may have filled it
 * with anything, millions of lines included: only so many are taken, so that reading them cannot
 * keep the loop.
 */

#include <stdbool.h>
#include <stddef.h>

#include "kndl/slice.h"

/* More rows than one end of Claude Code can leave unsent; as many as the spool knows. */
enum { TAIL_LINES_MAX = 4096 };

struct tail_lines {
    struct kndl_slice list[TAIL_LINES_MAX]; /* without their line feeds; none is empty */
    size_t count;
};

/* The lines point into `bytes`. Unless is_whole, the first may be half a line and is left out. */
void tail_lines_find(struct kndl_slice bytes, bool is_whole, struct tail_lines *ret_lines);
