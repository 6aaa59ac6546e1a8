/* One table from codes to exit statuses. */

#include "exit_status.h"

enum exit_status exit_status_of(enum kndl_code code)
{
    switch (code) {
    case KNDL_OK:
        return EXIT_OK;
    case KNDL_INVALID_ARGUMENT:
    case KNDL_OUT_OF_RANGE:
        return EXIT_USAGE;
    case KNDL_NOT_FOUND:
    case KNDL_PERMISSION_DENIED:
    case KNDL_UNAUTHENTICATED:
        return EXIT_NOT_FOUND;
    case KNDL_ABORTED:
    case KNDL_ALREADY_EXISTS:
    case KNDL_FAILED_PRECONDITION:
        return EXIT_CONFLICT;
    case KNDL_UNAVAILABLE:
    case KNDL_DEADLINE_EXCEEDED:
        return EXIT_HUB_AWAY;
    case KNDL_CANCELLED:
    case KNDL_UNKNOWN:
    case KNDL_RESOURCE_EXHAUSTED:
    case KNDL_UNIMPLEMENTED:
    case KNDL_INTERNAL:
    case KNDL_DATA_LOSS:
        return EXIT_FAILED;
    }
    return EXIT_FAILED;
}
