/* The disk's thread: takes jobs from a pipe, does them, and posts them back to the loop. */

#include "disk.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kndl/buf.h"
#include "kndl/loop.h"
#include "kndl/mem.h"

struct task {
    struct disk *disk;
    disk_work_fn work;
    disk_done_fn done;
    void *job;
    struct kndl_error err;
};

struct disk {
    struct kndl_loop *loop;
    pthread_t thread;
    int pipe[2]; /* pointers to tasks; the loop writes, the thread reads */
};

static void finish(void *data)
{
    struct task *task = data;

    if (task->done != NULL)
        task->done(task->job, &task->err);
    free(task);
}

static void *run(void *data)
{
    struct disk *disk = data;
    struct task *task;

    while (read(disk->pipe[0], &task, sizeof task) == (ssize_t)sizeof task) {
        if (task->work(task->job, &task->err) == 0)
            task->err = (struct kndl_error){0};
        kndl_loop_post(disk->loop, finish, task);
    }
    return NULL;
}

struct disk *disk_new(struct kndl_loop *loop)
{
    struct disk *disk = kndl_new0(struct disk);

    disk->loop = loop;
    if (pipe2(disk->pipe, O_CLOEXEC) < 0 || pthread_create(&disk->thread, NULL, run, disk) != 0)
        abort();
    return disk;
}

void disk_free(struct disk *disk)
{
    if (disk == NULL)
        return;
    close(disk->pipe[1]);
    pthread_join(disk->thread, NULL);
    close(disk->pipe[0]);
    free(disk);
}

void disk_do(struct disk *disk, disk_work_fn work, disk_done_fn done, void *job)
{
    struct task *task = kndl_new0(struct task);

    *task = (struct task){.disk = disk, .work = work, .done = done, .job = job};
    /* A pointer is less than PIPE_BUF: whole or not at all. */
    while (write(disk->pipe[1], &task, sizeof task) < 0)
        if (errno != EINTR)
            abort();
}

static int fail_errno(struct kndl_error *err, const char *what, const char *path)
{
    return kndl_fail(err, errno == ENOSPC ? KNDL_RESOURCE_EXHAUSTED : KNDL_INTERNAL,
                     "cannot %s %s: %s", what, path, strerror(errno));
}

static int sync_folder(const char *path, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_free) char *copy = kndl_strdup(path);
    KNDL_CLEANUP(kndl_close) int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0 || fsync(fd) < 0)
        return fail_errno(err, "sync the folder of", path);
    return 0;
}

static int write_all(int fd, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t done = write(fd, bytes, size);

        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return -1;
        bytes += done;
        size -= (size_t)done;
    }
    return 0;
}

int disk_write_file_now(const char *path, const void *bytes, size_t size, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf new = {0};
    KNDL_CLEANUP(kndl_close) int fd = -1;

    kndl_buf_printf(&new, "%s.new", path);
    fd = open(kndl_buf_text(&new), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 || write_all(fd, bytes, size) < 0 || fsync(fd) < 0 ||
        rename(kndl_buf_text(&new), path) < 0) {
        fail_errno(err, "write", path);
        unlink(kndl_buf_text(&new));
        return -1;
    }
    return sync_folder(path, err);
}

/* A file to write or, without bytes, to remove. */
struct file_job {
    char *path;
    char *bytes;
    size_t size;
    disk_done_fn done;
    void *data;
};

static int work_on_file(void *data, struct kndl_error *err)
{
    struct file_job *job = data;

    if (job->bytes != NULL)
        return disk_write_file_now(job->path, job->bytes, job->size, err);
    if (unlink(job->path) < 0 && errno != ENOENT)
        return fail_errno(err, "remove", job->path);
    return 0;
}

static void file_done(void *data, const struct kndl_error *err)
{
    struct file_job *job = data;

    if (job->done != NULL)
        job->done(job->data, err);
    free(job->path);
    free(job->bytes);
    free(job);
}

void disk_write_file(struct disk *disk, const char *path, const void *bytes, size_t size,
                     disk_done_fn done, void *data)
{
    struct file_job *job = kndl_new0(struct file_job);

    job->path = kndl_strdup(path);
    job->bytes = kndl_memdup(bytes, size);
    job->size = size;
    job->done = done;
    job->data = data;
    disk_do(disk, work_on_file, file_done, job);
}

void disk_remove_file(struct disk *disk, const char *path, disk_done_fn done, void *data)
{
    struct file_job *job = kndl_new0(struct file_job);

    job->path = kndl_strdup(path);
    job->done = done;
    job->data = data;
    disk_do(disk, work_on_file, file_done, job);
}
