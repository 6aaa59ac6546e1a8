/* Reads the plan: words and values, one a line, into one array of programs. */

#include "plan.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kndl/buf.h"
#include "kndl/mem.h"

enum { GRACE_S_DEFAULT = 10, GRACE_S_MAX = 600, NAME_CHARS_MAX = 32 };

/* What one line is about. */
struct line {
    const char *word;
    const char *value;
    unsigned number;
};

static int fail_line(const struct line *line, struct kndl_error *err, const char *why)
{
    return kndl_fail(err, KNDL_INVALID_ARGUMENT, "line %u, %s: %s", line->number, line->word, why);
}

static bool is_name(const char *text)
{
    size_t size = strlen(text);

    return size > 0 && size <= NAME_CHARS_MAX &&
           strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-") == size;
}

static int set_once(char **field, const struct line *line, struct kndl_error *err)
{
    if (*field != NULL)
        return fail_line(line, err, "stands here twice");
    *field = kndl_strdup(line->value);
    return 0;
}

static int set_path(char **field, const struct line *line, struct kndl_error *err)
{
    if (line->value[0] != '/')
        return fail_line(line, err, "the path must begin with /");
    return set_once(field, line, err);
}

static int parse_number(const struct line *line, unsigned long most, unsigned long *ret_number,
                        struct kndl_error *err)
{
    char *end;
    unsigned long number;

    errno = 0;
    number = strtoul(line->value, &end, 10);
    if (line->value[0] < '0' || line->value[0] > '9' || *end != '\0' || errno != 0 || number > most)
        return fail_line(line, err, "not a number, or too large");
    *ret_number = number;
    return 0;
}

static int add_word(char ***list, const struct line *line, struct kndl_error *err)
{
    size_t count = 0;

    while ((*list)[count] != NULL)
        count++;
    if (count == PLAN_WORDS_MAX)
        return fail_line(line, err, "too many of them");
    *list = kndl_realloc(*list, count + 2, sizeof **list);
    (*list)[count] = kndl_strdup(line->value);
    (*list)[count + 1] = NULL;
    return 0;
}

static int begin_program(struct plan *plan, const struct line *line, struct kndl_error *err)
{
    struct plan_program *program;

    if (!is_name(line->value))
        return fail_line(line, err, "a name is made of a-z, 0-9 and -, 32 at most");
    if (plan->program_count == PLAN_PROGRAMS_MAX)
        return fail_line(line, err, "too many programs");
    for (size_t i = 0; i < plan->program_count; i++)
        if (strcmp(plan->programs[i].name, line->value) == 0)
            return fail_line(line, err, "a program of that name stands above");

    plan->programs = kndl_realloc(plan->programs, plan->program_count + 1, sizeof *plan->programs);
    program = &plan->programs[plan->program_count++];
    *program = (struct plan_program){
        .name = kndl_strdup(line->value),
        .argv = kndl_new_array(char *, 2),
        .env = kndl_new_array(char *, 1),
        .stop_signal = SIGTERM,
        .grace_s = GRACE_S_DEFAULT,
    };
    return 0;
}

static int set_exec(struct plan_program *program, const struct line *line, struct kndl_error *err)
{
    if (set_path(&program->exec, line, err) < 0)
        return -1;
    if (program->argv[0] != NULL)
        return fail_line(line, err, "must stand before the first arg");
    return add_word(&program->argv, line, err);
}

static int add_argument(struct plan_program *program, const struct line *line,
                        struct kndl_error *err)
{
    if (program->argv[0] == NULL)
        return fail_line(line, err, "stands before exec");
    return add_word(&program->argv, line, err);
}

static int add_variable(struct plan_program *program, const struct line *line,
                        struct kndl_error *err)
{
    const char *equals = strchr(line->value, '=');

    if (equals == NULL || equals == line->value)
        return fail_line(line, err, "must read NAME=VALUE");
    return add_word(&program->env, line, err);
}

static int set_stop(struct plan_program *program, const struct line *line, struct kndl_error *err)
{
    static const struct {
        const char *name;
        int number;
    } signals[] = {{"TERM", SIGTERM}, {"INT", SIGINT}, {"QUIT", SIGQUIT}};

    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        if (strcmp(line->value, signals[i].name) == 0) {
            program->stop_signal = signals[i].number;
            return 0;
        }
    }
    return fail_line(line, err, "must be TERM, INT or QUIT");
}

static int parse_program_line(struct plan_program *program, const struct line *line,
                              struct kndl_error *err)
{
    unsigned long number = 0;

