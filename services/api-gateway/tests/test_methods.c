/* The table of public methods against the descriptors. The count is the compiler's. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "kndl/secrets/v1/secrets_service.pb-c.h"
#include "methods.h"

static void each_public_method_has_one_row_and_each_row_a_method(void **unused)
{
    (void)unused;
    for (const struct method_service *service = method_services; service->descriptor != NULL;
         service++) {
        assert_int_equal(service->count, service->descriptor->n_methods);
        for (unsigned i = 0; i < service->descriptor->n_methods; i++) {
            const ProtobufCServiceDescriptor *found_service = NULL;
            const ProtobufCMethodDescriptor *found = NULL;
            char path[256];

            snprintf(path, sizeof path, "/%s/%s", service->descriptor->name,
                     service->descriptor->methods[i].name);
            assert_non_null(method_find(path, &found_service, &found));
            assert_ptr_equal(found_service, service->descriptor);
            assert_ptr_equal(found, &service->descriptor->methods[i]);
        }
    }
}

static void services_of_others_are_not_public(void **unused)
{
    static const char *const paths[] = {
        "/kndl.sessions.v1.SessionsInternalService/AppendEvents",
        "/kndl.repo_access.v1.RepoAccessInternalService/Authenticate",
        "/kndl.repo_access.v1.RepoAccessInternalService/DevLogin",
        "/kndl.secrets.v1.SecretsRunnerService/FetchSetupToken",
        "/kndl.runner.v1.RunnerService/StartRun",
        "/kndl.sessions.v1.SessionsService/Nothing",
        "/kndl.sessions.v1.SessionsService/",
        "/kndl.sessions.v1.SessionsService",
        "/kndl.sessions.v1.SessionsServic/ListSessions",
        "/",
        "",
    };
    const ProtobufCServiceDescriptor *service;
    const ProtobufCMethodDescriptor *method;

    (void)unused;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        assert_null(method_find(paths[i], &service, &method));
}

static void a_cli_token_does_not_touch_the_setup_token(void **unused)
{
    const ProtobufCServiceDescriptor *service;
    const ProtobufCMethodDescriptor *method;

    (void)unused;
    assert_int_equal(
        method_find("/kndl.secrets.v1.SecretsService/SetSetupToken", &service, &method)->callers,
        METHOD_WEB);
    assert_int_equal(
        method_find("/kndl.secrets.v1.SecretsService/RemoveSetupToken", &service, &method)->callers,
        METHOD_WEB);
}

/* permissions.md: the R's of the column "CLI token". */
static void a_cli_token_neither_administers_nor_handles_sign_ins(void **unused)
{
    static const char *const names[] = {
        "EndSignIn",   "EndAllSignIns", "FindDevice",   "DecideDevice", "ListMembers",
        "ListInvites", "InviteMember",  "RevokeInvite", "RemoveMember", "HandOverOwnership",
    };
    const ProtobufCServiceDescriptor *service;
    const ProtobufCMethodDescriptor *method;

    (void)unused;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[128];

        snprintf(path, sizeof path, "/kndl.repo_access.v1.RepoAccessService/%s", names[i]);
        assert_int_equal(method_find(path, &service, &method)->callers, METHOD_WEB);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_public_method_has_one_row_and_each_row_a_method),
        cmocka_unit_test(services_of_others_are_not_public),
        cmocka_unit_test(a_cli_token_does_not_touch_the_setup_token),
        cmocka_unit_test(a_cli_token_neither_administers_nor_handles_sign_ins),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
