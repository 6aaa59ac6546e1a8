/* The scalar scan: the automaton over the whole text, and lanes at each escape. */

#include "scan.h"

#include <string.h>

#include "escape.h"
#include "lane.h"
#include "utf8.h"

/* The mask is cleared when the first form is found, which is seldom. */
static void begin_mask(struct scan *scan)
{
    if (!scan->found)
        memset(scan->mask, 0, MASK_WORDS(scan->size) * sizeof *scan->mask);
    scan->found = 1;
}

/* A form found twice, literally and in a lane, is one hit. */
static void count_hit(struct scan *scan, size_t start, size_t end, struct state state)
{
    if (end > scan->known && !(mask_has(scan->mask, start) && mask_has(scan->mask, end - 1)))
        set_hit(scan->set, state);
}

void scan_mark(struct scan *scan, size_t end, struct state state)
{
    size_t start = end - automaton_longest(&scan->set->automaton, state);

    begin_mask(scan);
    count_hit(scan, start, end, state);
    if (start > scan->masked || scan->masked == 0) {
        scan->run = start;
        scan->masked = start;
    }
    if (start < scan->run) {
        mask_set(scan->mask, start, scan->run);
        scan->run = start;
    }
    if (end > scan->masked) {
        mask_set(scan->mask, scan->masked, end);
        scan->masked = end;
    }
}

void scan_mask_byte(struct scan *scan, size_t at)
{
    begin_mask(scan);
    mask_set(scan->mask, at, at + 1);
}

void scan_keep(struct scan *scan, size_t start, size_t skipped)
{
    size_t size = scan->size - start;
    size_t shown = SCAN_SHOWN_CHARACTERS + skipped;

    if (start < scan->hold)
        scan->hold = start;
    if (start < scan->alive)
        scan->alive = start;
    if (start < scan->secret && size > shown && utf8_count(scan->text + start, size) > shown)
        scan->secret = start;
}

/* A lane from the escape at `from` on. */
struct reading {
    size_t from;
    size_t at;
    size_t since;           /* bytes decoded and not skipped */
    size_t skipped;         /* bytes of the text that were decoded and skipped */
    size_t lead;            /* 1: what the escape stands for is skipped, so a form began before */
    struct state state;     /* of the automaton, after them */
    enum escape_state skip; /* encoded colours and line breaks are skipped like real ones */
    size_t quiet;           /* up to here all was skipped; else 0 ... */
    size_t quiet_skipped;   /* ... with so much of `skipped` ... */
    enum escape_state quiet_skip; /* ... and this `skip` */
    int joined;                   /* it came to a pause of an earlier one */
};

/* One decoded byte of text; false when all that began at or before the escape is dead. */
static inline int read_on(struct scan *scan, struct reading *reading, uint8_t byte)
{
    const struct automaton *automaton = &scan->set->automaton;

    reading->since++;
    reading->state = automaton_step(automaton, reading->state, byte);
    if (reading->state.depth < reading->since + reading->lead)
        return 0;

    uint32_t longest = automaton_longest(automaton, reading->state);
    if (__builtin_expect(longest >= reading->since + reading->lead, 0)) {
        size_t start = reading->from + reading->since - longest;
        begin_mask(scan);
        count_hit(scan, start, reading->at, reading->state);
        mask_set(scan->mask, start, reading->at);
    }
    return 1;
}

/* One that may be no text. */
static int read_rare(struct scan *scan, struct reading *reading, uint8_t byte)
{
    enum escape_class waited = ESCAPE_SKIP;
    enum escape_class class = escape_step(&reading->skip, byte, &waited);

    /* The frame of a string is skipped, its payload is read on as text. */
    if (escape_in_string(reading->skip))
        reading->skip = ESCAPE_GROUND;
    if (waited != ESCAPE_SKIP && !read_on(scan, reading, 0xc2))
        return 0;
    return class != ESCAPE_TEXT || read_on(scan, reading, byte);
}

static inline int read_byte(struct scan *scan, struct reading *reading, uint8_t byte)
{
    int is_text = reading->skip == ESCAPE_GROUND && byte >= 0x20 && byte != 0x7f && byte != 0xc2;

    return is_text ? read_on(scan, reading, byte) : read_rare(scan, reading, byte);
}

