#pragma once

/* Which release this program is of. A file of its own, so that a build of another number differs in
 * nothing else. */

struct own_release {
    const char *version;
    int protocol; /* what it speaks with the Hub; another one is turned away */
};

extern const struct own_release own_release;
