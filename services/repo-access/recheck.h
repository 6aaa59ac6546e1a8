#pragma once

/*
 * Asks GitHub again about everybody who is here, as often as HUB_REPO_ACCESS_TTL_MS, whether or not
 * anybody asks us: who lost access is out of what they have open within twice that (AC-07).
 */

#include "kndl/service.h"

extern const struct kndl_task recheck_task;
