/* The fast scan of a block: filters say where a form may be, the automaton looks there. */

#include "scan.h"

/* The automaton on its way through a stretch of the text. */
struct stretch {
    size_t at; /* it has read up to here */
    uint32_t node;
};

static void read_one(struct scan *scan, struct stretch *stretch)
{
    const struct automaton *automaton = &scan->set->automaton;

    stretch->node = automaton_step(automaton, stretch->node, scan->text[stretch->at++]);
    if (automaton->nodes[stretch->node].longest != 0)
        scan_mark(scan, stretch->at, stretch->node);
}

/* Reads on until all that begins at `last` or before is found or dead. */
static void read_past(struct scan *scan, struct stretch *stretch, size_t last)
{
    const struct node *nodes = scan->set->automaton.nodes;

    while (stretch->at < scan->size && stretch->at - nodes[stretch->node].depth <= last)
        read_one(scan, stretch);
}

/* Looks for forms that begin from `first` to `last`. Called with rising places, so a stretch that
 * has come so far already has seen them all from their beginning. */
static void look(struct scan *scan, struct stretch *stretch, size_t first, size_t last)
{
    if (first > stretch->at)
        *stretch = (struct stretch){.at = first};
    read_past(scan, stretch, last);
}

/* What the stretch is still in at the end of the text stays. */
static void keep_stretch(struct scan *scan, const struct stretch *stretch)
{
    size_t open;

    if (stretch->at < scan->size)
        return;
    open = automaton_open(&scan->set->automaton, stretch->node);
    if (open > 0)
        scan_keep(scan, scan->size - open);
}

/* One filter over the text from `from` on, with pieces of `bytes` at each `stride`. */
static inline __attribute__((always_inline)) void scan_pieces(struct scan *scan, size_t from,
                                                              const struct filter *filter,
                                                              size_t bytes, size_t stride)
{
    const uint8_t *text = scan->text;
    struct stretch stretch = {.at = from};
    const struct filter local = *filter;

    scan->masked = 0;
    for (size_t at = from; at + bytes <= scan->size; at += stride) {
        uint64_t piece = bytes == 8 ? filter_load8(text + at) : filter_load4(text + at);
        if (__builtin_expect(filter_has(&local, piece), 0))
            look(scan, &stretch, at >= from + stride - 1 ? at - (stride - 1) : from, at);
    }
    keep_stretch(scan, &stretch);
}

/* Does the end of the text from here on begin a form? */
static int is_beginning(const struct scan *scan, size_t from)
{
    const struct node *nodes = scan->set->automaton.nodes;
    uint32_t node = scan->set->automaton.first[scan->text[from]];

    for (size_t at = from + 1; node != 0 && at < scan->size; at++) {
        uint32_t child = nodes[node].has_child ? node + 1 : 0;
        while (child != 0 && nodes[child].label != scan->text[at])
            child = nodes[child].sibling;
        node = child;
    }
    return node != 0 && nodes[node].has_child;
}

/* Beginnings that are too short for the filters to have seen. */
static void scan_end(struct scan *scan)
{
    const struct filter first2 = scan->set->filters.first2;
    size_t from = scan->size < LONG_BYTES ? 0 : scan->size - (LONG_BYTES - 1);

    for (; from + 1 < scan->size; from++) {
        uint64_t pair = (uint64_t)scan->text[from] | (uint64_t)scan->text[from + 1] << 8;
        if (filter_has(&first2, pair) && is_beginning(scan, from))
            break;
    }
    if (from < scan->size && is_beginning(scan, from))
        scan_keep(scan, from);
}

/* Short escapes that stand for what escape.h skips, and for text. */
static int is_break(uint8_t letter)
{
    return letter == 'n' || letter == 'r' || letter == 'b' || letter == 'f';
}

/* The four bytes that an escape and what follows it stand for, if that is easily said: 1; if the
 * sign begins no escape: 0; else -1. *ret_is_break: the escape itself stands for no text. */
