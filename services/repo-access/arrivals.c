/*
 * Those who come in: with GitHub, or as a machine that somebody says yes to. Whoever may not is
 * refused alike, and nothing of them is kept or logged.
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
    CODE_HALF = 4, /* ABCD-EFGH */
    CODE_TRIES = 3,
};

int get_sign_in_methods(struct kndl_call *call, const V1(GetSignInMethodsRequest) *req,
                        V1(GetSignInMethodsResponse) *resp)
{
    const struct repo_access *repo_access = call->state;

    (void)req;
    resp->github = oauth_is_on(repo_access->oauth);
    return 0;
}

/* ---- with GitHub ---- */

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
        peers_publish(repo_access->peers, FACT_PEOPLE, person);
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

/* ---- devices ---- */

/* No vowels and nothing that looks like something else: no words, no mistakes. 20^8 codes. */
static const char code_letters[] = "BCDFGHJKLMNPQRSTVWXZ";

static void new_code(char ret_code[2 * CODE_HALF + 2])
{
    uint8_t bytes[64];
    size_t used = 0, at = 0;

    kndl_random(bytes, sizeof bytes);
    while (at < 2 * CODE_HALF + 1) {
        if (at == CODE_HALF) {
            ret_code[at++] = '-';
            continue;
        }
        if (used == sizeof bytes) {
            kndl_random(bytes, sizeof bytes);
            used = 0;
        }
        /* 240 is the last multiple of 20: what is above would make some letters likelier. */
        if (bytes[used++] < 240)
            ret_code[at++] = code_letters[bytes[used - 1] % 20];
    }
    ret_code[at] = '\0';
}

void hash_user_code(const char *code, uint8_t ret_hash[KNDL_HASH_BYTES])
{
    char plain[2 * CODE_HALF + 1];
    size_t size = 0;

    for (; *code != '\0' && size < sizeof plain; code++)
        if (*code != '-' && *code != ' ')
            plain[size++] = *code >= 'a' && *code <= 'z' ? (char)(*code - 'a' + 'A') : *code;
    kndl_hash(kndl_slice(plain, size), ret_hash);
}

int begin_device(struct kndl_call *call, const V1(BeginDeviceRequest) *req,
                 V1(BeginDeviceResponse) *resp)
{
    struct repo_access *repo_access = call->state;
    KNDL_CLEANUP(kndl_secret_done) struct kndl_secret token = {0};
    int64_t now_ms = kndl_clock_wall_ms();
    const struct device device = {req->machine, now_ms, now_ms + DEVICE_MS};
    uint8_t device_hash[KNDL_HASH_BYTES], code_hash[KNDL_HASH_BYTES];
    char code[2 * CODE_HALF + 2];

    if (check_machine(call, req->machine) < 0)
        return -1;
    kndl_token_new(KNDL_TOKEN_DEV, &token);
    kndl_hash(kndl_slice(token.data, token.size), device_hash);
    for (int tries = 1;; tries++) {
        struct kndl_error cause = {0};

        new_code(code);
        hash_user_code(code, code_hash);
        if (store_begin_device(repo_access->store, device_hash, code_hash, &device, call->arena,
                               &cause) == 0)
            break;
        if (cause.code != KNDL_ALREADY_EXISTS || tries == CODE_TRIES)
            return kndl_fail(&call->err, cause.code, "%s", cause.message);
    }
    resp->device_code = kndl_arena_copy(call->arena, (const char *)token.data);
    resp->user_code = kndl_arena_copy(call->arena, code);
    resp->ends_at_ms = device.ends_at_ms;
    return 0;
}

int poll_device(struct kndl_call *call, const V1(PollDeviceRequest) *req,
                V1(PollDeviceResponse) *resp)
{
    struct repo_access *repo_access = call->state;
    KNDL_CLEANUP(kndl_secret_done) struct kndl_secret token = {0};
    struct kndl_error cause = {.code = KNDL_NOT_FOUND};
    uint8_t hash[KNDL_HASH_BYTES];
    struct person person;
    const char *machine;
    bool is_decided;

    kndl_hash(kndl_slice_of(req->device_code), hash);
    if (!kndl_token_is_valid(KNDL_TOKEN_DEV, kndl_slice_of(req->device_code)) ||
        store_take_device(repo_access->store, hash, kndl_clock_wall_ms(), call->arena, &is_decided,
                          &person, &machine, &cause) < 0)
        return cause.code == KNDL_NOT_FOUND
                   ? kndl_fail(&call->err, KNDL_UNAUTHENTICATED,
                               "this sign-in was refused, or its ten minutes are over")
                   : kndl_fail(&call->err, cause.code, "%s", cause.message);
    if (!is_decided)
        return 0;
    if (signin_issue(repo_access->store, person.id, SIGNIN_CLI, machine, &token,
                     &resp->expires_at_ms, &call->err) < 0)
        return -1;
    kndl_log(KNDL_INFO, "a machine was signed in", KNDL_STR("person", person.id));
    resp->token = kndl_arena_copy(call->arena, (const char *)token.data);
    resp->person = rpc_person(&person, call->arena);
    return 0;
}
