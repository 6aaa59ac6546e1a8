/* kndl: Sessions from a terminal. */

#include <stdlib.h>

#include "command.h"
#include "kndl/code.h"
#include "kndl/log.h"

int main(int argc, char **argv)
{
    struct kndl_error err = {0};

    kndl_log_open("kndl", KNDL_ERROR);
    if (argc < 2 || argv[1][0] == '\0') {
        command_help(stderr);
        return kndl_code_names(KNDL_INVALID_ARGUMENT)->exit;
    }
    int result = command_run(argc - 1, argv + 1, &err);
    if (fflush(stdout) == EOF && result == 0)
        result = kndl_fail(&err, KNDL_UNKNOWN, "standard output cannot be written");
    if (result < 0)
        fprintf(stderr, "kndl: %s\n", err.message);
    return result < 0 ? kndl_code_names(err.code)->exit : EXIT_SUCCESS;
}
