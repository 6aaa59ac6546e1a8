#pragma once

/*
 * Lanes: readings of a text with its encoded characters decoded, for spellings that no literal
 * form has (`%2f%3D`, a needless \u0041, JSON in JSON in JSON, a URL in JSON). Each lane reads one
 * unit at a time: a byte that stands for itself, or an escape that stands for one character.
 */

#include <stddef.h>
#include <stdint.h>

#include "sign_table.h"

enum lane {
    LANE_JSON, /* one level of JSON */
    LANE_JSON_2,
    LANE_JSON_3,
    LANE_JSON_URL, /* JSON, and percent signs in what it says: a URL in JSON */
    LANE_JSON_2_URL,
    LANE_URL, /* one level of percent signs; from here on, that is what is decoded first */
    LANE_URL_2,
    LANE_URL_JSON, /* percent signs, and JSON in what they say: JSON in a URL */
    LANE_URL_JSON_2,
    LANE_COUNT
};

struct lane_unit {
    uint8_t bytes[4]; /* what it stands for */
    size_t size;      /* 1 to 4 */
};

/* Lanes begin at these. */
static inline int lane_is_sign(uint8_t byte)
{
    return byte == '\\' || byte == '%';
}

/* Reads the unit at *at and moves *at behind it. False when the text ends before the unit does
 * (or before it begins): more text may make it an escape. */
int lane_read(enum lane lane, const uint8_t *text, size_t size, size_t *at,
              struct lane_unit *ret_unit);

/* The same for what all lanes that begin at the same sign read the same: a byte that is no sign, or
 * a usual escape that stands for such a byte. False for all else, which may be such a unit, too. */
static inline int lane_read_same(enum lane lane, const uint8_t *text, size_t size, size_t *at,
                                 struct lane_unit *ret_unit)
{
    const uint8_t *from = text + *at;
    size_t length = 1;
    uint8_t byte;

    if (size - *at < 3)
        return 0;
    byte = from[0];
    if (byte == '%' && lane >= LANE_URL && hex_digits[from[1]] != 0 && hex_digits[from[2]] != 0) {
        byte = (uint8_t)((hex_digits[from[1]] - 1) << 4 | (hex_digits[from[2]] - 1));
        length = 3;
    }
    if (lane_is_sign(byte))
        return 0;
    ret_unit->bytes[0] = byte;
    ret_unit->size = 1;
    *at += length;
    return 1;
}
