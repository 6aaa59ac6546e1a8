#include "fixture.h"

#include <stdlib.h>

#include "kndl/mem.h"
#include "kndl/sessions/v1/sessions_runner_service.pb-c.h"
#include "kndl/sessions/v1/sessions_service.pb-c.h"

int set_up(void **state)
{
    struct fixture *f = kndl_new0(struct fixture);

    *f = (struct fixture){.stage = *state, .bus = {.peers = {.has_token = true}}};
    *state = f;
    f->sessions = (struct sessions){.store = f->stage->store, .bus = &f->bus};
    stage_attend(f->stage, "r1", NULL, 0);
    return 0;
}

int tear_down(void **state)
{
    struct fixture *f = *state;

    kndl_test_done(&f->answer);
    free(f);
    return 0;
}

enum kndl_code call(struct fixture *f, const char *person, const char *method,
                    const ProtobufCMessage *req)
{
    kndl_test_done(&f->answer);
    f->answer = kndl_test_call(sessions_service, &f->sessions, person, method, req);
    return f->answer.err.code;
}

enum kndl_code report(struct fixture *f, const char *runner, const char *method,
                      const ProtobufCMessage *req)
{
    kndl_test_done(&f->answer);
    f->answer = kndl_test_runner_call(sessions_runner_service, &f->sessions, runner, method, req);
    return f->answer.err.code;
}
