#pragma once

/* Rate limits: token buckets by address and by person. Fixed memory; the rarest are forgotten. */

#include <stdbool.h>

#include "gateway.h"

enum rate {
    RATE_SIGN_IN,         /* by address: begun, of any kind */
    RATE_RETURN,          /* by address: back from GitHub */
    RATE_POLL,            /* by address, or person: has a device been decided about? */
    RATE_BAD_TOKEN,       /* by address: then each answer takes a second */
    RATE_COMMAND,         /* by person */
    RATE_COMMAND_ADDRESS, /* by address: many people behind one proxy or one NAT */
    RATE_READ,            /* by person */
    RATE_INVITE,          /* by person */
    RATE_GUESS,           /* by person: short codes */
    RATE_CONFIRM,         /* by person: confirmations begun */
    RATE_SOCKET,          /* by person */
    RATE_SOCKET_ADDRESS,  /* by address */
};

/*
 * The address that a request counts for: its peer's, or what the proxy in front says of it, if
 * there is one and it is the peer. Until the next call.
 */
const char *rate_address(const struct gateway *gateway, const struct kndl_web_request *request);

/*
 * Takes one token. `who` is an address or a person's id. Fails with KNDL_RESOURCE_EXHAUSTED, in a
 * sentence, and err->retry_ms, that say when there is one again.
 */
int rate_take(struct gateway *gateway, enum rate rate, const char *who, struct kndl_error *err);

void rate_open(struct gateway *gateway);
void rate_close(struct gateway *gateway);
