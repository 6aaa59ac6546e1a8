#pragma once

/*
 * Which bytes of a terminal's output are text: a machine of a few states, one byte at a time.
 *
 * Skipped are control characters except TAB, DEL, and whole escape sequences: CSI, two-character
 * and charset ones, and the frames of strings (OSC, DCS, SOS, PM, APC: to BEL, ST, CAN, SUB or the
 * next ESC). What is inside such a string is a text of its own. U+0080 to U+009F count as the C1
 * controls they are.
 */

#include <stdint.h>

enum escape_state {
    ESCAPE_GROUND,
    ESCAPE_C2,        /* after 0xC2 in the ground state: a C1 control or a character */
    ESCAPE_ESC,       /* after ESC */
    ESCAPE_CHARSET,   /* after ESC and 0x20-0x2f: to the final byte */
    ESCAPE_CSI,       /* parameters, to the final byte */
    ESCAPE_STRING,    /* inside OSC, DCS, SOS, PM, APC */
    ESCAPE_STRING_C2, /* after 0xC2 in a string */
    ESCAPE_STRING_ESC /* after ESC in a string, which has ended: ST if `\` follows */
};

enum escape_class {
    ESCAPE_SKIP,
    ESCAPE_TEXT,
    ESCAPE_PAYLOAD, /* text inside a string */
    ESCAPE_WAIT     /* 0xC2: the next step's *ret_waited tells what it was */
};

/*
 * Takes one byte; returns what it is. When the state before was one of the two after 0xC2, also
 * tells what that byte was; else *ret_waited is untouched.
 */
enum escape_class escape_step(enum escape_state *state, uint8_t byte,
                              enum escape_class *ret_waited);

/* What ESC and this byte begin is a string. */
static inline int escape_begins_string(uint8_t byte)
{
    return byte == ']' || byte == 'P' || byte == 'X' || byte == '^' || byte == '_';
}

/* BEL, CAN, SUB, and ESC, which begins another sequence. */
static inline int escape_ends_string(uint8_t byte)
{
    return byte == 0x07 || byte == 0x18 || byte == 0x1a || byte == 0x1b;
}

/* Is this state inside a string, whose text is still open? */
static inline int escape_in_string(enum escape_state state)
{
    return state == ESCAPE_STRING || state == ESCAPE_STRING_C2;
}
