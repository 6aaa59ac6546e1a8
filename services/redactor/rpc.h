#pragma once

#include <protobuf-c/protobuf-c.h>

#include "kndl/service.h"

struct blocks;
struct hits;
struct kndl_bus;
struct sets;

/* What handlers and the task work with. All tables are the process's, shared by its threads. */
struct redactor {
    struct kndl_bus *bus;
    struct sets *sets;
    struct blocks *blocks;
    struct hits *hits;
};

extern ProtobufCService *const redactor_internal_service;
extern ProtobufCService *const redactor_runner_service;
extern ProtobufCService *const redactor_raw_service; /* raw.c */
extern ProtobufCService *const redactor_service;     /* trial.c */

/* Lets go what blocks have held too long. */
extern const struct kndl_task expire_task;

/* Reports how often values were masked. */
extern const struct kndl_task count_task;
