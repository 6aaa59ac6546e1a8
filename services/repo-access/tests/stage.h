#pragma once

/* repo-access on a real PostgreSQL of its own; GitHub and the bus are fakes.c's. */

#include <stdbool.h>

#include "rpc.h"

/* For main: the environment of a Hub on this machine, with dev login or without it, and the guard
 * of a process with secrets. False: it cannot be guarded, which was said. */
bool stage_prepare(bool dev_login);

/* Opened anew for each test, by the environment as it is then. */
void stage_open(struct repo_access *ret_repo_access);
void stage_close(struct repo_access *repo_access);
