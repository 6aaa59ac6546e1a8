#pragma once

/*
 * What this machine's token alone may not do, since it lies on a disk: the Hub makes a code, the
 * person says yes to it in their browser, and the calls that follow carry the confirmation that
 * they gave. It is for one purpose, is kept in memory alone, and is gone with this command.
 */

#include "kndl/repo_access/v1/repo_access_service.pb-c.h"
#include "verb.h"

/*
 * Says on standard error what it wants and where to confirm it, and waits, ten minutes at most.
 * Fails with KNDL_PERMISSION_DENIED if it was refused, or nobody said yes.
 */
int confirm(struct cli *cli, Kndl__RepoAccess__V1__Purpose purpose, struct kndl_error *err);

/* For the help of a verb that confirms. */
#define CONFIRM_HELP                                                                               \
    "A token on a disk is not enough for this: kndl prints the address of a page on standard "     \
    "error,\nand goes on once you said yes there, in a browser where you are signed in.\n"
