#pragma once

/*
 * Who may call each public method: one table in code, which the owners of the rows ask, and by
 * which a test tries every kind of caller on every method (integration-tests/flows/matrix).
 * docs/permissions.md shows it. A public method without a row does not compile.
 *
 * Checks come in this order, always: a credential of the right kind, else UNAUTHENTICATED, alike
 * for all; the object is there and the person sees its Repo, else NOT_FOUND, alike for both; the
 * row below, else PERMISSION_DENIED; the state, else ABORTED. (Through which client a method may be
 * called at all is the gateway's: methods.c.)
 */

#include <protobuf-c/protobuf-c.h>

struct kndl_buf;

enum kndl_who {
    KNDL_WHO_MEMBER,      /* every Member: it shows or changes what is their own, or all Members' */
    KNDL_WHO_PARTICIPANT, /* who sees the Repo, or that of the Session, that it names */
    KNDL_WHO_CREATOR,     /* the Creator of the Session that it names, while they see its Repo */
    KNDL_WHO_OWNER,       /* the Owner, whatever it names */
};

/* Aborts for a method that is not public. */
enum kndl_who kndl_public_who(const ProtobufCMethodDescriptor *method);

/* The services whose methods are public; ends with NULL. */
extern const ProtobufCServiceDescriptor *const kndl_public_services[];

/* docs/permissions.md, made from the table. */
void kndl_publics_print(struct kndl_buf *out);
