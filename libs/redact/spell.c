/* JSON, URL and base64 spellings. */

#include "spell.h"

#include <string.h>

#include "kndl/mem.h"
#include "secret.h"
#include "utf8.h"

void spell_bytes(struct spell *spell, struct kndl_slice bytes)
{
    if (spell->size + bytes.size > spell->capacity) {
        size_t capacity = (spell->size + bytes.size) * 2 + 64;
        uint8_t *grown = kndl_alloc(capacity, 1);
        if (spell->size > 0)
            memcpy(grown, spell->bytes, spell->size);
        secret_free(spell->bytes, spell->capacity);
        spell->bytes = grown;
        spell->capacity = capacity;
    }
    if (bytes.size > 0)
        memcpy(spell->bytes + spell->size, bytes.data, bytes.size);
    spell->size += bytes.size;
}

void spell_byte(struct spell *spell, uint8_t byte)
{
    if (spell->size < spell->capacity)
        spell->bytes[spell->size++] = byte;
    else
        spell_bytes(spell, kndl_slice(&byte, 1));
}

static char hex_digit(unsigned value, unsigned flags)
{
    return (flags & SPELL_UPPER ? "0123456789ABCDEF" : "0123456789abcdef")[value & 15];
}

static void spell_unicode(struct spell *spell, uint32_t unit, unsigned flags)
{
    spell_byte(spell, '\\');
    spell_byte(spell, 'u');
    for (int shift = 12; shift >= 0; shift -= 4)
        spell_byte(spell, (uint8_t)hex_digit(unit >> shift, flags));
}

static bool is_spelled_as_unicode(uint32_t character, unsigned flags)
{
    if (character < 0x20)
        return true;
    if (flags & SPELL_JSON_HTML && (character == '<' || character == '>' || character == '&' ||
                                    character == 0x2028 || character == 0x2029))
        return true;
    return flags & SPELL_JSON_ASCII && character >= 0x7f;
}

/* Half of a surrogate pair, as JSON may have one alone: three bytes that are no valid UTF-8. */
static bool is_surrogate_half(struct kndl_slice text)
{
    return text.size >= 3 && text.data[0] == 0xed && (text.data[1] & 0xe0) == 0xa0 &&
           (text.data[2] & 0xc0) == 0x80;
}

static bool is_kept_in_json(uint8_t byte)
{
    return byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\' && byte != '/' &&
           byte != '<' && byte != '>' && byte != '&';
}

bool spell_json_keeps(struct kndl_slice text)
{
    unsigned other = 0;

    for (size_t i = 0; i < text.size; i++)
        other |= !is_kept_in_json(text.data[i]);
    return other == 0;
}

void spell_json(struct spell *spell, struct kndl_slice text, unsigned flags)
{
    static const char plain[] = "\"\\\b\f\n\r\t";
    static const char letter[] = "\"\\bfnrt";
    size_t bytes;

    for (size_t at = 0; at < text.size; at += bytes) {
        if (is_kept_in_json(text.data[at])) {
            spell_byte(spell, text.data[at]);
            bytes = 1;
            continue;
        }
        uint32_t character = utf8_read(text.data + at, text.size - at, &bytes);
        const char *found =
            character != 0 && character < 0x80 ? strchr(plain, (int)character) : NULL;
        struct kndl_slice rest = kndl_slice(text.data + at, text.size - at);
        if (is_surrogate_half(rest)) {
            spell_unicode(spell, 0xd800 | (rest.data[1] & 0x1fu) << 6 | (rest.data[2] & 0x3f),
                          flags);
            bytes = 3;
        } else if (found != NULL || (character == '/' && flags & SPELL_JSON_SLASH)) {
            spell_byte(spell, '\\');
            spell_byte(spell, found != NULL ? (uint8_t)letter[found - plain] : '/');
        } else if (!is_spelled_as_unicode(character, flags)) {
            spell_bytes(spell, kndl_slice(text.data + at, bytes));
        } else if (character >= 0x10000) {
            spell_unicode(spell, 0xd800 + ((character - 0x10000) >> 10), flags);
            spell_unicode(spell, 0xdc00 + ((character - 0x10000) & 0x3ff), flags);
        } else {
            spell_unicode(spell, character, flags);
        }
    }
}

static bool is_kept_in_url(uint8_t byte, enum spell_url kind)
{
    static const char *const kept[SPELL_URL_COUNT] = {
        [SPELL_URL_COMPONENT] = "-_.!~*'()", [SPELL_URL_RFC3986] = "-._~",
        [SPELL_URL_PATH] = "-._~/",          [SPELL_URL_FORM] = "-._*",
        [SPELL_URL_FORM_PLUS] = "-._~",
    };

    if ((byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
        (byte >= 'a' && byte <= 'z'))
        return true;
    return byte != 0 && strchr(kept[kind], byte) != NULL;
}

void spell_url(struct spell *spell, struct kndl_slice text, enum spell_url kind, unsigned flags)
{
    for (size_t i = 0; i < text.size; i++) {
        uint8_t byte = text.data[i];
        if (is_kept_in_url(byte, kind)) {
            spell_byte(spell, byte);
        } else if (byte == ' ' && (kind == SPELL_URL_FORM || kind == SPELL_URL_FORM_PLUS)) {
            spell_byte(spell, '+');
        } else {
            spell_byte(spell, '%');
            spell_byte(spell, (uint8_t)hex_digit(byte >> 4, flags));
            spell_byte(spell, (uint8_t)hex_digit(byte, flags));
        }
    }
}

void spell_base64(struct spell *spell, struct kndl_slice text, unsigned shift, bool for_url)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    size_t first = shift == 0 ? 0 : shift + 1;
    size_t end = (shift + text.size) * 8 / 6;

    for (size_t i = first; i < end; i++) {
        size_t bit = i * 6 - shift * 8;
        unsigned pair = (unsigned)text.data[bit / 8] << 8;
        if (bit / 8 + 1 < text.size)
            pair |= text.data[bit / 8 + 1];
        unsigned digit = pair >> (10 - bit % 8) & 63;
        if (digit < 62)
            spell_byte(spell, (uint8_t)letters[digit]);
        else
            spell_byte(spell,
                       (uint8_t)(digit == 62 ? (for_url ? '-' : '+') : (for_url ? '_' : '/')));
    }
}

void spell_clear(struct spell *spell)
{
    spell->size = 0;
}

void spell_done(struct spell *spell)
{
    secret_free(spell->bytes, spell->capacity);
    *spell = (struct spell){0};
}
