/* The command line as a whole: what its help says of every verb, and words that no verb knows. */

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "kndl/mem.h"
#include "kndl/testing.h"

/* What it writes to standard output; freed by the caller. */
static char *said(int *ret_result, struct kndl_error *err, char **words)
{
    FILE *file = tmpfile();
    int kept = dup(STDOUT_FILENO);
    int count = 0;

    while (words[count] != NULL)
        count++;
    fflush(stdout);
    dup2(fileno(file), STDOUT_FILENO);
    *ret_result = command_run(count, words, err);
    fflush(stdout);
    dup2(kept, STDOUT_FILENO);
    close(kept);
    long size = ftell(file);
    char *text = kndl_alloc((size_t)size + 1, 1);
    rewind(file);
    assert_int_equal(fread(text, 1, (size_t)size, file), size);
    text[size] = '\0';
    fclose(file);
    return text;
}

#define SAID(ret_result, err, ...) said(ret_result, err, (char *[]){__VA_ARGS__, NULL})

/* All that a verb takes is in its line of usage and explained, with how it ends. */
static void the_help_of_each_verb_is_complete(void **state)
{
    (void)state;
    for (const struct verb *const *at = command_verbs; *at != NULL; at++) {
        const struct verb *verb = *at;
        struct kndl_error err = {0};
        char wanted[128];
        int result;

        char *text = SAID(&result, &err, (char *)verb->name, "--help");
        assert_int_equal(result, 0);
        snprintf(wanted, sizeof wanted, "kndl %s", verb->name);
        assert_memory_equal(text, wanted, strlen(wanted));
        for (const struct arg_option *option = verb->options; option->name != NULL; option++) {
            snprintf(wanted, sizeof wanted, "--%s%s%s", option->name,
                     option->value == NULL ? "" : " ", option->value == NULL ? "" : option->value);
            assert_non_null(strstr(verb->usage, wanted));
            snprintf(wanted, sizeof wanted, "-%c|--%s", option->letter, option->name);
            assert_true(option->letter == 0 || strstr(verb->usage, wanted) != NULL);
            assert_true(option->help[0] != '\0');
            assert_non_null(strstr(text, option->help));
        }
        assert_non_null(strstr(text, "Ends with 0: done"));
        free(text);
    }
}

static void help_is_had_by_any_of_its_names(void **state)
{
    struct kndl_error err = {0};
    int result;

    (void)state;
    char *wanted = SAID(&result, &err, "logs", "--help");
    char *other = SAID(&result, &err, "help", "logs");
    assert_string_equal(other, wanted);
    free(other);
    other = SAID(&result, &err, "logs", "x", "-h");
    assert_string_equal(other, wanted);
    free(other);
    free(wanted);
    wanted = SAID(&result, &err, "--help");
    for (const struct verb *const *at = command_verbs; *at != NULL; at++)
        assert_non_null(strstr(wanted, (*at)->summary));
    other = SAID(&result, &err, "help");
    assert_string_equal(other, wanted);
    free(other);
    free(wanted);
}

static void a_verb_that_there_is_not_is_named(void **state)
{
    struct kndl_error err = {0};
    int result;

    (void)state;
    free(SAID(&result, &err, "frob"));
    assert_int_equal(result, -1);
    assert_int_equal(err.code, KNDL_INVALID_ARGUMENT);
    assert_string_equal(err.message, "there is no verb frob; kndl --help lists them");
    err = (struct kndl_error){0};
    free(SAID(&result, &err, "help", "frob"));
    assert_int_equal(err.code, KNDL_INVALID_ARGUMENT);
}

static void too_few_and_too_many_words_are_told_apart(void **state)
{
    struct kndl_error err = {0};
    int result;

    (void)state;
    free(SAID(&result, &err, "show"));
    assert_int_equal(err.code, KNDL_INVALID_ARGUMENT);
    assert_string_equal(err.message,
                        "a word is missing; it goes: kndl show SESSION [--json]; kndl show --help "
                        "says more");
    err = (struct kndl_error){0};
    free(SAID(&result, &err, "show", "a", "b"));
    assert_memory_equal(err.message, "there are too many words; it goes: kndl show ", 45);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_help_of_each_verb_is_complete),
        cmocka_unit_test(help_is_had_by_any_of_its_names),
        cmocka_unit_test(a_verb_that_there_is_not_is_named),
        cmocka_unit_test(too_few_and_too_many_words_are_told_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
