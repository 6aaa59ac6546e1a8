#pragma once

/* git, by libgit2 and in this process: no hook, filter or monitor of a Repo is ever run, and no
 * configuration but the Repo's own is read. In confined verb children only. */

#include <stddef.h>

#include "kndl/error.h"

struct git_remote_repo {
    const char *url;   /* http or https, without credentials */
    const char *path;  /* an empty folder */
    const char *base;  /* a branch, "": the default one */
    const char *token; /* NULL: none. Sent to that host alone, once; never kept */
    void (*on_progress)(const char *text, unsigned percent);
};

/*
 * Clones it whole. PERMISSION_DENIED: the other side refused it (also where it says that there is
 * no such Repo); RESOURCE_EXHAUSTED: the disk is full; UNAVAILABLE: anything else.
 */
int git_clone_whole(const struct git_remote_repo *repo, struct kndl_error *err);

/* Who commits here, and the branch that is made from HEAD and checked out ("": none). */
int git_begin(const char *path, const char *branch, const char *author_name,
              const char *author_email, struct kndl_error *err);

/* Appends lines to .git/info/exclude. */
int git_exclude(const char *path, const char *lines, struct kndl_error *err);
