#pragma once

/* In place of GitHub and the bus: what they say is set, what they are told is kept. */

#include <stdbool.h>

#include "github.h"
#include "oauth.h"
#include "peers.h"

/* A GitHub that knows ada and grace, demo/hello (both may) and demo/notes (ada may). */
struct github {
    bool is_away;
    bool is_renamed;
    bool is_uninstalled; /* demo/notes */
    bool is_suspended;   /* the whole account */
    bool is_given_away;  /* demo/hello, to another account that has the App, too */
    bool has_lost_grace; /* from demo/hello */
    int lists;
    int checks;
    int lookups;                 /* of logins */
    const char *grace_is_called; /* NULL: grace */
};
extern struct github the_github;

/* Who is at GitHub, by login: the code that comes back is theirs. */
struct oauth {
    bool is_off;
    bool is_away;
    int exchanges;
};
extern struct oauth the_oauth;

/* What others were told, joined by blanks: "people:<person> access:<person> secrets:<person>". */
struct kndl_bus {
    bool is_away;
    char told[512];
};
extern struct kndl_bus the_bus;

void fakes_reset(void);
