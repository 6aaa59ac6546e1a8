/* Reads .env files. What is unquoted is shorter than what was quoted, so all of it stays in place.
 */

#include "dotenv.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

struct reader {
    char *at;
    size_t line;
};

static void skip_blanks(struct reader *reader)
{
    while (*reader->at == ' ' || *reader->at == '\t')
        reader->at++;
}

/* To the next line, over a comment. False if there is anything else. */
static int end_line(struct reader *reader)
{
    skip_blanks(reader);
    if (*reader->at == '#')
        reader->at += strcspn(reader->at, "\n");
    if (*reader->at == '\r')
        reader->at++;
    if (*reader->at == '\0')
        return 0;
    if (*reader->at != '\n')
        return -1;
    reader->at++;
    reader->line++;
    return 0;
}

static char unescaped(char c)
{
    return c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
}

/* Behind the opening quote. Writes over it; *ret_end is where the value's NUL belongs, once what
 * follows was looked at. -1: it does not end. */
static int read_quoted(struct reader *reader, char quote, char **ret_end)
{
    char *to = reader->at;

    for (; *reader->at != quote; reader->at++) {
        if (*reader->at == '\0')
            return -1;
        if (*reader->at == '\n')
            reader->line++;
        if (quote == '"' && *reader->at == '\\' && strchr("ntr\"\\$`", reader->at[1]) != NULL &&
            reader->at[1] != '\0')
            *to++ = unescaped(*++reader->at);
        else if (*reader->at != '\r' || reader->at[1] != '\n')
            *to++ = *reader->at;
    }
    reader->at++;
    *ret_end = to;
    return 0;
}

static void read_plain(struct reader *reader, char **ret_end)
{
    char *begin = reader->at;
    char *end;

    while (*reader->at != '\0' && *reader->at != '\n' &&
           !(*reader->at == '#' && isblank((unsigned char)reader->at[-1])))
        reader->at++;
    for (end = reader->at; end > begin && isspace((unsigned char)end[-1]); end--)
        ;
    *ret_end = end;
}

static int read_entry(struct reader *reader, struct dotenv_entry *ret_entry)
{
    static const char export[] = "export ";
    char *name_end, *value, *value_end;

    if (strncmp(reader->at, export, sizeof export - 1) == 0)
        reader->at += sizeof export - 1;
    skip_blanks(reader);
    char *name = reader->at;
    while (isalnum((unsigned char)*reader->at) || *reader->at == '_')
        reader->at++;
    name_end = reader->at;
    skip_blanks(reader);
    if (name_end == name || *reader->at != '=')
        return -1;
    reader->at++;
    skip_blanks(reader);
    if (*reader->at == '"' || *reader->at == '\'') {
        char quote = *reader->at++;

        value = reader->at;
        if (read_quoted(reader, quote, &value_end) < 0)
            return -1;
    } else {
        value = reader->at;
        read_plain(reader, &value_end);
    }
    if (end_line(reader) < 0)
        return -1;
    *name_end = '\0';
    *value_end = '\0';
    *ret_entry = (struct dotenv_entry){name, value};
    return 0;
}

/* Is the last one's name there before it? */
static bool is_known(const struct dotenv_entry *entries, size_t last)
{
    for (size_t i = 0; i < last; i++)
        if (strcmp(entries[i].name, entries[last].name) == 0)
            return true;
    return false;
}

int dotenv_parse(char *text, struct dotenv_entry *entries, size_t most, size_t *ret_count,
                 struct kndl_error *err)
{
    static const char mark[] = "\xef\xbb\xbf"; /* of UTF-8, as some editors write it */
    struct reader reader = {text, 1};
    size_t count = 0;

    if (strncmp(text, mark, sizeof mark - 1) == 0)
        reader.at += sizeof mark - 1;

    while (*reader.at != '\0') {
        struct reader before = reader;

        if (end_line(&reader) == 0)
            continue;
        reader = before;
        skip_blanks(&reader);
        if (count == most)
            return kndl_fail(err, KNDL_INVALID_ARGUMENT, "there are more than %zu lines NAME=value",
                             most);
        if (read_entry(&reader, &entries[count]) < 0)
            return kndl_fail(err, KNDL_INVALID_ARGUMENT, "line %zu is not NAME=value", before.line);
        if (is_known(entries, count))
            return kndl_fail(err, KNDL_INVALID_ARGUMENT,
                             "line %zu sets %.100s again: leave one of them out", before.line,
                             entries[count].name);
        count++;
    }
    *ret_count = count;
    return 0;
}
