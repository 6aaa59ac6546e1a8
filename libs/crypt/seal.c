/* Sealed values: to a Runner's public key, and to the place of a column. */

#include "kndl/seal.h"

#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "kndl/mem.h"

enum {
    KEYS_MAX = 16,
    KEY_FILE_BYTES_MAX = 4096,
    KEY_BYTES = crypto_aead_xchacha20poly1305_ietf_KEYBYTES,
    NONCE_BYTES = crypto_aead_xchacha20poly1305_ietf_NPUBBYTES,
    TAG_BYTES = crypto_aead_xchacha20poly1305_ietf_ABYTES,
    HEAD_BYTES = 1 + 4,
    PAD_BYTES = 64,
    COLUMN_VERSION = 1,
    PAIR_BYTES = KNDL_SEAL_PUBLIC_BYTES + 32, /* public half, secret half */
};

_Static_assert(KNDL_SEAL_PUBLIC_BYTES == crypto_box_PUBLICKEYBYTES, "the seal's key");
_Static_assert(KNDL_SEAL_OVERHEAD_BYTES == crypto_box_SEALBYTES, "the seal's overhead");

void kndl_seal_keypair(struct kndl_secret *ret_pair, uint8_t ret_public[KNDL_SEAL_PUBLIC_BYTES])
{
    kndl_secret_new(ret_pair, PAIR_BYTES);
    crypto_box_keypair(ret_pair->data, ret_pair->data + KNDL_SEAL_PUBLIC_BYTES);
    memcpy(ret_public, ret_pair->data, KNDL_SEAL_PUBLIC_BYTES);
}

void kndl_seal(const uint8_t public_key[KNDL_SEAL_PUBLIC_BYTES], struct kndl_slice plain,
               struct kndl_buf *out)
{
    size_t size = plain.size + KNDL_SEAL_OVERHEAD_BYTES;
    uint8_t *sealed = (uint8_t *)kndl_buf_reserve(out, size);

    if (crypto_box_seal(sealed, plain.data, plain.size, public_key) != 0)
        memset(sealed, 0, size); /* a degenerate key: nobody opens it */
    sealed[size] = '\0';
    out->size += size;
}

int kndl_seal_open(const struct kndl_secret *pair, struct kndl_slice sealed,
                   struct kndl_secret *ret_plain, struct kndl_error *err)
{
    struct kndl_secret plain;

    if (pair->size != PAIR_BYTES || sealed.size < KNDL_SEAL_OVERHEAD_BYTES)
        return kndl_fail(err, KNDL_DATA_LOSS, "the sealed value cannot be opened");
    kndl_secret_new(&plain, sealed.size - KNDL_SEAL_OVERHEAD_BYTES);
    if (crypto_box_seal_open(plain.data, sealed.data, sealed.size, pair->data,
                             pair->data + KNDL_SEAL_PUBLIC_BYTES) != 0) {
        kndl_secret_done(&plain);
        return kndl_fail(err, KNDL_DATA_LOSS, "the sealed value cannot be opened");
    }
    *ret_plain = plain;
    return 0;
}

struct kndl_keyring {
    size_t count;
    struct {
        uint32_t id;
        struct kndl_secret key; /* the column subkey of the file's master */
    } keys[KEYS_MAX];           /* the first is the current one */
};

/* The subkey for columns, so that the master may serve other purposes later. */
static void derive_column_key(const uint8_t *master, struct kndl_secret *ret_key)
{
    kndl_secret_new(ret_key, KEY_BYTES);
    if (crypto_kdf_derive_from_key(ret_key->data, KEY_BYTES, 1, "kndl_col", master) != 0)
        abort();
    sodium_mprotect_readonly(ret_key->data);
}

/* One line, `<id> <64 hex digits>`, into the ring. */
static int read_key(struct kndl_keyring *ring, const char *line, size_t size, size_t number,
                    const char *path, struct kndl_error *err)
{
    const char *blank = memchr(line, ' ', size);
    uint64_t id = 0;
    size_t got = 0;

    if (ring->count == KEYS_MAX)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "%s has more than %d keys", path, KEYS_MAX);
    for (const char *c = line; blank != NULL && c < blank; c++)
        id = *c >= '0' && *c <= '9' && id <= UINT32_MAX ? id * 10 + (uint64_t)(*c - '0')
                                                        : UINT64_MAX;
    if (blank == NULL || id == 0 || id > UINT32_MAX)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT,
                         "line %zu of %s is not \"<id> <64 hex digits>\"", number, path);
    for (size_t i = 0; i < ring->count; i++)
        if (ring->keys[i].id == id)
            return kndl_fail(err, KNDL_INVALID_ARGUMENT, "line %zu of %s repeats an id", number,
                             path);

    struct kndl_secret master;
    kndl_secret_new(&master, KEY_BYTES);
    size_t digits = size - (size_t)(blank + 1 - line);
    if (digits != 2 * KEY_BYTES ||
        sodium_hex2bin(master.data, KEY_BYTES, blank + 1, digits, NULL, &got, NULL) != 0 ||
        got != KEY_BYTES) {
        kndl_secret_done(&master);
        return kndl_fail(err, KNDL_INVALID_ARGUMENT,
                         "line %zu of %s is not \"<id> <64 hex digits>\"", number, path);
    }
    ring->keys[ring->count].id = (uint32_t)id;
    derive_column_key(master.data, &ring->keys[ring->count++].key);
    kndl_secret_done(&master);
    return 0;
}

