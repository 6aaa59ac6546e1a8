/* Reading a verb's command line. */

#include "args.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kndl/mem.h"

static int find_option(const struct arg_option *options, const char *name, size_t length)
{
    for (int i = 0; options[i].name != NULL; i++)
        if (strncmp(options[i].name, name, length) == 0 && options[i].name[length] == '\0')
            return i;
    return -1;
}

static int find_letter(const struct arg_option *options, char letter)
{
    for (int i = 0; options[i].name != NULL; i++)
        if (options[i].letter == letter)
            return i;
    return -1;
}

/* A word that begins with one dash: -x, and nothing more of it. */
static int read_letter(const struct args *args, const char *word, int *ret_at,
                       struct kndl_error *err)
{
    *ret_at = word[2] == '\0' ? find_letter(args->options, word[1]) : -1;
    if (*ret_at < 0)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT,
                         "there is no option %.40s; --help lists them, and -- goes before a text "
                         "that begins with -",
                         word);
    return 0;
}

/* --name or --name=VALUE; *ret_value is NULL where no = follows. */
static int read_name(const struct args *args, const char *word, int *ret_at, const char **ret_value,
                     struct kndl_error *err)
{
    size_t length = strcspn(word, "=");

    *ret_at = find_option(args->options, word + 2, length - 2);
    if (*ret_at < 0)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "there is no option %.*s; --help lists them",
                         (int)(length < 40 ? length : 40), word);
    *ret_value = word[length] == '=' ? word + length + 1 : NULL;
    return 0;
}

/* argv[*at] is an option; *at moves to its value where that is a word of its own. */
static int read_option(struct args *args, int argc, char **argv, int *at, struct kndl_error *err)
{
    const char *word = argv[*at];
    const char *value = NULL;
    int i;

    if ((word[1] == '-' ? read_name(args, word, &i, &value, err)
                        : read_letter(args, word, &i, err)) < 0)
        return -1;
    if (args->options[i].value == NULL) {
        if (value != NULL)
            return kndl_fail(err, KNDL_INVALID_ARGUMENT, "--%s takes no value",
                             args->options[i].name);
        args->values[i] = "";
        return 0;
    }
    if (value == NULL && *at + 1 == argc)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "--%s needs %s", args->options[i].name,
                         args->options[i].value);
    args->values[i] = value != NULL ? value : argv[++*at];
    return 0;
}

int args_read(const struct arg_option *options, int argc, char **argv, struct args *ret_args,
              struct kndl_error *err)
{
    struct args args = {.options = options, .rest = kndl_new_array(const char *, (size_t)argc + 1)};
    bool is_rest = false;

    for (int i = 0; i < argc; i++) {
        const char *word = argv[i];

        if (is_rest || word[0] != '-' || word[1] == '\0') {
            args.rest[args.count++] = word;
        } else if (strcmp(word, "--") == 0) {
            is_rest = true;
        } else if (read_option(&args, argc, argv, &i, err) < 0) {
            args_done(&args);
            return -1;
        }
    }
    *ret_args = args;
    return 0;
}

void args_done(struct args *args)
{
    free(args->rest);
    *args = (struct args){0};
}

const char *args_get(const struct args *args, const char *name)
{
    int i = find_option(args->options, name, strlen(name));

    if (i < 0)
        abort(); /* the verb's table lacks what its code asks for */
    return args->values[i];
}

bool args_has(const struct args *args, const char *name)
{
    return args_get(args, name) != NULL;
}

int args_number(const struct args *args, const char *name, int64_t *ret_number,
                struct kndl_error *err)
{
    const char *text = args_get(args, name);
    char *end;

    if (text == NULL)
        return 0;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || number < 0)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "--%s takes a number from 0 on, not \"%.40s\"",
                         name, text);
    *ret_number = number;
    return 0;
}
