/* Streams: what is masked, what is held, when it leaves. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "kndl/mem.h"
#include "kndl/redact.h"

#define VALUE "lab-Tok3n-9Qx7Zv2Lm4"

/* A set of these texts, ended by NULL. */
static struct kndl_redact_set *set_of(const char *first, ...)
{
    struct kndl_redact_value values[8];
    struct kndl_redact_set *set = NULL;
    size_t count = 0;
    va_list rest;

    va_start(rest, first);
    for (const char *text = first; text != NULL; text = va_arg(rest, const char *))
        values[count++] = (struct kndl_redact_value){.name = "V", .value = kndl_slice_of(text)};
    va_end(rest);
    assert_int_equal(kndl_redact_set_new(values, count, &set, NULL), 0);
    return set;
}

struct fixture {
    struct kndl_redact_stream *stream;
    struct kndl_buf out;
};

/* The stream takes over the set. */
static void set_up(struct fixture *f, struct kndl_redact_set *set, enum kndl_redact_kind kind)
{
    *f = (struct fixture){.stream = kndl_redact_stream_new(set, kind)};
    kndl_redact_set_unref(set);
}

static void tear_down(struct fixture *f)
{
    kndl_redact_stream_free(f->stream);
    kndl_buf_done(&f->out);
}

static void feed(struct fixture *f, const char *text, int64_t now_ms)
{
    kndl_redact_feed(f->stream, kndl_slice_of(text), now_ms * 1000, &f->out);
}

/* Checks the output since the last time. */
static void expect(struct fixture *f, const char *text)
{
    assert_string_equal(kndl_buf_text(&f->out), text);
    kndl_buf_clear(&f->out);
}

static void expect_masked(struct kndl_redact_set *set, const char *text, const char *masked)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf out = {0};

    kndl_redact_text(set, kndl_slice_of(text), &out);
    kndl_redact_set_unref(set);
    assert_string_equal(kndl_buf_text(&out), masked);
}

static void rd_01_each_character_of_a_value_becomes_a_star(void **unused)
{
    (void)unused; /* RD-01 */
    expect_masked(set_of(VALUE, NULL), "a " VALUE " b", "a ******************** b");
    expect_masked(set_of("paßwört-✓", NULL), "x paßwört-✓ y", "x ********* y");
    expect_masked(set_of(NULL, NULL), "nothing to mask", "nothing to mask");
}

static void rd_01_overlapping_values_are_masked_together(void **unused)
{
    (void)unused;
    expect_masked(set_of("abcdef", "cdefgh", NULL), "..abcdefgh..", "..********..");
    expect_masked(set_of("abcdefgX", "cdef", NULL), "abcdefgY", "ab****gY");
}

static void rd_03_trimmed_and_encoded_forms_are_found(void **unused)
{
    (void)unused; /* RD-03 */
    expect_masked(set_of("  " VALUE " \n", NULL), "=" VALUE "=", "=********************=");
    expect_masked(set_of("a\"b\\c\nd", NULL), "{\"a\\\"b\\\\c\\nd\"}", "{\"**********\"}");
    expect_masked(set_of("p@ss/lab word", NULL), "k=p%40ss%2Flab%20word&",
                  "k=*******************&");
    expect_masked(set_of("lab pass+word", NULL), "b=lab+pass%2bword&", "b=***************&");
}

static void rd_03_spellings_that_no_encoder_writes_are_found(void **unused)
{
    (void)unused;
    expect_masked(set_of("token/lab=a", NULL), "token%2flab%3Da", "***************");
    expect_masked(set_of("token/lab=a", NULL), "\\u0074oken\\/lab=\\u0061.",
                  "**********************.");
    expect_masked(set_of("a/bc\"d", NULL), "[a\\\\\\/bc\\\\\\\"d]", "[************]");
    expect_masked(set_of("p@ss/word", NULL), "p%2540ss%252fword", "*****************");
}

