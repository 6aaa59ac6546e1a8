#pragma once

/*
 * The stand-in for GitHub (integration-tests/peers), which speaks its REST API over HTTP, and
 * github.c against it: ada may see demo/hello, stranger not; the App is installed on it.
 */

#include "github.h"
#include "kndl/testing.h"

struct fixture {
    int64_t moved_ms; /* the clock, by move_clock() */
    struct github *github;
    struct kndl_arena *arena;
    struct kndl_error err;
};

/* cmocka's group fixtures: the stand-in runs, and the environment names it. */
int peer_start(void **state);
int peer_stop(void **state);

/* Of one test: the state is a fixture, and no fault is left of the test before. */
int set_up(void **state);
int tear_down(void **state);

/* What the stand-in's faults are from here on, and a merge patch to its state: its README.md. */
void fault(const char *faults);
void change(const char *patch);

/* Ours alone; tear_down() moves it back. */
void move_clock(struct fixture *f, int64_t ms);

/* demo/hello, as the stand-in has it. */
extern struct repo hello;

/* May they see demo/hello? 1 and 0 are GitHub's yes and no, -1 that it could not answer. */
int check(struct fixture *f, const char *login);

/* 0: a token for demo/hello was given, and is as it should be. */
int mint(struct fixture *f, int64_t repo_id, bool write);
