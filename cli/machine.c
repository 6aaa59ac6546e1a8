/* The device code, from the machine's side. */

#include "machine.h"

#include <string.h>
#include <unistd.h>

#include "kndl/clock.h"
#include "kndl/json.h"
#include "kndl/mem.h"
#include "pause.h"

enum { ANSWER_BYTES_MAX = 64 * 1024, INTERVAL_S_MAX = 60 };

/* What the Hub said of the sign-in that waits. */
struct waiting {
    struct kndl_secret device_code;
    char user_code[32];
    char url[300];
    int64_t ends_at_ms; /* kndl_clock_ms() */
    int interval_ms;
};

void machine_name(char ret_name[65])
{
    memset(ret_name, 0, 65);
    if (gethostname(ret_name, 64) < 0 || ret_name[0] == '\0')
        strcpy(ret_name, "a machine");
}

static void free_json(struct kndl_json **json)
{
    kndl_json_free(*json);
}

static int not_understood(struct kndl_error *err)
{
    return kndl_fail(err, KNDL_INTERNAL, "the Hub's answer is not understood");
}

/* Posts, and parses the answer; what was read is wiped unless it is kept in `answer`. */
static int post(struct cli *cli, const char *path, const char *body, struct kndl_buf *answer,
                struct kndl_json **ret_json, struct kndl_error *err)
{
    kndl_buf_clear(answer);
    kndl_buf_reserve(answer, ANSWER_BYTES_MAX); /* so that no copy of a token is left behind */
    if (client_post_json(cli->client, path, body, answer, err) < 0)
        return -1;
    return kndl_json_parse(kndl_buf_slice(answer), ANSWER_BYTES_MAX, ret_json, NULL) < 0
               ? not_understood(err)
               : 0;
}

static int begin(struct cli *cli, struct kndl_buf *answer, struct waiting *ret_waiting,
                 struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf body = {0};
    KNDL_CLEANUP(free_json) struct kndl_json *json = NULL;
    char machine[65];

    machine_name(machine);
    kndl_buf_append_text(&body, "{\"machine\":");
    kndl_json_append_string(&body, machine);
    kndl_buf_append_char(&body, '}');
    if (post(cli, "/auth/device", kndl_buf_text(&body), answer, &json, err) < 0)
        return -1;

    const struct kndl_value *root = kndl_json_root(json);
    const char *device_code = kndl_json_text(kndl_json_get(root, "deviceCode"), "");
    const char *user_code = kndl_json_text(kndl_json_get(root, "userCode"), "");
    const char *url = kndl_json_text(kndl_json_get(root, "url"), "");
    int64_t interval_s = kndl_json_i64(kndl_json_get(root, "intervalS"), 0);
    if (device_code[0] == '\0' || user_code[0] == '\0' || strlen(user_code) > 31 ||
        url[0] == '\0' || strlen(url) > 299 || interval_s < 1 || interval_s > INTERVAL_S_MAX)
        return not_understood(err);
    kndl_secret_copy(&ret_waiting->device_code, kndl_slice_of(device_code));
    strcpy(ret_waiting->user_code, user_code);
    strcpy(ret_waiting->url, url);
    ret_waiting->interval_ms = (int)interval_s * 1000;
    ret_waiting->ends_at_ms = kndl_clock_ms() + (INT64_C(10) * 60 + 5) * 1000;
    return 0;
}

static void show(const struct cli *cli, const struct waiting *waiting)
{
    FILE *out = cli->screen.out;

    fputs("Open this page in a browser where you are signed in:\n\n    ", out);
    screen_line(&cli->screen, waiting->url, 4);
    fputc('#', out);
    screen_line(&cli->screen, waiting->user_code, 60);
    fputs("\n\nIt must show this code; say yes there, within ten minutes:\n\n    ", out);
    screen_color(&cli->screen, SCREEN_BOLD);
    screen_line(&cli->screen, waiting->user_code, 4);
    screen_color(&cli->screen, SCREEN_PLAIN);
    fputs("\n\n", out);
    fflush(out);
}

/* Has somebody said yes? */
static int poll_once(struct cli *cli, const struct waiting *waiting, struct kndl_buf *answer,
                     bool *ret_is_over, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf body = {0};
    KNDL_CLEANUP(free_json) struct kndl_json *json = NULL;

    kndl_buf_reserve(&body, 512); /* so that no copy of the code is left behind */
    kndl_buf_append_text(&body, "{\"deviceCode\":");
    kndl_json_append_string(&body, (const char *)waiting->device_code.data);
    kndl_buf_append_char(&body, '}');
    int result = post(cli, "/auth/device/token", kndl_buf_text(&body), answer, &json, err);
    explicit_bzero(body.data, body.size);
    if (result < 0)
        return -1;
    *ret_is_over = !kndl_json_bool(kndl_json_get(kndl_json_root(json), "pending"), false);
    return 0;
}

int machine_sign_in(struct cli *cli, struct kndl_buf *answer, struct kndl_error *err)
{
    struct waiting waiting = {0};
    bool is_over = false;
    int result = begin(cli, answer, &waiting, err);

    if (answer->size > 0)
        explicit_bzero(answer->data, answer->size);
    if (result == 0)
        show(cli, &waiting);
    while (result == 0 && !is_over) {
        if (kndl_clock_ms() > waiting.ends_at_ms)
            result = kndl_fail(err, KNDL_UNAUTHENTICATED, "nobody said yes within ten minutes");
        else
            result = poll_once(cli, &waiting, answer, &is_over, err);
        if (result == 0 && !is_over)
            pause_ms(waiting.interval_ms);
    }
    kndl_secret_done(&waiting.device_code);
    return result;
}
