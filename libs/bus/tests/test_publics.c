/*
 * The table of public methods, and docs/permissions.md. AC-08; `faults.md` 26's table.
 *
 *   test_bus.publics --print > docs/permissions.md
 */

#include "kndl/publics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kndl/buf.h"
#include "kndl/mem.h"
#include "kndl/testing.h"

static void the_document_shows_the_table(void **unused)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf table = {0};
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf document = {0};
    FILE *file = fopen(KNDL_SOURCE_DIR "/docs/permissions.md", "re");
    char piece[4096];
    size_t size;

    (void)unused;
    assert_non_null(file);
    while ((size = fread(piece, 1, sizeof piece, file)) > 0)
        kndl_buf_append(&document, piece, size);
    fclose(file);
    kndl_publics_print(&table);
    assert_string_equal(kndl_buf_text(&document), kndl_buf_text(&table));
}

static void each_public_method_has_its_row(void **unused)
{
    (void)unused;
    for (size_t i = 0; kndl_public_services[i] != NULL; i++)
        for (unsigned m = 0; m < kndl_public_services[i]->n_methods; m++)
            (void)kndl_public_who(&kndl_public_services[i]->methods[m]); /* else it aborts */
}

/* AC-08: whatever drives a Session is its Creator's alone. */
static void ac_08_only_the_creator_drives(void **unused)
{
    static const char *const drives[] = {"SendPrompt",     "CancelPrompt", "ResumeQueue",
                                         "AnswerQuestion", "StopTurn",     "SleepSession",
                                         "WakeSession"};
    const ProtobufCServiceDescriptor *sessions = kndl_public_services[0];

    (void)unused;
    for (size_t i = 0; i < sizeof drives / sizeof drives[0]; i++)
        assert_int_equal(
            kndl_public_who(protobuf_c_service_descriptor_get_method_by_name(sessions, drives[i])),
            KNDL_WHO_CREATOR);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_document_shows_the_table),
        cmocka_unit_test(each_public_method_has_its_row),
        cmocka_unit_test(ac_08_only_the_creator_drives),
    };

    if (argc > 1 && strcmp(argv[1], "--print") == 0) {
        KNDL_CLEANUP(kndl_buf_done) struct kndl_buf table = {0};
        kndl_publics_print(&table);
        fputs(kndl_buf_text(&table), stdout);
        return 0;
    }
    return cmocka_run_group_tests_name("publics", tests, NULL, NULL);
}
