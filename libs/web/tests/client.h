#pragma once

/* A raw, blocking client, which says what tests tell it, byte for byte. */

#include "kndl/buf.h"

int client_connect(int port);
void client_send(int fd, const char *text);
void client_send_bytes(int fd, const void *data, size_t size);

/* Reads until so much is there, or the server closed; false: it closed. */
bool client_read(int fd, struct kndl_buf *out, size_t size);

/* Reads until the server closed (a reset is one too). */
void client_read_to_end(int fd, struct kndl_buf *out);

/* Reads one answer with a Content-Length; its status, 0 if the server closed instead. */
int client_read_answer(int fd, struct kndl_buf *head, struct kndl_buf *body);

/* Connects, sends, reads to the end; the first answer's status, 0 for none. */
int client_ask(int port, const char *text, size_t size, struct kndl_buf *all);

/* Connects and shakes hands for /socket. */
int client_open_socket(int port);

/* Sends a masked frame. first is FIN, RSV and opcode. */
void client_send_frame(int fd, unsigned char first, const void *payload, size_t size);

/* Reads a frame of the server's; its opcode, -1 if it closed the connection. */
int client_read_frame(int fd, struct kndl_buf *payload);
