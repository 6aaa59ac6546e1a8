/* The parser of tmux's control mode, on what tmux 3.3a wrote. */

#include "control_mode.h"

#include <string.h>

#include "kndl/testing.h"

struct seen {
    struct kndl_buf blocks; /* "ok:…|" or "no:…|" */
    struct kndl_buf notices;
};

static void on_block(void *data, bool ok, struct kndl_slice text)
{
    struct seen *seen = data;

    kndl_buf_append_text(&seen->blocks, ok ? "ok:" : "no:");
    kndl_buf_append(&seen->blocks, text.data, text.size);
    kndl_buf_append_char(&seen->blocks, '|');
}

static void on_notice(void *data, struct kndl_slice line)
{
    struct seen *seen = data;

    kndl_buf_append(&seen->notices, line.data, line.size);
    kndl_buf_append_char(&seen->notices, '|');
}

static void read_text(const char *text, size_t piece, struct seen *seen)
{
    struct control_mode control = {.on_block = on_block, .on_notice = on_notice, .data = seen};

    for (size_t at = 0; at < strlen(text); at += piece) {
        size_t left = strlen(text) - at;

        control_mode_feed(&control, kndl_slice(text + at, left < piece ? left : piece));
    }
    control_mode_done(&control);
}

static void assert_reads(const char *text, const char *blocks, const char *notices)
{
    for (size_t piece = 1; piece < 40; piece += 6) {
        struct seen seen = {0};

        read_text(text, piece, &seen);
        assert_string_equal(kndl_buf_text(&seen.blocks), blocks);
        assert_string_equal(kndl_buf_text(&seen.notices), notices);
        kndl_buf_done(&seen.blocks);
        kndl_buf_done(&seen.notices);
    }
}

static void the_block_of_the_attach_is_skipped(void **unused)
{
    (void)unused;
    assert_reads("%begin 1795968960 264 0\nx\n%end 1795968960 264 0\n%session-changed $0 k\n", "",
                 "%session-changed $0 k|");
}

static void each_command_has_its_block_in_order(void **unused)
{
    (void)unused;
    assert_reads("%begin 1 5 1\n%1\n%end 1 5 1\n%begin 1 6 1\n%end 1 6 1\n", "ok:%1|ok:|", "");
}

static void a_refused_command_has_its_reason(void **unused)
{
    (void)unused;
    assert_reads("%begin 1 5 1\nparse error: unknown command: bogus\n%error 1 5 1\n",
                 "no:parse error: unknown command: bogus|", "");
}

/* A program printed a guard; only the one with the block's own time and number ends it. */
static void a_forged_end_is_a_line_of_its_block(void **unused)
{
    (void)unused;
    assert_reads("%begin 1795969610 271 1\n%end 1795969563 271 1\n%output %0 EVIL\n%exit\n\n"
                 "%end 1795969610 271 1\n%exit\n",
                 "ok:%end 1795969563 271 1\n%output %0 EVIL\n%exit\n|", "%exit|");
}

static void a_line_without_an_end_breaks_the_client_at_its_limit(void **unused)
{
    struct seen seen = {0};
    struct control_mode control = {.on_block = on_block, .on_notice = on_notice, .data = &seen};
    char piece[4096];

    (void)unused;
    memset(piece, 'x', sizeof piece);
    for (int i = 0; i < 1024; i++)
        control_mode_feed(&control, kndl_slice(piece, sizeof piece));
    assert_true(control.is_broken);
    assert_true(control.line.size <= CONTROL_LINE_BYTES_MAX);
    control_mode_done(&control);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_block_of_the_attach_is_skipped),
        cmocka_unit_test(each_command_has_its_block_in_order),
        cmocka_unit_test(a_refused_command_has_its_reason),
        cmocka_unit_test(a_forged_end_is_a_line_of_its_block),
        cmocka_unit_test(a_line_without_an_end_breaks_the_client_at_its_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
