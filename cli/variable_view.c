/* How a Variable looks. */

#include "variable_view.h"

#include <inttypes.h>
#include <string.h>

#include "kndl/clock.h"
#include "masked.h"
#include "verb.h"

#define V1(name) Kndl__Secrets__V1__##name
#define ACCESS(name) Kndl__RepoAccess__V1__##name

static void write_flag(const struct screen *screen, bool is_set, const char *text)
{
    if (is_set)
        fprintf(screen->out, "  %s", text);
}

/* Its first line, and how many more there are. */
static void write_value(const struct screen *screen, const char *value, int used)
{
    size_t more = 0;

    for (const char *at = strchr(value, '\n'); at != NULL && at[1] != '\0'; more++)
        at = strchr(at + 1, '\n');
    fputc('=', screen->out);
    screen_line(screen, value, used);
    if (more > 0)
        fprintf(screen->out, "  +%zu line%s", more, more == 1 ? "" : "s");
}

void variable_view(const struct screen *screen, const V1(Variable) *variable, bool json)
{
    if (json) {
        print_json(screen, &variable->base);
        return;
    }
    screen_line(screen, variable->name, 20);
    if (!variable->sensitive && !variable->unreadable)
        write_value(screen, variable->value, (int)strlen(variable->name) + 30);
    screen_color(screen, SCREEN_DIM);
    write_flag(screen, variable->sensitive, "Sensitive");
    write_flag(screen, variable->at_build, "at build");
    write_flag(screen, variable->shared_id[0] != '\0', "Shared");
    write_flag(screen, variable->overridden, "overridden by the Repo's own");
    write_flag(screen, variable->unreadable, "cannot be read any more: set it again or remove it");
    fputs("  ", screen->out);
    screen_ago(screen, variable->changed_at_ms, kndl_clock_wall_ms());
    if (variable->masked != NULL) {
        fputs("  ", screen->out);
        masked_write(screen, variable->masked);
    }
    screen_color(screen, SCREEN_PLAIN);
    fputc('\n', screen->out);
}

static void write_repo(const struct screen *screen, int64_t id,
                       const ACCESS(ListReposResponse) * repos)
{
    for (size_t i = 0; i < repos->n_repos; i++)
        if (repos->repos[i]->id == id) {
            screen_line(screen, repos->repos[i]->name, 0);
            return;
        }
    fprintf(screen->out, "Repo %" PRId64, id);
}

void variable_view_links(const struct screen *screen, const V1(Variable) *variable,
                         const ACCESS(ListReposResponse) * repos)
{
    screen_color(screen, SCREEN_DIM);
    fputs(variable->n_repo_ids == 0 ? "  linked to no Repo" : "  linked to ", screen->out);
    for (size_t i = 0; i < variable->n_repo_ids; i++) {
        if (i > 0)
            fputs(", ", screen->out);
        write_repo(screen, variable->repo_ids[i], repos);
    }
    if (variable->more_repos)
        fputs(", and to others that you may not see, so that you may not change it", screen->out);
    screen_color(screen, SCREEN_PLAIN);
    fputc('\n', screen->out);
}

void variable_view_git_tokens(const struct screen *screen, V1(Masked) *masked, bool json)
{
    V1(ListVariablesResponse) alone = KNDL__SECRETS__V1__LIST_VARIABLES_RESPONSE__INIT;

    alone.git_tokens = masked;
    if (json) {
        print_json(screen, &alone.base);
        return;
    }
    screen_color(screen, SCREEN_DIM);
    fputs("git tokens of its Sandboxes: ", screen->out);
    masked_write(screen, masked);
    screen_color(screen, SCREEN_PLAIN);
    fputc('\n', screen->out);
}

void variable_view_warnings(V1(VariableWarning) *const *warnings, size_t count)
{
    for (size_t i = 0; i < count; i++)
        fprintf(stderr, "kndl: %s: %s\n", warnings[i]->name, warnings[i]->text);
}
