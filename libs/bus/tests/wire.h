#pragma once

/* NATS spoken by hand, so that a test knows what the server refused before it goes on. */

#include <stdbool.h>
#include <stddef.h>

struct wire;

struct wire *wire_open(const char *url, const char *creds_file);
/* Does the server refuse these credentials? */
bool wire_is_refused(const char *url, const char *creds_file);
void wire_close(struct wire *wire);

/* May this user do it? Asked of the server. */
bool wire_may_publish(struct wire *wire, const char *subject);
bool wire_may_subscribe(struct wire *wire, const char *subject);

/* Publishes with a reply subject and no headers; the server has it when this returns. */
void wire_publish(struct wire *wire, const char *subject, const char *reply, const char *payload);

/* Messages that came by this connection's subscriptions so far. */
size_t wire_received(struct wire *wire);

/* Like wire_may_subscribe(), and stays. */
bool wire_subscribe(struct wire *wire, const char *subject);
