/* The rules for Variables. */

#include "variable.h"

#include <ctype.h>
#include <string.h>

#include "kndl/redact.h"
#include "kndl/slice.h"

/* The most that a sealed column adds to a value: head, nonce, tag, padding (kndl/seal.h). */
enum { SEALED_OVERHEAD_BYTES = 5 + 24 + 16 + 64 };

/* Set by kndl or by the Sandbox itself. What Claude Code must not get (CC-06) is not among them:
 * a Start script may need it. */
static const char *const reserved[] = {"PATH",
                                       "HOME",
                                       "USER",
                                       "SHELL",
                                       "TERM",
                                       "PWD",
                                       "LANG",
                                       "IS_SANDBOX",
                                       "TMUX",
                                       "TMUX_PANE",
                                       "DISABLE_INSTALLATION_CHECKS"};
static const char *const reserved_prefixes[] = {"KNDL_", "CLAUDE_"};

static bool is_reserved(const char *name)
{
    for (size_t i = 0; i < sizeof reserved / sizeof reserved[0]; i++)
        if (strcmp(name, reserved[i]) == 0)
            return true;
    for (size_t i = 0; i < sizeof reserved_prefixes / sizeof reserved_prefixes[0]; i++)
        if (strncmp(name, reserved_prefixes[i], strlen(reserved_prefixes[i])) == 0)
            return true;
    return false;
}

static int check_name(const char *name, struct kndl_error *err)
{
    size_t size = 0;

    while (name[size] == '_' || (isascii(name[size]) && isalpha((unsigned char)name[size])) ||
           (size > 0 && isdigit((unsigned char)name[size])))
        size++;
    /* Not quoted: somebody may have pasted a value into the wrong field. */
    if (size == 0 || name[size] != '\0')
        return kndl_fail(err, KNDL_INVALID_ARGUMENT,
                         "a Variable's name has letters, digits and _ alone, and no digit first");
    if (size > VARIABLE_NAME_CHARS_MAX)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "a Variable's name has at most %d characters",
                         VARIABLE_NAME_CHARS_MAX);
    if (is_reserved(name))
        return kndl_fail(err, KNDL_INVALID_ARGUMENT,
                         "%s is set by kndl itself; choose another name", name);
    return 0;
}

static const char *warning_of(enum kndl_redact_weakness weakness)
{
    switch (weakness) {
    case KNDL_REDACT_STRONG:
        return NULL;
    case KNDL_REDACT_SHORT:
        return "The value is short: it will be masked in much that is no secret.";
    case KNDL_REDACT_REPEATED:
        return "The value is one character, repeated: it will be masked in much that is no secret.";
    case KNDL_REDACT_WORD:
        return "The value is a common word or number: it will be masked wherever that occurs.";
    }
    return NULL;
}

int variable_check(const struct new_variable *variable, const char **ret_warning,
                   struct kndl_error *err)
{
    enum kndl_redact_weakness weakness = KNDL_REDACT_STRONG;
    size_t size = strlen(variable->value);

    if (check_name(variable->name, err) < 0)
        return -1;
    if (size > VARIABLE_VALUE_BYTES_MAX)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT,
                         "the value of %s has %zu bytes; the most is %d", variable->name, size,
                         VARIABLE_VALUE_BYTES_MAX);
    if (variable->is_sensitive &&
        kndl_redact_check(variable->name, kndl_slice_of(variable->value), &weakness, err) < 0)
        return -1;
    *ret_warning = warning_of(weakness);
    return 0;
}

int variable_check_scope(int64_t count, int64_t sealed_bytes, const char *whose,
                         struct kndl_error *err)
{
    if (count > VARIABLES_MAX)
        return kndl_fail(err, KNDL_RESOURCE_EXHAUSTED, "%s would be %lld; the most is %d", whose,
                         (long long)count, VARIABLES_MAX);
    if (sealed_bytes - count * SEALED_OVERHEAD_BYTES > VARIABLES_BYTES_MAX)
        return kndl_fail(err, KNDL_RESOURCE_EXHAUSTED, "%s would have more than %d KiB together",
                         whose, VARIABLES_BYTES_MAX / 1024);
    return 0;
}
