/* From paths to public methods. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "kndl/secrets/v1/secrets_service.pb-c.h"
#include "methods.h"

static void each_public_method_is_found_by_its_path(void **unused)
{
    (void)unused;
    for (size_t s = 0; kndl_public_services[s].service != NULL; s++) {
        const ProtobufCServiceDescriptor *service = kndl_public_services[s].service;

        for (unsigned i = 0; i < service->n_methods; i++) {
            const ProtobufCServiceDescriptor *found_service = NULL;
            const ProtobufCMethodDescriptor *found = NULL;
            char path[256];

            snprintf(path, sizeof path, "/%s/%s", service->name, service->methods[i].name);
            assert_non_null(method_find(path, &found_service, &found));
            assert_ptr_equal(found_service, service);
            assert_ptr_equal(found, &service->methods[i]);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_public_method_is_found_by_its_path),
        cmocka_unit_test(services_of_others_are_not_public),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
