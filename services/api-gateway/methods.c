/* From a path to a row of the table. */

#include "methods.h"

#include <string.h>

const struct kndl_public *method_find(const char *path,
                                      const ProtobufCServiceDescriptor **ret_service,
                                      const ProtobufCMethodDescriptor **ret_method)
{
    const char *slash = path[0] == '/' ? strchr(path + 1, '/') : NULL;

    if (slash == NULL)
        return NULL;
    size_t length = (size_t)(slash - path - 1);
    for (size_t i = 0; kndl_public_services[i].service != NULL; i++) {
        const ProtobufCServiceDescriptor *service = kndl_public_services[i].service;
        const ProtobufCMethodDescriptor *method;

        if (strncmp(service->name, path + 1, length) != 0 || service->name[length] != '\0')
            continue;
        method = protobuf_c_service_descriptor_get_method_by_name(service, slash + 1);
        if (method == NULL)
            return NULL;
        *ret_service = service;
        *ret_method = method;
        return kndl_public_find(method);
    }
    return NULL;
}
