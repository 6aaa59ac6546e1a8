/* Code points. */

#include "utf8.h"

size_t utf8_measure(const uint8_t *text, size_t size, size_t *ret_missing)
{
    size_t length = utf8_length(text[0]);

    *ret_missing = 0;
    for (size_t i = 1; i < length; i++) {
        if (i == size) {
            *ret_missing = length - i;
            return i;
        }
        if (i == 1 ? !utf8_follows(text[0], text[1]) : (text[i] & 0xc0) != 0x80)
            return 1;
    }
    return length;
}

size_t utf8_count(const uint8_t *text, size_t size)
{
    size_t count = 0;
    size_t missing;

    for (size_t at = 0; at < size; count++)
        at += text[at] < 0x80 ? 1 : utf8_measure(text + at, size - at, &missing);
    return count;
}

size_t utf8_write(uint32_t character, uint8_t ret_bytes[4])
{
    if (character < 0x80) {
        ret_bytes[0] = (uint8_t)character;
        return 1;
    }
    if (character < 0x800) {
        ret_bytes[0] = (uint8_t)(0xc0 | character >> 6);
        ret_bytes[1] = (uint8_t)(0x80 | (character & 0x3f));
        return 2;
    }
    if (character < 0x10000) {
        ret_bytes[0] = (uint8_t)(0xe0 | character >> 12);
        ret_bytes[1] = (uint8_t)(0x80 | (character >> 6 & 0x3f));
        ret_bytes[2] = (uint8_t)(0x80 | (character & 0x3f));
        return 3;
    }
    ret_bytes[0] = (uint8_t)(0xf0 | character >> 18);
    ret_bytes[1] = (uint8_t)(0x80 | (character >> 12 & 0x3f));
    ret_bytes[2] = (uint8_t)(0x80 | (character >> 6 & 0x3f));
    ret_bytes[3] = (uint8_t)(0x80 | (character & 0x3f));
    return 4;
}

uint32_t utf8_read(const uint8_t *text, size_t size, size_t *ret_bytes)
{
    size_t missing;
    size_t length = utf8_measure(text, size, &missing);
    uint32_t character = text[0];

    if (length > 1 && missing == 0) {
        character &= 0xffu >> (length + 1);
        for (size_t i = 1; i < length; i++)
            character = character << 6 | (text[i] & 0x3f);
    } else {
        length = 1;
    }
    *ret_bytes = length;
    return character;
}
