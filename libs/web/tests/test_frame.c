/* Fault test 30: frames that no client should send, without a network. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "frame.h"

/* Feeds frames that are masked with zeros until one is not just taken. */
static enum frame_result feed(struct frame_reader *reader, const char *bytes, size_t size,
                              struct frame *ret)
{
    static uint8_t copy[1024];
    enum frame_result result;
    size_t at = 0;
    size_t used;

    memcpy(copy, bytes, size);
    do {
        result = frame_next(reader, copy + at, size - at, &used, ret);
        at += used;
    } while (result == FRAME_PART);
    return result;
}

#define FEED(reader, bytes, frame) feed(reader, bytes, sizeof(bytes) - 1, frame)

static int status_of(const char *bytes, size_t size)
{
    struct frame_reader reader = {.bytes_max = 100};
    struct frame frame = {0};
    enum frame_result result = feed(&reader, bytes, size, &frame);

    frame_reader_done(&reader);
    return result == FRAME_BROKEN ? frame.status : 0;
}

#define STATUS(bytes) status_of(bytes, sizeof(bytes) - 1)

static void a_message_comes_whole_or_in_fragments(void **unused)
{
    struct frame_reader reader = {.bytes_max = 100};
    struct frame frame;

    (void)unused;
    assert_int_equal(FEED(&reader, "\x82\x82\0\0\0\0hi", &frame), FRAME_MESSAGE);
    assert_memory_equal(frame.payload.data, "hi", 2);
    assert_int_equal(FEED(&reader, "\x02\x81\0\0\0\0h\x00\x80\0\0\0\0\x80\x81\0\0\0\0i", &frame),
                     FRAME_MESSAGE);
    assert_int_equal(frame.payload.size, 2);
    assert_memory_equal(frame.payload.data, "hi", 2);
    assert_int_equal(FEED(&reader, "\x82\x82\0\0", &frame), FRAME_MORE);
    frame_reader_done(&reader);
}

static void control_frames_may_stand_between_fragments(void **unused)
{
    struct frame_reader reader = {.bytes_max = 100};
    struct frame frame;

    (void)unused;
    assert_int_equal(FEED(&reader, "\x02\x81\0\0\0\0h", &frame), FRAME_MORE);
    assert_int_equal(FEED(&reader, "\x89\x81\0\0\0\0p", &frame), FRAME_CONTROL);
    assert_int_equal(frame.opcode, FRAME_PING);
    assert_int_equal(FEED(&reader, "\x80\x81\0\0\0\0i", &frame), FRAME_MESSAGE);
    assert_memory_equal(frame.payload.data, "hi", 2);
    frame_reader_done(&reader);
}

static void what_no_client_should_send_has_its_status(void **unused)
{
    (void)unused;
    assert_int_equal(STATUS("\x82\x02hi"), 1002);                  /* not masked */
    assert_int_equal(STATUS("\xc2\x81\0\0\0\0h"), 1002);           /* RSV1 */
    assert_int_equal(STATUS("\x83\x81\0\0\0\0h"), 1002);           /* unknown opcode */
    assert_int_equal(STATUS("\x8b\x81\0\0\0\0h"), 1002);           /* unknown control */
    assert_int_equal(STATUS("\x81\x81\0\0\0\0h"), 1003);           /* text */
    assert_int_equal(STATUS("\x80\x81\0\0\0\0h"), 1002);           /* continues nothing */
    assert_int_equal(STATUS("\x89\xfe\0\x7e\0\0\0\0"), 1002);      /* ping of 126 bytes */
    assert_int_equal(STATUS("\x09\x81\0\0\0\0h"), 1002);           /* ping in fragments */
    assert_int_equal(STATUS("\x82\xfe\0\x05\0\0\0\0hello"), 1002); /* length not the shortest */
    assert_int_equal(STATUS("\x82\xff\x80\0\0\0\0\0\0\0\0\0\0\0"), 1002); /* 2^63 */
    assert_int_equal(STATUS("\x82\xff\x40\0\0\0\0\0\0\0\0\0\0\0"), 1009); /* 2^62 */
    assert_int_equal(STATUS("\x82\xe5\0\0\0\0"), 1009); /* 101 bytes, before they come */
    assert_int_equal(STATUS("\x02\x81\0\0\0\0h\x82\x81\0\0\0\0i"), 1002); /* begins within one */
}

static void fragments_are_limited_in_size_and_number(void **unused)
{
    struct frame_reader reader = {.bytes_max = 3};
    struct frame frame;
    enum frame_result result;
    int count = 0;

    (void)unused;
    assert_int_equal(FEED(&reader, "\x02\x82\0\0\0\0hi\x00\x82\0\0\0\0hi", &frame), FRAME_BROKEN);
    assert_int_equal(frame.status, 1009);
    frame_reader_done(&reader);

    reader = (struct frame_reader){.bytes_max = 3};
    result = FEED(&reader, "\x02\x80\0\0\0\0", &frame);
    while (result == FRAME_MORE && count++ < 2000)
        result = FEED(&reader, "\x00\x80\0\0\0\0", &frame);
    assert_int_equal(result, FRAME_BROKEN);
    assert_int_equal(frame.status, 1009);
    assert_int_equal(count, FRAME_FRAGMENTS_MAX);
    frame_reader_done(&reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_comes_whole_or_in_fragments),
        cmocka_unit_test(control_frames_may_stand_between_fragments),
        cmocka_unit_test(what_no_client_should_send_has_its_status),
        cmocka_unit_test(fragments_are_limited_in_size_and_number),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
