#pragma once

/*
 * All waiting for processes: those that this process started, and those that became its own.
 *
 * It is a subreaper: whatever runs in a Sandbox becomes its child, and a Sandbox only ends once
 * those were reaped. So nobody else calls wait, and no library that does (uv_spawn) is used.
 * Belongs to the loop's thread; nothing here blocks.
 */

#include <sys/types.h>

#include "kndl/error.h"

struct kndl_loop;
struct reaper;

/* Keeps SIGCHLD for reaper_new(). In main(), before the first thread is there, so that none of
 * them takes it. */
void reaper_prepare(void);

struct reaper *reaper_new(struct kndl_loop *loop);
/* Forgets what it waits for, without callbacks. */
void reaper_free(struct reaper *reaper);

/* Takes every process that ended; the loop does it at each SIGCHLD by itself. */
void reaper_take(struct reaper *reaper);

/* Tells how it ended, as waitpid(2) does. */
typedef void (*reaper_fn)(void *data, int status);

/*
 * Starts a program by argv, whose first is a path. `fds` become 0, 1 and 2 (-1: /dev/null) and
 * stay the caller's. Its environment is PATH and LANG.
 */
int reaper_spawn(struct reaper *reaper, const char *const *argv, const int fds[3], reaper_fn fn,
                 void *data, pid_t *ret_pid, struct kndl_error *err);

/* For a process that became ours without being started by us, even if it has ended already. */
void reaper_adopt(struct reaper *reaper, pid_t pid, reaper_fn fn, void *data);

/* No callback for it any more; it is still taken. */
void reaper_forget(struct reaper *reaper, pid_t pid);

/* Starts a process that nobody waits for by name: fds[3] >= 0 becomes its descriptor 3. Returns
 * an errno. */
int reaper_begin(const char *path, char *const *argv, char *const *env, const int fds[4],
                 pid_t *ret_pid);