static int decode_four(const uint8_t *at, size_t left, uint8_t ret_four[4], int *ret_is_break)
{
    size_t size = 2;

    *ret_is_break = 0;
    if (left < 8)
        return -1;
    if (at[0] == '%') {
        static const int8_t digits[256] = {
            ['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,
            ['6'] = 7,  ['7'] = 8,  ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12,
            ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16, ['A'] = 11, ['B'] = 12,
            ['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
        };
        int high = digits[at[1]];
        int low = digits[at[2]];
        if (high == 0 || low == 0)
            return 0;
        ret_four[0] = (uint8_t)((high - 1) << 4 | (low - 1));
        size = 3;
        if (ret_four[0] < 0x20 || ret_four[0] == 0x7f || ret_four[0] == '%' || ret_four[0] == 0xc2)
            return -1;
    } else if (at[1] == '"' || at[1] == '/') {
        ret_four[0] = at[1];
    } else if (at[1] == 't') {
        ret_four[0] = '\t';
    } else if (is_break(at[1])) {
        *ret_is_break = 1;
        ret_four[0] = at[2];
        if (at[2] == '\\')
            return -1;
        size = 3;
    } else {
        return at[1] == 'u' || at[1] == '\\' ? -1 : 0;
    }
    for (int i = 1; i < 4; i++) {
        ret_four[i] = at[size++];
        if (ret_four[i] == at[0])
            return -1;
    }
    return 1;
}

/* May a form be here whose first encoded character is the escape at `at`? It has some bytes
 * before that as they are, so four of it that begin there, or all of its first four, are known. */
static int may_be_encoded(const struct scan *scan, size_t at)
{
    const struct filters *filters = &scan->set->filters;
    uint8_t near[7]; /* three before, four behind */
    int is_a_break;
    int decoded = decode_four(scan->text + at, scan->size - at, near + 3, &is_a_break);

    if (decoded <= 0)
        return decoded;
    if (at < 3)
        return 1;
    memcpy(near, scan->text + at - 3, 3);
    return filter_has(&filters->any4, filter_load4(near)) ||
           filter_has(&filters->first4, filter_load4(near + 1)) ||
           filter_has(&filters->first4, filter_load4(near + 2)) ||
           (!is_a_break && filter_has(&filters->first4, filter_load4(near + 3)));
}

/* The automaton's node before `at`: whatever it is in has all its 4-byte pieces in any4. */
static uint32_t node_before(struct scan *scan, struct stretch *stretch, size_t at)
{
    const struct automaton *automaton = &scan->set->automaton;
    const struct filter any4 = scan->set->filters.any4;
    size_t first = at < 3 ? 0 : at - 3;

    while (first > stretch->at && filter_has(&any4, filter_load4(scan->text + first - 1)))
        first--;
    if (first > stretch->at)
        *stretch = (struct stretch){.at = first};
    while (stretch->at < at)
        stretch->node = automaton_step(automaton, stretch->node, scan->text[stretch->at++]);
    return stretch->node;
}

static void scan_signs(struct scan *scan, const struct block *block, size_t held)
{
    struct stretch stretch = {0};

    for (size_t i = 0; i * 64 < block->raw_size; i++) {
        for (uint64_t signs = block->signs[i]; signs != 0; signs &= signs - 1) {
            uint64_t before = block->keep[i] & ((signs & -signs) - 1);
            size_t at = held + block->starts[i] + (size_t)__builtin_popcountll(before);
            if (may_be_encoded(scan, at))
                scan_escape(scan, at, node_before(scan, &stretch, at));
        }
    }
}

/* What was held is read whole, and on to the end of all that began in it. */
static void scan_head(struct scan *scan, size_t held)
{
    struct stretch stretch = {0};

    if (held == 0)
        return;
    while (stretch.at < held) {
        uint8_t byte = scan->text[stretch.at];
        if (byte == '\\' || byte == '%')
            scan_escape(scan, stretch.at, stretch.node);
        read_one(scan, &stretch);
    }
    read_past(scan, &stretch, held - 1);
    keep_stretch(scan, &stretch);
}

void scan_block(struct scan *scan, const struct block *block, size_t held)
{
    const struct filters *filters = &scan->set->filters;

    scan->hold = scan->size;
    scan->alive = scan->size;
    scan_head(scan, held);
    if (filters->long8.pieces > 0)
        scan_pieces(scan, held, &filters->long8, 8, LONG_STRIDE);
    if (filters->middle4.pieces > 0)
        scan_pieces(scan, held, &filters->middle4, 4, MIDDLE_STRIDE);
    if (filters->short4.pieces > 0)
        scan_pieces(scan, held, &filters->short4, 4, 1);
    scan_signs(scan, block, held);
    scan_end(scan);
}
