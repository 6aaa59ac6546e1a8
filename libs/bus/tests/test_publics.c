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

/* What names a Session, a Repo or a Shared variable in its request says so in its row. */
static enum kndl_about about_of(const ProtobufCMessageDescriptor *request)
{
    static const struct {
        const char *field;
        enum kndl_about about;
    } names[] = {
        {"session_id", KNDL_ABOUT_SESSION},
        {"shared_id", KNDL_ABOUT_SHARED},
        {"repo_id", KNDL_ABOUT_REPO},
        {"person_id", KNDL_ABOUT_NOTHING},
    };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (protobuf_c_message_descriptor_get_field_by_name(request, names[i].field) != NULL)
            return names[i].about;
    return KNDL_ABOUT_NOTHING;
}

static void each_row_names_what_its_request_names(void **unused)
{
    (void)unused;
    for (const struct kndl_public_service *s = kndl_public_services; s->service != NULL; s++)
        for (unsigned m = 0; m < s->service->n_methods; m++) {
            const struct kndl_public *row = kndl_public_find(&s->service->methods[m]);

            assert_non_null(row);
            if (row->about != KNDL_ABOUT_SEEN) /* a list may be narrowed to one Repo */
                assert_int_equal(row->about, about_of(s->service->methods[m].input));
        }
}

static const struct kndl_public *find(const char *method)
{
    for (const struct kndl_public_service *s = kndl_public_services; s->service != NULL; s++)
        for (unsigned i = 0; i < s->count; i++)
            if (strcmp(s->rows[i].method, method) == 0)
                return &s->rows[i];
    fail();
    return NULL;
}

/* AC-08: whatever drives a Session is its Creator's alone. */
static void ac_08_only_the_creator_drives(void **unused)
{
    static const char *const drives[] = {"SendPrompt",     "CancelPrompt", "ResumeQueue",
                                         "AnswerQuestion", "StopTurn",     "SleepSession",
                                         "WakeSession"};

    (void)unused;
    for (size_t i = 0; i < sizeof drives / sizeof drives[0]; i++)
        assert_int_equal(find(drives[i])->who, KNDL_WHO_CREATOR);
}

/* The R's of the column "CLI token". */
static void a_cli_token_neither_administers_nor_handles_sign_ins(void **unused)
{
    static const char *const names[] = {
        "SetSetupToken", "RemoveSetupToken",  "RegisterRunner", "RenameRunner",
        "RemoveRunner",  "RotateRunnerToken", "EndSignIn",      "EndAllSignIns",
        "FindDevice",    "DecideDevice",      "ListMembers",    "ListInvites",
        "InviteMember",  "RevokeInvite",      "RemoveMember",   "HandOverOwnership",
    };

    (void)unused;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        assert_int_equal(find(names[i])->clients & KNDL_BY_BOTH, KNDL_BY_BROWSER);
}

/* And of these, what stays in the browser alone whatever somebody confirms. */
static void what_decides_who_one_is_is_never_confirmed(void **unused)
{
    static const char *const names[] = {"EndSignIn",    "EndAllSignIns",     "FindDevice",
                                        "DecideDevice", "HandOverOwnership", NULL};

    (void)unused;
    for (size_t i = 0; names[i] != NULL; i++)
        assert_int_equal(find(names[i])->clients, KNDL_BY_BROWSER);
    assert_int_equal(find("BeginConfirmation")->clients, KNDL_BY_CLI);
    assert_int_equal(find("TakeConfirmation")->clients, KNDL_BY_CLI);
}

static void a_path_is_found_by_its_door_and_method(void **unused)
{
    static const struct {
        enum kndl_door door;
        const char *method;
        const char *path;
        enum kndl_path_id id;
    } cases[] = {
        {KNDL_DOOR_HUB, "GET", "/health", KNDL_PATH_HEALTH},
        {KNDL_DOOR_HUB, "HEAD", "/health", KNDL_PATH_HEALTH},
        {KNDL_DOOR_HUB, "POST", "/health", KNDL_PATH_NONE},
        {KNDL_DOOR_HUB, "GET", "/healthy", KNDL_PATH_FILE},
        {KNDL_DOOR_HUB, "GET", "/kndl.x", KNDL_PATH_METHOD},
        {KNDL_DOOR_HUB, "UPGRADE", "/socket", KNDL_PATH_SOCKET},
        {KNDL_DOOR_HUB, "UPGRADE", "/kndl.x", KNDL_PATH_NONE},
        {KNDL_DOOR_HUB, "GET", "/auth/github/callback", KNDL_PATH_GITHUB_RETURN},
        {KNDL_DOOR_HUB, "HEAD", "/auth/github/callback", KNDL_PATH_NONE},
        {KNDL_DOOR_HUB, "GET", "/auth/nothing", KNDL_PATH_NONE},
        {KNDL_DOOR_HUB, "GET", "/sessions/x", KNDL_PATH_FILE},
        {KNDL_DOOR_HUB, "POST", "/sessions/x", KNDL_PATH_NONE},
        {KNDL_DOOR_HUB, "POST", "/mod/hello", KNDL_PATH_NONE},
        {KNDL_DOOR_RELAY, "POST", "/mod/hello", KNDL_PATH_MOD_HELLO},
        {KNDL_DOOR_RELAY, "GET", "/mod/answers/x", KNDL_PATH_MOD_ANSWER},
        {KNDL_DOOR_RELAY, "GET", "/health", KNDL_PATH_NONE},
    };

    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(kndl_path_find(cases[i].door, cases[i].method, cases[i].path),
                         cases[i].id);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_document_shows_the_table),
        cmocka_unit_test(each_row_names_what_its_request_names),
        cmocka_unit_test(ac_08_only_the_creator_drives),
        cmocka_unit_test(a_cli_token_neither_administers_nor_handles_sign_ins),
        cmocka_unit_test(what_decides_who_one_is_is_never_confirmed),
        cmocka_unit_test(a_path_is_found_by_its_door_and_method),
    };

    if (argc > 1 && strcmp(argv[1], "--print") == 0) {
        KNDL_CLEANUP(kndl_buf_done) struct kndl_buf table = {0};
        kndl_publics_print(&table);
        fputs(kndl_buf_text(&table), stdout);
        return 0;
    }
    return cmocka_run_group_tests_name("publics", tests, NULL, NULL);
}
