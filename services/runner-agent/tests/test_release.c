/* CL-05: a release is on the disk whole and right, or it is not there. */

#include "release.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hub_release.h"
#include "kndl/mem.h"
#include "kndl/secret.h"

static struct release *read_release(const struct hub_release *hub)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf manifest = {0};
    struct release *release;
    struct kndl_error err;

    hub_release_manifest(hub, &manifest);
    if (release_read(kndl_buf_slice(&manifest), &release, &err) < 0)
        fail_msg("%s", err.message);
    return release;
}

static int install(struct hub_release *hub, const char *folder, struct kndl_error *err)
{
    struct release *release = read_release(hub);
    int result = release_install(release, folder, hub_release_get, hub, err);

    release_free(release);
    return result;
}

static void assert_file(const char *folder, const char *name, const char *text, mode_t mode)
{
    char path[200], read_text[600] = "";
    struct stat status;

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    assert_int_equal(fread(read_text, 1, sizeof read_text - 1, file), strlen(text));
    (void)fclose(file);
    assert_string_equal(read_text, text);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, mode);
}

static void cl_05_a_release_is_installed_whole_and_fetched_once(void **unused)
{
    struct hub_release hub = hub_release_of("9.1", "hello");
    struct kndl_error err;
    char folder[64];

    (void)unused;
    hub_release_folder(folder);
    assert_int_equal(install(&hub, folder, &err), 0);
    assert_file(folder, "9.1/runner-agent", hub.files[0].text, 0755);
    assert_file(folder, "9.1/run-claude", "a program", 0755);
    assert_file(folder, "9.1/mod/.claude-plugin/plugin.json", "{}", 0644);
    assert_int_equal(hub_release_entries(folder), 1);
    assert_int_equal(hub.gets, 3);
    assert_int_equal(install(&hub, folder, &err), 0);
    assert_int_equal(hub.gets, 3);
    hub_release_remove(folder);
}

static void what_lies_there_and_is_not_right_is_replaced(void **unused)
{
    struct hub_release hub = hub_release_of("9.1", "hello");
    struct kndl_error err;
    char folder[64], path[128];

    (void)unused;
    hub_release_folder(folder);
    assert_int_equal(install(&hub, folder, &err), 0);
    (void)snprintf(path, sizeof path, "%s/9.1/run-claude", folder);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    (void)fputs("a probram", file);
    (void)fclose(file);
    assert_int_equal(install(&hub, folder, &err), 0);
    assert_file(folder, "9.1/run-claude", "a program", 0755);
    hub_release_remove(folder);
}

/* Nothing of what is not right stays, not even what came before it. */
static void assert_not_installed(struct hub_release *hub, enum kndl_code code, const char *says)
{
    struct kndl_error err;
    char folder[64];

    hub_release_folder(folder);
    assert_int_equal(install(hub, folder, &err), -1);
    assert_int_equal(err.code, code);
    assert_non_null(strstr(err.message, says));
    assert_int_equal(hub_release_entries(folder), 0);
    hub_release_remove(folder);
}

static void cl_05_a_file_with_another_digest_is_refused(void **unused)
{
    struct hub_release hub = hub_release_of("9.1", "hello");

    (void)unused;
    hub.files[1].served = "a prOgram";
    assert_not_installed(&hub, KNDL_DATA_LOSS, "run-claude does not have the digest");
}

static void cl_05_a_file_that_is_cut_short_or_too_long_is_refused(void **unused)
{
    struct hub_release hub = hub_release_of("9.1", "hello");

    (void)unused;
    hub.files[1].served = "a prog";
    assert_not_installed(&hub, KNDL_DATA_LOSS, "run-claude has 6 bytes, not 9");
    hub.files[1].served = "a program and more";
    assert_not_installed(&hub, KNDL_DATA_LOSS, "run-claude has 18 bytes, not 9");
}

static void cl_05_half_a_download_leaves_nothing(void **unused)
{
    struct hub_release hub = hub_release_of("9.1", "hello");

    (void)unused;
    hub.breaks = "mod/.claude-plugin/plugin.json";
    assert_not_installed(&hub, KNDL_UNAVAILABLE, "plugin.json: the Hub went away");
}

static void put(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");

    if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0)
        _exit(2);
}

/* A user namespace in which this user is root, so that it may mount. */
static void become_root(void)
{
    char users[32], groups[32];

    (void)snprintf(users, sizeof users, "0 %u 1\n", (unsigned)getuid());
    (void)snprintf(groups, sizeof groups, "0 %u 1\n", (unsigned)getgid());
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
        _exit(2);
    put("/proc/self/setgroups", "deny");
    put("/proc/self/uid_map", users);
    put("/proc/self/gid_map", groups);
}

