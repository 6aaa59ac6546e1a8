#pragma once

/*
 * The public methods, and who may call each: the gateway's half of permissions. (The row's owner
 * has the other half.) Routing and tests read this one table; a method of a person's service that
 * has no row here does not compile.
 */

#include <stdbool.h>
#include <stddef.h>

#include <protobuf-c/protobuf-c.h>

enum method_callers {
    METHOD_WEB = 1, /* a person in a browser, by cookie */
    METHOD_CLI = 2, /* a person's CLI, by its token */
    METHOD_BOTH = METHOD_WEB | METHOD_CLI,
};

enum method_flags {
    METHOD_CHANGES = 1,          /* something; counted as a command by the rate limit */
    METHOD_WAITS = 2,            /* ListEvents: wait_ms is the gateway's */
    METHOD_NAMES_CREDENTIAL = 4, /* credential_hash is the gateway's: what the caller came with */
    METHOD_INVITES = 8,          /* 20 an hour */
    METHOD_GUESSES = 16,         /* takes a short code: 20 a minute */
};

struct method {
    const char *name;
    enum method_callers callers;
    unsigned flags;
};

struct method_service {
    const ProtobufCServiceDescriptor *descriptor;
    const struct method *methods;
    size_t count;
};

/* All services that people may ask; ends with a NULL descriptor. */
extern const struct method_service method_services[];

/*
 * Finds by a request's path, /<package>.<Service>/<Method>. NULL: no such public method. Sets the
 * descriptors of its service and itself.
 */
const struct method *method_find(const char *path, const ProtobufCServiceDescriptor **ret_service,
                                 const ProtobufCMethodDescriptor **ret_method);

/* Is this a path of that form at all (and so never a page's)? */
bool method_is_path(const char *path);