static void rd_03_blanks_behind_control_characters_are_trimmed(void **unused)
{
    (void)unused;
    expect_masked(set_of("\x1b[31m abcd \x1b[0m", NULL), "=abcd=", "=****=");
    expect_masked(set_of("-\n \x1b[1m lab-line \x1b[0m\n-", NULL), "=lab-line=", "=********=");
    expect_masked(set_of("-\n\x1b[1mshort\x1b[0m\n-", NULL), "=short=", "=short=");
}

static void rd_03_lines_that_a_value_spells_with_escapes_are_found(void **unused)
{
    static const char key[] = "-----BEGIN K-----\\nMIIlabAAAA\\nxy=\\n-----END K-----\\n";

    (void)unused;
    expect_masked(set_of(key, NULL), "-----BEGIN K-----\nMIIlabAAAA\nxy=\n-----END K-----\n",
                  "*****************\n**********\n***\n***************\n");
    expect_masked(set_of(key, NULL), "> MIIlabAAAA xy=", "> ********** xy=");
    expect_masked(set_of("C:\\new\\table\\", NULL), "C:\\new\\table\\", "*************");
}

static void a_value_of_the_most_bytes_is_masked(void **unused)
{
    static char value[KNDL_REDACT_VALUE_BYTES_MAX + 1];
    static char masked[sizeof value + 2];
    static char text[sizeof masked];

    (void)unused;
    for (size_t i = 0; i < sizeof value - 1; i++)
        value[i] = (char)('a' + i % 7 + i / 7 % 11);
    snprintf(text, sizeof text, "<%s>", value);
    memset(masked, '*', sizeof masked - 1);
    masked[0] = '<';
    masked[sizeof masked - 2] = '>';
    expect_masked(set_of(value, NULL), text, masked);
}

static void rd_03_each_long_line_is_found_and_armour_is_not(void **unused)
{
    static const char key[] = "-----BEGIN LAB-----\nMIIlabAAAAq1w2\nshort\n-----END LAB-----\n";

    (void)unused;
    expect_masked(set_of(key, NULL), "> MIIlabAAAAq1w2 short", "> ************** short");
    expect_masked(set_of(key, NULL), "-----BEGIN LAB----- x", "-----BEGIN LAB----- x");
    expect_masked(set_of("-----B\nMIIlabAAAAq1w2", NULL), "-----B MIIlabAAAAq1w2",
                  "*********************");
}

static void rd_04_colours_and_line_breaks_are_skipped_and_stay(void **unused)
{
    (void)unused; /* RD-04 */
    expect_masked(set_of(VALUE, NULL), "lab-T\033[38;2;1;2;3mok3n-9\r\nQx7Zv2Lm4\033[0m",
                  "*****\033[38;2;1;2;3m******\r\n*********\033[0m");
    expect_masked(set_of(VALUE, NULL), "lab\0337-To\033(Bk3n\033=-9Qx7Zv2Lm4",
                  "***\0337***\033(B***\033=***********");
    expect_masked(set_of(VALUE, NULL),
                  "lab-T\xc2\x9b"
                  "31mok3n-9\xc2\x85Qx7Zv2Lm4",
                  "*****\xc2\x9b"
                  "31m******\xc2\x85*********");
}

static void rd_04_a_string_inside_the_terminals_output_is_a_text_of_its_own(void **unused)
{
    (void)unused;
    expect_masked(set_of(VALUE, NULL), "lab-T\033]0;" VALUE "\007ok3n-9Qx7Zv2Lm4",
                  "*****\033]0;********************\007***************");
    expect_masked(set_of(VALUE, NULL), "\033]0;open " VALUE "\n" VALUE,
                  "\033]0;open ********************\n********************");
}

static void rd_05_the_end_of_a_piece_that_could_start_a_value_is_held(void **unused)
{
    struct fixture f;

    (void)unused; /* RD-05 */
    set_up(&f, set_of(VALUE, NULL), KNDL_REDACT_BYTES);
    feed(&f, "abc lab-T", 0);
    expect(&f, "abc ");
    feed(&f, "ok3n-9Qx7Zv2Lm4!", 1);
    expect(&f, "********************!");
    feed(&f, "abc lab-T", 2);
    expect(&f, "abc ");
    feed(&f, "x\n", 3);
    expect(&f, "lab-Tx\n");
    tear_down(&f);
}

