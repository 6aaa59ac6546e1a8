/* The budget for foreign bytes: what crashed or blew up protobuf-c is refused before it sees it. */

#include "kndl/guard.h"

#include <stdlib.h>
#include <string.h>

#include "kndl/event/v1/event.pb-c.h"
#include "kndl/gateway/v1/frame.pb-c.h"
#include "kndl/mem.h"
#include "kndl/redactor/v1/redactor_service.pb-c.h"
#include "kndl/repo_access/v1/repo_access_service.pb-c.h"
#include "kndl/testing.h"

#define PUT &kndl__redactor__v1__put_request__descriptor
#define MASK &kndl__redactor__v1__mask_request__descriptor
#define CHECK &kndl__repo_access__v1__check_access_request__descriptor

static enum kndl_code check(const ProtobufCMessageDescriptor *type, const void *data, size_t size)
{
    struct kndl_error err = {0};

    return kndl_guard_check(type, kndl_slice(data, size), &err) == 0 ? KNDL_OK : err.code;
}

static void what_protobuf_c_packs_is_taken(void **unused)
{
    Kndl__Redactor__V1__MaskRequest request = KNDL__REDACTOR__V1__MASK_REQUEST__INIT;
    char *texts[] = {(char *)"a longer text without anything special in it",
                     (char *)"gr\xc3\xbc\xc3\x9f dich, \xe4\xb8\x96\xe7\x95\x8c \xf0\x9f\x98\x80",
                     (char *)""};
    uint8_t bytes[512];
    ProtobufCMessage *message = NULL;
    struct kndl_error err = {0};

    (void)unused;
    request.session_id = (char *)"s1";
    request.repo_id = -1;
    request.texts = texts;
    request.n_texts = 3;
    size_t size = protobuf_c_message_pack(&request.base, bytes);
    assert_int_equal(kndl_guard_unpack(MASK, kndl_slice(bytes, size), NULL, &message, &err), 0);
    assert_string_equal(((Kndl__Redactor__V1__MaskRequest *)message)->texts[1], texts[1]);
    protobuf_c_message_free_unpacked(message, NULL);
    assert_int_equal(check(MASK, "", 0), KNDL_OK);
}

/* Every prefix of a packed message ends cleanly, with or without an error. */
static void a_cut_message_is_refused_or_whole(void **unused)
{
    static const uint8_t whole[] = {0x22, 0x03, 'a', 'b', 'c', 0x18, 0x96, 0x01};

    (void)unused;
    for (size_t size = 0; size < sizeof whole; size++) {
        uint8_t *copy = (uint8_t *)kndl_memdup(whole, size);
        bool is_edge = size == 0 || size == 5;
        assert_int_equal(check(MASK, copy, size), is_edge ? KNDL_OK : KNDL_INVALID_ARGUMENT);
        free(copy);
    }
}

static void text_must_be_utf8_without_a_nul(void **unused)
{
    static const struct {
        const char *text;
        size_t size;
    } bad[] = {{"\0", 1},
               {"abcdefgh\0jklmnop", 17},
               {"\xc3", 1},
               {"\xc0\x80", 2},
               {"\xed\xa0\x80", 3},
               {"\xf4\x90\x80\x80", 4},
               {"\xff", 1},
               {"\x80", 1},
               {"12345678\xe2\x82", 10},
               {"\xe0\x9f\xbf", 3},
               {"\xf0\x8f\xbf\xbf", 4}};
    struct kndl_error err = {0};

    (void)unused;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        uint8_t bytes[64] = {0x22, (uint8_t)bad[i].size};
        memcpy(bytes + 2, bad[i].text, bad[i].size);
        assert_int_equal(kndl_guard_check(MASK, kndl_slice(bytes, bad[i].size + 2), &err), -1);
        assert_string_equal(err.message, "texts is not UTF-8 text without a NUL");
    }
}

/* Two million empty Events in 4 MB, and as many as fit into one message. */
static void a_bomb_of_empty_members_is_refused(void **unused)
{
    size_t size = KNDL_MESSAGE_BYTES_MAX;
    uint8_t *bytes = kndl_alloc(size, 1);

    (void)unused;
    for (size_t i = 0; i + 1 < size; i += 2)
        bytes[i] = 0x22; /* events {} */
    assert_int_equal(check(PUT, bytes, size), KNDL_INVALID_ARGUMENT);
    assert_int_equal(check(PUT, bytes, 2 * KNDL_MESSAGE_ELEMENTS_MAX), KNDL_OK);
    assert_int_equal(check(PUT, bytes, 2 * KNDL_MESSAGE_ELEMENTS_MAX + 2), KNDL_INVALID_ARGUMENT);
    free(bytes);
}

