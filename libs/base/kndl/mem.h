#pragma once

/*
 * Memory of one owner: zeroed allocation that never fails, and locals that clean themselves up.
 *
 * Out of memory aborts: a service is restartable, and whatever somebody else sizes has been
 * checked against a limit before it comes here. Safe from any thread.
 */

#include <stddef.h>

/* Zeroed memory for `count` things of `size` bytes; the caller frees it with free(). */
void *kndl_alloc(size_t count, size_t size);

/* As realloc(), for `count` things of `size` bytes; what is added is not zeroed. */
void *kndl_realloc(void *memory, size_t count, size_t size);

/* A copy of the text, or of `size` bytes with a NUL behind them; NULL stays NULL. */
char *kndl_strdup(const char *text);
char *kndl_memdup(const void *bytes, size_t size);

#define kndl_new0(type) ((type *)kndl_alloc(1, sizeof(type)))
#define kndl_new_array(type, count) ((type *)kndl_alloc((count), sizeof(type)))

/* KNDL_CLEANUP(kndl_buf_done) struct kndl_buf line = {0}; calls kndl_buf_done(&line) at the end. */
#define KNDL_CLEANUP(done) __attribute__((cleanup(done)))

/* For KNDL_CLEANUP of a pointer from malloc, and of a file descriptor (closed if >= 0,
 * and -1 then). */
void kndl_free(void *pointer_to_pointer);
void kndl_close(int *fd);

/* The pointer, and NULL in its place: ownership leaves a local that cleans itself up. */
#define kndl_steal(pointer)                                                                        \
    ({                                                                                             \
        __auto_type stolen_ = *(pointer);                                                          \
        *(pointer) = NULL;                                                                         \
        stolen_;                                                                                   \
    })

/* The file descriptor, and -1 in its place. */
int kndl_steal_fd(int *fd);