/* Does the text end within the digits of an escape? They tell what it stands for, so they wait; its
 * sign and its `u` tell nothing, and a text that ends in a percent sign must not wait. */
static int is_cut_in_digits(const struct scan *scan, size_t from)
{
    size_t at = from;

    while (at < scan->size && lane_is_sign(scan->text[at]))
        at++;
    if (at < scan->size && scan->text[at] == 'u')
        at++;
    return at < scan->size;
}

/* The text ended while this lane was open. An escape that is cut may begin a form; what has been
 * decoded and skipped begins none. */
static void keep_open(struct scan *scan, const struct reading *reading)
{
    size_t open = automaton_open(&scan->set->automaton, reading->state);
    size_t read = reading->since + reading->lead;

    if (open > 0 && open >= read)
        scan_keep(scan, reading->from + reading->since - open, reading->skipped);
    else if (read == 0 && is_cut_in_digits(scan, reading->from))
        scan_keep(scan, reading->from, 0);
    else if (read == 0 && reading->from < scan->alive)
        scan->alive = reading->from;
}

/* The signs that a lane came by while something was open: the next level begins with one. A plain
 * one is not decoded, so that the other sign's lanes may have to come first. */
enum {
    PLAIN_PERCENT = 1,
    DECODED_PERCENT = 2,
    PLAIN_BACKSLASH = 4,
    DECODED_BACKSLASH = 8,
    ANY_PERCENT = PLAIN_PERCENT | DECODED_PERCENT,
    ANY_BACKSLASH = PLAIN_BACKSLASH | DECODED_BACKSLASH,
};

static inline int which_sign(uint8_t byte, int is_decoded)
{
    if (__builtin_expect(!lane_is_sign(byte), 1))
        return 0;
    return (byte == '%' ? PLAIN_PERCENT : PLAIN_BACKSLASH) << is_decoded;
}

/* Looks at a pause again up to where the reading is: has that come to the same place? */
static int is_in_pause(struct scan *scan, enum lane lane, const struct reading *reading,
                       struct pause *pause)
{
    while (pause->at < reading->at) {
        struct lane_unit unit;
        enum escape_state skip = pause->skip;
        enum escape_class waited;
        size_t at = pause->at;
        scan->units++;
        if (!lane_read(lane, scan->text, scan->size, &at, &unit))
            return 0;
        for (size_t i = 0; i < unit.size; i++) {
            (void)escape_step(&skip, unit.bytes[i], &waited);
            if (escape_in_string(skip))
                skip = ESCAPE_GROUND;
        }
        if (skip != ESCAPE_C2)
            pause->skipped -= (uint32_t)at - pause->at;
        pause->at = (uint32_t)at;
        pause->skip = (uint8_t)skip;
    }
    return pause->at == reading->at && pause->skip == reading->skip;
}

/* Has a lane been read on with this node behind the pause? It will be. */
static int is_read_already(struct pause *pause, uint32_t node)
{
    for (uint32_t i = 0; i < pause->count && i < PAUSE_NODES; i++) {
        if (pause->nodes[i] == node)
            return 1;
    }
    pause->nodes[pause->count++ % PAUSE_NODES] = node;
    return 0;
}

/* So a long run of encoded breaks is read once. 0: and all behind it has been, as well. */
static int skip_pause(struct reading *reading, struct pause *pause)
{
    reading->joined = 1;
    if (is_read_already(pause, reading->state.node))
        return 0;
    reading->at = pause->until;
    reading->skip = pause->skip_until;
    reading->skipped += pause->skipped;
    reading->lead = 1;
    return 1;
}

