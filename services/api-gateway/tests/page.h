#pragma once

/* The page's end of the WebSocket of a fixture's gateway, as ada in her browser. What is read and
 * is something else fails the test. */

#include "fixture.h"
#include "kndl/gateway/v1/frame.pb-c.h"

#define G(name) Kndl__Gateway__V1__##name

/* What makes a GET the beginning of a socket. */
#define UPGRADE                                                                                    \
    "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"                   \
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
#define KNDL_PROTOCOL "Sec-WebSocket-Protocol: kndl\r\n"

/* A socket that was welcomed. */
int page_connect(struct fixture *f);
/* The same with the hub's Session open on channel 1, and its first View taken. */
int page_open_session(struct fixture *f, int64_t after_seq);

void page_say(int fd, G(ClientFrame) * frame);
void page_say_open(int fd, uint32_t channel, const char *session, int64_t after_seq);

/* The next frame, which is of that kind: PAGE_READ(fd, VIEW); freed by page_free(). */
G(ServerFrame) * page_read_kind(int fd, G(ServerFrame__KindCase) kind);
void page_free(G(ServerFrame) * frame);
#define PAGE_READ(fd, KIND) page_read_kind(fd, KNDL__GATEWAY__V1__SERVER_FRAME__KIND_##KIND)

/* Reads Events frames of channel 1 until `last`; each number comes once. */
void page_read_events(int fd, int64_t first, int64_t last);

/* The socket ends with that status. */
void page_read_close(int fd, int status);
