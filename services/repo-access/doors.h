#pragma once

/*
 * The Setup link, and the tidying after those who did not come in.
 *
 * The link is offered once, as the service starts and while there is no Owner: written to
 * HUB_SETUP_LINK_FILE (0600, gone once it was used), or without one to standard output, which is
 * not the log. It is good for 24 h; a start after that, or without the file, offers another one,
 * and the older one is worthless then. Copies of the service share the file.
 */

#include "kndl/service.h"

extern const struct kndl_task doors_task;

/* The address of a page of this Hub, by its path. */
struct kndl_buf;
void doors_write_page(const char *path, struct kndl_buf *out);

/* The address of a page that hands a secret over: it is in the fragment, which browsers send to
 * nobody. `name` is "setup" or "invite". */
void doors_write_link(const char *name, const char *token, struct kndl_buf *out);

/* There is an Owner now: the file goes. */
void doors_close_setup(void);
