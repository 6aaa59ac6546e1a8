#pragma once

/* RS256 JWTs, as a GitHub App signs them. OpenSSL's only door. */

#include <stdint.h>

#include "kndl/buf.h"
#include "kndl/error.h"
#include "kndl/secret.h"

struct kndl_rsa_key;

/* Reads a PEM private key from a file that only its owner may read. */
int kndl_rsa_key_open(const char *path, struct kndl_rsa_key **ret_key, struct kndl_error *err);
void kndl_rsa_key_close(struct kndl_rsa_key *key);

/* {"iss": issuer, "iat": now - 60, "exp": now + 540}, signed; appended to `out`. */
int kndl_jwt_app(struct kndl_rsa_key *key, const char *issuer, int64_t now_ms, struct kndl_buf *out,
                 struct kndl_error *err);
