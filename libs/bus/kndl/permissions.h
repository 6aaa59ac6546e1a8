#pragma once

/*
 * Who may publish and receive what: one table in code, from which kndl-init mints the services'
 * NATS users and sessions a Runner's, and by which libs/bus refuses what comes another way.
 *
 * Rules (architecture.md, The bus): each user listens on its own inbox prefix _INBOX.<user>.
 * alone; nobody publishes to _INBOX.>; responders have allow_responses; libs/bus answers only a
 * reply subject under the inbox prefix of a user that the table lets publish that subject.
 * Every method of every service in proto/ has a row, checked against the descriptors by a test.
 */

#include <stdbool.h>
#include <stddef.h>

#include "kndl/buf.h"

/* The NATS users that kndl-init makes, NULL-terminated: the services' words and "inspect". */
extern const char *const kndl_bus_users[];

/* The subjects a user may publish to and subscribe to, from the table; "runner" with its id. The
 * arrays and their strings are the caller's (kndl_subjects_done). */
struct kndl_subjects {
    char **publish;   /* NULL-terminated */
    char **subscribe; /* NULL-terminated */
    bool responds;
};
void kndl_permissions_of(const char *user, const char *runner_id, struct kndl_subjects *ret);
void kndl_subjects_done(struct kndl_subjects *subjects);

/* May this user publish to this subject? (for the reply check, and for tests) */
bool kndl_permissions_allow(const char *user, const char *runner_id, const char *subject);

/* docs/subjects.md, made from the table and the descriptors. */
void kndl_permissions_print(struct kndl_buf *out);
