/* The order of checks, and the words of the refusals. */

#include "kndl/permit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "subject.h"

static const void *field_of(const ProtobufCMessage *request, const char *name, ProtobufCType type)
{
    const ProtobufCFieldDescriptor *field =
        protobuf_c_message_descriptor_get_field_by_name(request->descriptor, name);

    return field == NULL || field->type != type ? NULL : (const char *)request + field->offset;
}

const char *kndl_request_text(const ProtobufCMessage *request, const char *field)
{
    const char *const *text = field_of(request, field, PROTOBUF_C_TYPE_STRING);

    return text == NULL ? "" : *text;
}

int64_t kndl_request_number(const ProtobufCMessage *request, const char *field)
{
    const int64_t *number = field_of(request, field, PROTOBUF_C_TYPE_INT64);

    return number == NULL ? 0 : *number;
}

int kndl_call_check_request_id(struct kndl_call *call, const char *request_id)
{
    size_t size = 0;

    if (request_id[0] == '\0')
        return kndl_fail(&call->err, KNDL_INVALID_ARGUMENT, "request_id is missing");
    while (size <= KNDL_REQUEST_ID_CHARS_MAX && request_id[size] > ' ' && request_id[size] < 0x7f)
        size++;
    if (size > KNDL_REQUEST_ID_CHARS_MAX || request_id[size] != '\0')
        return kndl_fail(&call->err, KNDL_INVALID_ARGUMENT,
                         "request_id has 1 to %d printable ASCII characters",
                         KNDL_REQUEST_ID_CHARS_MAX);
    return 0;
}

struct kndl_slice kndl_call_content(struct kndl_call *call, const ProtobufCMessage *request)
{
    size_t name_size = strlen(call->method->name);
    size_t size = protobuf_c_message_get_packed_size(request);
    uint8_t *content = kndl_arena_alloc(call->arena, name_size + size);

    memcpy(content, call->method->name, name_size);
    protobuf_c_message_pack(request, content + name_size);
    return kndl_slice(content, name_size + size);
}

int kndl_session_absent(const char *session_id, struct kndl_error *err)
{
    if (!kndl_token_is_plain(session_id))
        return kndl_fail(err, KNDL_NOT_FOUND, "this Session does not exist");
    return kndl_fail(err, KNDL_NOT_FOUND, "Session %s does not exist", session_id);
}

static int say_absent(enum kndl_about about, const ProtobufCMessage *request,
                      struct kndl_error *err)
{
    const char *session_id = kndl_request_text(request, "session_id");
    const char *name = kndl_request_text(request, "repo_name");
    int64_t repo_id = kndl_request_number(request, "repo_id");

    if (about == KNDL_ABOUT_SHARED)
        return kndl_fail(err, KNDL_NOT_FOUND, "this Shared variable does not exist");
    if (about == KNDL_ABOUT_SESSION)
        return kndl_session_absent(session_id, err);
    return repo_id != 0 || name[0] == '\0'
               ? kndl_fail(err, KNDL_NOT_FOUND, "you have no access to a Repo with the id %" PRId64,
                           repo_id)
               : kndl_fail(err, KNDL_NOT_FOUND, "you have no access to a Repo named %.140s", name);
}

int kndl_public_deny(enum kndl_who wanted, struct kndl_error *err)
{
    switch (wanted) {
    case KNDL_WHO_MEMBER:
        return kndl_fail(err, KNDL_UNAUTHENTICATED, "sign in first");
    case KNDL_WHO_CREATOR:
        return kndl_fail(err, KNDL_PERMISSION_DENIED, "only its Creator may drive a Session");
    case KNDL_WHO_KEEPER:
        return kndl_fail(err, KNDL_PERMISSION_DENIED,
                         "this Shared variable is linked to Repos that you may not see; who may "
                         "see all of them may change it");
    case KNDL_WHO_OWNER:
        return kndl_fail(err, KNDL_PERMISSION_DENIED, "only the Owner may do this");
    default:
        return kndl_fail(err, KNDL_PERMISSION_DENIED, "you may not do this");
    }
}

int kndl_public_check(const struct kndl_public *row, unsigned who, const ProtobufCMessage *request,
                      struct kndl_error *err)
{
    if (!(who & KNDL_WHO_MEMBER))
        return kndl_public_deny(KNDL_WHO_MEMBER, err);
    if (row->about != KNDL_ABOUT_NOTHING && row->about != KNDL_ABOUT_SEEN &&
        !(who & KNDL_WHO_PARTICIPANT))
        return say_absent(row->about, request, err);
    if (!(who & row->who))
        return kndl_public_deny(row->who, err);
    return 0;
}

int kndl_stand_absent(struct kndl_call *call)
{
    if (call->err.code != KNDL_NOT_FOUND)
        return -1;
    call->err = (struct kndl_error){0};
    return 0;
}

int kndl_call_permit(struct kndl_call *call, const ProtobufCMessage *request, kndl_stand_fn stand)
{
    const struct kndl_public *row = kndl_public_find(call->method);
    unsigned who = 0;

    if (row == NULL || row->clients == 0)
        abort();
    if (call->actor.kind != KNDL_PERSON)
        return kndl_fail(&call->err, KNDL_UNAUTHENTICATED, "sign in first");
    if (stand(call, row, request, &who) < 0 || kndl_public_check(row, who, request, &call->err) < 0)
        return -1;
    call->is_permitted = true;
    return 0;
}
