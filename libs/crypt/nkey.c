/* NATS identities: nkeys and the JWTs that they sign. */

#include "kndl/nkey.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "kndl/clock.h"
#include "kndl/mem.h"

/* Prefix bytes; a seed's two bytes hold PREFIX_SEED and the kind's. */
enum {
    PREFIX_SEED = 18 << 3,
    PREFIX_OPERATOR = 14 << 3,
    PREFIX_ACCOUNT = 0,
    PREFIX_USER = 20 << 3,
    SEED_BYTES = 32,
    SEED_CHARS = 58,
    SEED_RAW_BYTES = 2 + SEED_BYTES + 2,
    PUBLIC_RAW_BYTES = 1 + 32 + 2,
    RESPONSE_SECONDS = 60,
};

static unsigned prefix_of(enum kndl_nkey_kind kind)
{
    switch (kind) {
    case KNDL_NKEY_OPERATOR:
        return PREFIX_OPERATOR;
    case KNDL_NKEY_ACCOUNT:
        return PREFIX_ACCOUNT;
    case KNDL_NKEY_USER:
        return PREFIX_USER;
    }
    assert(false);
    return 0;
}

/* CRC-16/XMODEM. */
static unsigned crc16(const uint8_t *data, size_t size)
{
    unsigned crc = 0;

    for (size_t i = 0; i < size; i++) {
        crc ^= (unsigned)data[i] << 8;
        for (int bit = 0; bit < 8; bit++)
            crc = ((crc & 0x8000) != 0 ? crc << 1 ^ 0x1021 : crc << 1) & 0xffff;
    }
    return crc;
}

static void put_crc(uint8_t *data, size_t size)
{
    unsigned crc = crc16(data, size);

    data[size] = (uint8_t)crc;
    data[size + 1] = (uint8_t)(crc >> 8);
}

/* RFC 4648 without padding; `text` gets a NUL too. */
static void write_base32(const uint8_t *data, size_t size, char *text)
{
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    unsigned bits = 0;
    unsigned count = 0;

    for (size_t i = 0; i < size; i++) {
        bits = (bits << 8 | data[i]) & 0xffff;
        count += 8;
        while (count >= 5) {
            *text++ = alphabet[bits >> (count - 5) & 31];
            count -= 5;
        }
    }
    if (count > 0)
        *text++ = alphabet[bits << (5 - count) & 31];
    *text = '\0';
}

static bool read_base32(struct kndl_slice text, uint8_t *data, size_t room, size_t *ret_size)
{
    unsigned bits = 0;
    unsigned count = 0;
    size_t size = 0;

    for (size_t i = 0; i < text.size; i++) {
        unsigned c = text.data[i];
        unsigned value;
        if (c >= 'A' && c <= 'Z')
            value = c - 'A';
        else if (c >= '2' && c <= '7')
            value = c - '2' + 26;
        else
            return false;
        bits = (bits << 5 | value) & 0xffff;
        count += 5;
        if (count < 8)
            continue;
        count -= 8;
        if (size == room)
            return false;
        data[size++] = (uint8_t)(bits >> count);
    }
    *ret_size = size;
    return true;
}

/* Both halves from the 32 bytes that all comes from. */
static void derive(const uint8_t seed[SEED_BYTES], uint8_t public[32],
                   uint8_t secret[crypto_sign_SECRETKEYBYTES])
{
    if (crypto_sign_seed_keypair(public, secret, seed) != 0)
        abort();
}

static void make_key(enum kndl_nkey_kind kind, const uint8_t seed[SEED_BYTES],
                     struct kndl_nkey *ret_key)
{
    uint8_t secret[crypto_sign_SECRETKEYBYTES];
    uint8_t raw[SEED_RAW_BYTES];
    unsigned prefix = prefix_of(kind);

    ret_key->kind = kind;
    derive(seed, raw + 1, secret);
    raw[0] = (uint8_t)prefix;
    put_crc(raw, PUBLIC_RAW_BYTES - 2);
    write_base32(raw, PUBLIC_RAW_BYTES, ret_key->public);

    raw[0] = (uint8_t)(PREFIX_SEED | prefix >> 5);
    raw[1] = (uint8_t)((prefix & 31) << 3);
    memcpy(raw + 2, seed, SEED_BYTES);
    put_crc(raw, SEED_RAW_BYTES - 2);
    kndl_secret_new(&ret_key->seed, SEED_CHARS);
    write_base32(raw, SEED_RAW_BYTES, (char *)ret_key->seed.data);
    sodium_memzero(raw, sizeof raw);
    sodium_memzero(secret, sizeof secret);
}

void kndl_nkey_new(enum kndl_nkey_kind kind, struct kndl_nkey *ret_key)
{
    uint8_t seed[SEED_BYTES];

    randombytes_buf(seed, sizeof seed);
    make_key(kind, seed, ret_key);
    sodium_memzero(seed, sizeof seed);
}

