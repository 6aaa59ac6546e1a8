#pragma once

/*
 * A host for tests: a home of its own, names of its own, an image made of this machine's /usr, and
 * a loop. What is still mounted at host_done() fails the test.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "child.h"
#include "kndl/loop.h"
#include "sandbox.h"

struct host {
    char home[128];
    char prefix[24];
    struct kndl_loop *loop;
    struct children *children;
    struct sandbox_host *sandboxes;
    bool done;                    /* set by the callbacks below */
    struct sandbox_answer answer; /* what came of the last call; reason kept in the field below */
    char reason[32];
    struct sandbox_exit exit;
    char output[4096]; /* of the last command: stdout, then stderr */
};

/* cmocka's group fixtures: the home, the image and the settings, once for all tests. */
int host_prepare(void **state);
int host_clean(void **state);

/* Of one test: removes the Sandboxes a and b, which a failure may have left. */
int host_sweep(void **state);

/* Fails, saying why, where this machine cannot have Sandboxes. */
void host_init(struct host *host);
void host_done(struct host *host);

/* Starts another Runner's side of it: as if the first had been killed. */
void host_restart(struct host *host);

void host_wait(struct host *host);
void host_on_answer(void *host, const struct sandbox_answer *answer);

/* "<prefix>-<letter>" */
const char *host_name(const struct host *host, char letter, char ret_name[64]);

/* The spec that tests use: 64 MiB, 50 tasks, relay on 18080, /workspace from `workspace`. */
void host_create(struct host *host, const char *name, const char *workspace);
void host_start(struct host *host, const char *name);
void host_stop(struct host *host, const char *name);
void host_remove(struct host *host, const char *name);

/* host_init(), and the Sandbox a, started, with the folder "workspace" for its Workspace. */
void host_with_sandbox(struct host *host, char ret_name[64], char ret_workspace[256]);

/* Runs bash -c in the Sandbox; its exit code, 128 + signal, or -1 where it did not run. */
int host_bash(struct host *host, const char *name, const char *script);

/* A folder beneath the home, made. */
void host_folder(const struct host *host, const char *leaf, char ret_path[256]);

/* The same where only root may enter, as a Session's folder is. */
void host_workspace(const struct host *host, const char *leaf, char ret_path[256]);
