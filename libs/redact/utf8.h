#pragma once

/* Code points, strictly: no overlong forms, no surrogates, nothing above U+10FFFF. */

#include <stddef.h>
#include <stdint.h>

/* Bytes that a character with this first byte has; 1 for what begins none. */
static inline size_t utf8_length(uint8_t first)
{
    if (first < 0xc2 || first > 0xf4)
        return 1;
    return first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

/* May `second` follow `first`, which utf8_length() says begins a longer character? */
static inline int utf8_follows(uint8_t first, uint8_t second)
{
    switch (first) {
    case 0xe0:
        return second >= 0xa0 && second <= 0xbf;
    case 0xed:
        return second >= 0x80 && second <= 0x9f;
    case 0xf0:
        return second >= 0x90 && second <= 0xbf;
    case 0xf4:
        return second >= 0x80 && second <= 0x8f;
    default:
        return (second & 0xc0) == 0x80;
    }
}

/* Bytes of the character at `text`, 1 if it is not valid; how far it got if the text ends inside
 * a character goes to *ret_missing (bytes that are yet to come, else 0). */
size_t utf8_measure(const uint8_t *text, size_t size, size_t *ret_missing);

size_t utf8_count(const uint8_t *text, size_t size);

/* Writes the character; returns its bytes (1 to 4). Lone surrogates are written as they are. */
size_t utf8_write(uint32_t character, uint8_t ret_bytes[4]);

/* The character at `text` and its bytes; an invalid byte stands for itself. */
uint32_t utf8_read(const uint8_t *text, size_t size, size_t *ret_bytes);
