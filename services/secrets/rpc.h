#pragma once

/* The services that secrets answers, and the state that their handlers share. */

#include <protobuf-c/protobuf-c.h>

struct kndl_bus;
struct store;

/* What a worker has of its own. */
struct secrets {
    struct store *store;
    struct kndl_bus *bus;
};

extern ProtobufCService *const secrets_service;          /* people: rpc.c */
extern ProtobufCService *const secrets_internal_service; /* services: rpc_internal.c */
extern ProtobufCService *const secrets_runner_service;   /* Runners: rpc_runner.c */
