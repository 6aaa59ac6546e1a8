#pragma once

/*
 * Subjects, made from descriptors and taken apart again; private to libs/bus. Pure; any thread.
 *
 * An id that comes into a subject is one token of letters, digits, - and _, 64 at most: whoever
 * could put a dot or a star there would choose the subject.
 */

#include <stdbool.h>

#include <protobuf-c/protobuf-c.h>

#include "kndl/buf.h"

enum { KNDL_TOKEN_CHARS_MAX = 64, KNDL_SUBJECT_BYTES_MAX = 512 };

/* A service's family, by its name. */
enum kndl_family {
    KNDL_FAMILY_RPC,     /* kndl.rpc.<package>.<Service>.<Method> */
    KNDL_FAMILY_RUNNER,  /* kndl.runner.<runner>.rpc.<package>.<Service>.<Method> */
    KNDL_FAMILY_COMMAND, /* kndl.runner.<runner>.cmd.<Method> */
    KNDL_FAMILY_RAW,     /* kndl.raw.<instance>.<runner>.<session>; its one method isn't named */
};

enum kndl_family kndl_family_of(const ProtobufCServiceDescriptor *service);

/* What a subject holds beside the service. Those that the family has not are ignored. */
struct kndl_route {
    const char *method;
    const char *runner_id;
    const char *instance_id;
    const char *session_id;
};

void kndl_subject_write(struct kndl_buf *out, const ProtobufCServiceDescriptor *service,
                        const struct kndl_route *route);

/* Is this one token that may stand in a subject? */
bool kndl_token_is_plain(const char *text);

/* Copies the token at `index`, from 0; false if there is none or it isn't plain. */
bool kndl_subject_token(const char *subject, unsigned index, char ret[KNDL_TOKEN_CHARS_MAX + 1]);

/* _INBOX.<user> or _INBOX.runner.<runner>, without a dot behind. */
void kndl_inbox_write(struct kndl_buf *out, const char *user, const char *runner_id);

/* May an answer to what came on `subject` go to `reply`? */
bool kndl_reply_is_allowed(const char *subject, const char *reply);
