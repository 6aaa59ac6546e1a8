/* The end of a file that a Sandbox wrote, line by line. */

#include "tail_lines.h"

#include <stdlib.h>
#include <string.h>

#include "kndl/mem.h"
#include "kndl/testing.h"

static void find(const char *text, bool is_whole, struct tail_lines *lines)
{
    tail_lines_find(kndl_slice_of(text), is_whole, lines);
}

static void assert_line(const struct tail_lines *lines, size_t i, const char *text)
{
    assert_true(i < lines->count);
    assert_int_equal(lines->list[i].size, strlen(text));
    assert_memory_equal(lines->list[i].data, text, strlen(text));
}

static void lines_come_in_their_order_and_empty_ones_do_not(void **unused)
{
    struct tail_lines lines;

    (void)unused;
    find("one\n\ntwo\nthree", true, &lines);
    assert_int_equal(lines.count, 3);
    assert_line(&lines, 0, "one");
    assert_line(&lines, 1, "two");
    assert_line(&lines, 2, "three");
    find("\n\n", true, &lines);
    assert_int_equal(lines.count, 0);
    find("", true, &lines);
    assert_int_equal(lines.count, 0);
}

static void half_a_line_at_the_beginning_is_left_out(void **unused)
{
    struct tail_lines lines;

    (void)unused;
    find("lf a line\nwhole\n", false, &lines);
    assert_int_equal(lines.count, 1);
    assert_line(&lines, 0, "whole");
    find("nothing but a part", false, &lines);
    assert_int_equal(lines.count, 0);
}

static void of_millions_the_newest_are_taken(void **unused)
{
    enum { LINES = 2 * 1000 * 1000 };
    char *text = kndl_alloc(LINES, 2);
    struct tail_lines lines;

    (void)unused;
    for (size_t i = 0; i < LINES; i++)
        memcpy(text + 2 * i, i < LINES - 1 ? "a\n" : "z\n", 2);
    tail_lines_find(kndl_slice(text, (size_t)2 * LINES), true, &lines);
    assert_int_equal(lines.count, TAIL_LINES_MAX);
    assert_line(&lines, TAIL_LINES_MAX - 1, "z");
    assert_line(&lines, 0, "a");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_come_in_their_order_and_empty_ones_do_not),
        cmocka_unit_test(half_a_line_at_the_beginning_is_left_out),
        cmocka_unit_test(of_millions_the_newest_are_taken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
