#pragma once

/* What secrets says to other services: sessions, of a setup token that changed. */

#include "kndl/error.h"

struct kndl_bus;
struct kndl_call;
struct peers;
struct token_change;

int peers_open(struct kndl_bus *bus, struct peers **ret_peers, struct kndl_error *err);
void peers_close(struct peers *peers);

/* 0: sessions has heard of it. Fails into call->err with the answer's code. */
int peers_tell_token_changed(struct peers *peers, struct kndl_call *call,
                             const struct token_change *change);
