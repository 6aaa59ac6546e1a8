/* Text as it streams: blocks, offsets, and which row ends which block (EV-01). */

#include "delta.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kndl/loop.h"
#include "kndl/testing.h"

enum { NAMES_MAX = 8 };

struct fixture {
    struct kndl_loop *loop;
    struct deltas *deltas;
    struct kndl_arena *arena;
    char names[NAMES_MAX][64]; /* ids, in the order they came: b-1, b-2 … */
    struct kndl_buf sent;      /* "<id>@<offset>=<text>|" */
    struct kndl_buf left;      /* what delta_unfinished gave: "<kind> <id>=<text>|" */
    char ended[64];
    int sends;
};

/* A short name for an id. */
static const char *name(struct fixture *f, const char *id)
{
    static const char *const names[NAMES_MAX] = {"b-1", "b-2", "b-3", "b-4",
                                                 "b-5", "b-6", "b-7", "b-8"};
    size_t i = 0;

    if (id[0] == '\0')
        return "";
    while (i < NAMES_MAX && f->names[i][0] != '\0' && strcmp(f->names[i], id) != 0)
        i++;
    assert_true(i < NAMES_MAX && strlen(id) < sizeof f->names[i]);
    memcpy(f->names[i], id, strlen(id) + 1);
    return names[i];
}

static void on_send(void *data, Kndl__Event__V1__Delta *const *pieces, size_t count,
                    const char *ended_turn_id)
{
    struct fixture *f = data;

    f->sends++;
    for (size_t i = 0; i < count; i++)
        kndl_buf_printf(&f->sent, "%s@%lld=%s|", name(f, pieces[i]->block_id),
                        (long long)pieces[i]->offset, pieces[i]->text);
    snprintf(f->ended, sizeof f->ended, "%s", ended_turn_id);
}

static void start(struct fixture *f, int64_t run, bool is_taken_back)
{
    *f = (struct fixture){.loop = kndl_loop_new(), .arena = kndl_arena_new(KNDL_ARENA_PLAIN)};
    f->deltas = deltas_new(&(struct deltas_options){.loop = f->loop,
                                                    .run = run,
                                                    .is_taken_back = is_taken_back,
                                                    .on_send = on_send,
                                                    .data = f});
}

static void finish(struct fixture *f)
{
    deltas_free(f->deltas);
    kndl_loop_free(f->loop);
    kndl_arena_free(f->arena);
    kndl_buf_done(&f->sent);
    kndl_buf_done(&f->left);
}

static int set_up(void **state)
{
    static struct fixture fixture;
    struct fixture *f = *state = &fixture;

    start(f, 1, false);
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    finish(f);
    return 0;
}

static void put_piece(struct fixture *f, const char *agent, int step, int index,
                      enum claude_block kind, bool is_first, const char *text)
{
    struct claude_delta piece = {.turn_id = "t",
                                 .subagent_id = agent,
                                 .step = step,
                                 .index = index,
                                 .kind = kind,
                                 .is_first = is_first,
                                 .text = text,
                                 .tool_use_id = kind == CLAUDE_TOOL ? "tool" : "",
                                 .tool_name = kind == CLAUDE_TOOL ? "Bash" : ""};

    delta_put(f->deltas, &piece);
}

/* A piece that begins its block, and one that goes on. */
static void put(struct fixture *f, const char *agent, int step, int index, enum claude_block kind,
                const char *text)
{
    put_piece(f, agent, step, index, kind, true, text);
}

static void put_more(struct fixture *f, const char *agent, int step, int index,
                     enum claude_block kind, const char *text)
{
    put_piece(f, agent, step, index, kind, false, text);
}

static const char *match(struct fixture *f, const char *agent, enum claude_block kind,
                         const char *tool_use_id)
{
    return name(f, delta_match(f->deltas, agent, kind, tool_use_id));
}

