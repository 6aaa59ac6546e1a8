#pragma once

/* kndl vars REPO test: a random value where a Sensitive one could be, and what came out. */

#include <stdbool.h>

#include "verb.h"

/* Fails if the value showed where it must not. */
int redaction_test(struct cli *cli, const char *repo, bool json, struct kndl_error *err);
