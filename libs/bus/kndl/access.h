#pragma once

/*
 * What repo-access says of Repos and the person of a call, for every service whose rows belong to
 * Repos. Ask before a transaction, never inside one.
 *
 * Both fail into call->err as kndl_bus_call does. Results live in the call's arena.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kndl_bus;
struct kndl_call;

/* Which of the Repos that were asked for a person may see, and until when that may be relied on. */
struct kndl_access {
    bool *allowed;     /* one for each that was asked for */
    int64_t *repo_ids; /* those that are allowed, in the order asked */
    size_t count;      /* of repo_ids */
    int64_t valid_until_ms;
};

/* Any number of Repos, which are asked for in batches; a Repo may stand among them twice. Nobody is
 * asked about none: valid_until_ms is then 0. */
int kndl_access_check(struct kndl_bus *bus, struct kndl_call *call, const int64_t *repo_ids,
                      size_t count, struct kndl_access *ret_access);

/* A Repo by its id or, if that is 0, by its name. KNDL_NOT_FOUND, word for word alike, whether it
 * does not exist or the person may not see it. */
int kndl_access_resolve_repo(struct kndl_bus *bus, struct kndl_call *call, int64_t repo_id,
                             const char *name, int64_t *ret_id, const char **ret_name);
