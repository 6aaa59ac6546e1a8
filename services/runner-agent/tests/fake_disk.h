#pragma once

/* A disk of the tests' own: does its work when it is told to, or fails it. */

#include <stdbool.h>

#include "disk.h"

struct disk {
    struct {
        disk_work_fn work;
        disk_done_fn done;
        void *job;
    } jobs[32];
    size_t count;
    bool is_full;
};

/* Does what waits, and calls back. */
void fake_disk_run(struct disk *disk);
