/* Sign-ins: 30 days after their last use, 90 at most. Confirmations: minutes. */

#include "signin.h"

#include "kndl/clock.h"
#include "kndl/id.h"
#include "kndl/token.h"

#define DAY_MS (INT64_C(24) * 60 * 60 * 1000)

static const int64_t idle_ms = 30 * DAY_MS;
static const int64_t life_ms = 90 * DAY_MS;
static const int64_t confirmed_ms = INT64_C(10) * 60 * 1000;

static const struct {
    const char *name;
    enum kndl_token_kind token;
} kinds[] = {
    [SIGNIN_WEB] = {"web", KNDL_TOKEN_WEB},
    [SIGNIN_CLI] = {"cli", KNDL_TOKEN_CLI},
    [SIGNIN_CONFIRMED] = {"confirmed", KNDL_TOKEN_CNF},
};

const char *signin_kind_name(enum signin_kind kind)
{
    return kinds[kind].name;
}

/* Makes the token, and keeps its hash with the rest. */
static int issue(struct store *store, enum signin_kind kind, struct credential *credential,
                 struct kndl_secret *ret_token, struct kndl_error *err)
{
    char id[KNDL_ID_SIZE];
    struct kndl_secret token = {0};

    kndl_id_new(id);
    credential->id = id;
    credential->kind = kinds[kind].name;
    kndl_token_new(kinds[kind].token, &token);
    kndl_hash(kndl_slice(token.data, token.size), credential->hash);
    if (store_add_credential(store, credential, err) < 0) {
        kndl_secret_done(&token);
        return -1;
    }
    *ret_token = token;
    return 0;
}

int signin_issue(struct store *store, const char *person_id, enum signin_kind kind,
                 const char *machine, struct kndl_secret *ret_token, int64_t *ret_expires_at_ms,
                 struct kndl_error *err)
{
    int64_t now_ms = kndl_clock_wall_ms();
    struct credential credential = {
        .person_id = person_id,
        .machine = machine,
        .created_at_ms = now_ms,
        .expires_at_ms = now_ms + idle_ms,
        .ends_at_ms = now_ms + life_ms,
        .cli_id = "",
        .purpose = "",
    };

    if (issue(store, kind, &credential, ret_token, err) < 0)
        return -1;
    *ret_expires_at_ms = credential.expires_at_ms;
    return 0;
}

int signin_confirm(struct store *store, const struct holder *cli, const char *purpose,
                   struct kndl_secret *ret_token, int64_t *ret_ends_at_ms, struct kndl_error *err)
{
    int64_t now_ms = kndl_clock_wall_ms();
    struct credential credential = {
        .person_id = cli->person.id,
        .machine = cli->machine,
        .created_at_ms = now_ms,
        .expires_at_ms = now_ms + confirmed_ms,
        .ends_at_ms = now_ms + confirmed_ms,
        .cli_id = cli->credential_id,
        .purpose = purpose,
    };

    if (issue(store, SIGNIN_CONFIRMED, &credential, ret_token, err) < 0)
        return -1;
    *ret_ends_at_ms = credential.ends_at_ms;
    return 0;
}

int signin_find(struct store *store, const ProtobufCBinaryData *hash, enum signin_kind kind,
                struct kndl_arena *arena, struct holder *ret_holder, struct kndl_error *err)
{
    struct kndl_error cause = {.code = KNDL_NOT_FOUND};

    if (hash->len == KNDL_HASH_BYTES &&
        store_use_credential(store, hash->data, signin_kind_name(kind), kndl_clock_wall_ms(),
                             idle_ms, arena, ret_holder, &cause) == 0)
        return 0;
    if (cause.code != KNDL_NOT_FOUND)
        return kndl_fail(err, cause.code, "%s", cause.message);
    return kndl_fail(err, KNDL_UNAUTHENTICATED, "sign in first");
}
