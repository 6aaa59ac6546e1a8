/*
 * kndl members and kndl invite: who may come in. A Hub takes neither from a CLI's token, which lies
 * on a disk; what it says then ends with the page where it is done.
 */

#include <string.h>

#include "kndl/clock.h"
#include "kndl/id.h"
#include "kndl/mem.h"
#include "kndl/repo_access/v1/repo_access_service.pb-c.h"
#include "verb.h"

#define V1(name) Kndl__RepoAccess__V1__##name

/* Adds the page to a refusal that is about the CLI. */
static int explain(const struct cli *cli, const struct kndl_error *cause, const char *fragment,
                   struct kndl_error *err)
{
    if (cause->code != KNDL_PERMISSION_DENIED)
        return kndl_fail(err, cause->code, "%s", cause->message);
    return kndl_fail(err, cause->code, "%s: %s/members%s%.60s", cause->message, cli->config.url,
                     fragment[0] == '\0' ? "" : "#invite=", fragment);
}

static int list(struct cli *cli, const struct args *args, struct kndl_error *err)
{
    V1(ListMembersRequest) request = KNDL__REPO_ACCESS__V1__LIST_MEMBERS_REQUEST__INIT;
    V1(ListMembersResponse) *response;
    struct kndl_error cause = {0};

    if (CLIENT_CALL(V1, ListMembers, kndl__repo_access__v1__repo_access_service__descriptor, cli,
                    &request, &response, &cause) < 0)
        return explain(cli, &cause, "", err);
    for (size_t i = 0; i < response->n_members; i++) {
        const V1(Member) *member = response->members[i];

        if (args_has(args, "json")) {
            print_json(&cli->screen, &member->base);
        } else if (member->person != NULL) {
            screen_line(&cli->screen, member->person->login, 20);
            fputs(member->person->is_owner ? "  the Owner, since " : "  since ", cli->screen.out);
            screen_ago(&cli->screen, member->since_ms, kndl_clock_wall_ms());
            fputc('\n', cli->screen.out);
        }
    }
    return 0;
}

/* What may stand in the page's address; the Hub knows more exactly. */
static bool is_login(const char *text)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";

    return text[0] != '\0' && text[strspn(text, letters)] == '\0';
}

static int invite(struct cli *cli, const struct args *args, struct kndl_error *err)
{
    V1(InviteMemberRequest) request = KNDL__REPO_ACCESS__V1__INVITE_MEMBER_REQUEST__INIT;
    V1(InviteMemberResponse) *response;
    struct kndl_error cause = {0};
    char request_id[KNDL_ID_SIZE];

    if (!is_login(args->rest[0]))
        return kndl_fail(err, KNDL_INVALID_ARGUMENT,
                         "%.60s is no GitHub login: those have letters, digits and hyphens",
                         args->rest[0]);
    kndl_id_new(request_id);
    request.request_id = request_id;
    request.login = (char *)args->rest[0];
    if (CLIENT_CALL(V1, InviteMember, kndl__repo_access__v1__repo_access_service__descriptor, cli,
                    &request, &response, &cause) < 0)
        return explain(cli, &cause, args->rest[0], err);
    if (args_has(args, "json")) {
        print_json(&cli->screen, &response->base);
        return 0;
    }
    fprintf(cli->screen.out, "For %s alone, once and within seven days:\n", args->rest[0]);
    screen_text(&cli->screen, "    ", response->link);
    return 0;
}

const struct verb verb_members = {
    .name = "members",
    .usage = "[--json]",
    .summary = "who may come in",
    .help = "The Hub may take this from the browser alone; then it says at which page.\n",
    .options = json_option,
    .run = list,
};

const struct verb verb_invite = {
    .name = "invite",
    .usage = "LOGIN [--json]",
    .summary = "let somebody in, by their GitHub login",
    .help =
        "The Owner's. The Hub may take this from the browser alone; then it says at which page.\n",
    .options = json_option,
    .least = 1,
    .most = 1,
    .run = invite,
};
