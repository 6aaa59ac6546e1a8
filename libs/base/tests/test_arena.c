/* Arenas: alignment, zeroes, and what a reset keeps. */

#include "kndl/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void memory_is_zeroed_and_aligned(void **unused)
{
    struct kndl_arena *arena = kndl_arena_new(KNDL_ARENA_PLAIN);

    (void)unused;
    for (int round = 0; round < 2; round++) {
        for (size_t size = 0; size < 200 * 1024; size = size * 2 + 1) {
            unsigned char *memory = kndl_arena_alloc(arena, size);
            assert_int_equal((uintptr_t)memory % 16, 0);
            for (size_t i = 0; i < size; i++)
                assert_int_equal(memory[i], 0);
            memset(memory, 0xa5, size);
        }
        kndl_arena_reset(arena);
    }
    kndl_arena_free(arena);
}

static void a_reset_keeps_the_first_block_alone(void **unused)
{
    struct kndl_arena *arena = kndl_arena_new(KNDL_ARENA_SECRET);
    char *first = kndl_arena_copy(arena, "hello");

    (void)unused;
    kndl_arena_alloc(arena, 1024 * 1024);
    kndl_arena_reset(arena);
    assert_ptr_equal(kndl_arena_copy(arena, "again"), first);
    kndl_arena_free(arena);
}

/* As a service runs: without rights of root's, and with little memory that it may lock. */
static void a_big_call_outgrows_locked_memory(void **unused)
{
    const struct rlimit little = {128 * 1024, 128 * 1024};
    int status;
    pid_t pid = fork();

    (void)unused;
    if (pid == 0) {
        if (getuid() == 0 && setuid(65534) < 0)
            _exit(1);
        if (setrlimit(RLIMIT_MEMLOCK, &little) < 0)
            _exit(1);
        struct kndl_arena *arena = kndl_arena_new(KNDL_ARENA_SECRET);
        memset(kndl_arena_alloc(arena, 1024 * 1024), 1, 1024 * 1024);
        kndl_arena_reset(arena);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* As struct kndl_secret needs it: more than arenas may take. (The address sanitizer's mlock() locks
 * nothing, so that this holds by itself with it.) */
static void big_calls_leave_locked_memory_to_others(void **unused)
{
    enum { LIMIT = 2 * 1024 * 1024, CALLS = 8, LEFT = 256 * 1024 };
    const struct rlimit little = {LIMIT, LIMIT};
    int status;
    pid_t pid = fork();

    (void)unused;
    if (pid == 0) {
        struct kndl_arena *arenas[CALLS];

        if (getuid() == 0 && setuid(65534) < 0)
            _exit(1);
        if (setrlimit(RLIMIT_MEMLOCK, &little) < 0)
            _exit(1);
        for (int round = 0; round < 2; round++) {
            for (int i = 0; i < CALLS; i++) {
                arenas[i] = kndl_arena_new(KNDL_ARENA_SECRET);
                memset(kndl_arena_alloc(arenas[i], LIMIT / 6), 1, LIMIT / 6);
            }
            void *left =
                mmap(NULL, LEFT, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (left == MAP_FAILED || syscall(SYS_mlock, left, LEFT) < 0)
                _exit(2 + round);
            munmap(left, LEFT);
            for (int i = 0; i < CALLS; i++)
                kndl_arena_free(arenas[i]);
        }
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* Pages of address space that this process has. */
static long mapped_pages(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");

    assert_non_null(file);
    assert_int_equal(fscanf(file, "%ld", &pages), 1);
    fclose(file);
    return pages;
}

/* Wiping a block wipes its size too, and what is given back by a size of 0 stays. */
static void a_reset_gives_all_other_blocks_back(void **unused)
{
    const enum kndl_arena_kind kinds[] = {KNDL_ARENA_PLAIN, KNDL_ARENA_SECRET};
    enum { ROUNDS = 100, BYTES = 1024 * 1024 };

    (void)unused;
    for (int i = 0; i < 2; i++) {
        struct kndl_arena *arena = kndl_arena_new(kinds[i]);
        long before = mapped_pages();

        for (int round = 0; round < ROUNDS; round++) {
            kndl_arena_alloc(arena, BYTES);
            kndl_arena_reset(arena);
        }
        assert_true(mapped_pages() - before < ROUNDS * (BYTES / sysconf(_SC_PAGESIZE)) / 10);
        kndl_arena_free(arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_zeroed_and_aligned),
        cmocka_unit_test(a_big_call_outgrows_locked_memory),
        cmocka_unit_test(big_calls_leave_locked_memory_to_others),
        cmocka_unit_test(a_reset_keeps_the_first_block_alone),
        cmocka_unit_test(a_reset_gives_all_other_blocks_back),
    };
    return cmocka_run_group_tests_name("arena", tests, NULL, NULL);
}
