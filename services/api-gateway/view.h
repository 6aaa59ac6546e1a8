#pragma once

/*
 * A Session as one channel shows it: its Events in order and without a gap, what streams, and the
 * rest of the view whenever its version changed.
 */

#include "socket.h"

struct view;

struct view *view_open(struct socket *socket, const Kndl__Gateway__V1__Open *open);
void view_free(struct view *view);

uint32_t view_channel(const struct view *view);
const char *view_session(const struct view *view);

/* What Heads says of it; NULL: nothing, so that access may be gone. */
void view_take_head(struct view *view, const Kndl__Sessions__V1__HeadsResponse__Head *head);

/* Each second: is its access to be asked again, or what failed to be tried again? */
void view_tick(struct view *view);

/* Access may have changed. */
void view_check(struct view *view);

/* The socket's queue is empty: what did not fit is asked for again. */
void view_drained(struct view *view);
