#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kndl/testing.h"

static char folder[] = "/tmp/kndl-cli-XXXXXX";
static char path[128];

static int set_up(void **state)
{
    struct kndl_error err = {0};

    (void)state;
    strcpy(folder + sizeof folder - 7, "XXXXXX");
    if (mkdtemp(folder) == NULL)
        return -1;
    snprintf(path, sizeof path, "%s/.config/kndl/cli.json", folder);
    setenv("HOME", folder, 1);
    unsetenv("KNDL_CONFIG");
    return kndl_env_load(config_env, &err);
}

static int tear_down(void **state)
{
    char inner[128];

    (void)state;
    unlink(path);
    snprintf(inner, sizeof inner, "%s/.config/kndl", folder);
    rmdir(inner);
    snprintf(inner, sizeof inner, "%s/.config", folder);
    rmdir(inner);
    return rmdir(folder);
}

static void save(const char *url, const char *token)
{
    struct config config = {0};
    struct kndl_error err = {0};

    assert_int_equal(config_set_url(&config, url, &err), 0);
    kndl_secret_copy(&config.token, kndl_slice_of(token));
    assert_int_equal(config_save(&config, &err), 0);
    config_done(&config);
}

/* CL-01: the file is its owner's alone. */
static void a_login_is_kept_in_a_file_that_only_its_owner_may_read(void **state)
{
    struct config config;
    struct kndl_error err = {0};
    struct stat status;

    (void)state;
    save("http://127.0.0.1:8080//", "kndl_cli_first");
    save("http://127.0.0.1:8080/", "kndl_cli_second");
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    assert_int_equal(config_load(&config, &err), 0);
    assert_string_equal(config.url, "http://127.0.0.1:8080");
    assert_string_equal((const char *)config.token.data, "kndl_cli_second");
    config_done(&config);

    assert_int_equal(chmod(path, 0644), 0);
    assert_int_equal(config_load(&config, &err), -1);
}

static void without_a_file_there_is_no_hub(void **state)
{
    struct config config;
    struct kndl_error err = {0};

    (void)state;
    assert_int_equal(config_load(&config, &err), 0);
    assert_string_equal(config.url, "");
    assert_int_equal(config.token.size, 0);
}

static void a_file_that_is_not_ours_is_refused_without_quoting_it(void **state)
{
    struct config config;
    struct kndl_error err = {0};

    (void)state;
    save("http://127.0.0.1:8080", "t");
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("{\"token\":\"kndl_cli_secret\"", file);
    fclose(file);
    assert_int_equal(config_load(&config, &err), -1);
    assert_null(strstr(err.message, "kndl_cli_secret"));
}

static void an_address_is_http_or_https(void **state)
{
    struct config config = {0};
    struct kndl_error err = {0};

    (void)state;
    assert_int_equal(config_set_url(&config, "ftp://x", &err), -1);
    assert_int_equal(config_set_url(&config, "", &err), -1);
    assert_int_equal(config_set_url(&config, "kndl.example.com", &err), -1);
    assert_int_equal(config_set_url(&config, "https://kndl.example.com/", &err), 0);
    assert_string_equal(config.url, "https://kndl.example.com");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(a_login_is_kept_in_a_file_that_only_its_owner_may_read),
        TEST(without_a_file_there_is_no_hub),
        TEST(a_file_that_is_not_ours_is_refused_without_quoting_it),
        TEST(an_address_is_http_or_https),
    };
    struct kndl_error err = {0};

    return kndl_crypt_init(&err) < 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
