#pragma once

/* What a verb of the command line is. One verb, one file; all are in command.c's table. */

#include <stddef.h>

#include "args.h"
#include "client.h"
#include "config.h"
#include "kndl/arena.h"
#include "screen.h"

/* What every verb works with. */
struct cli {
    struct config config;
    struct client *client;
    struct kndl_arena *arena; /* of one command; a verb that runs long has its own for each page */
    struct screen screen;
};

struct verb {
    const char *name;
    const char *usage;   /* what follows its name */
    const char *summary; /* one line */
    const char *help;    /* more than that; "" if there is no more */
    const struct arg_option *options;
    size_t least, most; /* words besides the options */

    /* 0, or -1 with why; the code becomes the exit status. */
    int (*run)(struct cli *cli, const struct args *args, struct kndl_error *err);
};

extern const struct verb verb_answer;
extern const struct verb verb_attach;
extern const struct verb verb_cancel;
extern const struct verb verb_events;
extern const struct verb verb_invite;
extern const struct verb verb_invites;
extern const struct verb verb_login;
extern const struct verb verb_logs;
extern const struct verb verb_logout;
extern const struct verb verb_ls;
extern const struct verb verb_members;
extern const struct verb verb_new;
extern const struct verb verb_prompt;
extern const struct verb verb_repos;
extern const struct verb verb_runners;
extern const struct verb verb_resume;
extern const struct verb verb_show;
extern const struct verb verb_sleep;
extern const struct verb verb_stop;
extern const struct verb verb_token;
extern const struct verb verb_vars;
extern const struct verb verb_wake;
extern const struct verb verb_whoami;

/* INVALID_ARGUMENT: what is wrong, and how the verb goes. Returns -1. */
int verb_misused(const struct verb *verb, const char *what, struct kndl_error *err);

/* The same for a word that stands where another is expected. */
int verb_unknown_word(const struct verb *verb, const char *word, struct kndl_error *err);

/* Adds where to look to an error of this code; another stays as it is. Returns -1. */
int verb_hint(enum kndl_code code, const char *hint, struct kndl_error *err);

extern const struct arg_option no_options[];
extern const struct arg_option json_option[]; /* --json alone */

/* Prints a message as protobuf's JSON, on one line. */
void print_json(const struct screen *screen, const ProtobufCMessage *message);
