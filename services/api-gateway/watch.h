#pragma once

/*
 * The list of Sessions, live: every Session's summaries, of which the person gets those on Repos
 * that they may see. What they may see is repo-access's word, kept as long as it says.
 */

#include "socket.h"

struct watch;

struct watch *watch_open(struct socket *socket);
void watch_free(struct watch *watch); /* NULL is allowed */

/* Access may have changed. */
void watch_check(struct watch *watch);
