#pragma once

/* Taking a Sandbox down, in verb children. */

#include "box.h"

/*
 * Everything that a start makes, whole or half: processes, network, mounts, groups, files. What
 * is not there is fine; a live init is killed. The disks stay.
 */
void namespace_clear(const struct box *box);
