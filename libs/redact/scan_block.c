/* The fast scan of a block: filters say where a form may be, the automaton looks there. */

#include "scan.h"

#include "sign.h"

/* The automaton on its way through a stretch of the text. */
struct stretch {
    size_t at; /* it has read up to here */
    struct state state;
};

static void read_one(struct scan *scan, struct stretch *stretch)
{
    const struct automaton *automaton = &scan->set->automaton;
    uint8_t byte = scan->text[stretch->at++];

    stretch->state = automaton_step(automaton, stretch->state, byte);
    if (automaton_longest(automaton, stretch->state) != 0)
        scan_mark(scan, stretch->at, stretch->state);
}

/* Reads on until all that begins at `last` or before is found or dead. */
static void read_past(struct scan *scan, struct stretch *stretch, size_t last)
{
    while (stretch->at < scan->size && stretch->at - stretch->state.depth <= last)
        read_one(scan, stretch);
}

/* Looks for forms that begin at `at` or up to `stride` - 1 bytes before. Called with rising places,
 * so a stretch that has come so far already has seen them all from their beginning. */
static void look(struct scan *scan, struct stretch *stretch, size_t at, size_t stride)
{
    size_t first = at >= stride - 1 ? at - (stride - 1) : 0;

    if (first > stretch->at)
        *stretch = (struct stretch){.at = first};
    read_past(scan, stretch, at);
}

/* What the stretch is still in at the end of the text stays. */
static void keep_stretch(struct scan *scan, const struct stretch *stretch)
{
    size_t open;

    if (stretch->at < scan->size)
        return;
    open = automaton_open(&scan->set->automaton, stretch->state);
    if (open > 0)
        scan_keep(scan, scan->size - open, 0);
}

/* A filter of 4-byte pieces over the text, at each `stride` from `from` on. */
static void scan_pieces(struct scan *scan, size_t from, const struct filter *filter, size_t stride)
{
    struct stretch stretch = {0};
    const struct filter local = *filter;

    scan->masked = 0;
    for (size_t at = from; at + PIECE_BYTES <= scan->size; at += stride) {
        if (__builtin_expect(filter_has(&local, filter_load4(scan->text + at)), 0))
            look(scan, &stretch, at, stride);
    }
    keep_stretch(scan, &stretch);
}

/* May a piece that a filter found be in a long form? Its neighbour before or behind then is, too.
 * What the first filter says wrongly costs more than this second one. */
static int is_in_form(const struct scan *scan, size_t at)
{
    const struct filter *any4 = &scan->set->filters.any4;

    if (at + 2 * PIECE_BYTES > scan->size)
        return 1;
    return filter_has(any4, filter_load4(scan->text + at + PIECE_BYTES)) ||
           (at >= PIECE_BYTES && filter_has(any4, filter_load4(scan->text + at - PIECE_BYTES)));
}

/* The filter of long forms, with the processor's own way to probe it. */
static void scan_long(struct scan *scan, size_t from)
{
    const struct filter *long4 = &scan->set->filters.long4;
    struct stretch stretch = {0};

    scan->masked = 0;
    for (size_t at = from; (at = scan->set->probe(long4, scan->text, at, scan->size)) < scan->size;
         at += LONG_STRIDE) {
        if (is_in_form(scan, at))
            look(scan, &stretch, at, LONG_STRIDE);
    }
    keep_stretch(scan, &stretch);
}

int scan_is_beginning(const struct automaton *automaton, const uint8_t *bytes, size_t size)
{
    uint32_t node = automaton->first[bytes[0]];

    for (size_t at = 1; node != 0 && at < size; at++)
        node = automaton_child(automaton, node, bytes[at]);
    return node != 0 && !automaton_is_leaf(automaton, node);
}

/* The longest beginning of a form from `from` on to the end of the text; the last three bytes are
 * not looked at. */
static size_t find_beginning(const struct scan *scan, size_t from)
{
    const struct filters *filters = &scan->set->filters;

    for (; from + PIECE_BYTES <= scan->size; from++) {
        const uint8_t *at = scan->text + from;
        if (filters_have_pair(filters, at[0], at[1]) &&
            filter_has(&filters->early4, filter_load4(at)) &&
            scan_is_beginning(&scan->set->automaton, at, scan->size - from))
            return from;
    }
    return scan->size;
}

/* Beginnings that are too short for the filters to have seen. Of four bytes and more the last four
 * are a piece. */
static void scan_end(struct scan *scan)
{
    const struct filters *filters = &scan->set->filters;
    size_t size = scan->size;
    uint32_t last = filter_load4(scan->text + size - PIECE_BYTES); /* before it may be read */
    size_t from = size;

    if (size == 0)
        return;
    if (filter_has(&filters->any4, last))
        from = find_beginning(scan, size < LONG_BYTES ? 0 : size - (LONG_BYTES - 1));
    if (from == size)
        from -= scan_begun(scan->set, last, size);
    if (from < size)
        scan_keep(scan, from, 0);
}

