#pragma once

/*
 * The releases that this host has, in RUNNER_HOME/releases: a folder each, and beside them
 *
 *   current   a link to the one that runs, or that a start gives way to
 *   trying    a release that has not reached the Hub yet, and how often it was started
 *   failed    the release that is not tried again, and why
 *
 * Each is written whole and synced. Blocks on the disk; one thread at a time.
 */

#include <stdbool.h>

#include "kndl/buf.h"
#include "kndl/error.h"

enum { RELEASE_TRIES_MAX = 3 };

/* Makes it the current one, on trial; its first start is counted. */
int releases_switch(const char *folder, const char *version, struct kndl_error *err);

/*
 * At a start: the version that this program, of version `own`, gives way to, or "". That is the
 * current one where it is newer; a start of one on trial is counted, and after RELEASE_TRIES_MAX of
 * them it has failed.
 */
int releases_choose(const char *folder, const char *own, struct kndl_buf *ret_version,
                    struct kndl_error *err);

/* It is not tried again, and not the current one any more. */
int releases_fail(const char *folder, const char *version, const char *why, struct kndl_error *err);

/* Which release failed last, and why; both empty: none. */
void releases_read_failed(const char *folder, struct kndl_buf *ret_version,
                          struct kndl_buf *ret_why);

/* The release `version`, which runs, reached the Hub: if it is the current one it is on trial no
 * more, and all others are deleted. */
int releases_confirm(const char *folder, const char *version, struct kndl_error *err);
