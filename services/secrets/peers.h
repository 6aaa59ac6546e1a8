#pragma once

/* What secrets says to other services: to sessions, of a setup token that changed; to redactor, of
 * masks that did. */

struct kndl_bus;
struct kndl_call;
struct token_change;

/* 0: sessions has heard of it. Fails into call->err with the answer's code. */
int peers_tell_token_changed(struct kndl_bus *bus, struct kndl_call *call,
                             const struct token_change *change);

/* Mask sets of Sessions have changed: redactor asks for them anew. May be lost; redactor asks
 * every few seconds anyway. */
void peers_say_masks_changed(struct kndl_bus *bus);
