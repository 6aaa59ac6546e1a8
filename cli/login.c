/* kndl login: a token for this machine. */

#include <string.h>

#include "kndl/json.h"
#include "kndl/mem.h"
#include "machine.h"
#include "verb.h"

static const struct arg_option options[] = {
    {"dev", 0, "LOGIN", "by a GitHub login alone, at a Hub on this machine that allows it"},
    {"url", 0, "URL", "the Hub's address; the one of the last login otherwise"},
    {NULL, 0, NULL, NULL},
};

static void make_request(const char *login, struct kndl_buf *out)
{
    char machine[65];

    machine_name(machine);
    kndl_buf_append_text(out, "{\"client\":\"cli\",\"login\":");
    kndl_json_append_string(out, login);
    kndl_buf_append_text(out, ",\"machine\":");
    kndl_json_append_string(out, machine);
    kndl_buf_append_char(out, '}');
}

/* {"person": {…}, "token": "kndl_cli_…", …} */
static int take_token(struct cli *cli, struct kndl_slice answer, struct kndl_error *err)
{
    struct kndl_json *json;

    if (kndl_json_parse(answer, 64 * 1024, &json, NULL) < 0)
        return client_misread(err);
    const char *token = kndl_json_text(kndl_json_get(kndl_json_root(json), "token"), "");
    kndl_secret_done(&cli->config.token);
    if (token[0] != '\0')
        kndl_secret_copy(&cli->config.token, kndl_slice_of(token));
    int result = token[0] != '\0' ? config_save(&cli->config, err) : client_misread(err);
    const struct kndl_value *person = kndl_json_get(kndl_json_root(json), "person");
    if (result == 0) {
        fputs("Signed in as ", cli->screen.out);
        screen_line(&cli->screen, kndl_json_text(kndl_json_get(person, "login"), "?"), 20);
        fprintf(cli->screen.out, " at %s.\n", cli->config.url);
    }
    kndl_json_free(json);
    return result;
}

static int sign_in_by_login(struct cli *cli, const char *login, struct kndl_buf *answer,
                            struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf request = {0};

    make_request(login, &request);
    return client_post_json(cli->client, "/auth/dev", kndl_buf_text(&request), answer, err);
}

static int run(struct cli *cli, const struct args *args, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf answer = {0};
    const char *login = args_get(args, "dev");

    if (args_has(args, "url") && config_set_url(&cli->config, args_get(args, "url"), err) < 0)
        return -1;
    if (login != NULL && login[0] == '\0')
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "--dev is empty: give a GitHub login");
    if (cli->config.url[0] == '\0')
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "which Hub? give --url URL");
    kndl_buf_reserve(&answer, 64 * 1024); /* so that no copy of the token is left behind */
    if ((login == NULL ? machine_sign_in(cli, &answer, err)
                       : sign_in_by_login(cli, login, &answer, err)) < 0)
        return -1;
    int result = take_token(cli, kndl_buf_slice(&answer), err);
    explicit_bzero(answer.data, answer.size);
    return result;
}

const struct verb verb_login = {
    .name = "login",
    .usage = "[--url URL] [--dev LOGIN]",
    .summary = "sign this machine in",
    .help =
        "It shows a code and the address of a page; say yes there, in a browser where you are "
        "signed\n"
        "in. A token that this machine had stays good until you end it.\n"
        "The token is kept in ~/.config/kndl/cli.json (or KNDL_CONFIG), readable by you alone.\n",
    .options = options,
    .run = run,
};
