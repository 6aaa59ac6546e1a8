/* Reading encoded characters. A level reads its units through the level below. */

#include "lane.h"

#include "utf8.h"

/* Each lane's reader is compiled in one piece, with the levels that it reads through. */
#define INLINE static inline __attribute__((always_inline))

struct text {
    const uint8_t *bytes;
    size_t size;
};

/* The next unit of a level. 0: the text ends before the unit does. */
typedef int (*read_fn)(const struct text *text, size_t *at, struct lane_unit *ret_unit);

INLINE int is_byte(const struct lane_unit *unit, uint8_t byte)
{
    return unit->size == 1 && unit->bytes[0] == byte;
}

/* The text itself. */
INLINE int read_plain(const struct text *text, size_t *at, struct lane_unit *ret_unit)
{
    if (*at >= text->size)
        return 0;
    ret_unit->bytes[0] = text->bytes[(*at)++];
    ret_unit->size = 1;
    return 1;
}

/* So many hex digits: 1 with their value, 0 at the end of the text, -1 if they are none. */
INLINE int read_hex(const struct text *text, size_t *at, read_fn read, int digits,
                    uint32_t *ret_value)
{
    uint32_t value = 0;

    for (int i = 0; i < digits; i++) {
        struct lane_unit unit;
        if (!read(text, at, &unit))
            return 0;
        uint32_t digit = unit.size == 1 ? hex_digits[unit.bytes[0]] : 0;
        if (digit == 0)
            return -1;
        value = value << 4 | (digit - 1);
    }
    *ret_value = value;
    return 1;
}

/* The second half of a surrogate pair: as read_hex(), and -1 if something else follows. */
INLINE int read_low_half(const struct text *text, size_t *at, read_fn read, uint32_t *ret_low)
{
    static const uint8_t wanted[] = {'\\', 'u'};

    for (int i = 0; i < 2; i++) {
        struct lane_unit unit;
        if (!read(text, at, &unit))
            return 0;
        if (!is_byte(&unit, wanted[i]))
            return -1;
    }
    int found = read_hex(text, at, read, 4, ret_low);
    return found == 1 && (*ret_low & 0xfc00) != 0xdc00 ? -1 : found;
}

/* What follows `\u`: as read_hex(). */
INLINE int read_unicode(const struct text *text, size_t *at, read_fn read,
                        struct lane_unit *ret_unit)
{
    uint32_t character;
    uint32_t low;
    int found = read_hex(text, at, read, 4, &character);

    if (found != 1)
        return found;
    if ((character & 0xfc00) == 0xd800) {
        size_t behind = *at;
        found = read_low_half(text, &behind, read, &low);
        if (found == 0)
            return 0;
        if (found == 1) {
            character = 0x10000 + ((character & 0x3ff) << 10) + (low & 0x3ff);
            *at = behind;
        }
    }
    ret_unit->size = utf8_write(character, ret_unit->bytes);
    return 1;
}

/* What `\` and this letter stand for; 0: nothing. */
INLINE uint8_t short_escape(uint8_t letter)
{
    switch (letter) {
    case '"':
    case '\\':
    case '/':
        return letter;
    case 'b':
        return '\b';
    case 'f':
        return '\f';
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    default:
        return 0;
    }
}

/* One level of JSON, over what `read` reads. */
INLINE int read_json(const struct text *text, size_t *at, read_fn read, struct lane_unit *ret_unit)
{
    struct lane_unit letter;
    size_t behind;

    if (!read(text, at, ret_unit))
        return 0;
    if (!is_byte(ret_unit, '\\'))
        return 1;

    behind = *at;
    if (!read(text, &behind, &letter))
        return 0;
    if (letter.size != 1)
        return 1;
    if (letter.bytes[0] == 'u') {
        int found = read_unicode(text, &behind, read, ret_unit);
        if (found == 1)
            *at = behind;
        return found != 0;
    }
    uint8_t byte = short_escape(letter.bytes[0]);
    if (byte != 0) {
        ret_unit->bytes[0] = byte;
        *at = behind;
    }
    return 1;
}

/* One level of percent signs. */
INLINE int read_url(const struct text *text, size_t *at, read_fn read, struct lane_unit *ret_unit)
{
    size_t behind;
    uint32_t value;

    if (!read(text, at, ret_unit))
        return 0;
    if (!is_byte(ret_unit, '%'))
        return 1;

    behind = *at;
    int found = read_hex(text, &behind, read, 2, &value);
    if (found == 1) {
        ret_unit->bytes[0] = (uint8_t)value;
        *at = behind;
    }
    return found != 0;
}

#define READER(LANE, LEVEL, BELOW)                                                                 \
    static int LANE(const struct text *text, size_t *at, struct lane_unit *ret_unit)               \
    {                                                                                              \
        return LEVEL(text, at, BELOW, ret_unit);                                                   \
    }

READER(json, read_json, read_plain)
READER(json_2, read_json, json)
READER(json_3, read_json, json_2)
READER(url, read_url, read_plain)
READER(url_2, read_url, url)
READER(json_url, read_url, json)
READER(json_2_url, read_url, json_2)
READER(url_json, read_json, url)
READER(url_json_2, read_json, url_json)

int lane_read(enum lane lane, const uint8_t *text, size_t size, size_t *at,
              struct lane_unit *ret_unit)
{
    static const read_fn readers[] = {
        [LANE_JSON] = json,
        [LANE_JSON_2] = json_2,
        [LANE_JSON_3] = json_3,
        [LANE_URL] = url,
        [LANE_URL_2] = url_2,
        [LANE_JSON_URL] = json_url,
        [LANE_JSON_2_URL] = json_2_url,
        [LANE_URL_JSON] = url_json,
        [LANE_URL_JSON_2] = url_json_2,
    };
    const struct text all = {text, size};

    return readers[lane](&all, at, ret_unit);
}
