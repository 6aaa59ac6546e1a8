#pragma once

/* The Hub's commands for this Runner (proto/kndl/runner): each answers "taken" from the loop. */

#include "kndl/error.h"

struct runner;

int commands_serve(struct runner *runner, struct kndl_error *err);
