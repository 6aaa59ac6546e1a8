#pragma once

/* The environment of repo-access. */

#include "kndl/env.h"

extern const struct kndl_env settings[];

/* Refuses what cannot be meant, dev login on a Hub that others can reach above all. */
int settings_check(struct kndl_error *err);
