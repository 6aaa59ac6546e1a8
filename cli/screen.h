#pragma once

/*
 * Writing for people. Text of others is never written as it is: control characters, which can move
 * a terminal's cursor or title, become marks.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct screen {
    FILE *out;
    bool has_color;
    int columns; /* what fits in a line */
};

/* Standard output: colours if it is a terminal that wants them. */
struct screen screen_open(void);

enum screen_color {
    SCREEN_PLAIN,
    SCREEN_BOLD,
    SCREEN_DIM,
    SCREEN_RED,
    SCREEN_GREEN,
    SCREEN_YELLOW,
    SCREEN_BLUE,
};

/* Begins a colour; SCREEN_PLAIN ends it. */
void screen_color(const struct screen *screen, enum screen_color color);

/* All of a text, each of its lines after `indent`. Ends with a line break. */
void screen_text(const struct screen *screen, const char *indent, const char *text);

/* The first line of a text, cut with "…" to what is left of a line after `used` columns. Without a
 * line break. */
void screen_line(const struct screen *screen, const char *text, int used);

/* "14:02" of this day, "2026-11-30 14:02" of another, in local time. */
void screen_time(const struct screen *screen, int64_t at_ms, int64_t now_ms);

/* "2026-11-30T14:02:11+01:00": all of it, for logs. */
void screen_stamp(const struct screen *screen, int64_t at_ms);

/* "3 s ago", "5 h ago": how long before now. */
void screen_ago(const struct screen *screen, int64_t at_ms, int64_t now_ms);
