#pragma once

/* A task: tells sessions of each setup token that changed, until it answered. */

#include "kndl/service.h"

extern const struct kndl_task changes_task;
