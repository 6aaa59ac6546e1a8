/*
 * kndl: Sessions from a terminal. One verb, one file; this is their table.
 */

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kndl/code.h"
#include "kndl/log.h"
#include "kndl/secret.h"
#include "verb.h"

static const struct verb *const verbs[] = {
    &verb_new,    &verb_prompt,  &verb_events,  &verb_ls,     &verb_show,   &verb_repos,
    &verb_answer, &verb_stop,    &verb_resume,  &verb_cancel, &verb_sleep,  &verb_wake,
    &verb_vars,   &verb_token,   &verb_whoami,  &verb_login,  &verb_logout, &verb_members,
    &verb_invite, &verb_invites, &verb_runners,
};

static void print_help(FILE *out)
{
    fputs("kndl: Claude Code sessions on your team's machines\n\n", out);
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++)
        fprintf(out, "  kndl %-7s %s\n", verbs[i]->name, verbs[i]->summary);
    fputs(
        "\nkndl VERB --help says more. A SESSION is its id, or the beginning of it.\n"
        "Ends with 0: done, 1: failed, 2: usage, 3: not found or no access, 4: conflict with the\n"
        "state, 5: the Hub cannot be reached.\n\n",
        out);
    kndl_env_print(config_env, out);
}

static void print_verb(const struct verb *verb, FILE *out)
{
    fprintf(out, "kndl %s%s%s\n\n%c%s.\n%s", verb->name, verb->usage[0] == '\0' ? "" : " ",
            verb->usage, toupper((unsigned char)verb->summary[0]), verb->summary + 1, verb->help);
    if (verb->options[0].name != NULL)
        fputc('\n', out);
    for (const struct arg_option *option = verb->options; option->name != NULL; option++) {
        char left[64];

        snprintf(left, sizeof left, "--%s %s", option->name,
                 option->value == NULL ? "" : option->value);
        fprintf(out, "  %-18s %s\n", left, option->help);
    }
}

static const struct verb *find_verb(const char *name)
{
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++)
        if (strcmp(verbs[i]->name, name) == 0)
            return verbs[i];
    return NULL;
}

/* Before "--" alone: a prompt may say --help. */
static bool asks_for_help(int argc, char **argv)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0)
            return true;
    return false;
}

/* With the words read and counted. */
static int run_verb(const struct verb *verb, const struct args *args, struct kndl_error *err)
{
    struct cli cli = {.screen = screen_open()};

    if (args->count < verb->least || args->count > verb->most)
        return verb_misused(verb, err);
    if (config_load(&cli.config, err) < 0)
        return -1;
    cli.arena = kndl_arena_new(KNDL_ARENA_PLAIN);
    cli.client = client_new(&cli.config);
    int result = verb->run(&cli, args, err);
    client_free(cli.client);
    kndl_arena_free(cli.arena);
    config_done(&cli.config);
    return result;
}

int main(int argc, char **argv)
{
    struct kndl_error err = {0};
    struct args args = {0};
    const char *name = argc > 1 ? argv[1] : "";

    kndl_log_open("kndl", KNDL_ERROR);
    if (strcmp(name, "help") == 0 || strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        print_help(stdout);
        return EXIT_SUCCESS;
    }
    const struct verb *verb = find_verb(name);
    if (verb == NULL) {
        if (name[0] != '\0')
            fprintf(stderr, "kndl: there is no verb %.40s; kndl --help lists them\n", name);
        else
            print_help(stderr);
        return kndl_code_names(KNDL_INVALID_ARGUMENT)->exit;
    }
    if (asks_for_help(argc - 2, argv + 2)) {
        print_verb(verb, stdout);
        return EXIT_SUCCESS;
    }

    int result = -1;
    if (kndl_env_load(config_env, &err) == 0 && kndl_crypt_init(&err) == 0 &&
        args_read(verb->options, argc - 2, argv + 2, &args, &err) == 0)
        result = run_verb(verb, &args, &err);
    args_done(&args);
    if (fflush(stdout) == EOF && result == 0)
        result = kndl_fail(&err, KNDL_UNKNOWN, "standard output cannot be written");
    if (result < 0)
        fprintf(stderr, "kndl: %s\n", err.message);
    return result < 0 ? kndl_code_names(err.code)->exit : EXIT_SUCCESS;
}