    if (strcmp(line->word, "exec") == 0)
        return set_exec(program, line, err);
    if (strcmp(line->word, "arg") == 0)
        return add_argument(program, line, err);
    if (strcmp(line->word, "env") == 0)
        return add_variable(program, line, err);
    if (strcmp(line->word, "netns") == 0)
        return set_once(&program->netns, line, err);
    if (strcmp(line->word, "directory") == 0)
        return set_path(&program->directory, line, err);
    if (strcmp(line->word, "stop") == 0)
        return set_stop(program, line, err);
    if (strcmp(line->word, "uid") == 0) {
        if (parse_number(line, INT32_MAX, &number, err) < 0)
            return -1;
        program->uid = (uid_t)number;
        return 0;
    }
    if (strcmp(line->word, "grace") == 0) {
        if (parse_number(line, GRACE_S_MAX, &number, err) < 0)
            return -1;
        program->grace_s = (unsigned)number;
        return 0;
    }
    return fail_line(line, err, "no such word");
}

static void note_line(struct plan_program *program, const struct line *line)
{
    struct kndl_buf text = {0};

    if (program->text != NULL)
        kndl_buf_append_text(&text, program->text);
    kndl_buf_printf(&text, "%s %s\n", line->word, line->value);
    free(program->text);
    program->text = kndl_buf_take(&text);
}

static int parse_line(struct plan *plan, const struct line *line, struct kndl_error *err)
{
    struct plan_program *program;

    if (strcmp(line->word, "program") == 0)
        return begin_program(plan, line, err);
    if (plan->program_count == 0) {
        if (strcmp(line->word, "socket") == 0)
            return set_path(&plan->socket, line, err);
        if (strcmp(line->word, "logs") == 0)
            return set_path(&plan->logs, line, err);
        return fail_line(line, err, "stands before the first program");
    }
    program = &plan->programs[plan->program_count - 1];
    if (parse_program_line(program, line, err) < 0)
        return -1;
    note_line(program, line);
    return 0;
}

/* Cuts the line in place into its word and value; false if there is nothing on it. */
static bool split_line(char *text, struct line *line)
{
    char *end = text + strlen(text);

    while (end > text && strchr(" \t\r", end[-1]) != NULL)
        *--end = '\0';
    text += strspn(text, " \t");
    if (*text == '\0' || *text == '#')
        return false;
    line->word = text;
    text += strcspn(text, " \t");
    if (*text != '\0')
        *text++ = '\0';
    line->value = text + strspn(text, " \t");
    return true;
}

static int check_whole(const struct plan *plan, struct kndl_error *err)
{
    if (plan->socket == NULL || plan->logs == NULL)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "socket and logs must be given");
    for (size_t i = 0; i < plan->program_count; i++)
        if (plan->programs[i].exec == NULL)
            return kndl_fail(err, KNDL_INVALID_ARGUMENT, "program %s has no exec",
                             plan->programs[i].name);
    return 0;
}

int plan_parse(const char *text, struct plan *ret_plan, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_free) char *copy = kndl_strdup(text);
    struct plan plan = {0};
    struct line line = {0};
    char *next;

    for (char *at = copy; at != NULL; at = next) {
        next = strchr(at, '\n');
        if (next != NULL)
            *next++ = '\0';
        line.number++;
        if (split_line(at, &line) && parse_line(&plan, &line, err) < 0) {
            plan_done(&plan);
            return -1;
        }
    }
    if (check_whole(&plan, err) < 0) {
        plan_done(&plan);
        return -1;
    }
    *ret_plan = plan;
    return 0;
}

int plan_read(const char *path, struct plan *ret_plan, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf text = {0};
    ssize_t size;

    if (fd < 0)
        return kndl_fail(err, KNDL_NOT_FOUND, "open %s: %s", path, strerror(errno));
    do {
        size = read(fd, kndl_buf_reserve(&text, 64 * 1024), 64 * 1024);
        if (size < 0)
            return kndl_fail(err, KNDL_INTERNAL, "read %s: %s", path, strerror(errno));
        text.size += (size_t)size;
        if (text.size > PLAN_FILE_BYTES_MAX)
            return kndl_fail(err, KNDL_INVALID_ARGUMENT, "%s has more than %d bytes", path,
                             PLAN_FILE_BYTES_MAX);
    } while (size > 0);
    *kndl_buf_reserve(&text, 1) = '\0';
    if (strlen(text.data) != text.size)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "%s holds a NUL", path);
    if (plan_parse(text.data, ret_plan, err) < 0)
        return kndl_wrap(err, "%s", path);
    return 0;
}

static void free_words(char **words)
{
    for (char **word = words; word != NULL && *word != NULL; word++)
        free(*word);
    free(words);
}

struct plan_program plan_take(struct plan_program *program)
{
    struct plan_program taken = *program;

    *program = (struct plan_program){0};
    return taken;
}

void plan_program_done(struct plan_program *program)
{
    free(program->name);
    free(program->text);
    free(program->exec);
    free_words(program->argv);
    free_words(program->env);
    free(program->netns);
    free(program->directory);
    *program = (struct plan_program){0};
}

void plan_done(struct plan *plan)
{
    for (size_t i = 0; i < plan->program_count; i++)
        plan_program_done(&plan->programs[i]);
    free(plan->programs);
    free(plan->socket);
    free(plan->logs);
    *plan = (struct plan){0};
}
