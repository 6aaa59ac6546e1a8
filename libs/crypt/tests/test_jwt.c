/* JWTs: nkeys keep their form, RS256 signatures verify. What NATS makes of them: libs/bus. */

#include "kndl/jwt.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <sodium.h>

#include "kndl/nkey.h"
#include "kndl/testing.h"

static void a_key_comes_back_from_its_seed(void **unused)
{
    static const char first[] = {'O', 'A', 'U'};
    struct kndl_error err = {0};

    (void)unused;
    for (int kind = KNDL_NKEY_OPERATOR; kind <= KNDL_NKEY_USER; kind++) {
        struct kndl_nkey key, again;
        kndl_nkey_new((enum kndl_nkey_kind)kind, &key);
        assert_int_equal(key.public[0], first[kind]);
        assert_int_equal(strlen(key.public), 56);
        assert_int_equal(key.seed.data[0], 'S');
        assert_int_equal(key.seed.data[1], first[kind]);
        assert_int_equal(
            kndl_nkey_from_seed(kndl_slice(key.seed.data, key.seed.size), &again, &err), 0);
        assert_string_equal(key.public, again.public);
        assert_int_equal(again.kind, kind);
        kndl_nkey_done(&again);
        for (size_t i = 0; i < key.seed.size; i++) {
            uint8_t before = key.seed.data[i];
            key.seed.data[i] = before == 'A' ? 'B' : 'A';
            /* The last character's low bits are padding. */
            if (kndl_nkey_from_seed(kndl_slice(key.seed.data, key.seed.size), &again, &err) == 0) {
                assert_int_equal(i, key.seed.size - 1);
                kndl_nkey_done(&again);
            }
            key.seed.data[i] = before;
        }
        kndl_nkey_done(&key);
    }
    struct kndl_nkey key;
    assert_int_equal(kndl_nkey_from_seed(kndl_slice("", 0), &key, &err), -1);
}

/* The decoded middle part of a JWT. */
static void read_claims(const struct kndl_buf *jwt, char *claims, size_t room)
{
    const char *from = strchr(kndl_buf_text(jwt), '.') + 1;
    size_t size = 0;

    assert_int_equal(sodium_base642bin((unsigned char *)claims, room - 1, from, strcspn(from, "."),
                                       NULL, &size, NULL, sodium_base64_VARIANT_URLSAFE_NO_PADDING),
                     0);
    claims[size] = '\0';
}

static void a_user_without_subjects_is_denied_everything(void **unused)
{
    static const char *const none[] = {NULL};
    struct kndl_nkey account;
    struct kndl_buf jwt = {0};
    char claims[2048];

    (void)unused;
    kndl_nkey_new(KNDL_NKEY_ACCOUNT, &account);
    const struct kndl_user_claims user = {
        .name = "nobody", .user_public = account.public, .publish = none, .subscribe = none};
    kndl_jwt_user(&account, &user, &jwt);
    read_claims(&jwt, claims, sizeof claims);
    assert_non_null(strstr(claims, "\"pub\":{\"deny\":[\">\"]},\"sub\":{\"deny\":[\">\"]}"));
    assert_null(strstr(claims, "\"exp\""));
    assert_null(strstr(claims, "\"resp\""));
    kndl_buf_done(&jwt);
    kndl_nkey_done(&account);
}

static char *write_key(EVP_PKEY *key, char path[32])
{
    snprintf(path, 32, "/tmp/kndl-pem-XXXXXX");
    int fd = mkostemp(path, O_CLOEXEC);
    FILE *file = fdopen(fd, "w");

    assert_int_equal(PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL), 1);
    fclose(file);
    return path;
}

static void an_app_token_verifies_and_lives_ten_minutes(void **unused)
{
    EVP_PKEY *key = EVP_RSA_gen(2048);
    struct kndl_rsa_key *opened;
    struct kndl_error err = {0};
    struct kndl_buf jwt = {0};
    char path[32];
    char claims[512];
    uint8_t signature[512];
    size_t size = 0;

    (void)unused;
    assert_int_equal(kndl_rsa_key_open(write_key(key, path), &opened, &err), 0);
    unlink(path);
    assert_int_equal(kndl_jwt_app(opened, "12345", 1700000000999, &jwt, &err), 0);
    read_claims(&jwt, claims, sizeof claims);
    assert_string_equal(claims, "{\"iat\":1699999940,\"exp\":1700000540,\"iss\":\"12345\"}");

    char *dot = strrchr(jwt.data, '.');
    assert_int_equal(sodium_base642bin(signature, sizeof signature, dot + 1, strlen(dot + 1), NULL,
                                       &size, NULL, sodium_base64_VARIANT_URLSAFE_NO_PADDING),
                     0);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    assert_int_equal(EVP_DigestVerifyInit(context, NULL, EVP_sha256(), NULL, key), 1);
    assert_int_equal(
        EVP_DigestVerify(context, signature, size, (uint8_t *)jwt.data, (size_t)(dot - jwt.data)),
        1);
    EVP_MD_CTX_free(context);
    assert_int_equal(kndl_jwt_app(opened, "1\",\"iss\":\"2", 0, &jwt, &err), -1);
    kndl_buf_done(&jwt);
    kndl_rsa_key_close(opened);
    kndl_rsa_key_close(NULL);
    EVP_PKEY_free(key);
}

static void a_key_that_is_too_short_or_none_is_refused(void **unused)
{
    EVP_PKEY *small = EVP_RSA_gen(1024);
    EVP_PKEY *curve = EVP_EC_gen("P-256");
    struct kndl_rsa_key *opened;
    struct kndl_error err = {0};
    char path[32];

    (void)unused;
    assert_int_equal(kndl_rsa_key_open(write_key(small, path), &opened, &err), -1);
    unlink(path);
    assert_int_equal(kndl_rsa_key_open(write_key(curve, path), &opened, &err), -1);
    unlink(path);
    EVP_PKEY_free(small);
    EVP_PKEY_free(curve);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_comes_back_from_its_seed),
        cmocka_unit_test(a_user_without_subjects_is_denied_everything),
        cmocka_unit_test(an_app_token_verifies_and_lives_ten_minutes),
        cmocka_unit_test(a_key_that_is_too_short_or_none_is_refused),
    };

    if (kndl_crypt_init(NULL) < 0)
        return 1;
    return cmocka_run_group_tests_name("jwt", tests, NULL, NULL);
}
