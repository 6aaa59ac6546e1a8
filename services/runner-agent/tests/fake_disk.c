/* Stands in for disk.c. */

#include "fake_disk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kndl/mem.h"
#include "kndl/testing.h"

void disk_do(struct disk *disk, disk_work_fn work, disk_done_fn done, void *job)
{
    assert_in_range(disk->count, 0, 31);
    disk->jobs[disk->count].work = work;
    disk->jobs[disk->count].done = done;
    disk->jobs[disk->count++].job = job;
}

void fake_disk_run(struct disk *disk)
{
    while (disk->count > 0) {
        struct kndl_error err = {0};
        disk_work_fn work = disk->jobs[0].work;
        disk_done_fn done = disk->jobs[0].done;
        void *job = disk->jobs[0].job;

        disk->count--;
        memmove(disk->jobs, disk->jobs + 1, disk->count * sizeof disk->jobs[0]);
        if (disk->is_full)
            kndl_fail(&err, KNDL_RESOURCE_EXHAUSTED, "no space");
        else
            work(job, &err);
        done(job, &err);
    }
}

struct file_job {
    char *path;
    char *bytes;
    size_t size;
    disk_done_fn done;
    void *data;
};

int disk_write_file_now(const char *path, const void *bytes, size_t size, struct kndl_error *err)
{
    FILE *file = fopen(path, "we");

    if (file == NULL || fwrite(bytes, 1, size, file) != size || fclose(file) != 0)
        return kndl_fail(err, KNDL_INTERNAL, "cannot write %s", path);
    return 0;
}

static int work(void *data, struct kndl_error *err)
{
    struct file_job *job = data;

    if (job->bytes == NULL) {
        unlink(job->path);
        return 0;
    }
    return disk_write_file_now(job->path, job->bytes, job->size, err);
}

static void done(void *data, const struct kndl_error *err)
{
    struct file_job *job = data;

    if (job->done != NULL)
        job->done(job->data, err);
    free(job->path);
    free(job->bytes);
    free(job);
}

static void add(struct disk *disk, const char *path, char *bytes, size_t size, disk_done_fn fn,
                void *data)
{
    struct file_job *job = kndl_new0(struct file_job);

    *job = (struct file_job){kndl_strdup(path), bytes, size, fn, data};
    disk_do(disk, work, done, job);
}

void disk_write_file(struct disk *disk, const char *path, const void *bytes, size_t size,
                     disk_done_fn fn, void *data)
{
    add(disk, path, kndl_memdup(bytes, size), size, fn, data);
}

void disk_remove_file(struct disk *disk, const char *path, disk_done_fn fn, void *data)
{
    add(disk, path, NULL, 0, fn, data);
}
