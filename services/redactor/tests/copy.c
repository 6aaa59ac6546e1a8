#include "copy.h"

#include "blocks.h"
#include "fakes.h"
#include "hits.h"
#include "kndl/testing.h"
#include "sets.h"

#define V1(name) Kndl__Redactor__V1__##name

const char session[] = "aaaaaaaaaaaaaaaaaaaaaaaaaa";
const char secret[SECRET_SIZE] = "canary-Value-31415926";

void start(struct copy *copy, struct kndl_bus *bus)
{
    *copy = (struct copy){.redactor = {bus, sets_new(), blocks_new(), hits_new()}};
}

void stop(struct copy *copy)
{
    sets_free(copy->redactor.sets);
    blocks_free(copy->redactor.blocks);
    hits_free(copy->redactor.hits);
}

void forget(struct kndl_bus *bus)
{
    kndl_buf_done(&bus->stored);
    kndl_buf_done(&bus->shown);
}

int set_up(void **state)
{
    static struct fixture fixture;

    fixture = (struct fixture){.bus = {.values = {secret}, .version = 1}};
    start(&fixture.copy, &fixture.bus);
    *state = &fixture;
    return 0;
}

int tear_down(void **state)
{
    struct fixture *f = *state;

    stop(&f->copy);
    forget(&f->bus);
    return 0;
}

int open_as(struct copy *copy, const char *runner)
{
    V1(OpenRequest) req = KNDL__REDACTOR__V1__OPEN_REQUEST__INIT;

    req.session_id = (char *)session;
    req.run = 1;
    struct kndl_test_answer answer =
        kndl_test_runner_call(redactor_runner_service, &copy->redactor, runner, "Open", &req.base);
    copy->err = answer.err;
    kndl_test_done(&answer);
    return copy->err.code == KNDL_OK ? 0 : -1;
}

int64_t put(struct copy *copy, const char *runner, V1(PutRequest) *req)
{
    int64_t expected = -1;

    req->run = 1;
    struct kndl_test_answer answer =
        kndl_test_raw_call(redactor_raw_service, &copy->redactor, runner, session, &req->base);
    copy->err = answer.err;
    copy->wake = answer.wake;
    if (answer.response != NULL)
        expected = ((V1(PutResponse) *)answer.response)->expected_n;
    kndl_test_done(&answer);
    return expected;
}

int64_t put_text(struct copy *copy, const char *text, const char *block_id, int64_t version)
{
    V1(PutRequest) req = KNDL__REDACTOR__V1__PUT_REQUEST__INIT;
    Kndl__Event__V1__Event event = KNDL__EVENT__V1__EVENT__INIT;
    Kndl__Event__V1__Text said = KNDL__EVENT__V1__TEXT__INIT;

    said.text = (char *)text;
    said.block_id = (char *)block_id;
    event.kind_case = KNDL__EVENT__V1__EVENT__KIND_TEXT;
    event.text = &said;
    req.first_n = 1;
    req.n_events = 1;
    req.events = (Kndl__Event__V1__Event *[]){&event};
    req.mask_version = version;
    req.mod_token.data = (uint8_t *)"kndl_mod_x";
    req.mod_token.len = 10;
    return put(copy, "r1", &req);
}

void put_delta_of(struct copy *copy, const char *subagent_id, const char *block_id, int64_t offset,
                  const char *text)
{
    V1(PutRequest) req = KNDL__REDACTOR__V1__PUT_REQUEST__INIT;
    Kndl__Event__V1__Delta delta = KNDL__EVENT__V1__DELTA__INIT;

    delta.subagent_id = (char *)subagent_id;
    delta.block_id = (char *)block_id;
    delta.offset = offset;
    delta.text = (char *)text;
    req.n_deltas = 1;
    req.deltas = (Kndl__Event__V1__Delta *[]){&delta};
    put(copy, "r1", &req);
}

void put_delta(struct copy *copy, int64_t offset, const char *text)
{
    put_delta_of(copy, "", "b1", offset, text);
}
