#pragma once

/*
 * What the supervisor runs, read from a file:
 *
 *     socket /path/of/the/control.sock
 *     logs /path/of/the/logs
 *
 *     program sessions
 *       exec /path/of/sessions
 *       arg --one-argument          any number, in this order
 *       env NAME=VALUE              its whole environment; nothing is inherited
 *       uid 2100000001              user and group; root if absent
 *       netns NAME                  the network namespace /run/netns/NAME
 *       directory /                 where it runs; / if absent
 *       stop INT                    what ends it: TERM (if absent), INT or QUIT
 *       grace 10                    seconds until it is killed; 10 if absent
 *
 * One word and its value a line; blanks around them and lines that begin with # are ignored.
 * Programs start in this order and stop in the reverse one. A plan owns all its memory.
 */

#include <stddef.h>
#include <sys/types.h>

#include "kndl/error.h"

enum { PLAN_FILE_BYTES_MAX = 256 * 1024, PLAN_PROGRAMS_MAX = 64, PLAN_WORDS_MAX = 128 };

struct plan_program {
    char *name;  /* lower-case letters, digits and - */
    char *text;  /* its lines, to tell whether it changed */
    char *exec;  /* an absolute path */
    char **argv; /* ends with a NULL; the first is `exec` */
    char **env;  /* ends with a NULL */
    char *netns;
    char *directory;
    uid_t uid;
    int stop_signal;
    unsigned grace_s;
};

struct plan {
    char *socket;
    char *logs;
    struct plan_program *programs;
    size_t program_count;
};

/* Reads the text of a plan. Fails with KNDL_INVALID_ARGUMENT, naming the line. */
int plan_parse(const char *text, struct plan *ret_plan, struct kndl_error *err);

/* Reads the file; fails also with KNDL_NOT_FOUND. */
int plan_read(const char *path, struct plan *ret_plan, struct kndl_error *err);

void plan_done(struct plan *plan);

/* Takes the program out of the plan: the caller now owns what is in it. */
struct plan_program plan_take(struct plan_program *program);
void plan_program_done(struct plan_program *program);
