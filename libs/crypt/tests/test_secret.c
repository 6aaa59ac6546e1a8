/* Secrets and credentials of ours. */

#include "kndl/secret.h"

#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kndl/testing.h"
#include "kndl/token.h"

static char dir[] = "/tmp/kndl-crypt-XXXXXX";

static const char *write_file(const char *name, const char *text, mode_t mode)
{
    static char path[256];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    unlink(path);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    chmod(path, mode);
    return path;
}

static void a_secret_file_is_read_without_its_last_line_break(void **unused)
{
    struct kndl_secret secret = {0};
    struct kndl_error err = {0};

    (void)unused;
    assert_int_equal(kndl_secret_read_file(write_file("s", "abc\n", 0600), 64, &secret, &err), 0);
    assert_string_equal((char *)secret.data, "abc");
    assert_int_equal(secret.size, 3);
    kndl_secret_done(&secret);
    kndl_secret_done(&secret);
}

static void a_secret_file_that_others_may_read_is_refused(void **unused)
{
    struct kndl_secret secret = {0};
    struct kndl_error err = {0};
    char link[300];

    (void)unused;
    assert_int_equal(kndl_secret_read_file(write_file("s", "abc", 0640), 64, &secret, &err), -1);
    assert_int_equal(kndl_secret_read_file(write_file("s", "abc", 0604), 64, &secret, &err), -1);
    assert_int_equal(err.code, KNDL_FAILED_PRECONDITION);
    assert_int_equal(kndl_secret_read_file(write_file("s", "abc", 0600), 2, &secret, &err), -1);
    assert_int_equal(err.code, KNDL_INVALID_ARGUMENT);
    assert_int_equal(kndl_secret_read_file(dir, 64, &secret, &err), -1);
    assert_int_equal(kndl_secret_read_file("/nowhere", 64, &secret, &err), -1);
    snprintf(link, sizeof link, "%s/link", dir);
    assert_int_equal(symlink(write_file("s", "abc", 0600), link), 0);
    assert_int_equal(kndl_secret_read_file(link, 64, &secret, &err), -1);
    unlink(link);
}

static void a_token_is_valid_for_its_kind_alone(void **unused)
{
    struct kndl_secret token;

    (void)unused;
    for (int kind = KNDL_TOKEN_WEB; kind <= KNDL_TOKEN_SET; kind++) {
        kndl_token_new((enum kndl_token_kind)kind, &token);
        struct kndl_slice text = kndl_slice(token.data, token.size);
        assert_int_equal(token.size, KNDL_TOKEN_CHARS);
        for (int other = KNDL_TOKEN_WEB; other <= KNDL_TOKEN_SET; other++)
            assert_int_equal(kndl_token_is_valid((enum kndl_token_kind)other, text), other == kind);
        kndl_secret_done(&token);
    }
}

static void a_token_with_one_other_character_is_refused(void **unused)
{
    struct kndl_secret token;

    (void)unused;
    kndl_token_new(KNDL_TOKEN_CLI, &token);
    for (size_t i = 0; i < token.size; i++) {
        uint8_t before = token.data[i];
        token.data[i] = before == 'x' ? 'y' : 'x';
        assert_false(kndl_token_is_valid(KNDL_TOKEN_CLI, kndl_slice(token.data, token.size)));
        token.data[i] = before;
    }
    assert_true(kndl_token_is_valid(KNDL_TOKEN_CLI, kndl_slice(token.data, token.size)));
    assert_false(kndl_token_is_valid(KNDL_TOKEN_CLI, kndl_slice(token.data, token.size - 1)));
    assert_false(kndl_token_is_valid(KNDL_TOKEN_CLI, kndl_slice("", 0)));
    kndl_secret_done(&token);
}

static void tokens_differ(void **unused)
{
    struct kndl_secret one, two;

    (void)unused;
    kndl_token_new(KNDL_TOKEN_CLI, &one);
    kndl_token_new(KNDL_TOKEN_CLI, &two);
    assert_string_not_equal((char *)one.data, (char *)two.data);
    kndl_secret_done(&one);
    kndl_secret_done(&two);
}

static void a_hash_is_sha256(void **unused)
{
    static const uint8_t abc[KNDL_HASH_BYTES] = {0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea,
                                                 0x41, 0x41, 0x40, 0xde, 0x5d, 0xae, 0x22, 0x23,
                                                 0xb0, 0x03, 0x61, 0xa3, 0x96, 0x17, 0x7a, 0x9c,
                                                 0xb4, 0x10, 0xff, 0x61, 0xf2, 0x00, 0x15, 0xad};
    uint8_t hash[KNDL_HASH_BYTES];

    (void)unused;
    kndl_hash(kndl_slice_of("abc"), hash);
    assert_true(kndl_hash_equal(hash, abc));
    hash[31] ^= 1;
    assert_false(kndl_hash_equal(hash, abc));
}

/* In a process of its own: guarding cannot be taken back. Its exit status. */
static int in_child(int (*run)(void))
{
    int status;
    pid_t child = fork();

    if (child == 0)
        _exit(run());
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int guard(void)
{
    struct kndl_error err = {0};
    struct rlimit cores;

    if (kndl_secret_guard_process(&err) < 0)
        return 1;
    if (getrlimit(RLIMIT_CORE, &cores) < 0 || cores.rlim_cur != 0 || cores.rlim_max != 0)
        return 2;
    if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
        return 3;
#ifndef __SANITIZE_ADDRESS__ /* its leak check attaches to its own process */
    if (prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 0)
        return 4;
#endif
    return umask(0) == 077 ? 0 : 5;
}

/* As a service runs: without root's right to lock what it likes. */
static int guard_without_memory(void)
{
    const struct rlimit none = {0, 0};
    struct kndl_error err = {0};

    if (getuid() == 0 && (setgroups(0, NULL) < 0 || setuid(65534) < 0))
        return 1;
    if (setrlimit(RLIMIT_MEMLOCK, &none) < 0)
        return 2;
    if (kndl_secret_guard_process(&err) == 0)
        return 3;
    return err.code == KNDL_FAILED_PRECONDITION && strstr(err.message, "lock") != NULL ? 0 : 4;
}

static void cr_06_a_guarded_process_leaves_no_core_and_is_nobody_elses_to_read(void **unused)
{
    (void)unused;
    assert_int_equal(in_child(guard), 0);
}

static void cr_06_a_service_that_may_not_lock_memory_does_not_start(void **unused)
{
    (void)unused;
    assert_int_equal(in_child(guard_without_memory), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cr_06_a_guarded_process_leaves_no_core_and_is_nobody_elses_to_read),
        cmocka_unit_test(cr_06_a_service_that_may_not_lock_memory_does_not_start),
        cmocka_unit_test(a_secret_file_is_read_without_its_last_line_break),
        cmocka_unit_test(a_secret_file_that_others_may_read_is_refused),
        cmocka_unit_test(a_token_is_valid_for_its_kind_alone),
        cmocka_unit_test(a_token_with_one_other_character_is_refused),
        cmocka_unit_test(tokens_differ),
        cmocka_unit_test(a_hash_is_sha256),
    };
    char path[300];

    if (kndl_crypt_init(NULL) < 0 || mkdtemp(dir) == NULL)
        return 1;
    int failed = cmocka_run_group_tests_name("secret", tests, NULL, NULL);
    snprintf(path, sizeof path, "%s/s", dir);
    unlink(path);
    rmdir(dir);
    return failed;
}
