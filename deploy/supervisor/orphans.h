#pragma once

/*
 * Processes whose parent ended and that came to this one, their subreaper: what a Runner that was
 * killed left behind.
 */

#include <stddef.h>

/* Sends a signal to each child of this process; returns how many there are that still run. */
size_t orphans_signal(int number);
