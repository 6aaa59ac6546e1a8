/* A confirmation, from the machine's side. */

#include "confirm.h"

#include <string.h>

#include "device_code.h"
#include "kndl/buf.h"
#include "kndl/mem.h"

#define V1(name) Kndl__RepoAccess__V1__##name
#define PURPOSE(name) KNDL__REPO_ACCESS__V1__PURPOSE__PURPOSE_##name

enum { POLL_S = 2 };

static const char *words(V1(Purpose) purpose)
{
    switch (purpose) {
    case PURPOSE(SEE_MEMBERS):
        return "see the Members and Invites";
    case PURPOSE(CHANGE_MEMBERS):
        return "invite and remove Members";
    case PURPOSE(SETUP_TOKEN):
        return "change your setup token";
    case PURPOSE(RUNNERS):
        return "administer Runners";
    default:
        return "do this";
    }
}

static int begin(struct cli *cli, V1(Purpose) purpose, struct device_code *ret_code,
                 struct kndl_error *err)
{
    V1(BeginConfirmationRequest) request = KNDL__REPO_ACCESS__V1__BEGIN_CONFIRMATION_REQUEST__INIT;
    V1(BeginConfirmationResponse) *begun;

    request.purpose = purpose;
    if (CLIENT_CALL(V1, BeginConfirmation, kndl__repo_access__v1__repo_access_service__descriptor,
                    cli, &request, &begun, err) < 0)
        return -1;
    int result =
        device_code_read(ret_code, begun->device_code, begun->user_code, begun->url, POLL_S, err);
    explicit_bzero(begun->device_code, strlen(begun->device_code));
    return result;
}

/* Has the person decided? From then on the client carries what it got. */
static int take(struct cli *cli, const struct device_code *code, void *data, bool *ret_is_over,
                struct kndl_error *err)
{
    V1(TakeConfirmationRequest) request = KNDL__REPO_ACCESS__V1__TAKE_CONFIRMATION_REQUEST__INIT;
    V1(TakeConfirmationResponse) *taken;

    (void)data;
    request.device_code = (char *)code->secret.data;
    if (CLIENT_CALL(V1, TakeConfirmation, kndl__repo_access__v1__repo_access_service__descriptor,
                    cli, &request, &taken, err) < 0)
        return -1;
    *ret_is_over = taken->token[0] != '\0';
    if (*ret_is_over)
        client_carry(cli->client, kndl_slice_of(taken->token));
    explicit_bzero(taken->token, strlen(taken->token));
    return 0;
}

int confirm(struct cli *cli, V1(Purpose) purpose, struct kndl_error *err)
{
    KNDL_CLEANUP(device_code_done) struct device_code code = {0};
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf why = {0};
    /* Standard output is for what was asked for. */
    const struct screen screen = {.out = stderr, .columns = cli->screen.columns};

    if (begin(cli, purpose, &code, err) < 0)
        return -1;
    kndl_buf_printf(&why, "To %s, kndl needs your yes.", words(purpose));
    device_code_show(&code, kndl_buf_text(&why), &screen);
    return device_code_wait(cli, &code, take, NULL, KNDL_PERMISSION_DENIED, err);
}
