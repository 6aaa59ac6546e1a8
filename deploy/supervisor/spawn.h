#pragma once

/*
 * Starts one program of the plan as a child of this process: a session of its own, its log as
 * stdout and stderr, nothing on stdin, only its own environment, its uid, namespace and folder.
 */

#include <sys/types.h>

#include "kndl/error.h"
#include "plan.h"

/*
 * Forks. What the program writes goes to `log`, which is copied. What goes wrong in the child is
 * said there, and the child ends with 127; here it fails only if there is no process to make
 * (KNDL_INTERNAL).
 * The child gets SIGTERM if this process ends first.
 */
int spawn_program(const struct plan_program *program, int log, pid_t *ret_pid,
                  struct kndl_error *err);
