/* kndl invite and kndl invites: who is asked to come in. */

#include <string.h>
#include <strings.h>

#include "confirm.h"
#include "kndl/clock.h"
#include "kndl/id.h"
#include "verb.h"

#define V1(name) Kndl__RepoAccess__V1__##name
#define PURPOSE(name) KNDL__REPO_ACCESS__V1__PURPOSE__PURPOSE_##name

/* Before anybody is asked for a yes; the Hub knows more exactly. */
static int check_login(const char *login, struct kndl_error *err)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    const char *plain = login[0] == '@' ? login + 1 : login;

    if (plain[0] == '\0' || plain[strspn(plain, letters)] != '\0')
        return kndl_fail(err, KNDL_INVALID_ARGUMENT,
                         "%.60s is no GitHub login: those have letters, digits and hyphens", login);
    return 0;
}

static int invite(struct cli *cli, const struct args *args, struct kndl_error *err)
{
    V1(InviteMemberRequest) request = KNDL__REPO_ACCESS__V1__INVITE_MEMBER_REQUEST__INIT;
    V1(InviteMemberResponse) *response;

    if (check_login(args->rest[0], err) < 0 || confirm(cli, PURPOSE(CHANGE_MEMBERS), err) < 0)
        return -1;
    request.login = (char *)args->rest[0];
    if (CLIENT_CHANGE(V1, InviteMember, kndl__repo_access__v1__repo_access_service__descriptor, cli,
                      &request, &response, err) < 0)
        return -1;
    if (args_has(args, "json")) {
        print_json(&cli->screen, &response->base);
        return 0;
    }
    fprintf(cli->screen.out, "For %s alone, once and within seven days:\n", args->rest[0]);
    screen_text(&cli->screen, "    ", response->link);
    return 0;
}

static int ask_invites(struct cli *cli, V1(ListInvitesResponse) **ret_invites,
                       struct kndl_error *err)
{
    V1(ListInvitesRequest) request = KNDL__REPO_ACCESS__V1__LIST_INVITES_REQUEST__INIT;

    return CLIENT_CALL(V1, ListInvites, kndl__repo_access__v1__repo_access_service__descriptor, cli,
                       &request, ret_invites, err);
}

static int list(struct cli *cli, bool json, struct kndl_error *err)
{
    V1(ListInvitesResponse) *response;

    if (confirm(cli, PURPOSE(SEE_MEMBERS), err) < 0 || ask_invites(cli, &response, err) < 0)
        return -1;
    for (size_t i = 0; i < response->n_invites; i++) {
        const V1(Invite) *open = response->invites[i];

        if (json) {
            print_json(&cli->screen, &open->base);
            continue;
        }
        screen_line(&cli->screen, open->login, 30);
        fputs("  invited ", cli->screen.out);
        screen_ago(&cli->screen, open->created_at_ms, kndl_clock_wall_ms());
        fputc('\n', cli->screen.out);
    }
    if (response->n_invites == 0 && !json)
        fputs("There is none that nobody has used yet.\n", stderr);
    return 0;
}

static int revoke(struct cli *cli, const char *login, struct kndl_error *err)
{
    V1(RevokeInviteRequest) request = KNDL__REPO_ACCESS__V1__REVOKE_INVITE_REQUEST__INIT;
    V1(RevokeInviteResponse) *response;
    V1(ListInvitesResponse) *invites;

    if (check_login(login, err) < 0 || confirm(cli, PURPOSE(CHANGE_MEMBERS), err) < 0 ||
        ask_invites(cli, &invites, err) < 0)
        return -1;
    for (size_t i = 0; i < invites->n_invites; i++) {
        if (strcasecmp(invites->invites[i]->login, login[0] == '@' ? login + 1 : login) != 0)
            continue;
        request.invite_id = invites->invites[i]->id;
        return CLIENT_CHANGE(V1, RevokeInvite,
                             kndl__repo_access__v1__repo_access_service__descriptor, cli, &request,
                             &response, err);
    }
    return kndl_fail(err, KNDL_NOT_FOUND, "no Invite is open for %.60s; kndl invites lists them",
                     login);
}

static int run(struct cli *cli, const struct args *args, struct kndl_error *err)
{
    if (args->count == 0)
        return list(cli, args_has(args, "json"), err);
    if (args->count == 2 && strcmp(args->rest[0], "revoke") == 0)
        return revoke(cli, args->rest[1], err);
    return verb_unknown_word(&verb_invites, args->rest[0], err);
}

const struct verb verb_invite = {
    .name = "invite",
    .usage = "LOGIN [--json]",
    .summary = "let somebody in, by their GitHub login (the Owner)",
    .help = "Prints a link, this once: it is for that login alone, good once and for seven "
            "days.\n\n" CONFIRM_HELP,
    .options = json_option,
    .least = 1,
    .most = 1,
    .run = invite,
};

const struct verb verb_invites = {
    .name = "invites",
    .usage = "[revoke LOGIN] [--json]",
    .summary = "Invites that nobody has used yet (the Owner)",
    .help = CONFIRM_HELP,
    .options = json_option,
    .most = 2,
    .run = run,
};
