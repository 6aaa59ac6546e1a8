/* Writing: quoted strings and base64. */

#include <string.h>

#include "value.h"

/* The length of the character that starts here; 0 if it is not valid UTF-8. */
static size_t character_size(const uint8_t *text, size_t size)
{
    uint32_t point;
    size_t length;

    if (text[0] < 0x80)
        return 1;
    if (text[0] >= 0xc2 && text[0] < 0xe0)
        length = 2, point = text[0] & 0x1fu;
    else if ((text[0] & 0xf0) == 0xe0)
        length = 3, point = text[0] & 0x0fu;
    else if ((text[0] & 0xf8) == 0xf0)
        length = 4, point = text[0] & 0x07u;
    else
        return 0;
    if (size < length)
        return 0;
    for (size_t i = 1; i < length; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return 0;
        point = point << 6 | (text[i] & 0x3fu);
    }
    if (length == 3 && (point < 0x800 || (point >= 0xd800 && point < 0xe000)))
        return 0;
    if (length == 4 && (point < 0x10000 || point > 0x10ffff))
        return 0;
    return length;
}

static void append_escaped(struct kndl_buf *out, char c)
{
    static const char plain[] = "\b\f\n\r\t";
    static const char letters[] = "bfnrt";
    const char *at = strchr(plain, c);

    if (c == '"' || c == '\\')
        kndl_buf_printf(out, "\\%c", c);
    else if (at != NULL)
        kndl_buf_printf(out, "\\%c", letters[at - plain]);
    else
        kndl_buf_printf(out, "\\u%04x", (unsigned)c);
}

void kndl_json_append_string(struct kndl_buf *out, const char *text)
{
    const uint8_t *bytes = (const uint8_t *)text;
    size_t size = strlen(text), written = 0, i = 0;

    kndl_buf_append_char(out, '"');
    while (i < size) {
        size_t length = character_size(bytes + i, size - i);
        bool is_plain = length > 0 && bytes[i] >= 0x20 && bytes[i] != '"' && bytes[i] != '\\';

        if (is_plain) {
            i += length;
            continue;
        }
        kndl_buf_append(out, bytes + written, i - written);
        if (length > 0)
            append_escaped(out, text[i]);
        else
            kndl_buf_append_text(out, "\xef\xbf\xbd"); /* the replacement character */
        written = ++i;
    }
    kndl_buf_append(out, bytes + written, size - written);
    kndl_buf_append_char(out, '"');
}

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void kndl_json_append_base64(struct kndl_buf *out, struct kndl_slice bytes)
{
    const uint8_t *data = (const uint8_t *)bytes.data;

    for (size_t i = 0; i < bytes.size; i += 3) {
        size_t left = bytes.size - i < 3 ? bytes.size - i : 3;
        uint32_t group = (uint32_t)data[i] << 16;
        char text[4];

        if (left > 1)
            group |= (uint32_t)data[i + 1] << 8;
        if (left > 2)
            group |= data[i + 2];
        for (size_t k = 0; k < 4; k++)
            text[k] = k <= left ? alphabet[group >> (18 - 6 * k) & 63] : '=';
        kndl_buf_append(out, text, sizeof text);
    }
}

static int sextet(char c)
{
    const char *at = strchr(alphabet, c == '-' ? '+' : c == '_' ? '/' : c);

    return c == '\0' || at == NULL ? -1 : (int)(at - alphabet);
}

bool base64_decode(const char *text, uint8_t *ret_data, size_t *ret_size)
{
    size_t size = strlen(text), out = 0;
    bool is_padded = size > 0 && text[size - 1] == '=';
    uint32_t group = 0;
    unsigned bits = 0;

    if (is_padded && size % 4 != 0)
        return false;
    for (int i = 0; i < 2 && size > 0 && text[size - 1] == '='; i++)
        size--;
    if (size % 4 == 1)
        return false;
    for (size_t i = 0; i < size; i++) {
        int value = sextet(text[i]);

        if (value < 0)
            return false;
        group = group << 6 | (uint32_t)value;
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            ret_data[out++] = (uint8_t)(group >> bits);
        }
    }
    /* Bits that are left over must be zero: one text for each value. */
    if ((group & ((1u << bits) - 1)) != 0)
        return false;
    *ret_size = out;
    return true;
}
