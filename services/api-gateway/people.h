#pragma once

/*
 * Whose credential is it? repo-access says; its answers are kept for 5 s at most, and forgotten at
 * once when it publishes any fact.
 */

#include "ask.h"
#include "credential.h"
#include "kndl/publics.h"

struct principal {
    struct credential credential;
    enum kndl_client client; /* 0: a confirmation for what no method is */
    char id[64 + 1];         /* of the person */
};

/* From what is kept; false: ask. */
bool people_find(struct gateway *gateway, const struct credential *credential,
                 struct principal *ret);

/* Asks repo-access; what it answers is for people_read(). */
struct ask *people_ask(struct gateway *gateway, const struct credential *credential,
                       const char *trace, ask_fn fn, void *data);

/*
 * Reads the answer and keeps it. Fails with KNDL_UNAUTHENTICATED, or as the asking did: who is not
 * known gets nothing.
 */
int people_read(struct gateway *gateway, const struct credential *credential,
                const struct kndl_reply *reply, struct principal *ret, struct kndl_error *err);

/* Forgets all that is kept. */
void people_forget(struct gateway *gateway);

void people_open(struct gateway *gateway);
void people_close(struct gateway *gateway);
