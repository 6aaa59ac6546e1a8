/* Subjects, made from descriptors and taken apart again. */

#include "subject.h"

#include <string.h>

#include "kndl/bus.h"
#include "kndl/permissions.h"

static bool ends_with(const char *text, const char *end)
{
    size_t size = strlen(text);
    size_t end_size = strlen(end);

    return size >= end_size && strcmp(text + size - end_size, end) == 0;
}

enum kndl_family kndl_family_of(const ProtobufCServiceDescriptor *service)
{
    if (strcmp(service->package, "kndl.runner.v1") == 0)
        return KNDL_FAMILY_COMMAND;
    if (ends_with(service->short_name, "RawService"))
        return KNDL_FAMILY_RAW;
    if (ends_with(service->short_name, "RunnerService"))
        return KNDL_FAMILY_RUNNER;
    return KNDL_FAMILY_RPC;
}

/* sessions.v1 of kndl.sessions.v1 */
static const char *package_of(const ProtobufCServiceDescriptor *service)
{
    return service->package + strlen("kndl.");
}

void kndl_subject_write(struct kndl_buf *out, const ProtobufCServiceDescriptor *service,
                        const struct kndl_route *route)
{
    switch (kndl_family_of(service)) {
    case KNDL_FAMILY_RPC:
        kndl_buf_printf(out, "kndl.rpc.%s.%s.%s", package_of(service), service->short_name,
                        route->method);
        return;
    case KNDL_FAMILY_RUNNER:
        kndl_buf_printf(out, "kndl.runner.%s.rpc.%s.%s.%s", route->runner_id, package_of(service),
                        service->short_name, route->method);
        return;
    case KNDL_FAMILY_COMMAND:
        kndl_buf_printf(out, "kndl.runner.%s.cmd.%s", route->runner_id, route->method);
        return;
    case KNDL_FAMILY_RAW:
        kndl_buf_printf(out, "kndl.raw.%s.%s.%s", route->instance_id, route->runner_id,
                        route->session_id);
        return;
    }
}

bool kndl_token_is_plain(const char *text)
{
    size_t size = 0;

    if (text == NULL)
        return false;
    for (; text[size] != '\0'; size++) {
        char c = text[size];
        bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                        (c >= '0' && c <= '9') || c == '-' || c == '_';
        if (!is_plain || size == KNDL_TOKEN_CHARS_MAX)
            return false;
    }
    return size > 0;
}

bool kndl_subject_token(const char *subject, unsigned index, char ret[KNDL_TOKEN_CHARS_MAX + 1])
{
    for (; index > 0; index--) {
        subject = strchr(subject, '.');
        if (subject == NULL)
            return false;
        subject++;
    }
    size_t size = strcspn(subject, ".");
    if (size > KNDL_TOKEN_CHARS_MAX)
        return false;
    memcpy(ret, subject, size);
    ret[size] = '\0';
    return kndl_token_is_plain(ret);
}

void kndl_inbox_write(struct kndl_buf *out, const char *user, const char *runner_id)
{
    kndl_buf_printf(out, "_INBOX.%s", user);
    if (runner_id != NULL)
        kndl_buf_printf(out, ".%s", runner_id);
}

bool kndl_reply_is_allowed(const char *subject, const char *reply)
{
    char user[KNDL_TOKEN_CHARS_MAX + 1];
    char runner_id[KNDL_TOKEN_CHARS_MAX + 1];
    bool is_runner;

    if (strncmp(reply, "_INBOX.", strlen("_INBOX.")) != 0 || !kndl_subject_token(reply, 1, user))
        return false;
    is_runner = strcmp(user, "runner") == 0;
    if (is_runner && !kndl_subject_token(reply, 2, runner_id))
        return false;
    return kndl_permissions_allow(user, is_runner ? runner_id : NULL, subject);
}
