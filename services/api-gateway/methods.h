#pragma once

/* A public method and its row (kndl/publics.h), by a request's path. */

#include "kndl/publics.h"

/*
 * /<package>.<Service>/<Method>. NULL: no such public method. Sets the descriptors of its service
 * and itself.
 */
const struct kndl_public *method_find(const char *path,
                                      const ProtobufCServiceDescriptor **ret_service,
                                      const ProtobufCMethodDescriptor **ret_method);