/* On a disk of 64 KiB of its own. */
static int install_without_room(void)
{
    static char big[256 * 1024];
    struct hub_release hub = hub_release_of("9.1", "hello");
    struct kndl_error err;
    char folder[64];

    hub_release_folder(folder);
    become_root();
    if (mount("none", folder, "tmpfs", 0, "size=64k") < 0)
        return 2;
    memset(big, 'x', sizeof big - 1);
    hub.files[1].text = big;
    if (install(&hub, folder, &err) == 0 || err.code != KNDL_RESOURCE_EXHAUSTED)
        return 3;
    return hub_release_entries(folder) == 0 ? 0 : 4;
}

static void cl_05_without_room_nothing_stays(void **unused)
{
    int status;
    pid_t pid;

    (void)unused;
    pid = fork();
    if (pid == 0)
        _exit(install_without_room());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* ---- what a manifest may say ---- */

static void assert_refused(const char *manifest, const char *says)
{
    struct release *release;
    struct kndl_error err;

    assert_int_equal(release_read(kndl_slice_of(manifest), &release, &err), -1);
    assert_int_equal(err.code, KNDL_INVALID_ARGUMENT);
    if (strstr(err.message, says) == NULL)
        fail_msg("%s: %s", manifest, err.message);
}

#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define FILE_OF(name, size) "{\"name\":\"" name "\",\"size\":" size ",\"sha256\":\"" DIGEST "\"}"
#define WITH(files) "{\"version\":\"9.1\",\"files\":[" files "]}"

static void cl_05_no_name_leaves_the_releases_folder(void **unused)
{
    (void)unused;
    assert_refused(WITH(FILE_OF("../runner-agent", "1")), "not below its folder");
    assert_refused(WITH(FILE_OF("mod/../../x", "1")), "not below its folder");
    assert_refused(WITH(FILE_OF("mod/..", "1")), "not below its folder");
    assert_refused(WITH(FILE_OF("/etc/passwd", "1")), "not below its folder");
    assert_refused(WITH(FILE_OF("mod//x", "1")), "not below its folder");
    assert_refused(WITH(FILE_OF("mod/", "1")), "not below its folder");
    assert_refused(WITH(FILE_OF("./x", "1")), "not below its folder");
    assert_refused(WITH(FILE_OF("", "1")), "not below its folder");
    assert_refused(WITH(FILE_OF("a b", "1")), "not below its folder");
    assert_refused(WITH(FILE_OF("a\\\\b", "1")), "not below its folder");
    assert_refused("{\"version\":\"..\",\"files\":[]}", "no version");
    assert_refused("{\"version\":\"9/../..\",\"files\":[]}", "no version");
    assert_refused("{\"version\":\"current\",\"files\":[]}", "no version");
    assert_refused("{\"files\":[]}", "no version");
}

static void cl_05_sizes_have_limits(void **unused)
{
    (void)unused;
    assert_refused(WITH(FILE_OF("x", "134217729")), "too big");
    assert_refused(WITH(FILE_OF("x", "134217728") "," FILE_OF("y", "1")), "too big");
    assert_refused(WITH(FILE_OF("x", "-1")), "too big");
    assert_refused(WITH(FILE_OF("x", "9223372036854775807")), "too big");
}

static void a_manifest_names_each_file_once_with_its_digest_and_has_its_programs(void **unused)
{
    (void)unused;
    assert_refused(WITH(FILE_OF("x", "1") "," FILE_OF("x", "1")), "twice");
    assert_refused(WITH("{\"name\":\"x\",\"size\":1}"), "without a digest");
    assert_refused(WITH("{\"name\":\"x\",\"size\":1,\"sha256\":\"" DIGEST "0\"}"),
                   "without a digest");
    assert_refused(WITH(FILE_OF("x", "1")), "no program: \"runner-agent\"");
    assert_refused(WITH(FILE_OF("runner-agent", "1")), "no program: \"runner-agent\"");
    assert_refused("{\"version\":\"9.1\",\"files\":{}}", "no list");
    assert_refused("<!doctype html>", "the Hub's release");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cl_05_a_release_is_installed_whole_and_fetched_once),
        cmocka_unit_test(what_lies_there_and_is_not_right_is_replaced),
        cmocka_unit_test(cl_05_a_file_with_another_digest_is_refused),
        cmocka_unit_test(cl_05_a_file_that_is_cut_short_or_too_long_is_refused),
        cmocka_unit_test(cl_05_half_a_download_leaves_nothing),
        cmocka_unit_test(cl_05_without_room_nothing_stays),
        cmocka_unit_test(cl_05_no_name_leaves_the_releases_folder),
        cmocka_unit_test(cl_05_sizes_have_limits),
        cmocka_unit_test(a_manifest_names_each_file_once_with_its_digest_and_has_its_programs),
    };

    return kndl_crypt_init(NULL) < 0 ? 1
                                     : cmocka_run_group_tests_name("release", tests, NULL, NULL);
}
