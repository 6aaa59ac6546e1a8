/* Looks up rows of the table. */

#include <string.h>

#include "kndl/publics.h"

static const struct kndl_public *find_among(const struct kndl_public_service *services,
                                            const ProtobufCMethodDescriptor *method)
{
    for (; services->service != NULL; services++) {
        const ProtobufCServiceDescriptor *service = services->service;

        if (method < service->methods || method >= service->methods + service->n_methods)
            continue;
        for (unsigned i = 0; i < services->count; i++)
            if (strcmp(services->rows[i].method, method->name) == 0)
                return &services->rows[i];
    }
    return NULL;
}

const struct kndl_public *kndl_public_find(const ProtobufCMethodDescriptor *method)
{
    const struct kndl_public *row = find_among(kndl_public_services, method);

    return row != NULL ? row : find_among(kndl_runner_services, method);
}

static bool is_method(const char *wanted, const char *method)
{
    if (strcmp(wanted, "READ") == 0)
        return strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
    if (strcmp(wanted, "*") == 0)
        return strcmp(method, "UPGRADE") != 0;
    return strcmp(wanted, method) == 0;
}

static bool is_path(const char *wanted, const char *path)
{
    size_t size = strlen(wanted);

    if (wanted[size - 1] == '*')
        return strncmp(wanted, path, size - 1) == 0;
    return strcmp(wanted, path) == 0;
}

enum kndl_path_id kndl_path_find(enum kndl_door door, const char *method, const char *path)
{
    for (unsigned i = 0; i < kndl_path_count; i++)
        if (kndl_paths[i].door == door && is_method(kndl_paths[i].method, method) &&
            is_path(kndl_paths[i].path, path))
            return kndl_paths[i].id;
    return KNDL_PATH_NONE;
}
