/* What people see on a terminal, or in a file. */

#include "screen.h"

#include <inttypes.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "kndl/env.h"

enum { COLUMNS_DEFAULT = 100, COLUMNS_LEAST = 40, COLUMNS_MOST = 160 };

struct screen screen_open(void)
{
    struct screen screen = {.out = stdout, .columns = COLUMNS_DEFAULT};
    struct winsize size;

    if (!isatty(STDOUT_FILENO))
        return screen;
    screen.has_color =
        kndl_env_get("NO_COLOR")[0] == '\0' && strcmp(kndl_env_get("TERM"), "dumb") != 0;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= COLUMNS_LEAST)
        screen.columns = size.ws_col < COLUMNS_MOST ? size.ws_col : COLUMNS_MOST;
    return screen;
}

void screen_color(const struct screen *screen, enum screen_color color)
{
    static const char *const codes[] = {
        [SCREEN_PLAIN] = "\033[0m", [SCREEN_BOLD] = "\033[1m",   [SCREEN_DIM] = "\033[2m",
        [SCREEN_RED] = "\033[31m",  [SCREEN_GREEN] = "\033[32m", [SCREEN_YELLOW] = "\033[33m",
        [SCREEN_BLUE] = "\033[34m",
    };

    if (screen->has_color)
        fputs(codes[color], screen->out);
}

/* Bytes of the character at `text`; *ret_is_safe: it moves nothing on a terminal. */
static size_t character(const char *text, bool *ret_is_safe)
{
    unsigned char c = (unsigned char)text[0];
    size_t size = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;

    for (size_t i = 1; i < size; i++)
        if (((unsigned char)text[i] & 0xc0) != 0x80) {
            *ret_is_safe = false;
            return 1;
        }
    /* C0, DEL, C1 (c2 80 to c2 9f), and the marks that turn the direction of writing around. */
    bool is_control = c < 0x20 || c == 0x7f || (c == 0xc2 && (unsigned char)text[1] < 0xa0) ||
                      strncmp(text, "\u202a", 3) == 0 || strncmp(text, "\u202b", 3) == 0 ||
                      strncmp(text, "\u202d", 3) == 0 || strncmp(text, "\u202e", 3) == 0;
    *ret_is_safe = (!is_control || c == '\t') && c != 0x80 && (c < 0x80 || c >= 0xc2);
    return size;
}

static void put(const struct screen *screen, const char *text, size_t size, bool is_safe)
{
    if (is_safe)
        fwrite(text, 1, size, screen->out);
    else
        fputs("\u00b7", screen->out);
}

void screen_text(const struct screen *screen, const char *indent, const char *text)
{
    fputs(indent, screen->out);
    while (*text != '\0') {
        bool is_safe;
        size_t size = character(text, &is_safe);

        if (*text == '\n') {
            fputc('\n', screen->out);
            if (text[1] != '\0')
                fputs(indent, screen->out);
        } else if (*text != '\r' || text[1] != '\n') {
            put(screen, text, size, is_safe);
        }
        text += size;
        if (*text == '\0' && text[-1] == '\n')
            return;
    }
    fputc('\n', screen->out);
}

void screen_line(const struct screen *screen, const char *text, int used)
{
    int left = screen->columns - used;

    while (*text == '\n' || *text == '\r' || *text == ' ' || *text == '\t')
        text++;
    for (; *text != '\0' && *text != '\n' && *text != '\r'; left--) {
        bool is_safe;
        size_t size = character(text, &is_safe);

        if (left <= 1 && text[size] != '\0') {
            fputs("…", screen->out);
            return;
        }
        put(screen, *text == '\t' ? " " : text, *text == '\t' ? 1 : size, is_safe);
        text += size;
    }
}

static struct tm local_time(int64_t at_ms)
{
    struct tm tm;

    localtime_r(&(time_t){(time_t)(at_ms / 1000)}, &tm);
    return tm;
}

void screen_time(const struct screen *screen, int64_t at_ms, int64_t now_ms)
{
    struct tm at = local_time(at_ms), now = local_time(now_ms);
    bool is_today = at.tm_year == now.tm_year && at.tm_yday == now.tm_yday;
    char text[32];

    strftime(text, sizeof text, is_today ? "%H:%M" : "%Y-%m-%d %H:%M", &at);
    fputs(text, screen->out);
}

void screen_stamp(const struct screen *screen, int64_t at_ms)
{
    struct tm at = local_time(at_ms);
    char text[32], zone[8];

    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &at);
    strftime(zone, sizeof zone, "%z", &at);
    fprintf(screen->out, "%s%.3s:%s", text, zone, zone + 3);
}

void screen_ago(const struct screen *screen, int64_t at_ms, int64_t now_ms)
{
    int64_t seconds = at_ms < now_ms ? (now_ms - at_ms) / 1000 : 0;

    if (seconds < 60)
        fprintf(screen->out, "%" PRId64 " s ago", seconds);
    else if (seconds < 3600)
        fprintf(screen->out, "%" PRId64 " min ago", seconds / 60);
    else if (seconds < 48 * 3600)
        fprintf(screen->out, "%" PRId64 " h ago", seconds / 3600);
    else
        fprintf(screen->out, "%" PRId64 " days ago", seconds / (24 * 3600));
}
