#pragma once

/*
 * Tells sessions and secrets of a Member who was removed, until each has heard it, and once more
 * 10 s later: by then no gateway takes them for a Member any more (it keeps who somebody is for 5 s
 * at most), so that a setup token that they set in between goes, too.
 */

#include "kndl/service.h"

extern const struct kndl_task departures_task;
