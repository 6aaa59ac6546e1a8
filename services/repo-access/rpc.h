#pragma once

/* The services that repo-access answers, and the state that their handlers share. */

#include <stdbool.h>

#include <protobuf-c/protobuf-c.h>

#include "kndl/arena.h"

struct github;
struct kndl_bus;
struct oauth;
struct person;
struct repo;
struct store;

/* What a worker has of its own. */
struct repo_access {
    struct store *store;
    struct github *github;
    struct oauth *oauth;
    struct kndl_bus *bus;
    bool has_offered; /* of the task that offers the Setup link: it did */
};

extern ProtobufCService *const repo_access_service;          /* people: rpc.c */
extern ProtobufCService *const repo_access_internal_service; /* services: rpc_internal.c */

/* A row as the contract says it, in the arena; texts are borrowed from the row. */
struct Kndl__RepoAccess__V1__Person;
struct Kndl__RepoAccess__V1__Repo;
struct Kndl__RepoAccess__V1__Person *rpc_person(const struct person *person,
                                                struct kndl_arena *arena);
struct Kndl__RepoAccess__V1__Repo *rpc_repo(const struct repo *repo, struct kndl_arena *arena);
