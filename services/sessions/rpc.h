#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

struct kndl_bus;
struct minter;
struct store;

/* What handlers and tasks of sessions work with: one for each thread. */
struct sessions {
    struct store *store;
    struct kndl_bus *bus; /* to peers, Runners and viewers */
    struct minter *minter;
    bool is_upgraded;     /* upgrade.c's */
    int64_t opened_at_ms; /* kndl_clock_ms(): the deadlines give Runners time to be heard first */
};

/* What the package answers, for people, services and Runners; state is a struct sessions. */
extern ProtobufCService *const sessions_service;
extern ProtobufCService *const runners_service;           /* rpc_runners.c */
extern ProtobufCService *const sessions_internal_service; /* rpc_internal.c */
extern ProtobufCService *const sessions_runner_service;   /* rpc_runner.c */
