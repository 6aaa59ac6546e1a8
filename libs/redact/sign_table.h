#pragma once

/* What the usual escapes stand for, by letter and digit. */

#include <stdint.h>

enum { BREAK = 1, DEEPER = 2 }; /* letters that stand for no text; that need the lane itself */

enum { MAYBE_C1 = 0xc2 }; /* text or not, by what follows, encoded or not */

/* What `\\` and a letter stand for; 0: nothing. */
static const uint8_t short_escapes[256] = {
    ['"'] = '"',   ['/'] = '/',   ['t'] = '\t',    ['n'] = BREAK,  ['r'] = BREAK,
    ['b'] = BREAK, ['f'] = BREAK, ['\\'] = DEEPER, ['u'] = DEEPER,
};

/* Hex digits, one more than their value; 0: none. */
static const uint8_t hex_digits[256] = {
    ['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,  ['6'] = 7,  ['7'] = 8,
    ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
    ['A'] = 11, ['B'] = 12, ['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
};