static void assert_left(struct fixture *f, const char *agent, const char *left)
{
    Kndl__Event__V1__Event *events[DELTA_BLOCKS_MAX];
    size_t count = delta_unfinished(f->deltas, agent, f->arena, events);

    kndl_buf_clear(&f->left);
    for (size_t i = 0; i < count; i++) {
        const Kndl__Event__V1__Event *event = events[i];

        if (event->kind_case == KNDL__EVENT__V1__EVENT__KIND_TEXT) {
            assert_true(event->text->is_unfinished);
            kndl_buf_printf(&f->left, "text %s=%s|", name(f, event->text->block_id),
                            event->text->text);
        } else if (event->kind_case == KNDL__EVENT__V1__EVENT__KIND_THINKING) {
            assert_true(event->thinking->is_unfinished);
            kndl_buf_printf(&f->left, "thinking %s=%s|", name(f, event->thinking->block_id),
                            event->thinking->text);
        } else if (event->kind_case == KNDL__EVENT__V1__EVENT__KIND_TOOL_CALL) {
            assert_true(event->tool_call->is_unfinished);
            kndl_buf_printf(&f->left, "%s %s=%s|", event->tool_call->name,
                            event->tool_call->tool_use_id, event->tool_call->input_json);
        } else {
            assert_int_equal(event->kind_case, KNDL__EVENT__V1__EVENT__KIND_NOTE);
            kndl_buf_printf(&f->left, "%s|", event->note->note_code);
        }
    }
    assert_string_equal(kndl_buf_text(&f->left), left);
}

static void assert_sent(struct fixture *f, const char *sent)
{
    assert_string_equal(kndl_buf_text(&f->sent), sent);
}

static void the_first_piece_goes_at_once_and_the_next_together(void **state)
{
    struct fixture *f = *state;

    put(f, "", 0, 0, CLAUDE_TEXT, "a");
    assert_sent(f, "b-1@0=a|");
    put_more(f, "", 0, 0, CLAUDE_TEXT, "\xc3\xa9");
    put_more(f, "", 0, 0, CLAUDE_TEXT, "c");
    assert_sent(f, "b-1@0=a|");
    delta_flush(f->deltas);
    assert_sent(f, "b-1@0=a|b-1@1=\xc3\xa9"
                   "c|");
}

static void a_row_names_its_block_after_all_of_its_text(void **state)
{
    struct fixture *f = *state;

    put(f, "", 0, 0, CLAUDE_TEXT, "a");
    put_more(f, "", 0, 0, CLAUDE_TEXT, "b");
    assert_string_equal(match(f, "", CLAUDE_TEXT, ""), "b-1");
    assert_sent(f, "b-1@0=a|b-1@1=b|");
    assert_string_equal(match(f, "", CLAUDE_TEXT, ""), "");
}

static void rows_are_paired_by_thread_kind_and_order(void **state)
{
    struct fixture *f = *state;

    put(f, "", 0, 0, CLAUDE_THINKING, "hm");
    put(f, "", 0, 1, CLAUDE_TEXT, "one");
    put(f, "", 0, 2, CLAUDE_TEXT, "two");
    put(f, "agent", 0, 0, CLAUDE_TEXT, "mine");
    assert_string_equal(match(f, "", CLAUDE_TEXT, ""), "b-2");
    assert_string_equal(match(f, "agent", CLAUDE_TEXT, ""), "b-4");
    assert_string_equal(match(f, "", CLAUDE_TEXT, ""), "b-3");
    assert_string_equal(match(f, "", CLAUDE_THINKING, ""), "b-1");
}

static void a_tool_is_paired_by_its_id(void **state)
{
    struct fixture *f = *state;

    put(f, "", 0, 0, CLAUDE_TOOL, "");
    put_more(f, "", 0, 0, CLAUDE_TOOL, "{\"x\":1}");
    assert_string_equal(match(f, "", CLAUDE_TOOL, "another"), "");
    assert_string_equal(match(f, "", CLAUDE_TOOL, "tool"), "b-1");
    assert_sent(f, "b-1@0=|b-1@0={\"x\":1}|");
}

