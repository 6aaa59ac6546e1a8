/* Credentials of people: 30 days after their last use, 90 at most. */

#include "signin.h"

#include "kndl/clock.h"
#include "kndl/id.h"
#include "kndl/token.h"

#define DAY_MS (INT64_C(24) * 60 * 60 * 1000)

static const int64_t idle_ms = 30 * DAY_MS;
static const int64_t life_ms = 90 * DAY_MS;

const char *signin_kind_name(enum signin_kind kind)
{
    switch (kind) {
    case SIGNIN_WEB:
        return "web";
    case SIGNIN_CLI:
        return "cli";
    }
    return "";
}

int signin_issue(struct store *store, const char *person_id, enum signin_kind kind,
                 const char *machine, struct kndl_secret *ret_token, int64_t *ret_expires_at_ms,
                 struct kndl_error *err)
{
    int64_t now_ms = kndl_clock_wall_ms();
    char id[KNDL_ID_SIZE];
    struct credential credential = {
        .id = id,
        .kind = signin_kind_name(kind),
        .person_id = person_id,
        .machine = machine,
        .created_at_ms = now_ms,
        .expires_at_ms = now_ms + idle_ms,
        .ends_at_ms = now_ms + life_ms,
    };
    struct kndl_secret token = {0};

    kndl_id_new(id);
    kndl_token_new(kind == SIGNIN_WEB ? KNDL_TOKEN_WEB : KNDL_TOKEN_CLI, &token);
    kndl_hash(kndl_slice(token.data, token.size), credential.hash);
    if (store_add_credential(store, &credential, err) < 0) {
        kndl_secret_done(&token);
        return -1;
    }
    *ret_token = token;
    *ret_expires_at_ms = credential.expires_at_ms;
    return 0;
}

int signin_find(struct store *store, struct kndl_slice hash, enum signin_kind kind,
                struct kndl_arena *arena, struct person *ret_person, struct kndl_error *err)
{
    struct kndl_error cause = {.code = KNDL_NOT_FOUND};

    if (hash.size == KNDL_HASH_BYTES &&
        store_use_credential(store, hash.data, signin_kind_name(kind), kndl_clock_wall_ms(),
                             idle_ms, arena, ret_person, &cause) == 0)
        return 0;
    if (cause.code != KNDL_NOT_FOUND)
        return kndl_fail(err, cause.code, "%s", cause.message);
    return kndl_fail(err, KNDL_UNAUTHENTICATED, "sign in");
}
