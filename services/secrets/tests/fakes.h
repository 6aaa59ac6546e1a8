#pragma once

/* What secrets has around it in its tests: peers that remember and answer as they are told, and a
 * real PostgreSQL with a key file. */

#include <stdbool.h>
#include <stdint.h>

#include "kndl/db.h"
#include "peers.h"
#include "store.h"

enum { FAKE_REPOS_MAX = 8 };

/* In place of a bus: what others say and are told over it. */
struct kndl_bus {
    bool is_away; /* sessions does not answer */
    int count;    /* changes of setup tokens that sessions was told */
    struct token_change last;
    int masks_changed;             /* facts */
    int64_t repos[FAKE_REPOS_MAX]; /* those that whoever asks may see; 0 ends them */
};
extern struct kndl_bus fake_bus;

/* cmocka's group fixtures: the environment, a database, keys 7 and 8 of which 7 is current. */
int fake_hub_open(void **state);
int fake_hub_close(void **state);

/* A connection to the rows, beside the store's. Closed by the caller. */
struct kndl_db *fake_connect(const struct kndl_statement *statements);

/* From here on the key file holds these lines. */
void fake_keys(const char *lines);
#define FAKE_KEY_7 "7 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n"
#define FAKE_KEY_8_OF_ANOTHER_HUB                                                                  \
    "8 0ff102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n"
#define FAKE_KEY_8 "8 ff0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n"