static void a_block_without_a_row_is_over_with_the_next_response(void **state)
{
    struct fixture *f = *state;

    put(f, "", 0, 0, CLAUDE_TEXT, "never written down");
    put(f, "", 1, 0, CLAUDE_TEXT, "next");
    assert_string_equal(match(f, "", CLAUDE_TEXT, ""), "b-2");
}

static void what_is_open_at_the_end_of_a_turn_is_an_event(void **state)
{
    struct fixture *f = *state;

    put(f, "", 0, 0, CLAUDE_THINKING, "hm");
    put(f, "", 0, 1, CLAUDE_TEXT, "finished");
    put(f, "agent", 0, 0, CLAUDE_TEXT, "mine");
    put(f, "", 0, 2, CLAUDE_TEXT, "a");
    put_more(f, "", 0, 2, CLAUDE_TEXT, "\xc3\xa9");
    put(f, "", 0, 3, CLAUDE_TOOL, "{\"half");
    assert_string_equal(match(f, "", CLAUDE_TEXT, ""), "b-2");
    assert_left(f, "", "thinking b-1=hm|text b-4=a\xc3\xa9|Bash tool={\"half|");
    delta_end_turn(f->deltas, "t");
    assert_string_equal(f->ended, "t");
    delta_settle(f->deltas, true);
    assert_string_equal(match(f, "", CLAUDE_TEXT, ""), "");
    assert_left(f, "", "");
    assert_left(f, NULL, "text b-3=mine|");
}

static void what_was_not_kept_comes_again_and_means_the_same(void **state)
{
    struct fixture *f = *state;

    put(f, "", 0, 0, CLAUDE_TEXT, "one");
    put(f, "", 0, 1, CLAUDE_TEXT, "two");
    put(f, "", 0, 2, CLAUDE_TEXT, "three");
    assert_string_equal(match(f, "", CLAUDE_TEXT, ""), "b-1");
    delta_settle(f->deltas, true);
    assert_string_equal(match(f, "", CLAUDE_TEXT, ""), "b-2");
    assert_left(f, "", "text b-3=three|");
    delta_settle(f->deltas, false);
    assert_string_equal(match(f, "", CLAUDE_TEXT, ""), "b-2");
    assert_left(f, "", "text b-3=three|");
    delta_settle(f->deltas, true);
    assert_left(f, NULL, "");
}

static void what_comes_after_a_block_is_over_begins_no_other(void **state)
{
    struct fixture *f = *state;

    put(f, "", 0, 0, CLAUDE_TEXT, "a");
    assert_string_equal(match(f, "", CLAUDE_TEXT, ""), "b-1");
    delta_settle(f->deltas, true);
    put_more(f, "", 0, 0, CLAUDE_TEXT, "late");
    assert_sent(f, "b-1@0=a|");
    assert_left(f, NULL, "");
}

static void a_response_that_is_asked_for_again_begins_anew(void **state)
{
    struct fixture *f = *state;

    put(f, "", 0, 0, CLAUDE_TEXT, "one");
    put(f, "", 0, 1, CLAUDE_TEXT, "tw");
    delta_flush(f->deltas);
    put(f, "", 0, 0, CLAUDE_TEXT, "on");
    put_more(f, "", 0, 0, CLAUDE_TEXT, "ce");
    delta_flush(f->deltas);
    assert_sent(f, "b-1@0=one|b-2@0=tw|b-1@0=once|");
    assert_left(f, NULL, "text b-1=once|");
}

static void
a_block_keeps_its_id_over_a_restart_and_shows_nothing_without_its_beginning(void **state)
{
    struct fixture *f = *state;
    struct fixture again, other;

    put(f, "", 0, 3, CLAUDE_TEXT, "sec");
    start(&again, 1, true);
    memcpy(again.names, f->names, sizeof f->names);
    put_more(&again, "", 0, 3, CLAUDE_TEXT, "ret");
    delta_flush(again.deltas);
    assert_sent(&again, "");
    assert_string_equal(match(&again, "", CLAUDE_TEXT, ""), "b-1");
    delta_settle(again.deltas, false);
    assert_left(&again, "", "text_lost|");
    start(&other, 2, false);
    put(&other, "", 0, 3, CLAUDE_TEXT, "sec");
    assert_string_not_equal(other.names[0], f->names[0]);
    finish(&other);
    finish(&again);
}

