#pragma once

/*
 * Uids of the host that are Sandboxes' alone: RUNNER_SANDBOX_UID_RANGES ranges of 65536 each, from
 * RUNNER_SANDBOX_UID_BASE on. The first is for processes of ours that touch what guests made; each
 * of the others belongs to one Sandbox while it runs, so that none has rights over another's
 * processes. Disks hold plain uids from 0, so a Sandbox may get another range at its next start.
 *
 * Who owns which is a folder of symbolic links, RUNNER_HOME/uid-ranges/<n> -> owner: taking one is
 * atomic, also between processes. In verb children only.
 */

#include <stdbool.h>
#include <stdint.h>

#include "kndl/error.h"

/* The owner's range, taken now if it has none. RESOURCE_EXHAUSTED: all are taken. */
int uid_range_take(const char *owner, uint32_t *ret_range, struct kndl_error *err);
bool uid_range_find(const char *owner, uint32_t *ret_range);
/* None is fine. */
void uid_range_give(const char *owner);

/* The first uid of that range. */
uint32_t uid_range_base(uint32_t range);
/* In the first range: who reads and writes guests' files, and who clones as that range's owner. */
uint32_t uid_range_guest_files(void);
uint32_t uid_range_clone(uint32_t range);
