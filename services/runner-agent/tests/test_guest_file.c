/*
 * A Sandbox's files are hostile: links, FIFOs, devices, huge and growing files, planted where the
 * Runner reads and writes. Nothing outside is read or written, and nothing waits. LI-08: a purge
 * leaves nothing.
 */

#include "guest_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host.h"
#include "kndl/mem.h"
#include "reaper.h"
#include "tree.h"
#include "verb.h"

static const char outside_text[] = "the host's own";

/* A folder as a hostile guest leaves it, and a file outside that it is after. */
struct trap {
    struct host host;
    char folder[256];
    char outside[300];
    struct guest_place place;
    char text[256]; /* what the last read gave */
    size_t size;
    uint64_t file_size;
};

static void in_folder(const struct trap *trap, const char *leaf, char ret_path[400])
{
    (void)snprintf(ret_path, 400, "%s/%s", trap->folder, leaf);
}

static void put(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");

    assert_non_null(file);
    (void)fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void plant_link(const struct trap *trap, const char *target, const char *leaf)
{
    char path[400];

    in_folder(trap, leaf, path);
    assert_int_equal(symlink(target, path), 0);
}

static void set_trap(struct trap *trap)
{
    static int count;
    char leaf[32], path[400];

    *trap = (struct trap){0};
    host_init(&trap->host);
    (void)snprintf(leaf, sizeof leaf, "guest-%d", count++);
    host_folder(&trap->host, leaf, trap->folder);
    (void)snprintf(trap->outside, sizeof trap->outside, "%s/outside", trap->host.home);
    put(trap->outside, outside_text);
    assert_int_equal(chmod(trap->outside, 0666), 0); /* only the path may protect it */
    trap->place = (struct guest_place){.sandbox = "kt-guest", .directory = trap->folder};

    plant_link(trap, trap->outside, "absolute");
    plant_link(trap, "../outside", "relative");
    plant_link(trap, "..", "up");
    plant_link(trap, "/", "root");
    plant_link(trap, "/proc/self/root", "magic");
    plant_link(trap, "loop", "loop");
    in_folder(trap, "fifo", path);
    assert_int_equal(mkfifo(path, 0666), 0);
    in_folder(trap, "disk", path);
    assert_int_equal(mknod(path, S_IFCHR | 0666, makedev(1, 5)), 0);
    in_folder(trap, "folder", path);
    assert_int_equal(mkdir(path, 0755), 0);
}

static void on_read(void *data, const struct sandbox_answer *answer, struct kndl_slice bytes,
                    uint64_t size)
{
    struct trap *trap = data;

    trap->size = bytes.size;
    trap->file_size = size;
    (void)snprintf(trap->text, sizeof trap->text, "%.*s",
                   (int)(bytes.size < 200 ? bytes.size : 200),
                   bytes.data == NULL ? "" : (const char *)bytes.data);
    host_on_answer(&trap->host, answer);
}

static enum kndl_code read_it(struct trap *trap, const char *path, uint64_t offset, size_t most)
{
    guest_file_read(trap->host.sandboxes, &trap->place, path, offset, most, on_read, trap);
    host_wait(&trap->host);
    return trap->host.answer.err.code;
}

static enum kndl_code write_it(struct trap *trap, const char *path, const char *text)
{
    guest_file_write(trap->host.sandboxes, &trap->place, path, kndl_slice_of(text), 0600,
                     host_on_answer, &trap->host);
    host_wait(&trap->host);
    return trap->host.answer.err.code;
}

static void assert_outside_is_untouched(const struct trap *trap)
{
    char text[64] = "";
    FILE *file = fopen(trap->outside, "re");

    assert_non_null(file);
    (void)!fread(text, 1, sizeof text - 1, file);
    (void)fclose(file);
    assert_string_equal(text, outside_text);
}

static void a_read_never_leads_outside(void **unused)
{
    static const char *const paths[] = {"absolute",
                                        "relative",
                                        "../outside",
                                        "up/outside",
                                        "root/etc/hostname",
                                        "magic/etc/passwd",
                                        "/../../outside",
                                        "loop",
                                        "fifo",
                                        "disk",
                                        "folder",
                                        "",
                                        "folder/../../outside"};
    struct trap trap;

    (void)unused;
    set_trap(&trap);
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        assert_int_not_equal(read_it(&trap, paths[i], 0, 1000), KNDL_OK);
        assert_int_equal(trap.size, 0);
        assert_null(strstr(trap.text, "host"));
    }
    host_done(&trap.host);
}

