/* The pause between two tries: with some chance in it, so that many CLIs do not come at once. */

#include "pause.h"

#include <poll.h>

#include "kndl/error.h"
#include "kndl/token.h"

void pause_ms(int ms)
{
    unsigned char chance;

    kndl_random(&chance, sizeof chance);
    (void)poll(0, 0, ms * 3 / 4 + ms * chance / 512);
}

void pause_after(const struct kndl_error *cause, int ms)
{
    int least_ms = (int)cause->retry_ms;

    pause_ms(ms > least_ms / 3 * 4 ? ms : (least_ms + 2) / 3 * 4);
}
