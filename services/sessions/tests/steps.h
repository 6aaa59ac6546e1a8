#pragma once

/* What people and Runners do to a Session, a line each. As in stage.h what fails fails the test,
 * but for people's requests, which may be refused: -1. */

#include "stage.h"

#define KIND(name) KNDL__EVENT__V1__EVENT__KIND_##name

int put_to_sleep(struct stage *stage, const char *person, const char *id, const char *request);
int wake(struct stage *stage, const char *person, const char *id, const char *request);
/* One that says hello. */
int prompt(struct stage *stage, const char *person, const char *id, const char *request);

/* The Session's newest run, as its Runner says that it runs. */
const struct attended *running(struct stage *stage, const char *id);

/* Its first Event, of a Turn t1. */
void start_turn(struct stage *stage, const char *runner, const char *id);

/* What runs on Runners that are away is Frozen. */
void freeze(struct stage *stage);
/* Runners are silent for so long that they are away, and what runs on them is Frozen. */
void go_away(struct stage *stage);

void assert_state(struct stage *stage, const char *id, life_state state, const char *code);

/* The last of that kind. */
const Kndl__Event__V1__Event *find_kind(Kndl__Event__V1__Event **events, size_t count,
                                        Kndl__Event__V1__Event__KindCase kind);
