#pragma once

/*
 * May a person see a Repo? What GitHub said is kept for HUB_REPO_ACCESS_TTL_MS, a no for 30 s at
 * most. When GitHub cannot answer, people keep what they had and nobody gains any (AC-07).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kndl/arena.h"
#include "kndl/error.h"
#include "rpc.h"
#include "store.h"

/*
 * Sets ret_allowed[i] for each Repo, and *ret_until_ms (wall clock) to when the first of the
 * answers is to be asked again. Fails with KNDL_UNAVAILABLE if GitHub cannot answer and nothing is
 * known of any of them.
 */
int access_check(struct repo_access *repo_access, const struct person *person,
                 const int64_t *repo_ids, size_t count, struct kndl_arena *arena, bool *ret_allowed,
                 int64_t *ret_until_ms, struct kndl_error *err);

/* Asks GitHub now, whatever is kept, and keeps what it says. */
int access_recheck(struct repo_access *repo_access, const char *person_id, int64_t repo_id,
                   struct kndl_arena *arena, struct kndl_error *err);

/* Lists the Repos anew if that was last done more than max_age_ms ago. A GitHub that cannot answer
 * fails with KNDL_UNAVAILABLE only if there is no older listing. */
int access_list(struct repo_access *repo_access, int64_t max_age_ms, struct kndl_arena *arena,
                struct kndl_error *err);

/* HUB_REPO_ACCESS_TTL_MS, within the bounds that settings_check() holds it to. */
enum { ACCESS_RETRY_MS = 10 * 1000 }; /* a GitHub that could not answer is asked again then */
enum { ACCESS_TTL_MS_LEAST = 100, ACCESS_TTL_MS_MOST = 60 * 60 * 1000 };
int64_t access_ttl_ms(void);
