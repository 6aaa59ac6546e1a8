/* Showing a code and waiting for its yes. */

#include "device_code.h"

#include <string.h>

#include "kndl/clock.h"
#include "pause.h"

enum { INTERVAL_S_MAX = 60 };

/* The Hub's ten minutes, and a little for its answer. */
static const int64_t wait_ms = (INT64_C(10) * 60 + 5) * 1000;

int device_code_read(struct device_code *ret_code, const char *secret, const char *user_code,
                     const char *url, int64_t interval_s, struct kndl_error *err)
{
    if (secret[0] == '\0' || user_code[0] == '\0' || strlen(user_code) >= DEVICE_CODE_SIZE ||
        url[0] == '\0' || strlen(url) >= DEVICE_URL_SIZE || interval_s < 1 ||
        interval_s > INTERVAL_S_MAX)
        return client_misread(err);
    kndl_secret_copy(&ret_code->secret, kndl_slice_of(secret));
    strcpy(ret_code->user_code, user_code);
    strcpy(ret_code->url, url);
    ret_code->interval_ms = (int)interval_s * 1000;
    return 0;
}

void device_code_done(struct device_code *code)
{
    kndl_secret_done(&code->secret);
}

void device_code_show(const struct device_code *code, const char *why, const struct screen *screen)
{
    FILE *out = screen->out;

    if (why[0] != '\0')
        fprintf(out, "%s\n", why);
    fputs("Open this page in a browser where you are signed in:\n\n    ", out);
    screen_line(screen, code->url, 4);
    fputc('#', out);
    screen_line(screen, code->user_code, 60);
    fputs("\n\nIt must show this code; say yes there, within ten minutes:\n\n    ", out);
    screen_color(screen, SCREEN_BOLD);
    screen_line(screen, code->user_code, 4);
    screen_color(screen, SCREEN_PLAIN);
    fputs("\n\n", out);
    fflush(out);
}

int device_code_wait(struct cli *cli, const struct device_code *code, device_code_fn fn, void *data,
                     enum kndl_code late, struct kndl_error *err)
{
    int64_t ends_at_ms = kndl_clock_ms() + wait_ms;
    bool is_over = false;

    while (kndl_clock_ms() <= ends_at_ms) {
        if (fn(cli, code, data, &is_over, err) < 0)
            return -1;
        if (is_over)
            return 0;
        pause_ms(code->interval_ms);
    }
    return kndl_fail(err, late, "nobody said yes within ten minutes");
}