static void a_write_never_leads_outside(void **unused)
{
    static const char *const refused[] = {"../outside", "up/outside",         "up/new",
                                          "root/tmp/x", "magic/tmp/x",        "",
                                          "folder/..",  "folder/../../other", "fifo/x"};
    struct trap trap;
    char path[400];
    struct stat about;

    (void)unused;
    set_trap(&trap);
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        assert_int_not_equal(write_it(&trap, refused[i], "planted"), KNDL_OK);
    /* A link in the file's own place is replaced, not followed; so is a FIFO. */
    assert_int_equal(write_it(&trap, "absolute", "ours"), KNDL_OK);
    assert_int_equal(write_it(&trap, "fifo", "ours"), KNDL_OK);
    /* And so is a folder, or its Session could never start again. */
    assert_int_equal(write_it(&trap, "folder/inside", "the guest's"), KNDL_OK);
    assert_int_equal(write_it(&trap, "folder", "ours"), KNDL_OK);
    assert_int_equal(read_it(&trap, "folder", 0, 100), KNDL_OK);
    assert_string_equal(trap.text, "ours");
    assert_int_equal(write_it(&trap, "new/deep/file", "ours"), KNDL_OK);
    assert_outside_is_untouched(&trap);
    (void)snprintf(path, sizeof path, "%s/new", trap.host.home);
    assert_int_equal(access(path, F_OK), -1);
    in_folder(&trap, "fifo", path);
    assert_int_equal(lstat(path, &about), 0);
    assert_true(S_ISREG(about.st_mode));
    assert_int_equal(about.st_uid, 0); /* root's inside, 0 on disk */
    assert_int_equal(read_it(&trap, "new/deep/file", 0, 100), KNDL_OK);
    assert_string_equal(trap.text, "ours");
    host_done(&trap.host);
}

static void a_folder_given_to_another_user_is_taken_back(void **unused)
{
    struct trap trap;

    (void)unused;
    set_trap(&trap);
    assert_int_equal(chown(trap.folder, 1000, 1000), 0);
    assert_int_equal(chmod(trap.folder, 0), 0);
    assert_int_equal(read_it(&trap, "folder/none", 0, 10), KNDL_NOT_FOUND);
    assert_int_equal(write_it(&trap, "file", "ours"), KNDL_OK);
    assert_int_equal(read_it(&trap, "file", 0, 10), KNDL_OK);
    assert_string_equal(trap.text, "ours");
    host_done(&trap.host);
}

/* chown -R of all of it, and chmod -R 0: the next start finds what it needs all the same. */
static void whatever_lies_in_it_is_taken_back_too(void **unused)
{
    struct trap trap;
    struct stat about;
    char path[400];

    (void)unused;
    set_trap(&trap);
    in_folder(&trap, "folder/kept", path);
    put(path, "a conversation");
    assert_int_equal(chown(path, 1000, 1000), 0);
    assert_int_equal(chmod(path, 0), 0);
    in_folder(&trap, "folder", path);
    assert_int_equal(chown(path, 1000, 1000), 0);
    assert_int_equal(chmod(path, 0), 0);
    assert_int_equal(chown(trap.folder, 1000, 1000), 0);
    assert_int_equal(read_it(&trap, "folder/kept", 0, 100), KNDL_OK);
    assert_string_equal(trap.text, "a conversation");
    assert_int_equal(write_it(&trap, "folder/kept", "ours"), KNDL_OK);
    assert_int_equal(read_it(&trap, "folder/kept", 0, 100), KNDL_OK);
    assert_string_equal(trap.text, "ours");

    /* No link is followed on the way. */
    assert_int_equal(chown(trap.outside, 1000, 1000), 0);
    assert_int_equal(chmod(trap.outside, 0600), 0);
    assert_int_not_equal(read_it(&trap, "absolute", 0, 100), KNDL_OK);
    assert_int_not_equal(read_it(&trap, "up/outside", 0, 100), KNDL_OK);
    assert_int_equal(stat(trap.outside, &about), 0);
    assert_int_equal(about.st_uid, 1000);
    assert_int_equal(about.st_mode & 0777, 0600);
    host_done(&trap.host);
}

