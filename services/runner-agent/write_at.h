#pragma once

#include <sys/types.h>

#include "kndl/slice.h"

/* All of the bytes, from that place of a file on. May wait for the disk. -1: errno says why, and
 * some of them may be there. */
int write_at(int fd, struct kndl_slice bytes, off_t at);
