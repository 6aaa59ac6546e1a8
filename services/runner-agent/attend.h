#pragma once

/*
 * Tells the Hub every 5 s that this Runner is there and what runs on it, and does what it answers:
 * runs that should not be are stopped.
 */

struct attend;
struct runner;

struct attend *attend_new(struct runner *runner);
void attend_free(struct attend *attend);