/* Ends the process after what `f` has, and starts the next one. */
static void start_next(struct fixture *next, const struct fixture *f)
{
    Kndl__Runner__V1__OpenBlock blocks[DELTA_BLOCKS_MAX], *list[DELTA_BLOCKS_MAX];
    size_t count = delta_list_open(f->deltas, blocks);

    for (size_t i = 0; i < count; i++)
        list[i] = &blocks[i];
    start(next, 1, true);
    memcpy(next->names, f->names, sizeof f->names);
    delta_open_again(next->deltas, list, count);
}

static void a_restart_goes_on_with_what_is_open(void **state)
{
    struct fixture *f = *state;
    struct fixture next;

    put(f, "", 0, 0, CLAUDE_THINKING, "hm");
    put(f, "agent", 2, 0, CLAUDE_TEXT, "mine");
    put(f, "", 0, 1, CLAUDE_TEXT, "its beginning");
    put(f, "", 0, 2, CLAUDE_TOOL, "{\"in");
    match(f, "", CLAUDE_THINKING, ""); /* its Event is on its way to the disk */
    start_next(&next, f);
    assert_sent(&next, "");
    assert_string_equal(match(&next, "", CLAUDE_THINKING, ""), "b-1");
    delta_settle(next.deltas, true);
    put_more(&next, "", 0, 1, CLAUDE_TEXT, " and its end");
    put_more(&next, "", 0, 2, CLAUDE_TOOL, "put");
    assert_left(&next, NULL,
                "text b-2=mine|text b-3=its beginning and its end|Bash tool={\"input|");
    finish(&next);
}

static void a_restart_knows_what_has_its_event(void **state)
{
    struct fixture *f = *state;
    struct fixture next;
    Kndl__Event__V1__Event text = KNDL__EVENT__V1__EVENT__INIT;
    Kndl__Event__V1__Text said = KNDL__EVENT__V1__TEXT__INIT;
    Kndl__Event__V1__Event tool = KNDL__EVENT__V1__EVENT__INIT;
    Kndl__Event__V1__ToolCall call = KNDL__EVENT__V1__TOOL_CALL__INIT;

    put(f, "", 0, 0, CLAUDE_TEXT, "told");
    put(f, "", 0, 1, CLAUDE_TOOL, "{}");
    put(f, "", 0, 2, CLAUDE_TEXT, "open");
    delta_flush(f->deltas);
    start_next(&next, f);
    said.block_id = next.names[0];
    text.kind_case = KNDL__EVENT__V1__EVENT__KIND_TEXT;
    text.text = &said;
    delta_was_told(next.deltas, &text);
    call.tool_use_id = (char *)"tool";
    tool.kind_case = KNDL__EVENT__V1__EVENT__KIND_TOOL_CALL;
    tool.tool_call = &call;
    delta_was_told(next.deltas, &tool);
    said.block_id = (char *)"";
    delta_was_told(next.deltas, &text);
    assert_left(&next, NULL, "text b-3=open|");
    finish(&next);
}

static void behind_a_gap_nothing_is_shown_or_kept_but_its_length(void **state)
{
    struct fixture *f = *state;
    struct fixture next, last;
    Kndl__Event__V1__Event *events[DELTA_BLOCKS_MAX];

    put(f, "", 0, 0, CLAUDE_TEXT, "its beginning");
    start_next(&next, f);
    delta_break(next.deltas);
    put_more(&next, "", 0, 0, CLAUDE_TEXT, "half of a value");
    put_more(&next, "agent", 0, 0, CLAUDE_TEXT, "another half");
    delta_send_again(next.deltas);
    assert_sent(&next, "");
    start_next(&last, &next);
    put_more(&last, "", 0, 0, CLAUDE_TEXT, "!");
    assert_left(&last, "agent", "text_lost|");
    assert_int_equal(delta_unfinished(last.deltas, "", last.arena, events), 1);
    assert_string_equal(events[0]->text->text, "its beginning");
    assert_int_equal(events[0]->text->full_bytes, strlen("its beginninghalf of a value!"));
    finish(&next);
    finish(&last);
}

