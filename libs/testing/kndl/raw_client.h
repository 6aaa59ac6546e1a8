#pragma once

/*
 * A raw HTTP and WebSocket client for tests, blocking, which says what it is told byte for byte.
 * Connections are the caller's to close(). What does not come within 20 s fails the test.
 */

#include <stdbool.h>
#include <stddef.h>

#include "kndl/buf.h"

/* A port of 127.0.0.1 that is free now. */
int kndl_raw_free_port(void);

/* To a port of 127.0.0.1. */
int kndl_raw_connect(int port);
void kndl_raw_send(int fd, const char *text);
void kndl_raw_send_bytes(int fd, const void *data, size_t size);

/* Reads until so much is there, or the server closed; false: it closed. */
bool kndl_raw_read(int fd, struct kndl_buf *out, size_t size);

/* Reads until the server closed (a reset is one too). */
void kndl_raw_read_to_end(int fd, struct kndl_buf *out);

/* Reads one answer with a Content-Length; its status, 0 if the server closed instead. */
int kndl_raw_read_answer(int fd, struct kndl_buf *head, struct kndl_buf *body);

/* Connects, sends, reads to the end; the first answer's status, 0 for none. */
int kndl_raw_ask(int port, const char *text, size_t size, struct kndl_buf *all);

/* Sends a masked frame. first is FIN, RSV and opcode. */
void kndl_raw_send_frame(int fd, unsigned char first, const void *payload, size_t size);

/* Reads a frame of the server's; its opcode, -1 if it closed the connection. */
int kndl_raw_read_frame(int fd, struct kndl_buf *payload);
