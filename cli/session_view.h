#pragma once

/* A Session in a line, or on a page. */

#include "kndl/sessions/v1/sessions_service.pb-c.h"
#include "screen.h"

/* Id, state, Repo, title, when it last changed; the reason of its state below, if there is one. */
void session_view_line(const struct screen *screen, const Kndl__Sessions__V1__Session *session);

/* All of it, with its queue and open questions. */
void session_view_page(const struct screen *screen,
                       const Kndl__Sessions__V1__GetSessionResponse *view);
