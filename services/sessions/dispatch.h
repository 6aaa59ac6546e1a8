#pragma once

#include "kndl/service.h"

/* Wakes Sessions whose prompts wait, takes commands and prompts to the Runners, and assignments to
 * secrets. */
extern const struct kndl_task dispatch_task;

/* Freezes the Sessions of Runners that are away, and acts on Sessions past their deadline. */
extern const struct kndl_task deadlines_task;

/* Once in each process: what an older release left that this one does not allow (AC-10). */
extern const struct kndl_task upgrade_task;

/* Sessions follow their Repos: names, and whether the GitHub App is on them. */
extern const struct kndl_task repos_task;
