/* RUNNER_SANDBOX_ALLOW is read strictly: a mistake in it must not open more than was meant. */

#include <string.h>

#include "kndl/testing.h"
#include "network.h"

static void addresses_nets_and_ports_are_taken(void **unused)
{
    static const char *const good[] = {
        "", "10.88.0.2", "10.88.0.2:443", "10.88.0.0/30", "10.88.0.0/30:80, 192.168.1.7:22,",
    };

    (void)unused;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        assert_int_equal(network_check_allow(good[i], NULL), 0);
}

static void anything_else_is_refused_and_named(void **unused)
{
    static const char *const bad[] = {
        "localhost",    "10.88.0",       "10.88.0.2:",        "10.88.0.2:0",  "10.88.0.2:65536",
        "10.88.0.2/33", "10.88.0.2/",    "10.88.0.2:80x",     "10.88.0.2/8x", "::1",
        "10.88.0.2;",   "10.88.0.2 }; ", "10.88.0.2\naccept", "10.88.0.2:-1", "10.88.0.2/-1",
    };
    struct kndl_error err;

    (void)unused;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(network_check_allow(bad[i], &err), -1);
        assert_int_equal(err.code, KNDL_INVALID_ARGUMENT);
        assert_non_null(strstr(err.message, "RUNNER_SANDBOX_ALLOW"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_nets_and_ports_are_taken),
        cmocka_unit_test(anything_else_is_refused_and_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