static void rd_05_held_bytes_leave_100_ms_after_the_oldest_came(void **unused)
{
    struct fixture f;

    (void)unused;
    set_up(&f, set_of(VALUE, NULL), KNDL_REDACT_BYTES);
    assert_int_equal(kndl_redact_deadline(f.stream), INT64_MAX);
    feed(&f, "lab-", 1000);
    feed(&f, "T", 1090);
    assert_int_equal(kndl_redact_deadline(f.stream), 1100 * 1000);
    kndl_redact_expire(f.stream, 1099 * 1000, &f.out);
    expect(&f, "");
    kndl_redact_expire(f.stream, 1100 * 1000, &f.out);
    expect(&f, "lab-T");
    assert_int_equal(kndl_redact_deadline(f.stream), INT64_MAX);
    tear_down(&f);
}

static void rd_05_under_four_characters_wait_10_ms(void **unused)
{
    struct fixture f;

    (void)unused;
    set_up(&f, set_of(VALUE, NULL), KNDL_REDACT_BYTES);
    feed(&f, "la", 1000);
    assert_int_equal(kndl_redact_deadline(f.stream), 1010 * 1000);
    feed(&f, "b-", 1005);
    assert_int_equal(kndl_redact_deadline(f.stream), 1100 * 1000);
    feed(&f, " la", 1050);
    assert_int_equal(kndl_redact_deadline(f.stream), 1060 * 1000);
    expect(&f, "lab- ");
    tear_down(&f);
}

static void rd_05_of_a_beginning_that_leaves_at_most_seven_characters_show(void **unused)
{
    struct fixture f;

    (void)unused;
    set_up(&f, set_of(VALUE, NULL), KNDL_REDACT_BYTES);
    feed(&f, "lab-To", 0);
    kndl_redact_expire(f.stream, 1000 * 1000, &f.out);
    expect(&f, "lab-To");
    feed(&f, "k3n", 2000); /* nine characters of it are there now */
    kndl_redact_expire(f.stream, 3000 * 1000, &f.out);
    expect(&f, "***");
    feed(&f, "-9Qx7Zv2Lm4 " VALUE, 4000);
    expect(&f, "*********** ********************");
    feed(&f, " lab-Tok3", 5000);
    kndl_redact_flush(f.stream, &f.out);
    expect(&f, " ********");
    tear_down(&f);
}

static void rd_01_a_value_that_is_cut_at_a_line_of_a_screen_is_masked(void **unused)
{
    struct kndl_redact_set *set = set_of(VALUE, "one-Line\nand-Another", NULL);
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf out = {0};

    (void)unused;
    kndl_redact_screen(
        set,
        kndl_slice_of("key: lab-Tok3n-9Qx  \r\n---\nfew: lab-Tok\nlab-Tok3n-9\nQx7Zv2"
                      "Lm4 more\n\none-Line\nand-Another\nnot lab-Tok3n-9 here\n"
                      "over: lab-Tok3n-9  \nQx7\nZv2\n---\nlab-To\nk3n\n-9Q .\n"),
        &out);
    assert_string_equal(kndl_buf_text(&out),
                        "key: *************  \r\n---\nfew: lab-Tok\n***********\n*********"
                        " more\n\n********\n***********\nnot lab-Tok3n-9 here\n"
                        "over: ***********  \n***\n***\n---\nlab-To\n***\n-9Q .\n");
    assert_int_equal(kndl_redact_set_hits(set, 0), 1);
    kndl_redact_set_unref(set);
}

