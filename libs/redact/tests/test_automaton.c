/* The automaton says of every text what looking for each form at each byte says. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "automaton.h"
#include "kndl/mem.h"

struct fixture {
    struct forms forms;
    struct automaton automaton;
    void *memory;
};

static uint64_t seed = 1;

static unsigned below(unsigned limit)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (unsigned)(seed >> 33) % limit;
}

/* Few letters, so that forms begin, end and repeat in each other. */
static size_t make_text(char *text, size_t size, unsigned letters)
{
    static const char all[] = "ab/\\%\xc3\xa9";

    for (size_t i = 0; i < size; i++)
        text[i] = all[below(letters)];
    return size;
}

static void set_up(struct fixture *f, const struct kndl_slice *values, size_t count)
{
    struct kndl_redact_value *list = kndl_new_array(struct kndl_redact_value, count);
    struct building *building;

    *f = (struct fixture){0};
    for (size_t i = 0; i < count; i++)
        list[i].value = values[i];
    forms_make(&f->forms, list, count);
    free(list);
    building = automaton_build(&f->forms);
    f->memory = kndl_alloc(automaton_bytes(building), 1);
    automaton_settle(building, &f->automaton, f->memory);
}

static void tear_down(struct fixture *f)
{
    forms_done(&f->forms);
    free(f->memory);
}

/* Do the last `shared` bytes of the text begin this form? */
static bool begins(const struct fixture *f, const struct form *form, const char *end, size_t shared)
{
    return memcmp(end - shared, form_bytes(&f->forms, form), shared) == 0;
}

static void check_state(const struct fixture *f, struct state state, const char *text, size_t size)
{
    size_t depth = 0;
    size_t open = 0;
    const struct form *longest = NULL;

    for (size_t i = 0; i < f->forms.count; i++) {
        const struct form *form = &f->forms.list[i];
        for (size_t shared = 1; shared <= form->size && shared <= size; shared++) {
            if (!begins(f, form, text + size, shared))
                continue;
            depth = shared > depth ? shared : depth;
            if (shared < form->size)
                open = shared > open ? shared : open;
            else if (longest == NULL || shared > longest->size)
                longest = form;
        }
    }
    assert_int_equal(state.depth, depth);
    assert_int_equal(automaton_open(&f->automaton, state), open);
    assert_int_equal(automaton_longest(&f->automaton, state), longest == NULL ? 0 : longest->size);
    if (longest != NULL)
        assert_int_equal(automaton_detail(&f->automaton, state.node)->value, longest->value);
}

static void check_text(const struct fixture *f, const char *text, size_t size)
{
    struct state state = {0};

    for (size_t i = 0; i < size; i++) {
        state = automaton_step(&f->automaton, state, (uint8_t)text[i]);
        check_state(f, state, text, i + 1);
    }
}

static void it_finds_the_longest_form_and_the_longest_beginning(void **unused)
{
    enum { ROUNDS = 42, VALUES = 12, VALUE_BYTES = 14, TEXT_BYTES = 100 };
    char bytes[VALUES][VALUE_BYTES];
    struct kndl_slice values[VALUES];
    char text[TEXT_BYTES];

    (void)unused;
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct fixture f;
        unsigned letters = 1 + round % 7;
        size_t count = 1 + below(VALUES);
        for (size_t i = 0; i < count; i++)
            values[i] = kndl_slice((const uint8_t *)bytes[i],
                                   make_text(bytes[i], 4 + below(VALUE_BYTES - 3), letters));
        set_up(&f, values, count);
        check_text(&f, text, make_text(text, TEXT_BYTES, letters));
        for (size_t i = 0; i < f.forms.count; i++)
            check_text(&f, (const char *)form_bytes(&f.forms, &f.forms.list[i]),
                       f.forms.list[i].size);
        tear_down(&f);
    }
}

static void of_equal_values_the_first_counts(void **unused)
{
    const struct kndl_slice values[] = {kndl_slice_of("twice-told"), kndl_slice_of("twice-told")};
    struct fixture f;

    (void)unused;
    set_up(&f, values, 2);
    assert_int_equal(f.forms.count, 1);
    check_text(&f, "a twice-told", 12);
    tear_down(&f);
}

static void without_forms_nothing_begins(void **unused)
{
    struct fixture f;

    (void)unused;
    set_up(&f, NULL, 0);
    check_text(&f, "any text", 8);
    tear_down(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_finds_the_longest_form_and_the_longest_beginning),
        cmocka_unit_test(of_equal_values_the_first_counts),
        cmocka_unit_test(without_forms_nothing_begins),
    };
    return cmocka_run_group_tests_name("redact automaton", tests, NULL, NULL);
}
