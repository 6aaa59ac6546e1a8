/* The environment as declared tables. */

#include "kndl/env.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { VARIABLES_MAX = 64 };

static struct {
    const char *name;
    const char *value;
} loaded[VARIABLES_MAX];
static size_t loaded_count;

static size_t find(const char *name)
{
    size_t i = 0;

    while (i < loaded_count && strcmp(loaded[i].name, name) != 0)
        i++;
    return i;
}

int kndl_env_load(const struct kndl_env *table, struct kndl_error *err)
{
    for (; table->name != NULL; table++) {
        const char *value = getenv(table->name);

        if (value == NULL)
            value = table->fallback;
        if (value == NULL)
            return kndl_fail(err, KNDL_INVALID_ARGUMENT, "%s is not set: it says %s", table->name,
                             table->help);
        size_t i = find(table->name);
        if (i == VARIABLES_MAX)
            abort();
        loaded[i].name = table->name;
        loaded[i].value = value;
        loaded_count += i == loaded_count;
    }
    return 0;
}

const char *kndl_env_get(const char *name)
{
    size_t i = find(name);

    if (i == loaded_count)
        abort();
    return loaded[i].value;
}

int kndl_env_get_i64(const char *name, int64_t least, int64_t most, int64_t *ret_value,
                     struct kndl_error *err)
{
    const char *text = kndl_env_get(name);
    char *end;

    errno = 0;
    int64_t value = strtoll(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value < least || value > most)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT,
                         "%s is \"%s\"; it takes a whole number from %" PRId64 " to %" PRId64, name,
                         text, least, most);
    *ret_value = value;
    return 0;
}

void kndl_env_forget(const char *name)
{
    char *value = getenv(name);
    size_t i = find(name);

    if (i == loaded_count)
        abort();
    loaded[i].value = "";
    if (value == NULL)
        return;
    explicit_bzero(value, strlen(value));
    unsetenv(name);
}

void kndl_env_print(const struct kndl_env *table, FILE *out)
{
    for (; table->name != NULL; table++) {
        fprintf(out, "  %s\n      %s", table->name, table->help);
        if (table->fallback == NULL)
            fprintf(out, " (required)\n");
        else if (table->fallback[0] != '\0')
            fprintf(out, " (%s)\n", table->fallback);
        else
            fprintf(out, "\n");
    }
}
