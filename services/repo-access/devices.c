/*
 * Machines that wait for a yes. Each shows a short code, somebody who is signed in decides about it
 * in their browser, and the machine, which asks again and again, gets its token once: a `kndl
 * login` a CLI's own, which anybody may say yes to; a CLI that wants to do what its token may not a
 * confirmation, of its own person alone.
 */

#include <string.h>

#include "doors.h"
#include "handlers.h"
#include "kndl/buf.h"
#include "kndl/clock.h"
#include "kndl/log.h"
#include "kndl/mem.h"
#include "kndl/token.h"
#include "rpc.h"
#include "store_doors.h"

#define V1(name) Kndl__RepoAccess__V1__##name
#define PURPOSE(name) KNDL__REPO_ACCESS__V1__PURPOSE__PURPOSE_##name

enum {
    CODE_HALF = 4, /* ABCD-EFGH */
    CODE_SIZE = 2 * CODE_HALF + 2,
    CODE_TRIES = 3,
    DEVICE_MS = 10 * 60 * 1000,
};

static const struct {
    const char *name; /* as it is kept */
    V1(Purpose) purpose;
    bool is_the_owners;
} purposes[] = {
    {"see_members", PURPOSE(SEE_MEMBERS), false},
    {"change_members", PURPOSE(CHANGE_MEMBERS), true},
    {"setup_token", PURPOSE(SETUP_TOKEN), false},
    {"runners", PURPOSE(RUNNERS), true},
};

enum { PURPOSES = sizeof purposes / sizeof purposes[0] };

V1(Purpose) devices_purpose(const char *name)
{
    for (size_t i = 0; i < PURPOSES; i++)
        if (strcmp(purposes[i].name, name) == 0)
            return purposes[i].purpose;
    return PURPOSE(UNSPECIFIED);
}

/* ---- codes ---- */

/* No vowels and nothing that looks like something else: no words, no mistakes. 20^8 codes. */
static const char code_letters[] = "BCDFGHJKLMNPQRSTVWXZ";

static void new_code(char ret_code[CODE_SIZE])
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

/* The hash of a code as people type it: case and dashes do not count. */
static void hash_user_code(const char *code, uint8_t ret_hash[KNDL_HASH_BYTES])
{
    char plain[2 * CODE_HALF + 1];
    size_t size = 0;

    for (; *code != '\0' && size < sizeof plain; code++)
        if (*code != '-' && *code != ' ')
            plain[size++] = *code >= 'a' && *code <= 'z' ? (char)(*code - 'a' + 'A') : *code;
    kndl_hash(kndl_slice(plain, size), ret_hash);
}

/* ---- the machine ---- */

/* Keeps a machine that waits; its secret and its code are in the call's arena. */
static int begin(struct kndl_call *call, const struct device *device, char **ret_secret,
                 char **ret_code)
{
    struct repo_access *repo_access = call->state;
    KNDL_CLEANUP(kndl_secret_done) struct kndl_secret token = {0};
    uint8_t device_hash[KNDL_HASH_BYTES], code_hash[KNDL_HASH_BYTES];
    char code[CODE_SIZE];

    kndl_token_new(KNDL_TOKEN_DEV, &token);
    kndl_hash(kndl_slice(token.data, token.size), device_hash);
    for (int tries = 1;; tries++) {
        struct kndl_error cause = {0};

        new_code(code);
        hash_user_code(code, code_hash);
        if (store_begin_device(repo_access->store, device_hash, code_hash, device, call->arena,
                               &cause) == 0)
            break;
        if (cause.code != KNDL_ALREADY_EXISTS || tries == CODE_TRIES)
            return kndl_fail(&call->err, cause.code, "%s", cause.message);
    }
    *ret_secret = kndl_arena_copy(call->arena, (const char *)token.data);
    *ret_code = kndl_arena_copy(call->arena, code);
    return 0;
}

/* `cli_id` as of store_take_device(). Fails with KNDL_NOT_FOUND where there is none to take. */
static int take(struct kndl_call *call, const char *secret, const char *cli_id,
                struct decision *ret_decision, struct kndl_error *err)
{
    struct repo_access *repo_access = call->state;
    struct kndl_slice text = kndl_slice_of(secret);
    uint8_t hash[KNDL_HASH_BYTES];

    if (!kndl_token_is_valid(KNDL_TOKEN_DEV, text))
        return kndl_fail(err, KNDL_NOT_FOUND, "no such device");
    kndl_hash(text, hash);
    return store_take_device(repo_access->store, hash, cli_id, kndl_clock_wall_ms(), call->arena,
                             ret_decision, err);
}

int begin_device(struct kndl_call *call, const V1(BeginDeviceRequest) *req,
                 V1(BeginDeviceResponse) *resp)
{
    int64_t now_ms = kndl_clock_wall_ms();
    const struct device device = {.machine = req->machine,
                                  .begun_at_ms = now_ms,
                                  .ends_at_ms = now_ms + DEVICE_MS,
                                  .cli_id = "",
                                  .purpose = ""};

    if (check_machine(call, req->machine) < 0 ||
        begin(call, &device, &resp->device_code, &resp->user_code) < 0)
        return -1;
    resp->ends_at_ms = device.ends_at_ms;
    return 0;
}