/* repo_ids packed: one field on the wire, hundreds of thousands of members in memory. */
static void members_of_a_packed_field_count(void **unused)
{
    enum { MEMBERS = 200000 };
    uint8_t *bytes = kndl_alloc(MEMBERS + 4, 1);

    (void)unused;
    bytes[0] = 0x12;
    bytes[1] = (MEMBERS & 127) | 128;
    bytes[2] = (MEMBERS >> 7 & 127) | 128;
    bytes[3] = MEMBERS >> 14;
    assert_int_equal(check(CHECK, bytes, MEMBERS + 4), KNDL_INVALID_ARGUMENT);
    free(bytes);
}

static void a_message_over_the_limit_is_refused(void **unused)
{
    uint8_t *bytes = kndl_alloc(KNDL_MESSAGE_BYTES_MAX + 1, 1);
    struct kndl_error err = {0};

    (void)unused;
    assert_int_equal(kndl_guard_check(MASK, kndl_slice(bytes, KNDL_MESSAGE_BYTES_MAX + 1), &err),
                     -1);
    assert_non_null(strstr(err.message, "the most is"));
    free(bytes);
}

static const ProtobufCMessageDescriptor nested;
static const ProtobufCFieldDescriptor nested_fields[] = {
    {.name = "inner", .id = 1, .type = PROTOBUF_C_TYPE_MESSAGE, .descriptor = &nested}};
static const unsigned nested_by_name[] = {0};
static const ProtobufCIntRange nested_ranges[] = {{1, 0}, {0, 1}};
/* Our protos have no recursion; a type that has shows that the depth is bounded anyway. */
static const ProtobufCMessageDescriptor nested = {
    .magic = PROTOBUF_C__MESSAGE_DESCRIPTOR_MAGIC,
    .short_name = "Nested",
    .n_fields = 1,
    .fields = nested_fields,
    .fields_sorted_by_name = nested_by_name,
    .n_field_ranges = 1,
    .field_ranges = nested_ranges,
};

/* So many messages in one another; returns where they begin in `bytes`. */
static size_t nest(uint8_t *bytes, size_t room, unsigned depth)
{
    size_t at = room;

    for (unsigned i = 0; i < depth; i++) {
        size_t inner = room - at;
        at -= inner > 16383 ? 3 : inner > 127 ? 2 : 1;
        if (inner > 16383) {
            bytes[at] = (uint8_t)(inner | 128);
            bytes[at + 1] = (uint8_t)(inner >> 7 | 128);
            bytes[at + 2] = (uint8_t)(inner >> 14);
        } else if (inner > 127) {
            bytes[at] = (uint8_t)(inner | 128);
            bytes[at + 1] = (uint8_t)(inner >> 7);
        } else {
            bytes[at] = (uint8_t)inner;
        }
        bytes[--at] = 0x0a;
    }
    return at;
}

static void nesting_is_bounded(void **unused)
{
    static uint8_t bytes[64 * 1024];
    size_t at = nest(bytes, sizeof bytes, KNDL_MESSAGE_DEPTH_MAX - 1);

    (void)unused;
    assert_int_equal(check(&nested, bytes + at, sizeof bytes - at), KNDL_OK);
    at = nest(bytes, sizeof bytes, KNDL_MESSAGE_DEPTH_MAX);
    assert_int_equal(check(&nested, bytes + at, sizeof bytes - at), KNDL_INVALID_ARGUMENT);
    at = nest(bytes, sizeof bytes, 10000); /* 46 KB, which crash protobuf-c */
    assert_int_equal(check(&nested, bytes + at, sizeof bytes - at), KNDL_INVALID_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_protobuf_c_packs_is_taken),
        cmocka_unit_test(a_cut_message_is_refused_or_whole),
        cmocka_unit_test(text_must_be_utf8_without_a_nul),
        cmocka_unit_test(a_bomb_of_empty_members_is_refused),
        cmocka_unit_test(members_of_a_packed_field_count),
        cmocka_unit_test(a_message_over_the_limit_is_refused),
        cmocka_unit_test(nesting_is_bounded),
    };
    return cmocka_run_group_tests_name("guard", tests, NULL, NULL);
}
