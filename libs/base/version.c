/* Which of two releases is the newer one. */

#include "kndl/version.h"

#include <stdlib.h>

/* The next number, 0 at the end; *text moves behind it and its dot. */
static unsigned long take_number(const char **text)
{
    char *end;
    unsigned long number;

    if (**text < '0' || **text > '9')
        return 0;
    number = strtoul(*text, &end, 10);
    *text = *end == '.' ? end + 1 : end;
    return number;
}

int kndl_version_compare(const char *a, const char *b)
{
    while ((*a >= '0' && *a <= '9') || (*b >= '0' && *b <= '9')) {
        unsigned long left = take_number(&a);
        unsigned long right = take_number(&b);

        if (left != right)
            return left < right ? -1 : 1;
    }
    return 0;
}
