#pragma once

/*
 * What secrets says to other services (sessions, of a setup token that changed; redactor, of masks
 * that did), and what it asks: repo-access, which Repos the caller may see.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kndl/error.h"

struct kndl_access;
struct kndl_bus;
struct kndl_call;
struct peers;
struct token_change;

int peers_open(struct kndl_bus *bus, struct peers **ret_peers, struct kndl_error *err);
void peers_close(struct peers *peers);

/* 0: sessions has heard of it. Fails into call->err with the answer's code. */
int peers_tell_token_changed(struct peers *peers, struct kndl_call *call,
                             const struct token_change *change);

/* repo-access: as in kndl/access.h. */
int peers_resolve_repo(struct peers *peers, struct kndl_call *call, int64_t repo_id,
                       const char *name, int64_t *ret_id, const char **ret_name);
int peers_check_access(struct peers *peers, struct kndl_call *call, const int64_t *repo_ids,
                       size_t count, struct kndl_access *ret_access);

/* Mask sets of Sessions have changed: redactor asks for them anew. May be lost; redactor asks
 * every few seconds anyway. */
void peers_say_masks_changed(struct peers *peers);
