/* A test of redaction, one line for each sink. */

#include "redaction_test.h"

#include <inttypes.h>

#include "kndl/redactor/v1/redactor_service.pb-c.h"

#define V1(name) Kndl__Redactor__V1__##name
#define SERVICE kndl__redactor__v1__redactor_service__descriptor

enum { NAME_COLUMNS = 24 };

static const char *const sink_names[] = {
    "something newer",
    "prompts, answers",
    "last output, reasons",
    "text as it streams",
    "thinking, streaming",
    "tool input, streaming",
    "text",
    "thinking",
    "tool input",
    "tool output",
    "questions",
    "Subagents",
    "notes",
    "compactions",
};

static const char *const spelling_names[] = {
    "another", "as it is", "coloured", "wrapped",
    "in JSON", "in a URL", "base64",   "wrapped with indentation",
};

#define NAME(names, index)                                                                         \
    names[(size_t)(index) < sizeof(names) / sizeof *(names) ? (size_t)(index) : 0]

/* A trial that is not as it should be. */
static bool is_wrong(const V1(Trial) *trial)
{
    return !trial->masked && !trial->known_limit;
}

/* The trials of one sink, which begin here; answers how many they are. */
static size_t write_sink(const struct screen *screen, V1(Trial) *const *trials, size_t count)
{
    size_t size = 1;
    bool all_masked = true;

    while (size < count && trials[size]->sink == trials[0]->sink)
        size++;
    for (size_t i = 0; i < size; i++)
        all_masked = all_masked && !is_wrong(trials[i]);
    fprintf(screen->out, "%-*s", NAME_COLUMNS, NAME(sink_names, trials[0]->sink));
    screen_color(screen, all_masked ? SCREEN_GREEN : SCREEN_RED);
    fputs(all_masked ? "masked  " : "SHOWN", screen->out);
    screen_color(screen, SCREEN_PLAIN);
    if (all_masked)
        screen_line(screen, trials[0]->text, NAME_COLUMNS + 8);
    fputc('\n', screen->out);
    for (size_t i = 0; i < size; i++)
        if (is_wrong(trials[i])) {
            fprintf(screen->out, "  %s:\n", NAME(spelling_names, trials[i]->spelling));
            screen_text(screen, "    ", trials[i]->text);
        }
    return size;
}

/* Spellings that are known limits, or those that are not; once each. */
static void write_spellings(const struct screen *screen, const V1(TestRedactionResponse) *response,
                            bool known_limit)
{
    const char *before = "";

    for (size_t i = 0;
         i < response->n_trials && response->trials[i]->sink == response->trials[0]->sink; i++) {
        if (response->trials[i]->known_limit != known_limit)
            continue;
        fprintf(screen->out, "%s%s", before, NAME(spelling_names, response->trials[i]->spelling));
        before = ", ";
    }
}

static void write_response(const struct screen *screen, const V1(TestRedactionResponse) *response)
{
    screen_line(screen, response->repo_name, 0);
    fprintf(screen->out,
            ": a random value, masked as its Sensitive ones are, with the %" PRId64
            " that are masked there.\n",
            response->value_count);
    for (size_t at = 0; at < response->n_trials;)
        at += write_sink(screen, response->trials + at, response->n_trials - at);
    fputs("Each of them ", screen->out);
    write_spellings(screen, response, false);
    fputs(". Known not to be found: ", screen->out);
    write_spellings(screen, response, true);
    fprintf(screen->out, ".\nTested: redactor's copy %s.\n", response->instance_id);
}

int redaction_test(struct cli *cli, const char *repo, bool json, struct kndl_error *err)
{
    V1(TestRedactionRequest) request = KNDL__REDACTOR__V1__TEST_REDACTION_REQUEST__INIT;
    V1(TestRedactionResponse) *response;

    request.repo_name = (char *)repo;
    if (CLIENT_CALL(V1, TestRedaction, SERVICE, cli, &request, &response, err) < 0)
        return -1;
    if (json)
        print_json(&cli->screen, &response->base);
    else
        write_response(&cli->screen, response);
    for (size_t i = 0; i < response->n_trials; i++)
        if (is_wrong(response->trials[i]))
            return kndl_fail(err, KNDL_INTERNAL,
                             "a value shows where it must be masked; tell whoever runs the Hub");
    return 0;
}
