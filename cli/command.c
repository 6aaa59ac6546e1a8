/* One verb, one file; this is their table. */

#include "command.h"

#include <ctype.h>
#include <string.h>

#include "kndl/mem.h"
#include "kndl/secret.h"
#include "kndl/version.h"

const struct verb *const command_verbs[] = {
    &verb_new,    &verb_prompt,  &verb_logs,   &verb_attach,  &verb_events,  &verb_ls,
    &verb_show,   &verb_answer,  &verb_stop,   &verb_resume,  &verb_cancel,  &verb_sleep,
    &verb_wake,   &verb_repos,   &verb_vars,   &verb_token,   &verb_whoami,  &verb_login,
    &verb_logout, &verb_members, &verb_invite, &verb_invites, &verb_runners, NULL,
};

static const char exits[] = "Ends with 0: done, 1: failed, 2: usage, 3: not found, no access or "
                            "not signed in, 4: conflict\n"
                            "with the state, 5: the Hub, or a part of it, is away.\n";

void command_help(FILE *out)
{
    fputs("kndl: Claude Code sessions on your team's machines\n\n", out);
    for (const struct verb *const *verb = command_verbs; *verb != NULL; verb++)
        fprintf(out, "  kndl %-8s %s\n", (*verb)->name, (*verb)->summary);
    fprintf(out,
            "\nkndl VERB --help says more. A SESSION is its id, or the beginning of it.\n"
            "kndl --version: which kndl this is.\n%s\n",
            exits);
    kndl_env_print(config_env, out);
}

static void print_option(const struct arg_option *option, FILE *out)
{
    char left[64];

    snprintf(left, sizeof left, "--%s%s%s", option->name, option->value == NULL ? "" : " ",
             option->value == NULL ? "" : option->value);
    if (option->letter != 0)
        fprintf(out, "  -%c, %-16s %s\n", option->letter, left, option->help);
    else
        fprintf(out, "  %-20s %s\n", left, option->help);
}

static void print_verb(const struct verb *verb, FILE *out)
{
    fprintf(out, "kndl %s%s%s\n\n%c%s.\n%s%s", verb->name, verb->usage[0] == '\0' ? "" : " ",
            verb->usage, toupper((unsigned char)verb->summary[0]), verb->summary + 1,
            verb->help[0] == '\0' ? "" : "\n", verb->help);
    if (verb->options[0].name != NULL)
        fputc('\n', out);
    for (const struct arg_option *option = verb->options; option->name != NULL; option++)
        print_option(option, out);
    fprintf(out, "\n%s", exits);
}

static const struct verb *find_verb(const char *name)
{
    for (const struct verb *const *verb = command_verbs; *verb != NULL; verb++)
        if (strcmp((*verb)->name, name) == 0)
            return *verb;
    return NULL;
}

/* Before "--" alone: a prompt may say --help. */
static bool asks_for_help(int argc, char **argv)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    return false;
}

/* With the words read and counted. */
static int run_verb(const struct verb *verb, const struct args *args, struct kndl_error *err)
{
    struct cli cli = {.screen = screen_open()};

    if (args->count < verb->least)
        return verb_misused(verb, "a word is missing", err);
    if (args->count > verb->most)
        return verb_misused(verb, "there are too many words", err);
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

/* INVALID_ARGUMENT for what is in no table. Returns NULL then. */
static const struct verb *need_verb(const char *name, struct kndl_error *err)
{
    const struct verb *verb = find_verb(name);

    if (verb == NULL)
        (void)kndl_fail(err, KNDL_INVALID_ARGUMENT,
                        "there is no verb %.40s; kndl --help lists them", name);
    return verb;
}

/* kndl help, kndl help VERB. */
static int run_help(int argc, char **argv, struct kndl_error *err)
{
    if (argc == 0 || argv[0][0] == '-') {
        command_help(stdout);
        return 0;
    }
    const struct verb *verb = need_verb(argv[0], err);
    if (verb == NULL)
        return -1;
    print_verb(verb, stdout);
    return 0;
}

/* A verb with the words that follow it. */
static int run_words(const char *name, int argc, char **argv, struct kndl_error *err)
{
    KNDL_CLEANUP(args_done) struct args args = {0};
    const struct verb *verb = need_verb(name, err);

    if (verb == NULL)
        return -1;
    if (asks_for_help(argc, argv)) {
        print_verb(verb, stdout);
        return 0;
    }
    if (kndl_env_load(config_env, err) < 0 || kndl_crypt_init(err) < 0 ||
        args_read(verb->options, argc, argv, &args, err) < 0)
        return -1;
    return run_verb(verb, &args, err);
}

int command_run(int argc, char **argv, struct kndl_error *err)
{
    const char *name = argv[0];

    if (strcmp(name, "help") == 0 || strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        return run_help(argc - 1, argv + 1, err);
    if (strcmp(name, "--version") == 0) {
        puts("kndl " KNDL_VERSION);
        return 0;
    }
    return run_words(name, argc - 1, argv + 1, err);
}
