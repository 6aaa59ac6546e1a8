/* Signs: the usual escapes, decoded by table, and the filters asked about what they stand for. */

#include "sign.h"

#include "sign_table.h"

/* How the text goes on at a sign: the three bytes before, and what follows, decoded. */
struct reading {
    const struct filters *filters;
    const uint8_t *at;
    const uint8_t *end;
    uint8_t sign;
};

/* The `\\u` escape at `at`: bytes of it, and of the colour that it begins if it is ESC; 0 if that
 * is not simple. *ret_byte is the ASCII character, or -1 for what stands for no text. */
static size_t read_unicode(const uint8_t *at, const uint8_t *end, int *ret_byte)
{
    size_t size = 6;
    size_t left = (size_t)(end - at);

    if (left < 8 || at[2] != '0' || at[3] != '0' || !hex_digits[at[4]] || !hex_digits[at[5]])
        return 0;
    *ret_byte = (hex_digits[at[4]] - 1) << 4 | (hex_digits[at[5]] - 1);
    if (*ret_byte >= 0x7f || *ret_byte == '\\' || *ret_byte == '%')
        return 0;
    if (*ret_byte >= 0x20 || *ret_byte == '\t')
        return size;
    if (*ret_byte == 0x1b) {
        if (at[size++] != '[')
            return 0;
        while (size < left && at[size] >= 0x20 && at[size] <= 0x3f && at[size] != '%')
            size++;
        if (size == left || at[size] < 0x40 || at[size] >= 0x7f || at[size] == '\\')
            return 0;
        size++;
    }
    *ret_byte = -1;
    return size;
}

/* A form has some bytes (its literal ones) before the sign. With three or more, the last three and
 * the next one are a piece of it; with fewer, the next four are, from its offset 0, 1 or 2 on. */
static inline int have_four(const struct reading *reading, uint32_t next)
{
    const struct filters *filters = reading->filters;
    uint32_t around = (filter_load4(reading->at - 3) & 0xffffff) | next << 24;

    return filter_has(&filters->any4, around) | filter_has(&filters->early4, next);
}

/* Do the two bytes that are the lowest begin a form? */
static inline int begin_form(const struct filters *filters, uint64_t bytes)
{
    return filters_have_pair(filters, (uint8_t)bytes, (uint8_t)(bytes >> 8));
}

/* The same with only the first `known` of the next four, for signs that are too near. */
static int may_go_on_with(const struct reading *reading, uint32_t next, size_t known)
{
    const struct filters *filters = reading->filters;
    uint64_t around = (filter_load4(reading->at - 3) & 0xffffff) | (uint64_t)next << 24;
    uint32_t last_three = (uint32_t)around;

    if (known == 0)
        return 1;
    if (known == 4 && filters->short4.pieces == 0)
        return have_four(reading, next);
    if (filter_has(&filters->any4, last_three))
        return 1;
    if (known >= 2 ? filter_has(&filters->early4, (uint32_t)(around >> 8))
                   : begin_form(filters, around >> 8))
        return 1;
    if (known >= 3 ? filter_has(&filters->early4, (uint32_t)(around >> 16))
                   : begin_form(filters, around >> 16))
        return 1;
    if (known == 4)
        return filter_has(&filters->early4, next);
    return known < 2 || begin_form(filters, next);
}

/* Do these three bytes stand in a form, or the last two at the beginning of one? */
static inline int may_stand(const struct filters *filters, uint8_t before, uint8_t last,
                            uint8_t next)
{
    uint32_t three = before | (uint32_t)last << 8 | (uint32_t)next << 16;

    return filter_has(&filters->any3, three) | filters_have_pair(filters, last, next);
}

/* What a percent sign with two digits behind stands for; -1: nothing, -2: what is not simple. */
static int read_percent(const uint8_t *at)
{
    uint8_t high = hex_digits[at[1]];
    uint8_t low = hex_digits[at[2]];
    int byte;

    if (high == 0 || low == 0)
        return -1;
    byte = (high - 1) << 4 | (low - 1);
    return byte < 0x20 || byte == 0x7f || byte == '%' || byte == '\\' || byte == MAYBE_C1 ? -2
                                                                                          : byte;
}

/* Reads what follows percent signs one by one, as far as that is simple. */
static int read_percents(const struct reading *reading, const uint8_t *at, uint32_t next,
                         size_t known)
{
    while (known < 4 && at + 2 < reading->end) {
        int byte = at[0] == '%' ? read_percent(at) : -1;
        if (byte == -2 || at[0] == MAYBE_C1 || at[0] == '\\')
            break;
        next |= (byte < 0 ? *at : (uint32_t)byte) << 8 * known++;
        at += byte < 0 ? 1 : 3;
    }
    return may_go_on_with(reading, next, known);
}

enum { CAREFUL_UNITS = 12 /* breaks and colours among them */ };

/* Reads what follows escape by escape, as far as that is simple and not long; `known` bytes of next
 * are there. */
static int read_carefully(const struct reading *reading, const uint8_t *at, uint32_t next,
                          size_t known)
{
    if (reading->sign == '%')
        return read_percents(reading, at, next, known);
    for (int units = 0; units < CAREFUL_UNITS && known < 4 && at + 2 < reading->end; units++) {
        uint8_t byte = at[0] == '\\' ? short_escapes[at[1]] : 0;
        if (at[0] == MAYBE_C1 || at[0] == '%')
            break;
        if (byte == 0) {
            next |= (uint32_t)*at++ << 8 * known++;
            continue;
        }
        size_t size = 2;
        int first = byte == BREAK ? -1 : byte;
        if (byte == DEEPER)
            size = at[1] == 'u' ? read_unicode(at, reading->end, &first) : 0;
        if (size == 0)
            break;
        if (first >= 0)
            next |= (uint32_t)first << 8 * known++;
        at += size;
    }
    return may_go_on_with(reading, next, known);
}

