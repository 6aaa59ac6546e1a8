/* RS256 with OpenSSL's EVP. */

#include "kndl/jwt.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <sodium.h>

#include "kndl/mem.h"

enum { PEM_BYTES_MAX = 16 * 1024, SIGNATURE_BYTES_MAX = 1024, ISSUER_CHARS_MAX = 64 };

struct kndl_rsa_key {
    EVP_PKEY *key;
};

int kndl_rsa_key_open(const char *path, struct kndl_rsa_key **ret_key, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_secret_done) struct kndl_secret pem = {0};

    if (kndl_secret_read_file(path, PEM_BYTES_MAX, &pem, err) < 0)
        return -1;
    BIO *bio = BIO_new_mem_buf(pem.data, (int)pem.size);
    if (bio == NULL)
        abort();
    EVP_PKEY *key = PEM_read_bio_PrivateKey(bio, NULL, NULL, (void *)"");
    BIO_free(bio);
    if (key == NULL || EVP_PKEY_get_base_id(key) != EVP_PKEY_RSA || EVP_PKEY_get_bits(key) < 2048) {
        EVP_PKEY_free(key);
        return kndl_fail(err, KNDL_INVALID_ARGUMENT,
                         "%s is not a PEM private key of RSA with 2048 bits or more", path);
    }
    *ret_key = kndl_new0(struct kndl_rsa_key);
    (*ret_key)->key = key;
    return 0;
}

void kndl_rsa_key_close(struct kndl_rsa_key *key)
{
    if (key == NULL)
        return;
    EVP_PKEY_free(key->key);
    free(key);
}

static void append_base64url(struct kndl_buf *out, const void *data, size_t size)
{
    size_t room = sodium_base64_encoded_len(size, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    char *at = kndl_buf_reserve(out, room);

    sodium_bin2base64(at, room, data, size, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    out->size += strlen(at);
}

int kndl_jwt_app(struct kndl_rsa_key *key, const char *issuer, int64_t now_ms, struct kndl_buf *out,
                 struct kndl_error *err)
{
    static const char header[] = "{\"alg\":\"RS256\",\"typ\":\"JWT\"}";
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf text = {0};
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf claims = {0};
    uint8_t signature[SIGNATURE_BYTES_MAX];
    size_t size = sizeof signature;

    if (issuer[0] == '\0' || strlen(issuer) > ISSUER_CHARS_MAX || strpbrk(issuer, "\"\\") != NULL)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "the GitHub App's id is \"%s\"", issuer);
    kndl_buf_printf(&claims, "{\"iat\":%" PRId64 ",\"exp\":%" PRId64 ",\"iss\":\"%s\"}",
                    now_ms / 1000 - 60, now_ms / 1000 + 540, issuer);
    append_base64url(&text, header, sizeof header - 1);
    kndl_buf_append_char(&text, '.');
    append_base64url(&text, claims.data, claims.size);

    EVP_MD_CTX *context = EVP_MD_CTX_new();
    if (context == NULL)
        abort();
    bool is_signed =
        EVP_DigestSignInit(context, NULL, EVP_sha256(), NULL, key->key) == 1 &&
        EVP_DigestSign(context, signature, &size, (const uint8_t *)text.data, text.size) == 1;
    EVP_MD_CTX_free(context);
    if (!is_signed)
        return kndl_fail(err, KNDL_INTERNAL, "OpenSSL cannot sign");
    kndl_buf_append_char(&text, '.');
    append_base64url(&text, signature, size);
    kndl_buf_append(out, text.data, text.size);
    return 0;
}
