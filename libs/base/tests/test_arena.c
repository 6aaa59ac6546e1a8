/* Arenas: alignment, zeroes, and what a reset keeps. */

#include "kndl/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_zeroed_and_aligned),
        cmocka_unit_test(a_big_call_outgrows_locked_memory),
        cmocka_unit_test(a_reset_keeps_the_first_block_alone),
    };
    return cmocka_run_group_tests_name("arena", tests, NULL, NULL);
}
