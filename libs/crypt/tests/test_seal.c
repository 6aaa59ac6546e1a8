/* Sealed values: only their own key, place and bytes open them. */

#include "kndl/seal.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kndl/mem.h"
#include "kndl/testing.h"

#define KEY_A "1 00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\n"
#define KEY_B "2 ff112233445566778899aabbccddeeff00112233445566778899aabbccddee00\n"

static void only_the_pair_opens_what_was_sealed_to_it(void **unused)
{
    struct kndl_secret pair, other, plain = {0};
    uint8_t public[KNDL_SEAL_PUBLIC_BYTES], other_public[KNDL_SEAL_PUBLIC_BYTES];
    struct kndl_buf sealed = {0};
    struct kndl_error err = {0};

    (void)unused;
    kndl_seal_keypair(&pair, public);
    kndl_seal_keypair(&other, other_public);
    kndl_seal(public, kndl_slice_of("a prompt"), &sealed);
    assert_int_equal(sealed.size, strlen("a prompt") + KNDL_SEAL_OVERHEAD_BYTES);
    assert_int_equal(kndl_seal_open(&other, kndl_buf_slice(&sealed), &plain, &err), -1);
    assert_int_equal(err.code, KNDL_DATA_LOSS);
    assert_int_equal(kndl_seal_open(&pair, kndl_buf_slice(&sealed), &plain, &err), 0);
    assert_string_equal((char *)plain.data, "a prompt");
    kndl_secret_done(&plain);
    for (size_t i = 0; i < sealed.size; i++) {
        sealed.data[i] ^= 1;
        assert_int_equal(kndl_seal_open(&pair, kndl_buf_slice(&sealed), &plain, &err), -1);
        sealed.data[i] ^= 1;
    }
    assert_int_equal(kndl_seal_open(&pair, kndl_slice("", 0), &plain, &err), -1);
    kndl_buf_done(&sealed);
    kndl_secret_done(&pair);
    kndl_secret_done(&other);
}

