#include "page.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "hub.h"
#include "kndl/mem.h"
#include "kndl/raw_client.h"

#define BUF KNDL_CLEANUP(kndl_buf_done) struct kndl_buf

static G(ServerFrame) * read_frame(int fd)
{
    BUF payload = {0};

    if (kndl_raw_read_frame(fd, &payload) != 2)
        return NULL;
    return kndl__gateway__v1__server_frame__unpack(NULL, payload.size,
                                                   (const uint8_t *)payload.data);
}

void page_free(G(ServerFrame) * frame)
{
    kndl__gateway__v1__server_frame__free_unpacked(frame, NULL);
}

G(ServerFrame) * page_read_kind(int fd, G(ServerFrame__KindCase) kind)
{
    G(ServerFrame) *frame = read_frame(fd);

    assert_non_null(frame);
    assert_int_equal(frame->kind_case, kind);
    return frame;
}

int page_connect(struct fixture *f)
{
    BUF head = {0};
    BUF body = {0};
    int fd = fixture_send(f, &(struct ask_options){.method = "GET",
                                                   .path = "/socket",
                                                   .origin = "own",
                                                   .cookie = fixture_web_token,
                                                   .extra = UPGRADE KNDL_PROTOCOL});

    assert_int_equal(kndl_raw_read_answer(fd, &head, &body), 101);
    assert_non_null(strstr(head.data, "\r\nSec-WebSocket-Protocol: kndl\r\n"));
    G(ServerFrame) *frame = PAGE_READ(fd, WELCOME);
    assert_string_equal(frame->welcome->person_id, "ada");
    assert_true(frame->welcome->version[0] != '\0');
    page_free(frame);
    return fd;
}

void page_say(int fd, G(ClientFrame) * frame)
{
    BUF packed = {0};

    fake_pack(&packed, &frame->base);
    kndl_raw_send_frame(fd, 0x82, packed.data, packed.size);
}

void page_say_open(int fd, uint32_t channel, const char *session, int64_t after_seq)
{
    G(ClientFrame) frame = KNDL__GATEWAY__V1__CLIENT_FRAME__INIT;
    G(Open) open = KNDL__GATEWAY__V1__OPEN__INIT;

    open.channel = channel;
    open.session_id = (char *)session;
    open.after_seq = after_seq;
    frame.kind_case = KNDL__GATEWAY__V1__CLIENT_FRAME__KIND_OPEN;
    frame.open = &open;
    page_say(fd, &frame);
}

/* Opens the Session and takes the first View. */
int page_open_session(struct fixture *f, int64_t after_seq)
{
    int fd = page_connect(f);

    page_say_open(fd, 1, SESSION, after_seq);
    G(ServerFrame) *frame = PAGE_READ(fd, VIEW);
    assert_int_equal(frame->view->channel, 1);
    assert_true(frame->view->is_first);
    page_free(frame);
    fixture_sync(f);
    return fd;
}

/* Reads Events frames until `last`; each number comes once. */
void page_read_events(int fd, int64_t first, int64_t last)
{
    while (first <= last) {
        G(ServerFrame) *frame = PAGE_READ(fd, EVENTS);

        assert_int_equal(frame->events->channel, 1);
        for (size_t i = 0; i < frame->events->n_events; i++)
            assert_int_equal(frame->events->events[i]->seq, first++);
        page_free(frame);
    }
    assert_int_equal(first, last + 1);
}

void page_read_close(int fd, int status)
{
    BUF payload = {0};

    assert_int_equal(kndl_raw_read_frame(fd, &payload), 8);
    assert_int_equal((unsigned char)payload.data[0] << 8 | (unsigned char)payload.data[1], status);
}
