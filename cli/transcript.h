#pragma once

/* Events, as people or programs read them. */

#include "kndl/event/v1/event.pb-c.h"
#include "screen.h"

/* Writes one Event: pleasant, or with `json` as protobuf's JSON on one line. */
void transcript_write(const struct screen *screen, const Kndl__Event__V1__Event *event, bool json);

/* "Going to sleep": a state as it is called. */
const char *transcript_state(Kndl__Event__V1__State state);