static void a_value_that_comes_late_masks_what_has_not_left(void **unused)
{
    struct fixture f;
    struct kndl_redact_set *more = set_of(VALUE, "9999-secret", NULL);

    (void)unused;
    set_up(&f, set_of("9999-secret", NULL), KNDL_REDACT_BYTES);
    feed(&f, "x lab-Tok3n", 0);
    expect(&f, "x lab-Tok3n");
    kndl_redact_stream_swap(f.stream, more);
    feed(&f, "-9Qx7Zv2Lm4 " VALUE, 1);
    expect(&f, "*********** ********************");
    kndl_redact_set_unref(more);
    tear_down(&f);
}

static void what_waits_is_matched_with_the_new_set(void **unused)
{
    struct fixture f;
    struct kndl_redact_set *more = set_of("lab-Tok", VALUE, NULL);

    (void)unused;
    set_up(&f, set_of(VALUE, NULL), KNDL_REDACT_BYTES);
    feed(&f, "x lab-Tok3", 0);
    expect(&f, "x ");
    kndl_redact_stream_swap(f.stream, more);
    feed(&f, " y", 1);
    expect(&f, "*******3 y");
    kndl_redact_set_unref(more);
    tear_down(&f);
}

static void text_leaves_in_whole_characters(void **unused)
{
    struct fixture f;

    (void)unused;
    set_up(&f, set_of(VALUE, NULL), KNDL_REDACT_TEXT);
    feed(&f, "a\xe2\x9c", 0);
    expect(&f, "a");
    assert_int_equal(kndl_redact_deadline(f.stream), INT64_MAX);
    feed(&f, "\x93", 1);
    expect(&f, "\xe2\x9c\x93");
    feed(&f, "\xe2\x9c", 2);
    kndl_redact_flush(f.stream, &f.out);
    expect(&f, "\xe2\x9c");
    tear_down(&f);
}

static void a_sign_of_an_escape_waits_only_behind_a_beginning(void **unused)
{
    struct fixture f;

    (void)unused;
    set_up(&f, set_of(VALUE, NULL), KNDL_REDACT_BYTES);
    feed(&f, "50%\r", 0);
    expect(&f, "50%\r");
    feed(&f, "C:\\", 1);
    expect(&f, "C:\\");
    feed(&f, "lab-T%", 2);
    expect(&f, "");
    feed(&f, "6fk3n-9Qx7Zv2Lm4.", 3);
    expect(&f, "**********************.");
    tear_down(&f);
}

static void rd_05_the_digits_of_an_escape_wait_for_they_say_what_it_stands_for(void **unused)
{
    struct fixture f;

    (void)unused; /* RD-05 */
    set_up(&f, set_of(VALUE, NULL), KNDL_REDACT_BYTES);
    feed(&f, "[\\u006", 0);
    expect(&f, "[");
    feed(&f, "cab-Tok3n-9Qx7Zv2Lm4] ?%6", 1);
    expect(&f, "*************************] ?");
    feed(&f, "cab-Tok3n-9Qx7Zv2Lm4 \\\\u00", 2);
    expect(&f, "********************** ");
    feed(&f, "6cab-Tok3n-9Qx7Zv2Lm4 \\u00", 3);
    expect(&f, "************************** ");
    feed(&f, "e9 %2", 4);
    expect(&f, "\\u00e9 ");
    feed(&f, "0.", 5);
    expect(&f, "%20.");
    tear_down(&f);
}

static void hits_are_counted_by_value(void **unused)
{
    struct kndl_redact_set *set = set_of(VALUE, "other/one", NULL);
    struct fixture f;

    (void)unused;
    set_up(&f, kndl_redact_set_ref(set), KNDL_REDACT_BYTES);
    feed(&f, VALUE " lab-Tok", 0);
    feed(&f, "3n-9Qx7Zv2Lm4 other%2Fone", 1);
    kndl_redact_flush(f.stream, &f.out);
    assert_int_equal(kndl_redact_set_hits(set, 0), 2);
    assert_int_equal(kndl_redact_set_hits(set, 1), 1);
    tear_down(&f);
    kndl_redact_set_unref(set);
}

