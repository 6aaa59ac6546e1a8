#pragma once

/* What the parts of runner-agent share: one of it, made by main.c, all on the loop's thread. */

#include <stdbool.h>
#include <stdint.h>

#include "kndl/id.h"
#include "kndl/seal.h"

struct attend;
struct children;
struct credential;
struct disk;
struct hub;
struct kndl_bus;
struct kndl_loop;
struct sandbox_host;
struct session;
struct update;

struct runner {
    struct kndl_loop *loop;
    struct credential *credential;
    struct update *update;
    struct kndl_bus *bus;
    struct hub *hub;
    struct disk *disk;
    struct children *children;
    struct sandbox_host *sandboxes;
    const char *id;
    const char *home;
    char *mod_dir;
    const char *time_zone;
    char *launcher; /* run-claude on this host, beside this program */
    char instance_id[KNDL_ID_SIZE];
    struct kndl_secret seal_pair;
    uint8_t seal_public[KNDL_SEAL_PUBLIC_BYTES];
    bool ends;      /* SIGTERM came */
    bool gives_way; /* to a newer release, when the loop ends */
    int relay_port;
    int32_t max_cpus;
    int32_t max_memory_mib;
    struct session *sessions; /* by session.c */
    struct attend *attend;
};
