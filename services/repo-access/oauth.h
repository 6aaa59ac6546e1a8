#pragma once

/*
 * Signing in with GitHub, as its OAuth client: where to send a browser, and who came back. All that
 * ties the way there to the way back follows from one secret that the browser alone keeps, in a
 * cookie: `state` and the PKCE verifier are its hashes. A token of GitHub's lives for one question
 * and is never kept.
 */

#include <stdbool.h>

#include "github.h"
#include "kndl/buf.h"
#include "kndl/error.h"
#include "kndl/secret.h"

struct oauth;

int oauth_open(struct oauth **ret_oauth, struct kndl_error *err);
void oauth_close(struct oauth *oauth);

/* Is there a client? Without one nobody can sign in with GitHub. */
bool oauth_is_on(const struct oauth *oauth);

/* Appends the address that the browser goes to. */
void oauth_write_url(const struct oauth *oauth, struct kndl_slice browser, struct kndl_buf *out);

/* Is this the state that belongs to the browser's secret? In constant time. */
bool oauth_is_state(struct kndl_slice browser, const char *state);

/*
 * Exchanges the code and asks GitHub who it is. Fails with KNDL_UNAUTHENTICATED if GitHub refuses
 * the code, and with KNDL_UNAVAILABLE if it cannot answer, or not sensibly.
 */
int oauth_find_user(struct oauth *oauth, struct kndl_slice browser, const char *code,
                    struct kndl_arena *arena, struct github_user *ret_user, struct kndl_error *err);