/* The automaton's state before `at`: whatever it is in has all its 4-byte pieces in any4. */
static struct state state_before(struct scan *scan, struct stretch *stretch, size_t at)
{
    const struct automaton *automaton = &scan->set->automaton;
    const struct filter any4 = scan->set->filters.any4;
    size_t first = at < 3 ? 0 : at - 3;
    size_t most = automaton->longest < at ? at - automaton->longest : 0;

    if (most < stretch->at)
        most = stretch->at;
    while (first > most && filter_has(&any4, filter_load4(scan->text + first - 1)))
        first--;
    if (first > stretch->at)
        *stretch = (struct stretch){.at = first};
    while (stretch->at < at)
        stretch->state = automaton_step(automaton, stretch->state, scan->text[stretch->at++]);
    return stretch->state;
}

/* Nothing but backslashes, in which nothing goes on: signs with RUN_BYTES of them before and from
 * them on have no meaning, for in each lane one more follows. */
static bool is_dead_run(const struct scan *scan, const uint8_t *text, const uint16_t *places,
                        size_t count)
{
    size_t size = (size_t)(places[count - 1] - places[0]) + 1;
    size_t other = 0;

    if (!scan->set->filters.run_is_dead || size != count || count < 4 * RUN_BYTES)
        return false;
    for (size_t i = 0; i < count; i++)
        other += text[places[0] + i] != '\\';
    return other == 0;
}

/* Signs in a row, at most SIGNS_AT_ONCE. */
static void scan_some_signs(struct scan *scan, size_t held, const uint16_t *signs, size_t count)
{
    uint32_t places[SIGNS_AT_ONCE + SIFT_SLACK] __attribute__((uninitialized));
    struct stretch stretch = {0};
    size_t kept = scan->set->sift(&scan->set->filters, scan->text + held, scan->size - held, signs,
                                  count, places);

    for (size_t i = 0; i < kept; i++) {
        size_t at = held + places[i];
        scan_escape(scan, at, state_before(scan, &stretch, at));
    }
}

static void scan_signs(struct scan *scan, size_t held, const uint16_t *signs, size_t sign_count)
{
    for (size_t i = 0; i < sign_count; i += SIGNS_AT_ONCE) {
        const uint16_t *some = signs + i;
        size_t left = sign_count - i;
        size_t count = left < SIGNS_AT_ONCE ? left : SIGNS_AT_ONCE;
        if (is_dead_run(scan, scan->text + held, some, count)) {
            scan_some_signs(scan, held, some, RUN_BYTES);
            some += count - RUN_BYTES;
            count = RUN_BYTES;
        }
        scan_some_signs(scan, held, some, count);
    }
}

/* Of signs in what was held no list is kept; it is looked through. */
static void scan_head(struct scan *scan, size_t held)
{
    struct stretch stretch = {0};

    for (size_t at = 0; at < held; at++) {
        if (scan->text[at] == '\\' || scan->text[at] == '%')
            scan_escape(scan, at, state_before(scan, &stretch, at));
    }
}

/* The filters that the set has. They begin so that what is not held is looked at from its own
 * beginning on: it has just been stored in one piece, and is loaded fast so. */
static void scan_filters(struct scan *scan, size_t held)
{
    const struct filters *filters = &scan->set->filters;

    if (filters->long4.pieces > 0)
        scan_long(scan, held % LONG_STRIDE);
    if (filters->middle4.pieces > 0)
        scan_pieces(scan, held % MIDDLE_STRIDE, &filters->middle4, MIDDLE_STRIDE);
    if (filters->short4.pieces > 0)
        scan_pieces(scan, 0, &filters->short4, 1);
}

void scan_block(struct scan *scan, const uint16_t *signs, size_t sign_count, size_t held)
{
    scan_begin(scan);
    scan_filters(scan, held);
    scan_head(scan, held);
    if (sign_count > 0)
        scan_signs(scan, held, signs, sign_count);
    scan_end(scan);
}

void scan_long_text(struct scan *scan)
{
    struct stretch stretch = {0};

    scan_begin(scan);
    scan_filters(scan, 0);
    for (size_t at = 0; at < scan->size; at++) {
        if ((scan->text[at] == '\\' || scan->text[at] == '%') &&
            (at < 3 || sign_may_matter(&scan->set->filters, scan->text, scan->size, at)))
            scan_escape(scan, at, state_before(scan, &stretch, at));
    }
    scan_end(scan);
}
