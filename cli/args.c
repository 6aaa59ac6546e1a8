/* Reading a verb's command line. */

#include "args.h"

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

/* argv[*at] is an option; *at moves to its value where that is a word of its own. */
static int read_option(struct args *args, int argc, char **argv, int *at, struct kndl_error *err)
{
    const char *name = argv[*at] + 2;
    size_t length = strcspn(name, "=");
    bool has_value = name[length] == '=';
    int i = find_option(args->options, name, length);

    if (i < 0)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "there is no option --%.*s; --help lists them",
                         (int)length, name);
    if (args->options[i].value == NULL) {
        if (has_value)
            return kndl_fail(err, KNDL_INVALID_ARGUMENT, "--%s takes no value",
                             args->options[i].name);
        args->values[i] = "";
        return 0;
    }
    if (!has_value && *at + 1 == argc)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "--%s needs %s", args->options[i].name,
                         args->options[i].value);
    args->values[i] = has_value ? name + length + 1 : argv[++*at];
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
        } else if (word[1] != '-') {
            args_done(&args);
            return kndl_fail(err, KNDL_INVALID_ARGUMENT,
                             "there is no option %s; put -- before a text that begins with -",
                             word);
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
