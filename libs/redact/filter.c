/* Building the filters. */

#include "filter.h"

enum {
    EARLY_OFFSETS = 3,
    ROOM_DENSE = 8, /* bits of a table for each piece, at least */
    ROOM_SPARSE = 16,
    ROOM_SMALL = 64,             /* of tables that stay small with so much */
    SMALL_TABLE_BITS = 64 * 1024 /* and in the nearest cache */
};

/* How many pieces each table gets of all forms, at most. */
static void count_pieces(struct filters *filters, const struct forms *forms)
{
    *filters = (struct filters){0};
    for (size_t i = 0; i < forms->count; i++) {
        size_t size = forms->list[i].size;
        size_t own = size - forms->list[i].shared;
        if (size >= LONG_BYTES)
            filters->long4.pieces += LONG_STRIDE;
        else if (size >= MIDDLE_BYTES)
            filters->middle4.pieces += MIDDLE_STRIDE;
        else
            filters->short4.pieces++;
        filters->any4.pieces += own < size - 3 ? own : size - 3;
        filters->early4.pieces += EARLY_OFFSETS;
        filters->any3.pieces += own < size - 2 ? own : size - 2;
    }
}

static size_t plan_filter(struct filter *filter, size_t room)
{
    size_t words = 2;

    if (room == ROOM_SPARSE && filter->pieces * ROOM_SMALL <= SMALL_TABLE_BITS)
        room = ROOM_SMALL;
    while (words * 32 < filter->pieces * room)
        words *= 2;
    filter->mask = (uint32_t)(words - 1);
    return words * 4;
}

/* Gives each table its size and, if there is memory, its place; returns the bytes of all. */
static size_t plan_filters(struct filters *filters, uint32_t *memory)
{
    struct filter *const all[] = {&filters->long4, &filters->middle4, &filters->short4,
                                  &filters->any4,  &filters->early4,  &filters->any3};
    size_t used = 0;

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        bool is_dense = all[i] == &filters->any4 || all[i] == &filters->any3;
        size_t bytes = plan_filter(all[i], is_dense ? ROOM_DENSE : ROOM_SPARSE);
        if (memory != NULL)
            all[i]->words = memory + used / 4;
        used += bytes;
    }
    return used;
}

size_t filters_bytes(const struct forms *forms)
{
    struct filters filters;

    count_pieces(&filters, forms);
    return plan_filters(&filters, NULL);
}

static void add_hash(struct filter *filter, uint32_t hash)
{
    filter->words[hash >> 10 & filter->mask] |= filter_bits(hash);
}

static void add_piece(struct filter *filter, const uint8_t *bytes)
{
    add_hash(filter, filter_hash(filter_load4(bytes)));
}

/* Of what the form before does not begin with, too: pieces that end behind `shared`. */
static void add_form(struct filters *filters, const uint8_t *bytes, size_t size, size_t shared)
{
    size_t own = shared < PIECE_BYTES ? 0 : shared - (PIECE_BYTES - 1);

    for (size_t i = 0; size >= LONG_BYTES && i < LONG_STRIDE; i++)
        add_piece(&filters->long4, bytes + i);
    for (size_t i = 0; size >= MIDDLE_BYTES && size < LONG_BYTES && i < MIDDLE_STRIDE; i++)
        add_piece(&filters->middle4, bytes + i);
    if (size < MIDDLE_BYTES)
        add_piece(&filters->short4, bytes);
    for (size_t i = own; i + PIECE_BYTES <= size; i++)
        add_piece(&filters->any4, bytes + i);
    for (size_t i = own; i < EARLY_OFFSETS && i + PIECE_BYTES <= size; i++)
        add_piece(&filters->early4, bytes + i);
    for (size_t i = shared < 3 ? 0 : shared - 2; i + 3 <= size; i++)
        add_hash(&filters->any3, filter_hash(filter_load3(bytes + i)));
    for (size_t i = 1; i < size; i++) {
        if (bytes[i] == '\\')
            filters->before_backslash[bytes[i - 1] / 64] |= UINT64_C(1) << bytes[i - 1] % 64;
    }
    if (bytes[0] == '\\')
        memset(filters->before_backslash, 0xff, sizeof filters->before_backslash);
    filters->first[bytes[0] / 64] |= UINT64_C(1) << bytes[0] % 64;
}

/* Has this form more backslashes in a row than a dead run has before it? */
static bool has_long_run(const uint8_t *bytes, size_t size)
{
    size_t run = 0;

    for (size_t i = 0; i < size && run <= RUN_BYTES; i++)
        run = bytes[i] == '\\' ? run + 1 : 0;
    return run > RUN_BYTES;
}

void filters_make(struct filters *filters, const struct forms *forms, const uint64_t *pairs,
                  void *memory)
{
    count_pieces(filters, forms);
    (void)plan_filters(filters, memory);
    filters->pairs = pairs;
    filters->run_is_dead = true;
    for (size_t i = 0; i < forms->count; i++) {
        const struct form *form = &forms->list[i];
        add_form(filters, form_bytes(forms, form), form->size, form->shared);
        filters->run_is_dead &= !has_long_run(form_bytes(forms, form), form->size);
    }
    filters->run_is_dead &= !filters_begin(filters, '\\');
}