int poll_device(struct kndl_call *call, const V1(PollDeviceRequest) *req,
                V1(PollDeviceResponse) *resp)
{
    struct repo_access *repo_access = call->state;
    KNDL_CLEANUP(kndl_secret_done) struct kndl_secret token = {0};
    struct decision decision = {0};
    struct kndl_error cause = {0};

    if (take(call, req->device_code, "", &decision, &cause) < 0)
        return cause.code == KNDL_NOT_FOUND
                   ? kndl_fail(&call->err, KNDL_UNAUTHENTICATED,
                               "this sign-in was refused, or its ten minutes are over")
                   : kndl_fail(&call->err, cause.code, "%s", cause.message);
    if (!decision.is_made)
        return 0;
    if (signin_issue(repo_access->store, decision.person.id, SIGNIN_CLI, decision.machine, &token,
                     &resp->expires_at_ms, &call->err) < 0)
        return -1;
    kndl_log(KNDL_INFO, "a machine was signed in", KNDL_STR("person", decision.person.id));
    resp->token = kndl_arena_copy(call->arena, (const char *)token.data);
    resp->person = rpc_person(&decision.person, call->arena);
    return 0;
}

/* ---- the CLI that wants a confirmation ---- */

static int find_purpose(struct kndl_call *call, V1(Purpose) purpose, const struct person *person,
                        const char **ret_name)
{
    for (size_t i = 0; i < PURPOSES; i++) {
        if (purposes[i].purpose != purpose)
            continue;
        if (purposes[i].is_the_owners && !person->is_owner)
            return kndl_public_deny(KNDL_WHO_OWNER, &call->err);
        *ret_name = purposes[i].name;
        return 0;
    }
    return kndl_fail(&call->err, KNDL_INVALID_ARGUMENT, "purpose %d is none that can be confirmed",
                     (int)purpose);
}

/* The CLI that asks. The gateway knows it already; its id and machine are the row's. */
static int find_cli(struct kndl_call *call, const ProtobufCBinaryData *hash,
                    struct holder *ret_holder)
{
    struct repo_access *repo_access = call->state;

    if (signin_find(repo_access->store, hash, SIGNIN_CLI, call->arena, ret_holder, &call->err) < 0)
        return -1;
    if (strcmp(ret_holder->person.id, call->actor.id) != 0)
        return kndl_fail(&call->err, KNDL_UNAUTHENTICATED, "sign in first");
    return 0;
}

int begin_confirmation(struct kndl_call *call, const V1(BeginConfirmationRequest) *req,
                       V1(BeginConfirmationResponse) *resp)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf url = {0};
    int64_t now_ms = kndl_clock_wall_ms();
    struct device device = {.begun_at_ms = now_ms, .ends_at_ms = now_ms + DEVICE_MS};
    struct holder cli;

    if (find_cli(call, &req->credential_hash, &cli) < 0 ||
        find_purpose(call, req->purpose, &cli.person, &device.purpose) < 0)
        return -1;
    device.machine = cli.machine;
    device.cli_id = cli.credential_id;
    if (begin(call, &device, &resp->device_code, &resp->user_code) < 0)
        return -1;
    kndl_log(KNDL_INFO, "a CLI wants a confirmation", KNDL_STR("person", cli.person.id),
             KNDL_STR("purpose", device.purpose));
    doors_write_page("/device", &url);
    resp->url = kndl_arena_copy(call->arena, kndl_buf_text(&url));
    resp->ends_at_ms = device.ends_at_ms;
    return 0;
}

int take_confirmation(struct kndl_call *call, const V1(TakeConfirmationRequest) *req,
                      V1(TakeConfirmationResponse) *resp)
{
    struct repo_access *repo_access = call->state;
    KNDL_CLEANUP(kndl_secret_done) struct kndl_secret token = {0};
    struct decision decision = {0};
    struct kndl_error cause = {0};
    struct holder cli;

    if (find_cli(call, &req->credential_hash, &cli) < 0)
        return -1;
    if (take(call, req->device_code, cli.credential_id, &decision, &cause) < 0)
        return cause.code == KNDL_NOT_FOUND
                   ? kndl_fail(&call->err, KNDL_PERMISSION_DENIED,
                               "it was refused in the browser, or its ten minutes are over")
                   : kndl_fail(&call->err, cause.code, "%s", cause.message);
    if (!decision.is_made)
        return 0;
    if (signin_confirm(repo_access->store, &cli, decision.purpose, &token, &resp->ends_at_ms,
                       &call->err) < 0)
        return -1;
    kndl_log(KNDL_INFO, "a CLI was given a confirmation", KNDL_STR("person", cli.person.id),
             KNDL_STR("purpose", decision.purpose));
    resp->token = kndl_arena_copy(call->arena, (const char *)token.data);
    return 0;
}

/* ---- the person ---- */

int find_device(struct kndl_call *call, const V1(FindDeviceRequest) *req,
                V1(FindDeviceResponse) *resp)
{
    struct repo_access *repo_access = call->state;
    uint8_t hash[KNDL_HASH_BYTES];
    struct device device;

    hash_user_code(req->user_code, hash);
    if (store_find_device(repo_access->store, hash, call->actor.id, kndl_clock_wall_ms(),
                          call->arena, &device, &call->err) < 0)
        return -1;
    resp->machine = (char *)device.machine;
    resp->begun_at_ms = device.begun_at_ms;
    resp->ends_at_ms = device.ends_at_ms;
    resp->purpose = devices_purpose(device.purpose);
    return 0;
}

int decide_device(struct kndl_call *call, const V1(DecideDeviceRequest) *req,
                  V1(DecideDeviceResponse) *resp)
{
    struct repo_access *repo_access = call->state;
    uint8_t hash[KNDL_HASH_BYTES];
    struct kndl_asked asked;

    (void)resp;
    hash_user_code(req->user_code, hash);
    if (rpc_ask(call, req->request_id, &req->base, &asked) < 0 ||
        store_decide_device(repo_access->store, &asked, hash, req->is_approved, call->arena,
                            &call->err) < 0)
        return -1;
    kndl_log(KNDL_INFO, "a machine that waited was decided about",
             KNDL_STR("person", call->actor.id),
             KNDL_STR("answer", req->is_approved ? "yes" : "no"));
    return 0;
}