int kndl_keyring_open(const char *path, struct kndl_keyring **ret_ring, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_secret_done) struct kndl_secret text = {0};
    struct kndl_keyring *ring;
    size_t number = 0;

    if (kndl_secret_read_file(path, KEY_FILE_BYTES_MAX, &text, err) < 0)
        return -1;
    ring = kndl_new0(struct kndl_keyring);
    for (const char *line = (const char *)text.data; *line != '\0';) {
        size_t size = strcspn(line, "\n");
        number++;
        if (size > 0 && read_key(ring, line, size, number, path, err) < 0) {
            kndl_keyring_close(ring);
            return -1;
        }
        line += line[size] == '\n' ? size + 1 : size;
    }
    if (ring->count == 0) {
        kndl_keyring_close(ring);
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "%s holds no key", path);
    }
    *ret_ring = ring;
    return 0;
}

void kndl_keyring_close(struct kndl_keyring *ring)
{
    if (ring == NULL)
        return;
    for (size_t i = 0; i < ring->count; i++)
        kndl_secret_done(&ring->keys[i].key);
    free(ring);
}

uint32_t kndl_keyring_current(const struct kndl_keyring *ring)
{
    return ring->keys[0].id;
}

static void append_u64(struct kndl_buf *out, uint64_t value)
{
    uint8_t bytes[8];

    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(value >> (56 - 8 * i));
    kndl_buf_append(out, bytes, sizeof bytes);
}

static void append_field(struct kndl_buf *out, const char *text)
{
    append_u64(out, strlen(text));
    kndl_buf_append_text(out, text);
}

static void write_aad(const struct kndl_place *place, struct kndl_buf *out)
{
    append_field(out, "kndl/col/v1");
    append_field(out, place->table);
    append_field(out, place->column);
    append_field(out, place->owner);
    append_field(out, place->name);
    append_u64(out, (uint64_t)place->version);
}

void kndl_column_seal(const struct kndl_keyring *ring, const struct kndl_place *place,
                      struct kndl_slice plain, struct kndl_buf *out)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf aad = {0};
    KNDL_CLEANUP(kndl_secret_done) struct kndl_secret padded = {0};
    size_t padded_size;

    write_aad(place, &aad);
    kndl_secret_new(&padded, plain.size + PAD_BYTES);
    if (plain.size > 0)
        memcpy(padded.data, plain.data, plain.size);
    if (sodium_pad(&padded_size, padded.data, plain.size, PAD_BYTES, padded.size) != 0)
        abort();

    size_t size = HEAD_BYTES + NONCE_BYTES + padded_size + TAG_BYTES;
    uint8_t *at = (uint8_t *)kndl_buf_reserve(out, size);
    uint32_t id = ring->keys[0].id;
    const uint8_t head[HEAD_BYTES] = {COLUMN_VERSION, (uint8_t)(id >> 24), (uint8_t)(id >> 16),
                                      (uint8_t)(id >> 8), (uint8_t)id};
    memcpy(at, head, HEAD_BYTES);
    randombytes_buf(at + HEAD_BYTES, NONCE_BYTES);
    crypto_aead_xchacha20poly1305_ietf_encrypt(at + HEAD_BYTES + NONCE_BYTES, NULL, padded.data,
                                               padded_size, (const uint8_t *)aad.data, aad.size,
                                               NULL, at + HEAD_BYTES, ring->keys[0].key.data);
    at[size] = '\0';
    out->size += size;
}

uint32_t kndl_column_key(struct kndl_slice sealed)
{
    const uint8_t *data = sealed.data;

    if (sealed.size < HEAD_BYTES + NONCE_BYTES + PAD_BYTES + TAG_BYTES || data[0] != COLUMN_VERSION)
        return 0;
    return (uint32_t)data[1] << 24 | (uint32_t)data[2] << 16 | (uint32_t)data[3] << 8 | data[4];
}

static const struct kndl_secret *find_key(const struct kndl_keyring *ring, uint32_t id)
{
    for (size_t i = 0; i < ring->count; i++)
        if (ring->keys[i].id == id)
            return &ring->keys[i].key;
    return NULL;
}

bool kndl_keyring_has(const struct kndl_keyring *ring, uint32_t id)
{
    return find_key(ring, id) != NULL;
}

int kndl_column_open(const struct kndl_keyring *ring, const struct kndl_place *place,
                     struct kndl_slice sealed, struct kndl_secret *ret_plain,
                     struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf aad = {0};
    const struct kndl_secret *key = find_key(ring, kndl_column_key(sealed));
    struct kndl_secret plain;
    size_t size;

    if (key == NULL || kndl_column_key(sealed) == 0)
        return kndl_fail(err, KNDL_DATA_LOSS, "the column cannot be opened");
    write_aad(place, &aad);
    const uint8_t *nonce = sealed.data + HEAD_BYTES;
    const uint8_t *cipher = nonce + NONCE_BYTES;
    size_t cipher_size = sealed.size - HEAD_BYTES - NONCE_BYTES;
    kndl_secret_new(&plain, cipher_size - TAG_BYTES);
    if (crypto_aead_xchacha20poly1305_ietf_decrypt(plain.data, NULL, NULL, cipher, cipher_size,
                                                   (const uint8_t *)aad.data, aad.size, nonce,
                                                   key->data) != 0 ||
        sodium_unpad(&size, plain.data, plain.size, PAD_BYTES) != 0) {
        kndl_secret_done(&plain);
        return kndl_fail(err, KNDL_DATA_LOSS, "the column cannot be opened");
    }
    plain.size = size;
    plain.data[size] = '\0';
    *ret_plain = plain;
    return 0;
}