static void a_huge_file_is_read_up_to_the_limit(void **unused)
{
    struct trap trap;
    char path[400];

    (void)unused;
    set_trap(&trap);
    in_folder(&trap, "huge", path);
    put(path, "begin");
    assert_int_equal(truncate(path, (off_t)1 << 40), 0);
    assert_int_equal(read_it(&trap, "huge", 0, 100000), KNDL_OK);
    assert_int_equal(trap.size, 100000);
    assert_true(trap.file_size == (uint64_t)1 << 40);
    assert_string_equal(trap.text, "begin");
    assert_int_equal(read_it(&trap, "huge", ((uint64_t)1 << 40) - 10, 100000), KNDL_OK);
    assert_int_equal(trap.size, 10);
    assert_int_equal(read_it(&trap, "huge", (uint64_t)1 << 41, 100000), KNDL_OK);
    assert_int_equal(trap.size, 0);
    host_done(&trap.host);
}

static void a_file_that_grows_without_end_is_read_once(void **unused)
{
    struct trap trap;
    char path[400];
    pid_t writer;

    (void)unused;
    set_trap(&trap);
    in_folder(&trap, "log", path);
    put(path, "begin");
    writer = fork();
    if (writer == 0) {
        static char bytes[65536];
        int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);

        for (off_t size = 0; size < (off_t)1 << 30; size += (off_t)sizeof bytes)
            (void)!write(fd, bytes, sizeof bytes);
        _exit(0);
    }
    assert_int_equal(read_it(&trap, "log", 0, 1000000), KNDL_OK);
    assert_true(trap.size <= 1000000);
    (void)kill(writer, SIGKILL);
    reaper_take(children_reaper(trap.host.children));
    host_done(&trap.host);
}

struct listed {
    struct trap *trap;
    size_t count;
    bool has_link_as_other;
};

static void on_list(void *data, const struct sandbox_answer *answer,
                    const struct guest_entry *entries, size_t count)
{
    struct listed *listed = data;

    listed->count = count;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(entries[i].name, "up") == 0)
            listed->has_link_as_other = !entries[i].is_directory && !entries[i].is_regular;
    }
    host_on_answer(&listed->trap->host, answer);
}

static void a_list_shows_links_as_links_and_does_not_follow_them_out(void **unused)
{
    struct trap trap;
    struct listed listed = {.trap = &trap};

    (void)unused;
    set_trap(&trap);
    guest_file_list(trap.host.sandboxes, &trap.place, "", on_list, &listed);
    host_wait(&trap.host);
    assert_int_equal(trap.host.answer.err.code, KNDL_OK);
    assert_int_equal(listed.count, 9);
    assert_true(listed.has_link_as_other);
    /* ".." is the folder itself here, as it is in the root of a filesystem. */
    guest_file_list(trap.host.sandboxes, &trap.place, "up", on_list, &listed);
    host_wait(&trap.host);
    assert_int_equal(listed.count, 9);
    guest_file_list(trap.host.sandboxes, &trap.place, "magic", on_list, &listed);
    host_wait(&trap.host);
    assert_int_not_equal(trap.host.answer.err.code, KNDL_OK);
    host_done(&trap.host);
}

static void li_08_a_purge_deletes_the_deepest_folder_and_follows_no_link(void **unused)
{
    struct trap trap;
    int at;

    (void)unused;
    set_trap(&trap);
    at = open(trap.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < 3000; i++) {
        int next;

        assert_int_equal(mkdirat(at, "deep", 0755), 0);
        next = openat(at, "deep", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        kndl_close(&at);
        at = next;
    }
    kndl_close(&at);
    workspace_remove(trap.host.sandboxes, trap.folder, host_on_answer, &trap.host);
    host_wait(&trap.host);
    assert_int_equal(trap.host.answer.err.code, KNDL_OK);
    assert_int_equal(access(trap.folder, F_OK), -1);
    assert_outside_is_untouched(&trap);
    workspace_remove(trap.host.sandboxes, trap.folder, host_on_answer, &trap.host);
    host_wait(&trap.host);
    assert_int_equal(trap.host.answer.err.code, KNDL_OK);
    host_done(&trap.host);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_read_never_leads_outside),
        cmocka_unit_test(a_write_never_leads_outside),
        cmocka_unit_test(a_folder_given_to_another_user_is_taken_back),
        cmocka_unit_test(whatever_lies_in_it_is_taken_back_too),
        cmocka_unit_test(a_huge_file_is_read_up_to_the_limit),
        cmocka_unit_test(a_file_that_grows_without_end_is_read_once),
        cmocka_unit_test(a_list_shows_links_as_links_and_does_not_follow_them_out),
        cmocka_unit_test(li_08_a_purge_deletes_the_deepest_folder_and_follows_no_link),
    };
    int status;

    if (verb_main(argc, argv, &status))
        return status;
    return cmocka_run_group_tests(tests, host_prepare, host_clean);
}
