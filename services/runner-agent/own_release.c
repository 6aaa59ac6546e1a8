/* This program's numbers. */

#include "own_release.h"

#include "kndl/version.h"

const struct own_release own_release = {KNDL_VERSION, KNDL_RUNNER_PROTOCOL};
