#pragma once

/*
 * cli.json: which Hub, and the token that this machine has for it. A file that only its owner may
 * read, at KNDL_CONFIG or ~/.config/kndl/cli.json.
 */

#include "kndl/env.h"
#include "kndl/error.h"
#include "kndl/secret.h"

struct config {
    char url[256];            /* without a slash at its end; "" if there is none */
    struct kndl_secret token; /* none before a login */
};

extern const struct kndl_env config_env[];

/* Reads it. Without a file everything is empty. KNDL_FAILED_PRECONDITION: others may read it, or
 * it is not what we wrote. */
int config_load(struct config *ret_config, struct kndl_error *err);

/* Writes it anew, 0600, its folder too if there is none (0700). */
int config_save(const struct config *config, struct kndl_error *err);
void config_done(struct config *config);

/* Takes an address over, without slashes at its end. */
int config_set_url(struct config *config, const char *url, struct kndl_error *err);
