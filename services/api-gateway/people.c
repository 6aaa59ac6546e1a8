/* A direct-mapped table of credentials that were known a moment ago. */

#include "people.h"

#include <stdlib.h>
#include <string.h>

#include "kndl/clock.h"
#include "kndl/guard.h"
#include "kndl/mem.h"
#include "kndl/repo_access/v1/repo_access_service.pb-c.h"

#define V1(name) Kndl__RepoAccess__V1__##name
#define KIND(name) KNDL__REPO_ACCESS__V1__AUTHENTICATE_REQUEST__KIND__KIND_##name
#define PURPOSE(name) KNDL__REPO_ACCESS__V1__PURPOSE__PURPOSE_##name

enum {
    KEPT = 4096,
    KEPT_MS = 5000,
    ASK_MS = 5000,
};

struct people {
    struct {
        struct principal principal;
        int64_t until_ms; /* kndl_clock_ms() */
    } kept[KEPT];
};

static size_t slot_of(const struct credential *credential)
{
    uint32_t bits;

    memcpy(&bits, credential->hash, sizeof bits);
    return bits % KEPT;
}

static bool is_same(const struct credential *a, const struct credential *b)
{
    return a->kind == b->kind && kndl_hash_equal(a->hash, b->hash);
}

bool people_find(struct gateway *gateway, const struct credential *credential,
                 struct principal *ret)
{
    size_t slot = slot_of(credential);

    if (kndl_clock_ms() >= gateway->people->kept[slot].until_ms ||
        !is_same(&gateway->people->kept[slot].principal.credential, credential))
        return false;
    *ret = gateway->people->kept[slot].principal;
    return true;
}

static V1(AuthenticateRequest__Kind) kind_of(const struct credential *credential)
{
    switch (credential->kind) {
    case CREDENTIAL_WEB:
        return KIND(WEB);
    case CREDENTIAL_CLI:
        return KIND(CLI);
    case CREDENTIAL_CONFIRMED:
        return KIND(CONFIRMED);
    }
    return KIND(UNSPECIFIED);
}

/* As what the table of publics.h counts the caller. */
static enum kndl_client client_of(const struct credential *credential, V1(Purpose) purpose)
{
    static const enum kndl_client confirmed[] = {
        [PURPOSE(SEE_MEMBERS)] = KNDL_BY_CONFIRMED_SEE_MEMBERS,
        [PURPOSE(CHANGE_MEMBERS)] = KNDL_BY_CONFIRMED_CHANGE_MEMBERS,
        [PURPOSE(SETUP_TOKEN)] = KNDL_BY_CONFIRMED_SETUP_TOKEN,
        [PURPOSE(RUNNERS)] = KNDL_BY_CONFIRMED_RUNNERS,
    };

    if (credential->kind != CREDENTIAL_CONFIRMED)
        return credential->kind == CREDENTIAL_WEB ? KNDL_BY_BROWSER : KNDL_BY_CLI;
    return (size_t)purpose < sizeof confirmed / sizeof confirmed[0] ? confirmed[purpose] : 0;
}

struct ask *people_ask(struct gateway *gateway, const struct credential *credential,
                       const char *trace, ask_fn fn, void *data)
{
    V1(AuthenticateRequest) request = KNDL__REPO_ACCESS__V1__AUTHENTICATE_REQUEST__INIT;
    uint8_t packed[64];

    request.credential_hash.data = (uint8_t *)credential->hash;
    request.credential_hash.len = sizeof credential->hash;
    request.kind = kind_of(credential);
    size_t size = protobuf_c_message_pack(&request.base, packed);
    return ask_send(gateway,
                    &(struct kndl_request){
                        .service = &kndl__repo_access__v1__repo_access_internal_service__descriptor,
                        .method = "Authenticate",
                        .actor = {KNDL_SERVICE, "api_gateway"},
                        .trace = trace,
                        .timeout_ms = ASK_MS,
                        .data = kndl_slice(packed, size),
                    },
                    fn, data);
}

int people_read(struct gateway *gateway, const struct credential *credential,
                const struct kndl_reply *reply, struct principal *ret, struct kndl_error *err)
{
    ProtobufCMessage *message;

    if (reply->err.code == KNDL_UNAUTHENTICATED)
        return credential_refuse(err);
    if (reply->err.code != KNDL_OK)
        return kndl_fail(err, KNDL_UNAVAILABLE, "who you are cannot be checked at the moment");
    kndl_arena_reset(gateway->arena);
    ProtobufCAllocator allocator = kndl_arena_allocator(gateway->arena);
    if (kndl_guard_unpack(&kndl__repo_access__v1__authenticate_response__descriptor, reply->data,
                          &allocator, &message, err) < 0)
        return -1;
    const V1(AuthenticateResponse) *answer = (const void *)message;
    if (answer->person == NULL || answer->person->id[0] == '\0' ||
        strlen(answer->person->id) >= sizeof ret->id)
        return kndl_fail(err, KNDL_INTERNAL, "internal error");

    ret->credential = *credential;
    ret->client = client_of(credential, answer->purpose);
    strcpy(ret->id, answer->person->id);
    int64_t left_ms = answer->valid_until_ms - kndl_clock_wall_ms();
    size_t slot = slot_of(credential);
    gateway->people->kept[slot].principal = *ret;
    gateway->people->kept[slot].until_ms =
        kndl_clock_ms() + (left_ms < KEPT_MS ? left_ms : KEPT_MS);
    return 0;
}

void people_forget(struct gateway *gateway)
{
    for (size_t i = 0; i < KEPT; i++)
        gateway->people->kept[i].until_ms = 0;
}

void people_open(struct gateway *gateway)
{
    gateway->people = kndl_new0(struct people);
}

void people_close(struct gateway *gateway)
{
    free(gateway->people);
}
