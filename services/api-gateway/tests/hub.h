#pragma once

/* The sessions and repo-access behind a fixture's gateway: one Session, of Repo 7, which ada sees.
 */

#include <stdbool.h>
#include <stdint.h>

#define SESSION "abcdefghijklmnopqrstuvwxya"

/* Changed by the test while the loop has nothing to ask. */
struct hub {
    int64_t last_seq;
    int64_t version;
    bool is_hidden;
    bool is_away;
    int text_bytes; /* of each Event */
    int64_t access_until_ms;
};
extern struct hub hub;

/* A cmocka setup: a fixture (fixture.h), and three Events in the Session. */
int hub_open(void **state);

/* Events first to last happen, as sessions publishes them; first > last: it says the number alone.
 */
void hub_say_live(int64_t first, int64_t last, int64_t version);
