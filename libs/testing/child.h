#pragma once

/* Processes and folders of fixtures; private to libs/testing. One thread. */

#include <stdbool.h>
#include <sys/types.h>

/* Starts argv[0] with a clean environment; it dies with this process. Output goes to `log`. */
pid_t child_start(char *const argv[], const char *log);

/* Has one that was started ended by itself? It is forgotten then. */
bool child_has_ended(pid_t pid);

/* kill -9 of one that was started, and its end. */
void child_kill(pid_t pid);

/* Runs to its end; aborts the test unless it exits 0. */
void child_run(char *const argv[], const char *log);

/* A new temporary folder, removed at exit together with what child_start() started. */
const char *child_new_dir(const char *name);

/* A port of 127.0.0.1 that was free a moment ago. */
int child_free_port(void);

/* The test's fixture cannot be made: says why and ends it. */
__attribute__((noreturn, format(printf, 1, 2))) void child_die(const char *format, ...);