/* The raw form of a seed's text, checked. */
static bool read_seed(struct kndl_slice text, uint8_t raw[SEED_RAW_BYTES], unsigned *ret_prefix)
{
    size_t size;

    if (text.size != SEED_CHARS || !read_base32(text, raw, SEED_RAW_BYTES, &size) ||
        size != SEED_RAW_BYTES)
        return false;
    unsigned crc = raw[SEED_RAW_BYTES - 2] | (unsigned)raw[SEED_RAW_BYTES - 1] << 8;
    *ret_prefix = ((raw[0] & 7u) << 5) | raw[1] >> 3;
    return crc == crc16(raw, SEED_RAW_BYTES - 2) && (raw[0] & 0xf8) == PREFIX_SEED;
}

int kndl_nkey_from_seed(struct kndl_slice seed, struct kndl_nkey *ret_key, struct kndl_error *err)
{
    static const enum kndl_nkey_kind kinds[] = {KNDL_NKEY_OPERATOR, KNDL_NKEY_ACCOUNT,
                                                KNDL_NKEY_USER};
    uint8_t raw[SEED_RAW_BYTES];
    unsigned prefix;

    if (read_seed(seed, raw, &prefix)) {
        for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
            if (prefix_of(kinds[i]) != prefix)
                continue;
            make_key(kinds[i], raw + 2, ret_key);
            sodium_memzero(raw, sizeof raw);
            return 0;
        }
    }
    sodium_memzero(raw, sizeof raw);
    return kndl_fail(err, KNDL_INVALID_ARGUMENT, "the text is not the seed of an nkey");
}

void kndl_nkey_done(struct kndl_nkey *key)
{
    kndl_secret_done(&key->seed);
    *key = (struct kndl_nkey){0};
}

bool kndl_nkey_is_public(enum kndl_nkey_kind kind, struct kndl_slice text)
{
    uint8_t raw[PUBLIC_RAW_BYTES];
    size_t size;

    if (text.size != KNDL_NKEY_PUBLIC_SIZE - 1 ||
        !read_base32(text, raw, PUBLIC_RAW_BYTES, &size) || size != PUBLIC_RAW_BYTES)
        return false;
    unsigned crc = raw[PUBLIC_RAW_BYTES - 2] | (unsigned)raw[PUBLIC_RAW_BYTES - 1] << 8;
    return crc == crc16(raw, PUBLIC_RAW_BYTES - 2) && raw[0] == prefix_of(kind);
}

void kndl_nkey_sign(const struct kndl_nkey *key, struct kndl_slice bytes,
                    uint8_t ret_signature[KNDL_NKEY_SIGNATURE_BYTES])
{
    uint8_t raw[SEED_RAW_BYTES];
    uint8_t public[32];
    uint8_t secret[crypto_sign_SECRETKEYBYTES];
    unsigned prefix;

    if (!read_seed(kndl_slice(key->seed.data, key->seed.size), raw, &prefix))
        abort();
    derive(raw + 2, public, secret);
    crypto_sign_detached(ret_signature, NULL, (const uint8_t *)bytes.data, bytes.size, secret);
    sodium_memzero(raw, sizeof raw);
    sodium_memzero(secret, sizeof secret);
}

