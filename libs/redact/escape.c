/* The escape machine. */

#include "escape.h"

enum { BEL = 0x07, CAN = 0x18, SUB = 0x1a, ESC = 0x1b, DEL = 0x7f, C2 = 0xc2 };

static int is_control(uint8_t byte)
{
    return (byte < 0x20 && byte != '\t') || byte == DEL;
}

static enum escape_class step_ground(enum escape_state *state, uint8_t byte)
{
    *state = ESCAPE_GROUND;
    if (byte == ESC)
        *state = ESCAPE_ESC;
    if (is_control(byte))
        return ESCAPE_SKIP;
    if (byte != C2)
        return ESCAPE_TEXT;
    *state = ESCAPE_C2;
    return ESCAPE_WAIT;
}

/* The byte after ESC, or the letter that a C1 control stands for. */
static enum escape_class step_esc(enum escape_state *state, uint8_t byte)
{
    if (escape_begins_string(byte)) {
        *state = ESCAPE_STRING;
        return ESCAPE_SKIP;
    }
    switch (byte) {
    case '[':
        *state = ESCAPE_CSI;
        return ESCAPE_SKIP;
    case ESC:
        *state = ESCAPE_ESC;
        return ESCAPE_SKIP;
    case CAN:
    case SUB:
        *state = ESCAPE_GROUND;
        return ESCAPE_SKIP;
    default:
        break;
    }
    if (byte >= 0x80)
        return step_ground(state, byte);
    if (byte < 0x20 || byte == DEL)
        return ESCAPE_SKIP;
    *state = byte < 0x30 ? ESCAPE_CHARSET : ESCAPE_GROUND;
    return ESCAPE_SKIP;
}

/* Inside CSI or a charset sequence: bytes up to `last` go on, others up to 0x7e end it. */
static enum escape_class step_sequence(enum escape_state *state, uint8_t byte, uint8_t last)
{
    if (byte == ESC) {
        *state = ESCAPE_ESC;
        return ESCAPE_SKIP;
    }
    if (byte >= 0x80)
        return step_ground(state, byte);
    if (byte == CAN || byte == SUB || (byte > last && byte != DEL))
        *state = ESCAPE_GROUND;
    return ESCAPE_SKIP;
}

static enum escape_class step_string(enum escape_state *state, uint8_t byte)
{
    *state = ESCAPE_STRING;
    if (byte == ESC)
        *state = ESCAPE_STRING_ESC;
    if (byte == BEL || byte == CAN || byte == SUB)
        *state = ESCAPE_GROUND;
    if (is_control(byte))
        return ESCAPE_SKIP;
    if (byte != C2)
        return ESCAPE_PAYLOAD;
    *state = ESCAPE_STRING_C2;
    return ESCAPE_WAIT;
}

static enum escape_class step_c2(enum escape_state *state, uint8_t byte,
                                 enum escape_class *ret_waited)
{
    if (byte < 0x80 || byte > 0x9f) {
        *ret_waited = ESCAPE_TEXT;
        return step_ground(state, byte);
    }
    *ret_waited = ESCAPE_SKIP;
    *state = ESCAPE_GROUND;
    if (byte == 0x9b || byte == 0x9d || byte == 0x90 || byte == 0x98 || byte == 0x9e ||
        byte == 0x9f)
        return step_esc(state, (uint8_t)(byte - 0x40));
    return ESCAPE_SKIP;
}

static enum escape_class step_string_c2(enum escape_state *state, uint8_t byte,
                                        enum escape_class *ret_waited)
{
    if (byte < 0x80 || byte > 0x9f) {
        *ret_waited = ESCAPE_PAYLOAD;
        return step_string(state, byte);
    }
    *ret_waited = ESCAPE_SKIP;
    *state = byte == 0x9c ? ESCAPE_GROUND : ESCAPE_STRING;
    return ESCAPE_SKIP;
}

enum escape_class escape_step(enum escape_state *state, uint8_t byte, enum escape_class *ret_waited)
{
    switch (*state) {
    case ESCAPE_GROUND:
        return step_ground(state, byte);
    case ESCAPE_C2:
        return step_c2(state, byte, ret_waited);
    case ESCAPE_ESC:
        return step_esc(state, byte);
    case ESCAPE_CHARSET:
        return step_sequence(state, byte, 0x2f);
    case ESCAPE_CSI:
        return step_sequence(state, byte, 0x3f);
    case ESCAPE_STRING:
        return step_string(state, byte);
    case ESCAPE_STRING_C2:
        return step_string_c2(state, byte, ret_waited);
    case ESCAPE_STRING_ESC:
        if (byte == '\\') {
            *state = ESCAPE_GROUND;
            return ESCAPE_SKIP;
        }
        return step_esc(state, byte);
    }
    __builtin_unreachable();
}
