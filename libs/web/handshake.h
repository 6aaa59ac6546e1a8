#pragma once

/* The proof of RFC 6455 that a server understood a WebSocket's handshake. Pure. */

enum { HANDSHAKE_ACCEPT_SIZE = 29 }; /* base64 of a SHA-1, and a NUL */

/* Sec-WebSocket-Accept for a Sec-WebSocket-Key of 24 characters. */
void handshake_accept(const char *key, char ret_accept[HANDSHAKE_ACCEPT_SIZE]);
