#pragma once

/*
 * Calls to the Hub: Connect's unary protocol, binary, with this machine's token. Not thread-safe.
 */

#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

#include "config.h"
#include "kndl/arena.h"
#include "kndl/buf.h"
#include "kndl/error.h"
#include "kndl/id.h"

struct client;

/* INTERNAL: an answer of the Hub that lacks what it must have. Returns -1. */
int client_misread(struct kndl_error *err);

/* The config is borrowed and must outlive it. */
struct client *client_new(const struct config *config);
void client_free(struct client *client);

/* Calls from here on carry this in place of the machine's token: a confirmation. Kept in locked
 * memory, until client_free(). */
void client_carry(struct client *client, struct kndl_slice confirmation);

/*
 * Calls a method and unpacks the answer into the arena. Fails with the code that the Hub answered,
 * KNDL_UNAVAILABLE if it cannot be reached (tried three times, as is what a limit refuses, unless
 * the Hub says that it takes more than seconds: a request names itself, so that it is not done
 * twice). err->retry_ms: when the Hub says that it makes sense to come back. timeout_ms 0: 30 s.
 */
int client_call(struct client *client, const ProtobufCServiceDescriptor *service,
                const char *method, const ProtobufCMessage *request, uint32_t timeout_ms,
                struct kndl_arena *arena, ProtobufCMessage **ret_response, struct kndl_error *err);

/* The same with types checked: CLIENT_CALL(V1, GetSession, descriptor, cli, &request, &response,
 * err), where `cli` has a client and an arena. */
#define CLIENT_CALL(package, Method, descriptor, cli, request, ret_response, err)                  \
    ({                                                                                             \
        const package(Method##Request) *request_ = (request);                                      \
        package(Method##Response) **response_ = (ret_response);                                    \
        client_call((cli)->client, &(descriptor), #Method, &request_->base, 0, (cli)->arena,       \
                    (ProtobufCMessage **)response_, err);                                          \
    })

/* The same for what changes something: it goes with a request id of its own. */
#define CLIENT_CHANGE(package, Method, descriptor, cli, request, ret_response, err)                \
    ({                                                                                             \
        char request_id_[KNDL_ID_SIZE];                                                            \
        kndl_id_new(request_id_);                                                                  \
        (request)->request_id = request_id_;                                                       \
        int result_ = CLIENT_CALL(package, Method, descriptor, cli, request, ret_response, err);   \
        (request)->request_id = (char *)"";                                                        \
        result_;                                                                                   \
    })

/* Posts JSON to a route of the gateway's own, without a token; the answer's body into `out`. */
int client_post_json(struct client *client, const char *path, const char *body,
                     struct kndl_buf *out, struct kndl_error *err);
