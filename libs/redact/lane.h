#pragma once

/*
 * Lanes: readings of a text with its encoded characters decoded, for spellings that no literal
 * form has (`%2f%3D`, a needless \u0041, JSON in JSON in JSON, a URL in JSON). Each lane reads one
 * unit at a time: a byte that stands for itself, or an escape that stands for one character.
 */

#include <stddef.h>
#include <stdint.h>

enum lane {
    LANE_JSON, /* one level of JSON */
    LANE_JSON_2,
    LANE_JSON_3,
    LANE_URL, /* one level of percent signs */
    LANE_URL_2,
    LANE_JSON_URL, /* JSON, and percent signs in what it says: a URL in JSON */
    LANE_JSON_2_URL,
    LANE_URL_JSON, /* percent signs, and JSON in what they say: JSON in a URL */
    LANE_URL_JSON_2,
};

struct lane_unit {
    uint8_t bytes[4]; /* what it stands for */
    size_t size;      /* 1 to 4 */
};

/* Reads the unit at *at and moves *at behind it. False when the text ends before the unit does
 * (or before it begins): more text may make it an escape. */
int lane_read(enum lane lane, const uint8_t *text, size_t size, size_t *at,
              struct lane_unit *ret_unit);
