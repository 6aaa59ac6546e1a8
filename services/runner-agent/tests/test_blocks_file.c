/* What streams, over a restart. */

#include "blocks_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fake_disk.h"
#include "kndl/testing.h"

#define RV1(name) Kndl__Runner__V1__##name

struct fixture {
    struct disk disk;
    char directory[64];
    enum kndl_code code; /* of the last write */
};

static void set_up(struct fixture *f)
{
    *f = (struct fixture){.directory = "/tmp/kndl-blocks-XXXXXX"};
    assert_non_null(mkdtemp(f->directory));
}

static void path_of(const struct fixture *f, uint64_t turn, char path[80])
{
    snprintf(path, 80, "%s/blocks-%d", f->directory, (int)(turn % 2));
}

static void tear_down(struct fixture *f)
{
    blocks_file_remove(&f->disk, f->directory);
    fake_disk_run(&f->disk);
    assert_int_equal(rmdir(f->directory), 0);
}

static void written(void *data, const struct kndl_error *err)
{
    struct fixture *f = data;

    f->code = err->code;
}

static void write_text(struct fixture *f, uint64_t turn, const char *text)
{
    RV1(OpenBlock) block = KNDL__RUNNER__V1__OPEN_BLOCK__INIT, *list = &block;
    RV1(OpenBlocks) open = KNDL__RUNNER__V1__OPEN_BLOCKS__INIT;

    block.text = (char *)text;
    open.blocks = &list;
    open.n_blocks = 1;
    assert_true(blocks_file_write(&f->disk, f->directory, turn, &open, written, f) > strlen(text));
    fake_disk_run(&f->disk);
}

/* NULL: there is nothing to read. */
static void assert_read(struct fixture *f, uint64_t turn, const char *text)
{
    uint64_t found = 0;
    RV1(OpenBlocks) *open = blocks_file_read(f->directory, &found);

    if (text == NULL) {
        assert_null(open);
        return;
    }
    assert_non_null(open);
    assert_string_equal(open->blocks[0]->text, text);
    assert_int_equal(found, turn);
    kndl__runner__v1__open_blocks__free_unpacked(open, NULL);
}

static void the_newest_is_read(void **unused)
{
    struct stat st;
    struct fixture f;
    char path[80];

    (void)unused;
    set_up(&f);
    assert_read(&f, 0, NULL);
    write_text(&f, 1, "a long one, the first");
    assert_read(&f, 1, "a long one, the first");
    write_text(&f, 2, "two");
    assert_read(&f, 2, "two");
    write_text(&f, 3, "three");
    assert_read(&f, 3, "three");
    path_of(&f, 3, path);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    blocks_file_remove(&f.disk, f.directory);
    fake_disk_run(&f.disk);
    assert_read(&f, 0, NULL);
    tear_down(&f);
}

static void one_that_is_torn_leaves_the_one_before(void **unused)
{
    struct fixture f;
    char path[80];
    int fd;

    (void)unused;
    set_up(&f);
    write_text(&f, 1, "one");
    write_text(&f, 2, "two");
    path_of(&f, 2, path);
    fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(fd, "torn", 4, 42), 4);
    assert_read(&f, 1, "one");
    assert_int_equal(ftruncate(fd, 3), 0);
    close(fd);
    assert_read(&f, 1, "one");
    tear_down(&f);
}

static void one_that_cannot_be_written_keeps_the_one_before(void **unused)
{
    struct fixture f;
    char path[80];

    (void)unused;
    set_up(&f);
    write_text(&f, 1, "one");
    path_of(&f, 2, path);
    assert_int_equal(symlink("/dev/full", path), 0);
    write_text(&f, 2, "two"); /* no link is followed */
    assert_int_equal(f.code, KNDL_INTERNAL);
    assert_read(&f, 1, "one");
    tear_down(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_newest_is_read),
        cmocka_unit_test(one_that_is_torn_leaves_the_one_before),
        cmocka_unit_test(one_that_cannot_be_written_keeps_the_one_before),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
