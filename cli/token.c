/* kndl token: your own Claude setup token. It is read from standard input, never from argv. */

#include <string.h>
#include <time.h>

#include "confirm.h"
#include "kndl/clock.h"
#include "kndl/id.h"
#include "kndl/mem.h"
#include "kndl/secrets/v1/secrets_service.pb-c.h"
#include "kndl/setup_token.h"
#include "masked.h"
#include "secret_input.h"
#include "verb.h"

#define V1(name) Kndl__Secrets__V1__##name
#define PURPOSE KNDL__REPO_ACCESS__V1__PURPOSE__PURPOSE_SETUP_TOKEN

enum { TOKEN_BYTES_MAX = 1024 };

#define NEAR_MS (INT64_C(30) * 24 * 3600 * 1000)

/* What to do about one that ends soon, or has. */
static void write_end(const struct screen *screen, int64_t left_ms)
{
    if (left_ms > NEAR_MS)
        return;
    screen_color(screen, SCREEN_YELLOW);
    fprintf(screen->out, "It %s: make a new one with claude setup-token, then kndl token set.\n",
            left_ms > 0 ? "ends soon" : "has probably ended");
    screen_color(screen, SCREEN_PLAIN);
}

static void write_token(const struct screen *screen, const V1(SetupToken) *token)
{
    char set[32], ends[32];
    struct tm tm;

    strftime(set, sizeof set, "%Y-%m-%d",
             gmtime_r(&(time_t){(time_t)(token->set_at_ms / 1000)}, &tm));
    strftime(ends, sizeof ends, "%Y-%m-%d",
             gmtime_r(&(time_t){(time_t)(token->expires_at_ms / 1000)}, &tm));
    fprintf(screen->out, "A setup token, set on %s; it ends by %s", set, ends);
    if (token->masked != NULL) {
        fputs("; ", screen->out);
        masked_write(screen, token->masked);
    }
    fputs(".\n", screen->out);
    write_end(screen, token->expires_at_ms - kndl_clock_wall_ms());
}

static int set(struct cli *cli, struct kndl_error *err)
{
    V1(SetSetupTokenRequest) request = KNDL__SECRETS__V1__SET_SETUP_TOKEN_REQUEST__INIT;
    KNDL_CLEANUP(kndl_secret_done) struct kndl_secret text = {0};
    V1(SetSetupTokenResponse) *response;
    struct kndl_slice token;

    if (secret_input_read("Setup token (claude setup-token prints it)", SECRET_LINE,
                          TOKEN_BYTES_MAX, &text, err) < 0)
        return -1;
    if (text.size == 0)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT,
                         "standard input holds no setup token; claude setup-token prints one");
    /* Told before anybody is asked for a yes. */
    if (kndl_setup_token_read((const char *)text.data, &token, err) < 0)
        return -1;
    if (confirm(cli, PURPOSE, err) < 0)
        return -1;
    request.token = (char *)text.data;
    if (CLIENT_CHANGE(V1, SetSetupToken, kndl__secrets__v1__secrets_service__descriptor, cli,
                      &request, &response, err) < 0)
        return -1;
    if (response->setup_token != NULL)
        write_token(&cli->screen, response->setup_token);
    fputs("Sessions that ran on an older one go to sleep; a prompt or kndl wake wakes them.\n",
          stderr);
    return 0;
}

static int show(struct cli *cli, bool json, struct kndl_error *err)
{
    V1(GetSetupTokenRequest) request = KNDL__SECRETS__V1__GET_SETUP_TOKEN_REQUEST__INIT;
    V1(GetSetupTokenResponse) *response;

    if (CLIENT_CALL(V1, GetSetupToken, kndl__secrets__v1__secrets_service__descriptor, cli,
                    &request, &response, err) < 0)
        return -1;
    if (json)
        print_json(&cli->screen, &response->base);
    else if (response->setup_token == NULL)
        fputs("You have no setup token; your Sessions cannot start without one.\n",
              cli->screen.out);
    else
        write_token(&cli->screen, response->setup_token);
    return 0;
}

static int remove_token(struct cli *cli, struct kndl_error *err)
{
    V1(RemoveSetupTokenRequest) request = KNDL__SECRETS__V1__REMOVE_SETUP_TOKEN_REQUEST__INIT;
    V1(RemoveSetupTokenResponse) *response;

    if (confirm(cli, PURPOSE, err) < 0)
        return -1;
    if (CLIENT_CHANGE(V1, RemoveSetupToken, kndl__secrets__v1__secrets_service__descriptor, cli,
                      &request, &response, err) < 0)
        return -1;
    fputs("It is removed; your awake Sessions go to sleep.\n", stderr);
    return 0;
}

static int run(struct cli *cli, const struct args *args, struct kndl_error *err)
{
    const char *what = args->rest[0];

    if (strcmp(what, "set") == 0)
        return set(cli, err);
    if (strcmp(what, "show") == 0)
        return show(cli, args_has(args, "json"), err);
    if (strcmp(what, "remove") == 0)
        return remove_token(cli, err);
    return verb_unknown_word(&verb_token, what, err);
}

const struct verb verb_token = {
    .name = "token",
    .usage = "set | show | remove [--json]",
    .summary = "your own Claude setup token",
    .help =
        "kndl token set      asks for it, or reads it from standard input; replaces an older one\n"
        "kndl token show     since when there is one, when it ends, how often it was masked\n"
        "kndl token remove\n\n"
        "Your Sessions run on it, so that without one they cannot start: claude setup-token makes "
        "one, for\na year, on your Claude subscription. An API key is refused. set and remove put "
        "your awake Sessions\nto sleep, and want a yes in your browser:\n" CONFIRM_HELP,
    .options = json_option,
    .least = 1,
    .most = 1,
    .run = run,
};
