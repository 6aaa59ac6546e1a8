/* Guests' files as the loop sees them: each call is a verb child. */

#include "guest_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "kndl/mem.h"
#include "namespace_host.h"

enum { DEADLINE_MS = 60 * 1000, ENTRIES_MAX = 1000 };

static void add_place(struct args *args, const struct guest_place *place, const char *path)
{
    args_add(args, "directory", place->directory);
    args_add(args, "path", path);
}

/* ----------------------------------------------------------------------------------- read */

struct read {
    guest_read_fn fn;
    void *data;
};

static void on_read_end(void *data, const struct child_end *end)
{
    struct read *read = data;
    struct sandbox_answer answer = answer_of(end);
    struct kndl_slice bytes = {0};
    struct stat about = {0};
    void *map = MAP_FAILED;

    if (answer.err.code == KNDL_OK &&
        (end->last->fd_count != 1 || fstat(end->last->fds[0], &about) < 0))
        (void)kndl_fail(&answer.err, KNDL_INTERNAL, "no file came back");
    if (answer.err.code == KNDL_OK && about.st_size > 0) {
        map = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, end->last->fds[0], 0);
        if (map == MAP_FAILED)
            (void)kndl_fail(&answer.err, KNDL_RESOURCE_EXHAUSTED, "no memory for the file");
        else
            bytes = kndl_slice(map, (size_t)about.st_size);
    }
    read->fn(read->data, &answer, bytes, child_number(end->last, "size"));
    if (map != MAP_FAILED)
        (void)munmap(map, (size_t)about.st_size);
    free(read);
}

void guest_file_read(struct sandbox_host *host, const struct guest_place *place, const char *path,
                     uint64_t offset, size_t most, guest_read_fn fn, void *data)
{
    KNDL_CLEANUP(args_done) struct args args = {0};
    struct read *read = kndl_new0(struct read);

    *read = (struct read){fn, data};
    add_place(&args, place, path);
    args_add_number(&args, "offset", offset);
    args_add_number(&args, "most", most);
    (void)child_start(host->children, &(struct child_options){
                                          .verb = "guest-read",
                                          .args = (const char *const *)args.items,
                                          .deadline_ms = DEADLINE_MS,
                                          .on_end = on_read_end,
                                          .data = read,
                                      });
}

/* ---------------------------------------------------------------------------------- write */

void guest_file_write(struct sandbox_host *host, const struct guest_place *place, const char *path,
                      struct kndl_slice bytes, uint32_t mode, sandbox_fn fn, void *data)
{
    KNDL_CLEANUP(args_done) struct args args = {0};

    add_place(&args, place, path);
    args_add_number(&args, "mode", mode);
    start_simple(host, "guest-write", &args, bytes, DEADLINE_MS, fn, data);
}

/* ----------------------------------------------------------------------------------- list */

struct listing {
    guest_list_fn fn;
    void *data;
    struct guest_entry *entries;
    size_t count;
};

static void on_entry(void *data, struct child_message *message)
{
    struct listing *listing = data;
    const char *kind = child_value(message, "kind");

    if (listing->count == ENTRIES_MAX)
        return;
    listing->entries[listing->count++] = (struct guest_entry){
        .name = kndl_strdup(child_value(message, "name")),
        .is_directory = strcmp(kind, "directory") == 0,
        .is_regular = strcmp(kind, "regular") == 0,
        .size = child_number(message, "size"),
        .changed_ms = (int64_t)child_number(message, "changed"),
    };
}

static void on_list_end(void *data, const struct child_end *end)
{
    struct listing *listing = data;
    struct sandbox_answer answer = answer_of(end);

    listing->fn(listing->data, &answer, listing->entries, listing->count);
    for (size_t i = 0; i < listing->count; i++)
        free((char *)(uintptr_t)listing->entries[i].name);
    free(listing->entries);
    free(listing);
}

void guest_file_list(struct sandbox_host *host, const struct guest_place *place, const char *path,
                     guest_list_fn fn, void *data)
{
    KNDL_CLEANUP(args_done) struct args args = {0};
    struct listing *listing = kndl_new0(struct listing);

    listing->fn = fn;
    listing->data = data;
    listing->entries = kndl_new_array(struct guest_entry, ENTRIES_MAX);
    add_place(&args, place, path);
    (void)child_start(host->children, &(struct child_options){
                                          .verb = "guest-list",
                                          .args = (const char *const *)args.items,
                                          .deadline_ms = DEADLINE_MS,
                                          .on_message = on_entry,
                                          .on_end = on_list_end,
                                          .data = listing,
                                      });
}