static void append_base64url(struct kndl_buf *out, const void *data, size_t size)
{
    size_t room = sodium_base64_encoded_len(size, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    char *at = kndl_buf_reserve(out, room);

    sodium_bin2base64(at, room, data, size, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    out->size += strlen(at);
}

/* What comes here is ours; nothing in it needs escaping. */
static void check_text(const char *text)
{
    if (text[0] == '\0' || strpbrk(text, "\"\\\r\n") != NULL)
        abort();
}

/* The server puts a scoped user's name into subjects, whatever it is: `*` would be every Runner. */
static void check_name(const char *name)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

    if (name[0] == '\0' || name[strspn(name, plain)] != '\0')
        abort();
}

static void sign_claims(const struct kndl_nkey *signer, const char *name, const char *subject,
                        int64_t expires_at_ms, const char *nats, struct kndl_buf *out)
{
    static const char header[] = "{\"typ\":\"JWT\",\"alg\":\"ed25519-nkey\"}";
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf claims = {0};
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf text = {0};
    uint8_t random[16];
    char jti[32];
    uint8_t signature[KNDL_NKEY_SIGNATURE_BYTES];

    check_name(name);
    randombytes_buf(random, sizeof random);
    write_base32(random, sizeof random, jti);
    kndl_buf_printf(&claims,
                    "{\"jti\":\"%s\",\"iat\":%" PRId64
                    ",\"iss\":\"%s\",\"name\":\"%s\",\"sub\":\"%s\"",
                    jti, kndl_clock_wall_ms() / 1000, signer->public, name, subject);
    if (expires_at_ms != 0)
        kndl_buf_printf(&claims, ",\"exp\":%" PRId64, expires_at_ms / 1000);
    kndl_buf_printf(&claims, ",\"nats\":%s}", nats);

    append_base64url(&text, header, sizeof header - 1);
    kndl_buf_append_char(&text, '.');
    append_base64url(&text, claims.data, claims.size);

    kndl_nkey_sign(signer, kndl_buf_slice(&text), signature);
    kndl_buf_append_char(&text, '.');
    append_base64url(&text, signature, sizeof signature);
    kndl_buf_append(out, text.data, text.size);
}

/* "pub":{"allow":[…]}; a list without a member denies everything, which NATS's empty one doesn't.
 */
static void append_list(struct kndl_buf *out, const char *name, const char *const *subjects)
{
    if (subjects[0] == NULL) {
        kndl_buf_printf(out, "\"%s\":{\"deny\":[\">\"]}", name);
        return;
    }
    kndl_buf_printf(out, "\"%s\":{\"allow\":[", name);
    for (size_t i = 0; subjects[i] != NULL; i++) {
        check_text(subjects[i]);
        kndl_buf_printf(out, "%s\"%s\"", i > 0 ? "," : "", subjects[i]);
    }
    kndl_buf_append_text(out, "]}");
}

static void append_permissions(struct kndl_buf *out, const char *const *publish,
                               const char *const *subscribe, int responses)
{
    append_list(out, "pub", publish);
    kndl_buf_append_char(out, ',');
    append_list(out, "sub", subscribe);
    if (responses > 0)
        kndl_buf_printf(out, ",\"resp\":{\"max\":%d,\"ttl\":%d000000000}", responses,
                        RESPONSE_SECONDS);
    kndl_buf_append_text(out, ",\"subs\":-1,\"data\":-1,\"payload\":-1");
}

void kndl_jwt_user(const struct kndl_nkey *signer, const struct kndl_user_claims *claims,
                   struct kndl_buf *out)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf nats = {0};

    kndl_buf_append_char(&nats, '{');
    if (claims->publish != NULL) {
        append_permissions(&nats, claims->publish, claims->subscribe, claims->responses);
        kndl_buf_append_char(&nats, ',');
    }
    if (claims->issuer_account != NULL)
        kndl_buf_printf(&nats, "\"issuer_account\":\"%s\",", claims->issuer_account);
    kndl_buf_append_text(&nats, "\"type\":\"user\",\"version\":2}");
    sign_claims(signer, claims->name, claims->user_public, claims->expires_at_ms,
                kndl_buf_text(&nats), out);
}

void kndl_jwt_operator(const struct kndl_nkey *operator_key, const char *name,
                       const char *system_account, struct kndl_buf *out)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf nats = {0};

    kndl_buf_printf(&nats, "{\"type\":\"operator\",\"version\":2,\"system_account\":\"%s\"}",
                    system_account);
    sign_claims(operator_key, name, operator_key->public, 0, kndl_buf_text(&nats), out);
}

static void append_signing_key(struct kndl_buf *out, const struct kndl_scope *scope)
{
    if (scope->publish == NULL) {
        kndl_buf_printf(out, "\"%s\"", scope->signing_key);
        return;
    }
    kndl_buf_printf(out, "{\"kind\":\"user_scope\",\"key\":\"%s\",\"role\":\"%s\",\"template\":{",
                    scope->signing_key, scope->role);
    append_permissions(out, scope->publish, scope->subscribe, scope->responses);
    kndl_buf_append_text(out, "}}");
}

void kndl_jwt_account(const struct kndl_nkey *operator_key, const char *account_public,
                      const char *name, const struct kndl_scope *scopes, struct kndl_buf *out)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf nats = {0};

    kndl_buf_append_text(&nats, "{\"limits\":{\"subs\":-1,\"data\":-1,\"payload\":-1,"
                                "\"imports\":-1,\"exports\":-1,\"wildcards\":true,\"conn\":-1,"
                                "\"leaf\":-1},\"default_permissions\":{\"pub\":{},\"sub\":{}}");
    if (scopes != NULL && scopes[0].signing_key != NULL) {
        kndl_buf_append_text(&nats, ",\"signing_keys\":[");
        for (size_t i = 0; scopes[i].signing_key != NULL; i++) {
            if (i > 0)
                kndl_buf_append_char(&nats, ',');
            append_signing_key(&nats, &scopes[i]);
        }
        kndl_buf_append_char(&nats, ']');
    }
    kndl_buf_append_text(&nats, ",\"type\":\"account\",\"version\":2}");
    sign_claims(operator_key, name, account_public, 0, kndl_buf_text(&nats), out);
}

void kndl_nkey_creds(const char *jwt, const struct kndl_nkey *user, struct kndl_secret *ret_creds)
{
    static const char head[] = "-----BEGIN NATS USER JWT-----\n";
    static const char between[] = "\n------END NATS USER JWT------\n\n"
                                  "-----BEGIN USER NKEY SEED-----\n";
    static const char tail[] = "\n------END USER NKEY SEED------\n";
    const struct kndl_slice pieces[] = {
        kndl_slice_of(head),    kndl_slice_of(jwt),
        kndl_slice_of(between), kndl_slice(user->seed.data, user->seed.size),
        kndl_slice_of(tail),
    };
    size_t size = 0;

    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++)
        size += pieces[i].size;
    kndl_secret_new(ret_creds, size);
    size = 0;
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        memcpy(ret_creds->data + size, pieces[i].data, pieces[i].size);
        size += pieces[i].size;
    }
}
