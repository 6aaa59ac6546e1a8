/* kndl members: who may come in, and who may not any more. */

#include <string.h>
#include <strings.h>

#include "confirm.h"
#include "kndl/clock.h"
#include "kndl/id.h"
#include "verb.h"

#define V1(name) Kndl__RepoAccess__V1__##name
#define PURPOSE(name) KNDL__REPO_ACCESS__V1__PURPOSE__PURPOSE_##name

static void write_member(const struct screen *screen, const V1(Member) *member)
{
    if (member->person == NULL)
        return;
    screen_line(screen, member->person->login, 30);
    fprintf(screen->out, "  %s  since ", member->person->is_owner ? "Owner " : "Member");
    screen_ago(screen, member->since_ms, kndl_clock_wall_ms());
    fputc('\n', screen->out);
}

static int ask_members(struct cli *cli, V1(ListMembersResponse) **ret_members,
                       struct kndl_error *err)
{
    V1(ListMembersRequest) request = KNDL__REPO_ACCESS__V1__LIST_MEMBERS_REQUEST__INIT;

    return CLIENT_CALL(V1, ListMembers, kndl__repo_access__v1__repo_access_service__descriptor, cli,
                       &request, ret_members, err);
}

static int list(struct cli *cli, bool json, struct kndl_error *err)
{
    V1(ListMembersResponse) *response;

    if (confirm(cli, PURPOSE(SEE_MEMBERS), err) < 0 || ask_members(cli, &response, err) < 0)
        return -1;
    for (size_t i = 0; i < response->n_members; i++) {
        if (json)
            print_json(&cli->screen, &response->members[i]->base);
        else
            write_member(&cli->screen, response->members[i]);
    }
    return 0;
}

static int remove_member(struct cli *cli, const char *login, struct kndl_error *err)
{
    V1(RemoveMemberRequest) request = KNDL__REPO_ACCESS__V1__REMOVE_MEMBER_REQUEST__INIT;
    V1(RemoveMemberResponse) *response;
    V1(ListMembersResponse) *members;

    if (confirm(cli, PURPOSE(CHANGE_MEMBERS), err) < 0 || ask_members(cli, &members, err) < 0)
        return -1;
    for (size_t i = 0; i < members->n_members; i++) {
        const V1(Person) *person = members->members[i]->person;

        if (person == NULL || strcasecmp(person->login, login) != 0)
            continue;
        request.person_id = person->id;
        return CLIENT_CHANGE(V1, RemoveMember,
                             kndl__repo_access__v1__repo_access_service__descriptor, cli, &request,
                             &response, err);
    }
    return kndl_fail(err, KNDL_NOT_FOUND, "no Member has the login %.60s; kndl members lists them",
                     login);
}

static int run(struct cli *cli, const struct args *args, struct kndl_error *err)
{
    if (args->count == 0)
        return list(cli, args_has(args, "json"), err);
    if (args->count == 2 && strcmp(args->rest[0], "remove") == 0)
        return remove_member(cli, args->rest[1], err);
    return verb_unknown_word(&verb_members, args->rest[0], err);
}

const struct verb verb_members = {
    .name = "members",
    .usage = "[remove LOGIN] [--json]",
    .summary = "who may come in; the Owner removes them",
    .help = "Of a Member who is removed the sign-ins end at once, awake Sessions go to sleep, and "
            "the setup\ntoken is deleted.\n\n" CONFIRM_HELP,
    .options = json_option,
    .most = 2,
    .run = run,
};