static void what_another_set_has_counted_is_not_counted_again(void **unused)
{
    struct kndl_redact_set *sets[2] = {set_of(VALUE, NULL), set_of("other/one", VALUE, NULL)};
    struct fixture f;

    (void)unused;
    set_up(&f, kndl_redact_set_ref(sets[0]), KNDL_REDACT_BYTES);
    feed(&f, VALUE " and \033]0;" VALUE " lab", 0);
    assert_int_equal(kndl_redact_set_hits(sets[0], 0), 2);
    for (int i = 0; i < 3; i++) {
        kndl_redact_stream_swap(f.stream, sets[1]);
        kndl_redact_stream_swap(f.stream, sets[0]);
        feed(&f, "elled", 1);
    }
    feed(&f, "\007 $ ", 1);
    assert_int_equal(kndl_redact_set_hits(sets[0], 0), 2);
    assert_int_equal(kndl_redact_set_hits(sets[1], 1), 0);
    tear_down(&f);
    kndl_redact_set_unref(sets[0]);
    kndl_redact_set_unref(sets[1]);
}

static void a_stream_whose_text_comes_again_counts_nothing(void **unused)
{
    struct kndl_redact_set *set = set_of(VALUE, NULL);
    struct fixture f;

    (void)unused;
    set_up(&f, kndl_redact_set_ref(set), KNDL_REDACT_TEXT);
    kndl_redact_stream_uncount(f.stream);
    feed(&f, VALUE " lab-Tok", 0);
    feed(&f, "3n-9Qx7Zv2Lm4 and " VALUE " and more of it, so that it is a block", 1);
    kndl_redact_flush(f.stream, &f.out);
    assert_null(strstr(kndl_buf_text(&f.out), VALUE));
    assert_int_equal(kndl_redact_set_hits(set, 0), 0);
    tear_down(&f);
    kndl_redact_set_unref(set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rd_01_each_character_of_a_value_becomes_a_star),
        cmocka_unit_test(rd_01_overlapping_values_are_masked_together),
        cmocka_unit_test(rd_03_trimmed_and_encoded_forms_are_found),
        cmocka_unit_test(rd_03_spellings_that_no_encoder_writes_are_found),
        cmocka_unit_test(rd_03_blanks_behind_control_characters_are_trimmed),
        cmocka_unit_test(rd_03_lines_that_a_value_spells_with_escapes_are_found),
        cmocka_unit_test(a_value_of_the_most_bytes_is_masked),
        cmocka_unit_test(rd_03_each_long_line_is_found_and_armour_is_not),
        cmocka_unit_test(rd_04_colours_and_line_breaks_are_skipped_and_stay),
        cmocka_unit_test(rd_04_a_string_inside_the_terminals_output_is_a_text_of_its_own),
        cmocka_unit_test(rd_05_the_end_of_a_piece_that_could_start_a_value_is_held),
        cmocka_unit_test(rd_05_held_bytes_leave_100_ms_after_the_oldest_came),
        cmocka_unit_test(rd_05_under_four_characters_wait_10_ms),
        cmocka_unit_test(rd_05_of_a_beginning_that_leaves_at_most_seven_characters_show),
        cmocka_unit_test(rd_01_a_value_that_is_cut_at_a_line_of_a_screen_is_masked),
        cmocka_unit_test(a_value_that_comes_late_masks_what_has_not_left),
        cmocka_unit_test(what_waits_is_matched_with_the_new_set),
        cmocka_unit_test(text_leaves_in_whole_characters),
        cmocka_unit_test(a_sign_of_an_escape_waits_only_behind_a_beginning),
        cmocka_unit_test(rd_05_the_digits_of_an_escape_wait_for_they_say_what_it_stands_for),
        cmocka_unit_test(hits_are_counted_by_value),
        cmocka_unit_test(what_another_set_has_counted_is_not_counted_again),
        cmocka_unit_test(a_stream_whose_text_comes_again_counts_nothing),
    };
    return cmocka_run_group_tests_name("redact stream", tests, NULL, NULL);
}
