/* Text as it streams: blocks, offsets, and which row ends which block (EV-01). */

#include "delta.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kndl/loop.h"
#include "kndl/testing.h"

struct fixture {
    struct kndl_loop *loop;
    struct deltas *deltas;
    struct kndl_buf sent; /* "<id>@<offset>=<text>|" */
    char ended[64];
    int sends;
};

static void on_send(void *data, Kndl__Event__V1__Delta *const *pieces, size_t count,
                    const char *ended_turn_id)
{
    struct fixture *f = data;

    f->sends++;
    for (size_t i = 0; i < count; i++)
        kndl_buf_printf(&f->sent, "%s@%lld=%s|", pieces[i]->block_id, (long long)pieces[i]->offset,
                        pieces[i]->text);
    snprintf(f->ended, sizeof f->ended, "%s", ended_turn_id);
}

static void set_up(struct fixture *f)
{
    *f = (struct fixture){.loop = kndl_loop_new()};
    f->deltas = deltas_new(&(struct deltas_options){f->loop, "b", on_send, f});
}

static void tear_down(struct fixture *f)
{
    deltas_free(f->deltas);
    kndl_loop_free(f->loop);
    kndl_buf_done(&f->sent);
}

static void put(struct fixture *f, const char *agent, int step, int index, enum claude_block kind,
                const char *text)
{
    struct claude_delta piece = {.turn_id = "t",
                                 .subagent_id = agent,
                                 .step = step,
                                 .index = index,
                                 .kind = kind,
                                 .text = text,
                                 .tool_use_id = kind == CLAUDE_TOOL ? "tool" : "",
                                 .tool_name = kind == CLAUDE_TOOL ? "Bash" : ""};

    delta_put(f->deltas, &piece);
}

static void assert_sent(struct fixture *f, const char *sent)
{
    assert_string_equal(kndl_buf_text(&f->sent), sent);
}

static void the_first_piece_goes_at_once_and_the_next_together(void **unused)
{
    struct fixture f;

    (void)unused;
    set_up(&f);
    put(&f, "", 0, 0, CLAUDE_TEXT, "a");
    assert_sent(&f, "b-1@0=a|");
    put(&f, "", 0, 0, CLAUDE_TEXT, "\xc3\xa9");
    put(&f, "", 0, 0, CLAUDE_TEXT, "c");
    assert_sent(&f, "b-1@0=a|");
    delta_flush(f.deltas);
    assert_sent(&f, "b-1@0=a|b-1@1=\xc3\xa9"
                    "c|");
    tear_down(&f);
}

static void a_row_names_its_block_after_all_of_its_text(void **unused)
{
    struct fixture f;

    (void)unused;
    set_up(&f);
    put(&f, "", 0, 0, CLAUDE_TEXT, "a");
    put(&f, "", 0, 0, CLAUDE_TEXT, "b");
    assert_string_equal(delta_match(f.deltas, "", CLAUDE_TEXT, ""), "b-1");
    assert_sent(&f, "b-1@0=a|b-1@1=b|");
    assert_string_equal(delta_match(f.deltas, "", CLAUDE_TEXT, ""), "");
    tear_down(&f);
}

static void rows_are_paired_by_thread_kind_and_order(void **unused)
{
    struct fixture f;

    (void)unused;
    set_up(&f);
    put(&f, "", 0, 0, CLAUDE_THINKING, "hm");
    put(&f, "", 0, 1, CLAUDE_TEXT, "one");
    put(&f, "", 0, 2, CLAUDE_TEXT, "two");
    put(&f, "agent", 0, 0, CLAUDE_TEXT, "mine");
    assert_string_equal(delta_match(f.deltas, "", CLAUDE_TEXT, ""), "b-2");
    assert_string_equal(delta_match(f.deltas, "agent", CLAUDE_TEXT, ""), "b-4");
    assert_string_equal(delta_match(f.deltas, "", CLAUDE_TEXT, ""), "b-3");
    assert_string_equal(delta_match(f.deltas, "", CLAUDE_THINKING, ""), "b-1");
    tear_down(&f);
}

static void a_tool_is_paired_by_its_id(void **unused)
{
    struct fixture f;

    (void)unused;
    set_up(&f);
    put(&f, "", 0, 0, CLAUDE_TOOL, "");
    put(&f, "", 0, 0, CLAUDE_TOOL, "{\"x\":1}");
    assert_string_equal(delta_match(f.deltas, "", CLAUDE_TOOL, "another"), "");
    assert_string_equal(delta_match(f.deltas, "", CLAUDE_TOOL, "tool"), "b-1");
    assert_sent(&f, "b-1@0=|b-1@0={\"x\":1}|");
    tear_down(&f);
}

static void a_block_without_a_row_is_over_with_the_next_response(void **unused)
{
    struct fixture f;

    (void)unused;
    set_up(&f);
    put(&f, "", 0, 0, CLAUDE_TEXT, "never written down");
    put(&f, "", 1, 0, CLAUDE_TEXT, "next");
    assert_string_equal(delta_match(f.deltas, "", CLAUDE_TEXT, ""), "b-2");
    tear_down(&f);
}

static void the_end_of_a_turn_ends_its_blocks_and_says_so(void **unused)
{
    struct fixture f;

    (void)unused;
    set_up(&f);
    put(&f, "", 0, 0, CLAUDE_TEXT, "a");
    put(&f, "agent", 0, 0, CLAUDE_TEXT, "z");
    delta_end_turn(f.deltas, "t");
    assert_string_equal(f.ended, "t");
    assert_string_equal(delta_match(f.deltas, "", CLAUDE_TEXT, ""), "");
    assert_string_equal(delta_match(f.deltas, "agent", CLAUDE_TEXT, ""), "b-2");
    tear_down(&f);
}

static void a_long_piece_is_sent_in_parts_at_characters_edges(void **unused)
{
    struct kndl_buf text = {0};
    struct fixture f;

    (void)unused;
    set_up(&f);
    for (int i = 0; i < 50000; i++)
        kndl_buf_append_text(&text, "\xe6\xbc\xa2");
    put(&f, "", 0, 0, CLAUDE_TEXT, kndl_buf_text(&text));
    assert_int_equal(f.sends, 3);
    assert_non_null(strstr(kndl_buf_text(&f.sent), "|b-1@65535="));
    assert_non_null(strstr(kndl_buf_text(&f.sent), "|b-1@131070="));
    kndl_buf_done(&text);
    tear_down(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_piece_goes_at_once_and_the_next_together),
        cmocka_unit_test(a_row_names_its_block_after_all_of_its_text),
        cmocka_unit_test(rows_are_paired_by_thread_kind_and_order),
        cmocka_unit_test(a_tool_is_paired_by_its_id),
        cmocka_unit_test(a_block_without_a_row_is_over_with_the_next_response),
        cmocka_unit_test(the_end_of_a_turn_ends_its_blocks_and_says_so),
        cmocka_unit_test(a_long_piece_is_sent_in_parts_at_characters_edges),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
