/* A whole service, for test_service.c: Mask reads the FIFO that its first text names. */

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kndl/bus.h"
#include "kndl/log.h"
#include "kndl/redactor/v1/redactor_service.pb-c.h"
#include "kndl/rpc.h"
#include "kndl/service.h"

#define V1(name) Kndl__Redactor__V1__##name

static int mask(struct kndl_call *call, const V1(MaskRequest) *req, V1(MaskResponse) *resp)
{
    char byte;

    (void)resp;
    if (req->n_texts == 0)
        return 0;
    int fd = open(req->texts[0], O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read(fd, &byte, 1) != 1)
        return kndl_fail(&call->err, KNDL_ABORTED, "nothing came");
    close(fd);
    return 0;
}

KNDL_RPC(V1, RedactorInternalService, Mask, mask)

static V1(RedactorInternalService_Service) internal =
    KNDL__REDACTOR__V1__REDACTOR_INTERNAL_SERVICE__INIT(rpc_);

static ProtobufCService *const internal_service = &internal.base;
static ProtobufCService *const *const answers[] = {&internal_service, NULL};

static const struct kndl_env env[] = {
    {"HUB_SAMPLE", "", "what the sample would be told"},
    {"HUB_SAMPLE_FAILS", "", "set: prepare fails"},
    {NULL, NULL, NULL},
};

static int prepare(struct kndl_error *err)
{
    if (kndl_env_get("HUB_SAMPLE_FAILS")[0] != '\0')
        return kndl_fail(err, KNDL_FAILED_PRECONDITION, "the sample was told to fail");
    return 0;
}

static const struct kndl_service service = {
    .name = "redactor",
    .env = env,
    .answers = answers,
    .arena = KNDL_ARENA_PLAIN,
    .prepare = prepare,
};

/* A process that works on a loop of its own, and ends it by itself at the signal. */
static int run(struct kndl_bus *bus, struct kndl_error *err)
{
    sigset_t signals;
    int got;

    if (!kndl_bus_is_connected(bus))
        return kndl_fail(err, KNDL_INTERNAL, "there is no bus");
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    kndl_log(KNDL_INFO, "the loop runs", KNDL_STR("by", "itself"));
    return sigwait(&signals, &got);
}

static const struct kndl_service looping = {
    .name = "redactor",
    .env = env,
    .prepare = prepare,
    .run = run,
};

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "loop") == 0)
        return kndl_service_main(&looping, 1, argv);
    return kndl_service_main(&service, argc, argv);
}