static void what_is_open_is_sent_again_from_its_beginning(void **state)
{
    struct fixture *f = *state;

    put(f, "", 0, 0, CLAUDE_TEXT, "over");
    put(f, "", 0, 1, CLAUDE_TEXT, "sh");
    put_more(f, "", 0, 1, CLAUDE_TEXT, "own");
    match(f, "", CLAUDE_TEXT, "");
    kndl_buf_clear(&f->sent);
    delta_send_again(f->deltas);
    put_more(f, "", 0, 1, CLAUDE_TEXT, "!");
    delta_flush(f->deltas);
    assert_sent(f, "b-2@0=shown|b-2@5=!|");
}

static void a_long_text_is_kept_to_a_bound_and_says_how_long_it_was(void **state)
{
    struct fixture *f = *state;
    enum { KEPT = 256 * 1024, ALL = 1024 * 1024, BLOCKS = 6, BYTES = 300 * 1000 };
    Kndl__Event__V1__Event *events[DELTA_BLOCKS_MAX];
    struct kndl_buf text = {0};
    size_t kept = 0;

    for (int i = 0; i < BYTES / 3; i++)
        kndl_buf_append_text(&text, "\xe6\xbc\xa2");
    for (int i = 0; i < BLOCKS; i++) {
        put(f, "", 0, i, CLAUDE_TEXT, kndl_buf_text(&text));
        put_more(f, "", 0, i, CLAUDE_TEXT, "behind");
    }
    assert_int_equal(delta_unfinished(f->deltas, NULL, f->arena, events), BLOCKS);
    for (int i = 0; i < BLOCKS; i++) {
        const Kndl__Event__V1__Text *said = events[i]->text;

        assert_int_equal(said->full_bytes, BYTES + 6);
        assert_true(strlen(said->text) <= KEPT && strlen(said->text) % 3 == 0);
        kept += strlen(said->text);
    }
    assert_int_equal(strlen(events[0]->text->text), KEPT / 3 * 3);
    assert_true(kept <= ALL && kept > ALL - 3 * BLOCKS);
    kndl_buf_done(&text);
}

static void a_long_piece_is_sent_in_parts_at_characters_edges(void **state)
{
    struct fixture *f = *state;
    struct kndl_buf text = {0};

    for (int i = 0; i < 50000; i++)
        kndl_buf_append_text(&text, "\xe6\xbc\xa2");
    put(f, "", 0, 0, CLAUDE_TEXT, kndl_buf_text(&text));
    assert_int_equal(f->sends, 3);
    assert_non_null(strstr(kndl_buf_text(&f->sent), "|b-1@65535="));
    assert_non_null(strstr(kndl_buf_text(&f->sent), "|b-1@131070="));
    kndl_buf_done(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(the_first_piece_goes_at_once_and_the_next_together),
        TEST(a_row_names_its_block_after_all_of_its_text),
        TEST(rows_are_paired_by_thread_kind_and_order),
        TEST(a_tool_is_paired_by_its_id),
        TEST(a_block_without_a_row_is_over_with_the_next_response),
        TEST(what_is_open_at_the_end_of_a_turn_is_an_event),
        TEST(what_was_not_kept_comes_again_and_means_the_same),
        TEST(what_comes_after_a_block_is_over_begins_no_other),
        TEST(a_response_that_is_asked_for_again_begins_anew),
        TEST(a_block_keeps_its_id_over_a_restart_and_shows_nothing_without_its_beginning),
        TEST(a_restart_goes_on_with_what_is_open),
        TEST(a_restart_knows_what_has_its_event),
        TEST(behind_a_gap_nothing_is_shown_or_kept_but_its_length),
        TEST(what_is_open_is_sent_again_from_its_beginning),
        TEST(a_long_text_is_kept_to_a_bound_and_says_how_long_it_was),
        TEST(a_long_piece_is_sent_in_parts_at_characters_edges),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