/* Reads on until nothing is open; returns what it came by. */
static int read_on_in_lane(struct scan *scan, struct reading *reading, enum lane lane)
{
    struct pause *pause = &scan->pauses[lane];
    struct lane_unit unit;
    int met = 0;

    for (;;) {
        if (reading->at < pause->until && reading->since == 0 && reading->state.depth > 0 &&
            is_in_pause(scan, lane, reading, pause)) {
            met |= pause->met;
            if (!skip_pause(reading, pause))
                return met;
        }
        size_t before = reading->at;
        size_t since = reading->since;
        scan->units++;
        if (!lane_read_same(lane, scan->text, scan->size, &reading->at, &unit) &&
            !lane_read(lane, scan->text, scan->size, &reading->at, &unit)) {
            keep_open(scan, reading);
            return met;
        }
        if (before == reading->from && reading->at == before + 1)
            return met; /* no escape at all */
        met |= which_sign(unit.bytes[0], reading->at > before + 1);
        for (size_t i = 0; i < unit.size; i++) {
            if (!read_byte(scan, reading, unit.bytes[i]))
                return met;
        }
        if (reading->since == since && reading->skip != ESCAPE_C2)
            reading->skipped += reading->at - before;
        if (reading->since == 0 && reading->skip != ESCAPE_C2) {
            reading->lead = 1;
            if (reading->state.depth == 0)
                return met;
            reading->quiet = reading->at;
            reading->quiet_skipped = reading->skipped;
            reading->quiet_skip = reading->skip;
        }
    }
}

/* Reads one lane; returns what it came by. */
static int read_lane(struct scan *scan, size_t from, struct state state, enum lane lane)
{
    struct reading reading = {.from = from, .at = from, .state = state, .skip = ESCAPE_GROUND};
    struct pause *pause = &scan->pauses[lane];
    int met = read_on_in_lane(scan, &reading, lane);

    if (reading.joined) {
        pause->met |= (uint8_t)met;
    } else if (reading.quiet != 0) {
        *pause = (struct pause){.at = (uint32_t)from,
                                .until = (uint32_t)reading.quiet,
                                .skipped = (uint32_t)reading.quiet_skipped,
                                .count = 1,
                                .nodes = {state.node},
                                .skip_until = (uint8_t)reading.quiet_skip,
                                .met = (uint8_t)met};
    }
    return met;
}

/* Eight backslashes stand for one at least in each lane; does no form go on with it? */
static int is_dead_run(const struct scan *scan, size_t at, struct state state)
{
    static const uint8_t run[8] = {'\\', '\\', '\\', '\\', '\\', '\\', '\\', '\\'};
    const struct automaton *automaton = &scan->set->automaton;

    return scan->size - at >= sizeof run && memcmp(scan->text + at, run, sizeof run) == 0 &&
           automaton_step(automaton, state, '\\').depth == 0;
}

static void scan_percent(struct scan *scan, size_t at, struct state state)
{
    int met = read_lane(scan, at, state, LANE_URL);

    if (met & DECODED_PERCENT)
        (void)read_lane(scan, at, state, LANE_URL_2);
    if (met & ANY_BACKSLASH && read_lane(scan, at, state, LANE_URL_JSON) & ANY_BACKSLASH)
        (void)read_lane(scan, at, state, LANE_URL_JSON_2);
    if (met & PLAIN_BACKSLASH && read_lane(scan, at, state, LANE_JSON_URL) & ANY_BACKSLASH)
        (void)read_lane(scan, at, state, LANE_JSON_2_URL);
}

static void scan_backslash(struct scan *scan, size_t at, struct state state)
{
    int met = read_lane(scan, at, state, LANE_JSON);

    if (met & DECODED_BACKSLASH) {
        met |= read_lane(scan, at, state, LANE_JSON_2);
        (void)read_lane(scan, at, state, LANE_JSON_3);
    }
    if (met & ANY_PERCENT) {
        (void)read_lane(scan, at, state, LANE_JSON_URL);
        if (met & DECODED_BACKSLASH)
            (void)read_lane(scan, at, state, LANE_JSON_2_URL);
    }
}

void scan_escape(struct scan *scan, size_t at, struct state state)
{
    if (scan->text[at] == '%')
        scan_percent(scan, at, state);
    else if (!is_dead_run(scan, at, state))
        scan_backslash(scan, at, state);
}

void scan_text(struct scan *scan)
{
    const struct automaton *automaton = &scan->set->automaton;
    struct state state = {0};

    scan_begin(scan);
    for (size_t i = 0; i < scan->size; i++) {
        uint8_t byte = scan->text[i];
        if (lane_is_sign(byte))
            scan_escape(scan, i, state);
        state = automaton_step(automaton, state, byte);
        if (automaton_longest(automaton, state) != 0)
            scan_mark(scan, i + 1, state);
    }

    size_t open = automaton_open(automaton, state);
    if (open > 0)
        scan_keep(scan, scan->size - open, 0);
}
