#pragma once

/*
 * The Runner's update of itself to its Hub's release (docs/adr/0025): looked for, fetched, tried,
 * and become, by the exec of its runner-agent in this same process. Whatever fails leaves this
 * program running, is logged and told the Hub (update_note).
 */

#include <stdbool.h>

#include "kndl/buf.h"
#include "kndl/env.h"
#include "kndl/error.h"
#include "release.h"

struct disk;
struct update;

/* RUNNER_SELF_UPDATE. */
extern const struct kndl_env update_env[];

/* home: RUNNER_HOME. Fails with KNDL_INVALID_ARGUMENT where the setting is neither on nor off. */
int update_new(const char *home, struct update **ret_update, struct kndl_error *err);
void update_free(struct update *update);

/* At a start, before anything else: becomes the release that this host was updated to, if it is
 * newer than this program. Returns where there is none, or where it failed. */
void update_give_way(struct update *update, char **argv);

/*
 * One look, after the Hub took this Runner or refused it: gets the manifest (as the file "") from
 * the Hub by `get`, and, if it is of a newer release or protocol, installs and tries that one.
 * True: it is ready, and this program is to end as if by SIGTERM and then call update_become().
 * Blocks; one thread at a time. A look that is too early after one that failed does nothing: the
 * pauses double from a minute to an hour.
 */
bool update_look(struct update *update, bool is_refused, release_get_fn get, void *data);

/* Is one ready? Any thread. */
bool update_is_ready(struct update *update);

/* Becomes it: same process id, arguments and environment, no open files but the standard ones.
 * Returns on failure alone, after which a start goes on with this program. */
void update_become(struct update *update, char **argv);

/* On the loop: the Hub takes this program, which may have been on trial. */
void update_reached_hub(struct update *update, struct disk *disk);

/* Appends what becomes of it, for people; nothing where there is nothing to say. Any thread.
 * Returns how often that changed. */
unsigned update_note(struct update *update, struct kndl_buf *out);
