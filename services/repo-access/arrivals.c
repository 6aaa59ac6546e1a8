/*
 * Those who come in with GitHub. Whoever may not is refused alike, and nothing of them is kept or
 * logged.
 */

#include <string.h>

#include "doors.h"
#include "handlers.h"
#include "kndl/buf.h"
#include "kndl/clock.h"
#include "kndl/id.h"
#include "kndl/log.h"
#include "kndl/mem.h"
#include "kndl/token.h"
#include "oauth.h"
#include "peers.h"
#include "rpc.h"
#include "store_doors.h"

#define V1(name) Kndl__RepoAccess__V1__##name

enum {
    SIGN_IN_MS = 10 * 60 * 1000,
    RETURN_TO_CHARS_MAX = 512,
};

int get_sign_in_methods(struct kndl_call *call, const V1(GetSignInMethodsRequest) *req,
                        V1(GetSignInMethodsResponse) *resp)
{
    const struct repo_access *repo_access = call->state;

    (void)req;
    resp->github = oauth_is_on(repo_access->oauth);
    return 0;
}

/* A path on this Hub, and nothing that a browser takes for another one's address. */
static bool is_path(const char *text)
{
    size_t size = strlen(text);

    if (size > RETURN_TO_CHARS_MAX || text[0] != '/' || text[1] == '/')
        return false;
    for (size_t i = 0; i < size; i++)
        if (text[i] <= ' ' || text[i] > '~' || text[i] == '\\')
            return false;
    return true;
}

int begin_sign_in(struct kndl_call *call, const V1(BeginSignInRequest) *req,
                  V1(BeginSignInResponse) *resp)
{
    struct repo_access *repo_access = call->state;
    KNDL_CLEANUP(kndl_secret_done) struct kndl_secret browser = {0};
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf url = {0};
    const char *return_to = req->return_to[0] == '\0' ? "/" : req->return_to;
    uint8_t hash[KNDL_HASH_BYTES];

    if (!oauth_is_on(repo_access->oauth))
        return kndl_fail(&call->err, KNDL_FAILED_PRECONDITION,
                         "this Hub has no GitHub client to sign in with");
    if (!is_path(return_to))
        return kndl_fail(&call->err, KNDL_INVALID_ARGUMENT, "return_to is no path of this Hub");
    kndl_token_new(KNDL_TOKEN_SGN, &browser);
    struct kndl_slice text = kndl_slice(browser.data, browser.size);
    kndl_hash(text, hash);
    if (store_begin_sign_in(repo_access->store, hash, return_to, kndl_clock_wall_ms() + SIGN_IN_MS,
                            call->arena, &call->err) < 0)
        return -1;
    oauth_write_url(repo_access->oauth, text, &url);
    resp->browser = kndl_arena_copy(call->arena, (const char *)browser.data);
    resp->url = kndl_arena_copy(call->arena, kndl_buf_text(&url));
    return 0;
}

/* The one refusal. Why is not said, and who it was is not written down. */
static int refuse(struct kndl_call *call)
{
    kndl_log(KNDL_WARNING, "a sign-in was refused");
    return kndl_fail(&call->err, KNDL_UNAUTHENTICATED, "this Hub is invite-only");
}

/* NOT_FOUND is a refusal, anything else a failure of ours. */
static int fail(struct kndl_call *call, const struct kndl_error *cause)
{
    if (cause->code == KNDL_NOT_FOUND || cause->code == KNDL_UNAUTHENTICATED)
        return refuse(call);
    return kndl_fail(&call->err, cause->code, "%s", cause->message);
}

/* What is no Setup link and no Invite of ours counts as nothing: a Member comes in all the same. */
static struct admission read_admission(const char *text)
{
    struct kndl_slice slice = kndl_slice_of(text);
    struct admission admission = {0};

    if (kndl_token_is_valid(KNDL_TOKEN_SET, slice))
        admission.kind = ADMISSION_SETUP_LINK;
    else if (kndl_token_is_valid(KNDL_TOKEN_INV, slice))
        admission.kind = ADMISSION_INVITE;
    if (admission.kind != ADMISSION_NONE)
        kndl_hash(slice, admission.hash);
    return admission;
}

/* Is the browser the one that went, and back in time, for the first time? */
static int check_return(struct kndl_call *call, const V1(CompleteSignInRequest) *req,
                        const char **ret_return_to, struct kndl_error *err)
{
    struct repo_access *repo_access = call->state;
    struct kndl_slice browser = kndl_slice_of(req->browser);
    uint8_t hash[KNDL_HASH_BYTES];

    if (!oauth_is_on(repo_access->oauth) || !kndl_token_is_valid(KNDL_TOKEN_SGN, browser) ||
        !oauth_is_state(browser, req->state))
        return kndl_fail(err, KNDL_NOT_FOUND, "not as it was begun");
    kndl_hash(browser, hash);
    return store_take_sign_in(repo_access->store, hash, kndl_clock_wall_ms(), call->arena,
                              ret_return_to, err);
}

static int let_in(struct kndl_call *call, const V1(CompleteSignInRequest) *req,
                  struct person *ret_person, struct kndl_error *err)
{
    struct repo_access *repo_access = call->state;
    const struct admission admission = read_admission(req->admission);
    struct github_user user;
    char id[KNDL_ID_SIZE];

    if (oauth_find_user(repo_access->oauth, kndl_slice_of(req->browser), req->code, call->arena,
                        &user, err) < 0)
        return -1;
    kndl_id_new(id);
    const struct person who = {
        .id = id, .github_id = user.id, .login = user.login, .name = user.name};
    return store_let_in(repo_access->store, &who, &admission, kndl_clock_wall_ms(), call->arena,
                        ret_person, err);
}

int replace_credential(struct kndl_call *call, const ProtobufCBinaryData *hash)
{
    struct repo_access *repo_access = call->state;
    const char *person;

    if (hash->len != KNDL_HASH_BYTES)
        return 0;
    if (store_replace_credential(repo_access->store, hash->data, kndl_clock_wall_ms(), call->arena,
                                 &person, &call->err) < 0)
        return -1;
    if (person[0] != '\0')
        peers_publish(repo_access->bus, FACT_PEOPLE, person);
    return 0;
}

int complete_sign_in(struct kndl_call *call, const V1(CompleteSignInRequest) *req,
                     V1(CompleteSignInResponse) *resp)
{
    struct repo_access *repo_access = call->state;
    KNDL_CLEANUP(kndl_secret_done) struct kndl_secret token = {0};
    struct kndl_error cause = {0};
    struct person person;
    const char *return_to;
    int64_t expires_at_ms;

    if (check_machine(call, req->machine) < 0)
        return -1;
    if (check_return(call, req, &return_to, &cause) < 0 || let_in(call, req, &person, &cause) < 0)
        return fail(call, &cause);
    if (signin_issue(repo_access->store, person.id, SIGNIN_WEB, req->machine, &token,
                     &expires_at_ms, &call->err) < 0 ||
        replace_credential(call, &req->replaces_hash) < 0)
        return -1;
    if (person.is_owner)
        doors_close_setup();
    kndl_log(KNDL_INFO, "signed in with GitHub", KNDL_STR("person", person.id));
    resp->token = kndl_arena_copy(call->arena, (const char *)token.data);
    resp->person = rpc_person(&person, call->arena);
    resp->return_to = (char *)return_to;
    return 0;
}
