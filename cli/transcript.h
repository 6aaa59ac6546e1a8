#pragma once

/* Events, as people or programs read them. */

#include "kndl/event/v1/event.pb-c.h"
#include "screen.h"

enum transcript_form {
    TRANSCRIPT_TEXT,    /* pleasant; prompts, states and ends of Turns say when */
    TRANSCRIPT_STAMPED, /* the same with each Event's time in front, RFC 3339 in local time */
    TRANSCRIPT_JSON,    /* protobuf's JSON, one Event a line */
};

/* What --json and --timestamps ask for; JSON has its times in it. */
enum transcript_form transcript_form(bool json, bool timestamps);

/* Writes one Event. */
void transcript_write(const struct screen *screen, const Kndl__Event__V1__Event *event,
                      enum transcript_form form);

/* "Going to sleep": a state as it is called. */
const char *transcript_state(Kndl__Event__V1__State state);
