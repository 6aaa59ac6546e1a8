/* Credentials of ours: 256 random bits and a checksum, in base62. */

#include "kndl/token.h"

#include <assert.h>
#include <string.h>

#include <sodium.h>

enum {
    KIND_AT = 5, /* behind "kndl_" */
    RANDOM_AT = KIND_AT + 4,
    RANDOM_CHARS = 43,
    RANDOM_BYTES = 32,
    SUM_AT = RANDOM_AT + RANDOM_CHARS + 1,
    SUM_CHARS = 6,
    BASE = 62,
};

static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

static const char *kind_name(enum kndl_token_kind kind)
{
    switch (kind) {
    case KNDL_TOKEN_WEB:
        return "web";
    case KNDL_TOKEN_CLI:
        return "cli";
    case KNDL_TOKEN_RUN:
        return "run";
    case KNDL_TOKEN_MOD:
        return "mod";
    case KNDL_TOKEN_SES:
        return "ses";
    case KNDL_TOKEN_INV:
        return "inv";
    case KNDL_TOKEN_SET:
        return "set";
    case KNDL_TOKEN_SGN:
        return "sgn";
    case KNDL_TOKEN_DEV:
        return "dev";
    case KNDL_TOKEN_CNF:
        return "cnf";
    }
    assert(false);
    return "";
}

/* Writes the big-endian number in `bytes`, which it uses up, as exactly `count` digits. */
static void write_base62(uint8_t *bytes, size_t size, char *text, size_t count)
{
    for (size_t at = count; at-- > 0;) {
        unsigned rest = 0;
        for (size_t i = 0; i < size; i++) {
            unsigned value = rest << 8 | bytes[i];
            bytes[i] = (uint8_t)(value / BASE);
            rest = value % BASE;
        }
        text[at] = digits[rest];
    }
}

static uint32_t crc32_of(const uint8_t *data, size_t size)
{
    uint32_t crc = 0xffffffffu;

    for (size_t i = 0; i < size; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xedb88320u : 0);
    }
    return ~crc;
}

/* The checksum is of all that stands before its underscore. */
static void write_sum(const uint8_t *token, char *text)
{
    uint32_t crc = crc32_of(token, SUM_AT - 1);
    uint8_t bytes[4] = {(uint8_t)(crc >> 24), (uint8_t)(crc >> 16), (uint8_t)(crc >> 8),
                        (uint8_t)crc};

    write_base62(bytes, sizeof bytes, text, SUM_CHARS);
}

void kndl_token_new(enum kndl_token_kind kind, struct kndl_secret *ret_token)
{
    uint8_t random[RANDOM_BYTES];
    struct kndl_secret token;

    kndl_secret_new(&token, KNDL_TOKEN_CHARS);
    char *text = (char *)token.data;
    memcpy(text, "kndl_", KIND_AT);
    memcpy(text + KIND_AT, kind_name(kind), 3);
    text[RANDOM_AT - 1] = '_';
    randombytes_buf(random, sizeof random);
    write_base62(random, sizeof random, text + RANDOM_AT, RANDOM_CHARS);
    sodium_memzero(random, sizeof random);
    text[SUM_AT - 1] = '_';
    write_sum(token.data, text + SUM_AT);
    *ret_token = token;
}

bool kndl_token_is_valid(enum kndl_token_kind kind, struct kndl_slice text)
{
    char sum[SUM_CHARS];

    if (text.size != KNDL_TOKEN_CHARS || memcmp(text.data, "kndl_", KIND_AT) != 0 ||
        memcmp(text.data + KIND_AT, kind_name(kind), 3) != 0 || text.data[RANDOM_AT - 1] != '_' ||
        text.data[SUM_AT - 1] != '_')
        return false;
    for (size_t i = RANDOM_AT; i < SUM_AT - 1; i++)
        if (memchr(digits, text.data[i], BASE) == NULL)
            return false;
    write_sum(text.data, sum);
    return memcmp(sum, text.data + SUM_AT, SUM_CHARS) == 0;
}

void kndl_hash(struct kndl_slice bytes, uint8_t ret_hash[KNDL_HASH_BYTES])
{
    crypto_hash_sha256(ret_hash, bytes.data, bytes.size);
}

bool kndl_hash_equal(const uint8_t a[KNDL_HASH_BYTES], const uint8_t b[KNDL_HASH_BYTES])
{
    return sodium_memcmp(a, b, KNDL_HASH_BYTES) == 0;
}

void kndl_random(void *ret_bytes, size_t size)
{
    randombytes_buf(ret_bytes, size);
}
