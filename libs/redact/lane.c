/* Reading encoded characters. A level reads its units through the level below. */

#include "lane.h"

#include <string.h>

#include "utf8.h"

struct reader {
    const uint8_t *text;
    size_t size;
    const char *levels; /* what each decodes, the text's own first: j JSON, u percent signs */
};

static int hex_value(uint8_t byte)
{
    if (byte >= '0' && byte <= '9')
        return byte - '0';
    byte |= 0x20;
    return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

static int is_byte(const struct lane_unit *unit, uint8_t byte)
{
    return unit->size == 1 && unit->bytes[0] == byte;
}

static int read_plain(const struct reader *reader, size_t *at, struct lane_unit *ret_unit)
{
    if (*at >= reader->size)
        return 0;
    ret_unit->bytes[0] = reader->text[(*at)++];
    ret_unit->size = 1;
    return 1;
}

/* The unit at this level, 0 the text itself. 0: the text ends before the unit does. */
static int read_unit(const struct reader *reader, int level, size_t *at,
                     struct lane_unit *ret_unit);

/* Four hex digits: 1 with their value, 0 at the end of the text, -1 if they are none. */
static int read_hex(const struct reader *reader, int level, size_t *at, uint32_t *ret_value)
{
    uint32_t value = 0;

    for (int i = 0; i < 4; i++) {
        struct lane_unit unit;
        if (!read_unit(reader, level, at, &unit))
            return 0;
        int digit = unit.size == 1 ? hex_value(unit.bytes[0]) : -1;
        if (digit < 0)
            return -1;
        value = value << 4 | (uint32_t)digit;
    }
    *ret_value = value;
    return 1;
}

/* The second half of a surrogate pair: as read_hex(), and -1 if something else follows. */
static int read_low_half(const struct reader *reader, int level, size_t *at, uint32_t *ret_low)
{
    static const uint8_t wanted[] = {'\\', 'u'};

    for (int i = 0; i < 2; i++) {
        struct lane_unit unit;
        if (!read_unit(reader, level, at, &unit))
            return 0;
        if (!is_byte(&unit, wanted[i]))
            return -1;
    }
    int found = read_hex(reader, level, at, ret_low);
    return found == 1 && (*ret_low & 0xfc00) != 0xdc00 ? -1 : found;
}

/* What follows `\u`: as read_hex(). */
static int read_unicode(const struct reader *reader, int level, size_t *at,
                        struct lane_unit *ret_unit)
{
    uint32_t character;
    uint32_t low;
    int found = read_hex(reader, level, at, &character);

    if (found != 1)
        return found;
    if ((character & 0xfc00) == 0xd800) {
        size_t behind = *at;
        found = read_low_half(reader, level, &behind, &low);
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
static uint8_t short_escape(uint8_t letter)
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

static int read_json(const struct reader *reader, int level, size_t *at, struct lane_unit *ret_unit)
{
    struct lane_unit letter;
    size_t behind;

    if (!read_unit(reader, level - 1, at, ret_unit))
        return 0;
    if (!is_byte(ret_unit, '\\'))
        return 1;

    behind = *at;
    if (!read_unit(reader, level - 1, &behind, &letter))
        return 0;
    if (letter.size != 1)
        return 1;
    if (letter.bytes[0] == 'u') {
        int found = read_unicode(reader, level - 1, &behind, ret_unit);
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

static int read_url(const struct reader *reader, int level, size_t *at, struct lane_unit *ret_unit)
{
    size_t behind;
    int value = 0;

    if (!read_unit(reader, level - 1, at, ret_unit))
        return 0;
    if (!is_byte(ret_unit, '%'))
        return 1;

    behind = *at;
    for (int i = 0; i < 2; i++) {
        struct lane_unit digit;
        if (!read_unit(reader, level - 1, &behind, &digit))
            return 0;
        if (digit.size != 1 || hex_value(digit.bytes[0]) < 0)
            return 1;
        value = value << 4 | hex_value(digit.bytes[0]);
    }
    ret_unit->bytes[0] = (uint8_t)value;
    *at = behind;
    return 1;
}

static int read_unit(const struct reader *reader, int level, size_t *at, struct lane_unit *ret_unit)
{
    if (level == 0)
        return read_plain(reader, at, ret_unit);
    return reader->levels[level - 1] == 'j' ? read_json(reader, level, at, ret_unit)
                                            : read_url(reader, level, at, ret_unit);
}

int lane_read(enum lane lane, const uint8_t *text, size_t size, size_t *at,
              struct lane_unit *ret_unit)
{
    static const char *const levels[] = {
        [LANE_JSON] = "j",         [LANE_JSON_2] = "jj",   [LANE_JSON_3] = "jjj",
        [LANE_URL] = "u",          [LANE_URL_2] = "uu",    [LANE_JSON_URL] = "ju",
        [LANE_JSON_2_URL] = "jju", [LANE_URL_JSON] = "uj", [LANE_URL_JSON_2] = "ujj",
    };
    const struct reader reader = {text, size, levels[lane]};

    /* What is no sign stands for itself in every lane. */
    if (*at < size && text[*at] != '\\' && text[*at] != '%')
        return read_plain(&reader, at, ret_unit);
    return read_unit(&reader, (int)strlen(levels[lane]), at, ret_unit);
}
