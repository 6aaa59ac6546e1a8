#pragma once

/*
 * tmux inside a Sandbox: the server, and one control-mode client of it (the keeper) that takes our
 * commands. Commands go by its stdin, so nothing of them is in an argv: the setup token takes this
 * way (CR-03).
 *
 * What comes back is foreign (control_mode.h). A command that is not answered within five seconds
 * ends the client, which `on_gone` tells; treat that as normal and attach again.
 *
 * Belongs to the loop's thread. No callback comes before the function returned, and none after
 * tmux_free().
 */

#include <stdbool.h>

#include "kndl/error.h"
#include "kndl/slice.h"

struct sandbox_host;
struct kndl_loop;
struct tmux;

struct tmux_options {
    struct kndl_loop *loop;
    struct sandbox_host *sandboxes;
    const char *sandbox; /* its name */
    bool start_server;   /* else one must be there */
    void (*on_ready)(void *data);
    void (*on_gone)(void *data, const struct kndl_error *why); /* at once, or later */
    void (*on_window_closed)(void *data);                      /* any window of the Session's */
    void *data;
};

/* Strings are copied. Exactly one of on_ready and on_gone follows; after on_ready on_gone may. */
struct tmux *tmux_open(const struct tmux_options *options);
void tmux_free(struct tmux *tmux);

/* What a command printed, or why tmux refused it. */
typedef void (*tmux_fn)(void *data, bool ok, struct kndl_slice text);

/* One command line without line breaks, copied, and wiped once written; fn may be NULL. */
void tmux_command(struct tmux *tmux, const char *line, tmux_fn fn, void *data);
