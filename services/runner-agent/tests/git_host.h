#pragma once

/*
 * A git host for tests: git's own http-backend behind a small HTTP server in a process of its own.
 * It wants x-access-token and TOKEN, and has one Repo, /hello.git, with a file README and links
 * that lead out of it. /moved.git redirects there by another name of this host; /stuck.git never
 * answers, and makes a folder "stuck" when it was asked.
 */

#include <stddef.h>
#include <sys/types.h>

#define GIT_HOST_TOKEN "ghs_the-token-of-one-repo"

struct git_host {
    pid_t pid;
    unsigned port;
};

/* `folder` is empty and becomes the Repos' place. */
void git_host_start(struct git_host *host, const char *folder);
void git_host_stop(struct git_host *host);