static inline int has_byte(uint32_t four, uint8_t byte)
{
    uint32_t zero = four ^ byte * UINT32_C(0x01010101);

    return ((zero - 0x01010101) & ~zero & 0x80808080) != 0;
}

/* The escape stands for `first`, or for nothing (-1); what it leaves begins at `behind`. */
static inline int may_go_on(const struct reading *reading, int first, const uint8_t *behind)
{
    const struct filters *filters = reading->filters;
    uint32_t next = filter_load4(behind);
    uint32_t others;

    if (first >= 0)
        next = next << 8 | (uint32_t)first;
    others = first >= 0 ? next | 0xff : next; /* the escape's own byte is known */
    if (__builtin_expect(!has_byte(others, '\\') && !has_byte(others, '%') &&
                             !has_byte(others, MAYBE_C1) && filters->short4.pieces == 0,
                         1))
        return have_four(reading, next);
    return first >= 0 ? read_carefully(reading, behind, (uint32_t)first, 1)
                      : read_carefully(reading, behind, 0, 0);
}

/* Behind `\\u` and four digits: a character, or the first byte of a colour that is skipped. */
static int unicode_may_matter(const struct reading *reading)
{
    int first;
    size_t size = read_unicode(reading->at, reading->end, &first);

    if (size == 0 || reading->at + size + 4 > reading->end)
        return 1;
    return may_go_on(reading, first, reading->at + size);
}

/* Two backslashes: one, and at the next level what it and the letter behind stand for. */
static int deeper_may_matter(const struct reading *reading)
{
    const uint8_t *at = reading->at;
    uint8_t byte = short_escapes[at[2]];

    if (byte == DEEPER || may_go_on(reading, '\\', at + 2))
        return 1;
    if (byte == 0)
        return 0;
    return may_go_on(reading, byte == BREAK ? -1 : byte, at + 3);
}

static int json_may_matter(const struct reading *reading)
{
    const uint8_t *at = reading->at;
    uint8_t byte = short_escapes[at[1]];

    if (byte == 0)
        return 0;
    if (byte == DEEPER)
        return at[1] == 'u' ? unicode_may_matter(reading) : deeper_may_matter(reading);
    return may_go_on(reading, byte == BREAK ? -1 : byte, at + 2);
}

static int url_may_matter(const struct reading *reading)
{
    const struct filters *filters = reading->filters;
    const uint8_t *at = reading->at;
    int byte = read_percent(at);
    int second = at[3] == '%' ? read_percent(at + 3) : at[3];

    if (byte < 0)
        return byte == -2;
    if (second >= 0 && second != MAYBE_C1 && second != '\\' && filters->short4.pieces == 0 &&
        !may_stand(filters, at[-2], at[-1], (uint8_t)byte) &&
        !filters_have_pair(filters, (uint8_t)byte, (uint8_t)second))
        return 0;
    return may_go_on(reading, byte, at + 3);
}

enum { NEAR_BYTES = 12 /* of the sign and what follows, at least */ };

int sign_may_matter(const struct filters *filters, const uint8_t *text, size_t size, size_t at)
{
    const struct reading reading = {filters, text + at, text + size, text[at]};

    if (size - at < NEAR_BYTES)
        return 1;
    return text[at] == '%' ? url_may_matter(&reading) : json_may_matter(&reading);
}

/* May what the escape with this letter stands for follow the two bytes before the sign in a form,
 * or begin one? Yes, too, if the text ends before that is known. */
static inline int glance_at_json(const struct filters *filters, const uint8_t *at,
                                 const uint8_t *letter, const uint8_t *end)
{
    if (letter >= end)
        return 1;

    uint8_t byte = short_escapes[*letter];
    int is_text = byte > DEEPER;
    uint8_t next = is_text ? byte : letter[1];

    if (byte == DEEPER)
        return *letter == 'u' || letter > at + 1 || filters_backslash_follows(filters, at[-1]) ||
               glance_at_json(filters, at, letter + 1, end);
    if (byte == 0)
        return 0;
    return (!is_text & (letter + 1 == end || next == '\\' || next == '%' || next == MAYBE_C1)) |
           may_stand(filters, at[-2], at[-1], next) | (is_text & filters_begin(filters, next));
}

static inline int glance_at_url(const struct filters *filters, const uint8_t *at,
                                const uint8_t *end)
{
    int byte = read_percent(at);

    return end - at < 3 || byte == -2 ||
           (byte >= 0 && (may_stand(filters, at[-2], at[-1], (uint8_t)byte) ||
                          filters_begin(filters, (uint8_t)byte)));
}

/* The cheapest question, which tells nearly all signs to be without meaning. */
static inline int glance(const struct filters *filters, const uint8_t *at, const uint8_t *end)
{
    return *at == '%' ? glance_at_url(filters, at, end) : glance_at_json(filters, at, at + 1, end);
}

static size_t sift(const struct filters *filters, const uint8_t *text, size_t size,
                   const uint16_t *places, size_t count, uint32_t *kept)
{
    size_t kept_count = 0;

    for (size_t i = 0; i < count; i++) {
        if (glance(filters, text + places[i], text + size) &&
            sign_may_matter(filters, text, size, places[i]))
            kept[kept_count++] = places[i];
    }
    return kept_count;
}

sift_fn sift_plain(void)
{
    return sift;
}

sift_fn sift_best(void)
{
    sift_fn best = sift_avx512();

    return best != NULL ? best : sift;
}
