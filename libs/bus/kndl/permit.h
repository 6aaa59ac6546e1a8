#pragma once

/*
 * People's methods: decided by their row of the table (kndl/publics.h) before the handler runs.
 *
 * The service says who the person is to what the request names; what that means is here, for all
 * services alike. Who may do nothing with it learns nothing from the rest of the request.
 */

#include "kndl/publics.h"
#include "kndl/rpc.h"

/*
 * Who the caller is to what the request names: sets *ret_who to bits of enum kndl_who. Without
 * PARTICIPANT it is not there, or its Repo is not seen, which is alike; without MEMBER they are
 * no Member (any more). May leave what it found in call->found, of the call's arena, for the
 * handler. Fails only where that cannot be decided.
 */
typedef int (*kndl_stand_fn)(struct kndl_call *call, const struct kndl_public *row,
                             const ProtobufCMessage *request, unsigned *ret_who);

/* For a `stand` whose look-up failed: what is not there (call->err is NOT_FOUND) gives no bit and
 * no failure, 0; any other failure stays one, -1. */
int kndl_stand_absent(struct kndl_call *call);

/* Fails with UNAUTHENTICATED, NOT_FOUND or PERMISSION_DENIED unless the row lets `stand`'s answer
 * pass. Aborts for a method that is not people's. */
int kndl_call_permit(struct kndl_call *call, const ProtobufCMessage *request, kndl_stand_fn stand);

/* The same for an answer that is there. `request` is for the words alone. */
int kndl_public_check(const struct kndl_public *row, unsigned who, const ProtobufCMessage *request,
                      struct kndl_error *err);

/* For the owner's own transaction, which looks at the row again: PERMISSION_DENIED, or for a MEMBER
 * UNAUTHENTICATED, in the words of the check. Returns -1. */
int kndl_public_deny(enum kndl_who wanted, struct kndl_error *err);

/* NOT_FOUND, as the check says it of a Session that is not there or not seen. Returns -1. */
int kndl_session_absent(const char *session_id, struct kndl_error *err);

/* A field of a request by its name; "" or 0 if it has none. */
const char *kndl_request_text(const ProtobufCMessage *request, const char *field);
int64_t kndl_request_number(const ProtobufCMessage *request, const char *field);

/* A request_id has 1 to 64 printable ASCII characters; else INVALID_ARGUMENT. */
enum { KNDL_REQUEST_ID_CHARS_MAX = 64 };
int kndl_call_check_request_id(struct kndl_call *call, const char *request_id);

/* The method and all that its request asks for, in the arena: two that differ differ in this. */
struct kndl_slice kndl_call_content(struct kndl_call *call, const ProtobufCMessage *request);

/*
 * As KNDL_RPC, for a method of people: `stand` first, and the handler only if the row permits.
 * KNDL_RPC itself refuses to serve such a method.
 */
#define KNDL_PUBLIC(package, Service, Method, fn, stand)                                           \
    static void rpc_##fn(package(Service##_Service) *service,                                      \
                         const package(Method##Request) *request,                                  \
                         package(Method##Response_Closure) reply, void *data)                      \
    {                                                                                              \
        struct kndl_call *call = data;                                                             \
        package(Method##Response) response;                                                        \
        (void)service;                                                                             \
        if (kndl_call_permit(call, &request->base, stand) < 0) {                                   \
            reply(NULL, data);                                                                     \
            return;                                                                                \
        }                                                                                          \
        kndl_call_begin(call, &response.base);                                                     \
        reply(fn(call, request, &response) < 0 ? NULL : &response, data);                          \
    }
