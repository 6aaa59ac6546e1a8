/* What a row makes of who somebody is: every row, with every set of bits. AC-06, AC-08. */

#include "kndl/permit.h"

#include <string.h>

#include "kndl/mem.h"
#include "kndl/testing.h"

/* What the table's paper says, said anew. */
static enum kndl_code expect(const struct kndl_public *row, unsigned who)
{
    bool is_seen = row->about == KNDL_ABOUT_NOTHING || row->about == KNDL_ABOUT_SEEN ||
                   (who & KNDL_WHO_PARTICIPANT) != 0;

    if ((who & KNDL_WHO_MEMBER) == 0)
        return KNDL_UNAUTHENTICATED;
    if (!is_seen)
        return KNDL_NOT_FOUND;
    return (who & row->who) != 0 ? KNDL_OK : KNDL_PERMISSION_DENIED;
}

static ProtobufCMessage *new_request(const ProtobufCMessageDescriptor *type)
{
    ProtobufCMessage *request = kndl_alloc(type->sizeof_message, 1);

    protobuf_c_message_init(type, request);
    return request;
}

static void each_row_with_each_who_answers_in_the_order_of_checks(void **unused)
{
    enum {
        ALL = KNDL_WHO_MEMBER | KNDL_WHO_PARTICIPANT | KNDL_WHO_CREATOR | KNDL_WHO_KEEPER |
              KNDL_WHO_OWNER
    };

    (void)unused;
    for (const struct kndl_public_service *s = kndl_public_services; s->service != NULL; s++)
        for (unsigned m = 0; m < s->service->n_methods; m++) {
            const struct kndl_public *row = kndl_public_find(&s->service->methods[m]);
            ProtobufCMessage *request = new_request(s->service->methods[m].input);

            for (unsigned who = 0; who <= ALL; who++) {
                struct kndl_error err = {0};

                (void)kndl_public_check(row, who, request, &err);
                assert_int_equal(err.code, expect(row, who));
            }
            protobuf_c_message_free_unpacked(request, NULL);
        }
}

/* AC-06: the words depend on nothing but what was asked for. */
static void what_is_absent_is_named_as_it_was_asked_for(void **unused)
{
    static const char *const ids[] = {"aaaaaaaaaaaaaaaaaaaaaaaaaa", "../../etc", "a b", ""};
    static const char *const words[] = {
        "Session aaaaaaaaaaaaaaaaaaaaaaaaaa does not exist", "this Session does not exist",
        "this Session does not exist", "this Session does not exist"};
    struct kndl_error err;

    (void)unused;
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        assert_int_equal(kndl_session_absent(ids[i], &err), -1);
        assert_int_equal(err.code, KNDL_NOT_FOUND);
        assert_string_equal(err.message, words[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_row_with_each_who_answers_in_the_order_of_checks),
        cmocka_unit_test(what_is_absent_is_named_as_it_was_asked_for),
    };

    return cmocka_run_group_tests_name("permit", tests, NULL, NULL);
}
