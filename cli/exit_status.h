#pragma once

/* What the process ends with, by the code of its failure. Scripts rely on these numbers. */

#include "kndl/error.h"

enum exit_status {
    EXIT_OK = 0,
    EXIT_FAILED = 1,
    EXIT_USAGE = 2,
    EXIT_NOT_FOUND = 3, /* or no access: these two are never told apart */
    EXIT_CONFLICT = 4,
    EXIT_HUB_AWAY = 5,
};

enum exit_status exit_status_of(enum kndl_code code);