static int open_ring(const char *text, struct kndl_keyring **ret_ring, struct kndl_error *err)
{
    char path[] = "/tmp/kndl-ring-XXXXXX";
    int fd = mkostemp(path, O_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    int status = kndl_keyring_open(path, ret_ring, err);
    unlink(path);
    return status;
}

static const struct kndl_place place = {
    .table = "variables", .column = "value", .owner = "person/a", .name = "TOKEN", .version = 3};

static int open_at(struct kndl_keyring *ring, struct kndl_place at, const struct kndl_buf *sealed)
{
    struct kndl_secret plain = {0};
    struct kndl_error err = {0};
    int status = kndl_column_open(ring, &at, kndl_buf_slice(sealed), &plain, &err);

    if (status < 0)
        assert_int_equal(err.code, KNDL_DATA_LOSS);
    else
        assert_string_equal((char *)plain.data, "a value");
    kndl_secret_done(&plain);
    return status;
}

static void a_column_opens_in_its_place_alone(void **unused)
{
    struct kndl_keyring *ring;
    struct kndl_buf sealed = {0};
    struct kndl_error err = {0};
    struct kndl_place at = place;

    (void)unused;
    assert_int_equal(open_ring(KEY_A, &ring, &err), 0);
    kndl_column_seal(ring, &place, kndl_slice_of("a value"), &sealed);
    assert_int_equal(open_at(ring, place, &sealed), 0);
    at.version = 2;
    assert_int_equal(open_at(ring, at, &sealed), -1);
    at = place;
    at.owner = "person/b";
    assert_int_equal(open_at(ring, at, &sealed), -1);
    /* the same characters, cut elsewhere */
    at = place;
    at.owner = "person/aT";
    at.name = "OKEN";
    assert_int_equal(open_at(ring, at, &sealed), -1);
    at = place;
    at.column = "other";
    assert_int_equal(open_at(ring, at, &sealed), -1);
    for (size_t i = 0; i < sealed.size; i++) {
        sealed.data[i] ^= 0x40;
        assert_int_equal(open_at(ring, place, &sealed), -1);
        sealed.data[i] ^= 0x40;
    }
    kndl_buf_done(&sealed);
    kndl_keyring_close(ring);
}

static void lengths_are_hidden_in_steps(void **unused)
{
    struct kndl_keyring *ring;
    struct kndl_buf one = {0}, two = {0};
    struct kndl_secret plain = {0};
    struct kndl_error err = {0};
    char text[200];

    (void)unused;
    assert_int_equal(open_ring(KEY_A, &ring, &err), 0);
    kndl_column_seal(ring, &place, kndl_slice_of(""), &one);
    kndl_column_seal(ring, &place, kndl_slice(memset(text, 'x', 63), 63), &two);
    assert_int_equal(one.size, two.size);
    for (size_t size = 0; size < sizeof text; size++) {
        kndl_buf_clear(&one);
        kndl_column_seal(ring, &place, kndl_slice(memset(text, 'x', size), size), &one);
        assert_int_equal(kndl_column_open(ring, &place, kndl_buf_slice(&one), &plain, &err), 0);
        assert_int_equal(plain.size, size);
        kndl_secret_done(&plain);
    }
    kndl_buf_done(&one);
    kndl_buf_done(&two);
    kndl_keyring_close(ring);
}

static void a_new_key_seals_and_the_old_one_still_opens(void **unused)
{
    struct kndl_keyring *old, *both, *new;
    struct kndl_buf sealed = {0}, again = {0};
    struct kndl_error err = {0};

    (void)unused;
    assert_int_equal(open_ring(KEY_A, &old, &err), 0);
    assert_int_equal(open_ring(KEY_B KEY_A, &both, &err), 0);
    assert_int_equal(open_ring(KEY_B, &new, &err), 0);
    kndl_column_seal(old, &place, kndl_slice_of("a value"), &sealed);
    kndl_column_seal(both, &place, kndl_slice_of("a value"), &again);
    assert_int_equal(kndl_column_key(kndl_buf_slice(&sealed)), 1);
    assert_int_equal(kndl_column_key(kndl_buf_slice(&again)), 2);
    assert_int_equal(kndl_keyring_current(both), 2);
    assert_int_equal(open_at(both, place, &sealed), 0);
    assert_int_equal(open_at(new, place, &sealed), -1);
    assert_int_equal(open_at(new, place, &again), 0);
    assert_int_equal(kndl_column_key(kndl_slice("\x01", 1)), 0);
    kndl_buf_done(&sealed);
    kndl_buf_done(&again);
    kndl_keyring_close(old);
    kndl_keyring_close(both);
    kndl_keyring_close(new);
}

static void a_bad_key_file_is_refused_without_showing_it(void **unused)
{
    static const char *const bad[] = {
        "",
        "\n",
        "1\n",
        "1 00\n",
        "x 00112233445566778899aabbccddeeff00112233445566778899aabb\n",
        "0 00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\n",
        KEY_A KEY_A,
        "99999999999999999999 00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\n",
        "3 zz112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\n"};
    struct kndl_keyring *ring;
    struct kndl_error err;

    (void)unused;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(open_ring(bad[i], &ring, &err), -1);
        assert_null(strstr(err.message, "112233"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_pair_opens_what_was_sealed_to_it),
        cmocka_unit_test(a_column_opens_in_its_place_alone),
        cmocka_unit_test(lengths_are_hidden_in_steps),
        cmocka_unit_test(a_new_key_seals_and_the_old_one_still_opens),
        cmocka_unit_test(a_bad_key_file_is_refused_without_showing_it),
    };

    if (kndl_crypt_init(NULL) < 0)
        return 1;
    return cmocka_run_group_tests_name("seal", tests, NULL, NULL);
}
