/*
 * What the mod of Claude Code 2.1.332 posted in one conversation (mod-events.jsonl), as Events:
 * EV-01, EV-03, EV-04.
 */

#include "claude.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kndl/mem.h"
#include "kndl/testing.h"

#define EV1(name) Kndl__Event__V1__##name

struct fixture {
    struct kndl_arena *arena;
    struct claude_reader *reader;
    EV1(Event) * events[1024];
    size_t count;
    size_t deltas;
    size_t turns_started, turns_ended;
    const char *prompt_text; /* what is in Claude Code's hands */
    const char *answered_question;
    bool conversation_ended;
};

static const char *match_prompt(void *data, const char *text, bool was_typed)
{
    struct fixture *f = data;

    (void)was_typed;
    return f->prompt_text != NULL && strcmp(f->prompt_text, text) == 0 ? "prompt-1" : "";
}

static const char *match_turn(void *data, const char *text)
{
    return match_prompt(data, text, false);
}

static const char *match_block(void *data, const char *subagent_id, enum claude_block kind,
                               const char *tool_use_id)
{
    (void)data;
    (void)subagent_id;
    (void)tool_use_id;
    return kind == CLAUDE_TEXT ? "block-text" : "block-other";
}

static const char *answered_by(void *data, const char *question_id)
{
    struct fixture *f = data;

    return f->answered_question != NULL && strcmp(f->answered_question, question_id) == 0 ? "ada"
                                                                                          : "";
}

static int set_up(void **state)
{
    static struct fixture fixture;
    struct fixture *f = *state = &fixture;

    *f = (struct fixture){.arena = kndl_arena_new(KNDL_ARENA_PLAIN)};
    f->reader = claude_reader_new(
        &(struct claude_links){match_prompt, match_turn, match_block, answered_by, f});
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    claude_reader_free(f->reader);
    kndl_arena_free(f->arena);
    return 0;
}

static void take(struct fixture *f, const struct claude_news *news)
{
    for (size_t i = 0; i < news->count; i++)
        f->events[f->count++] = news->events[i];
    f->deltas += news->is_delta;
    f->turns_started += news->turn_started;
    f->turns_ended += news->turn_ended;
    f->conversation_ended = f->conversation_ended || news->conversation_ended;
}

static void read_event(struct fixture *f, const char *text)
{
    struct kndl_json *json;
    struct kndl_error err = {0};
    struct claude_news news;

    assert_int_equal(kndl_json_parse(kndl_slice_of(text), 1 << 20, &json, &err), 0);
    claude_read_event(f->reader, kndl_json_root(json), f->arena, &news);
    kndl_json_free(json);
    take(f, &news);
}

static void read_recording(struct fixture *f)
{
    char path[512], *line = NULL;
    size_t room = 0;
    FILE *file;

    snprintf(path, sizeof path, "%.*s/mod-events.jsonl", (int)(strrchr(__FILE__, '/') - __FILE__),
             __FILE__);
    file = fopen(path, "re");
    assert_non_null(file);
    while (getline(&line, &room, file) > 0)
        read_event(f, line);
    free(line);
    fclose(file);
}

static size_t count_kind(const struct fixture *f, EV1(Event__KindCase) kind)
{
    size_t count = 0;

    for (size_t i = 0; i < f->count; i++)
        count += f->events[i]->kind_case == kind;
    return count;
}

static const EV1(Event) * nth(const struct fixture *f, EV1(Event__KindCase) kind, size_t n)
{
    for (size_t i = 0; i < f->count; i++)
        if (f->events[i]->kind_case == kind && n-- == 0)
            return f->events[i];
    fail_msg("there is no such Event");
    return NULL;
}

static void the_recorded_conversation_becomes_events(void **state)
{
    struct fixture *f = *state;

    f->prompt_text = "hello there";
    read_recording(f);
    assert_int_equal(f->deltas, 93);
    assert_int_equal(count_kind(f, KNDL__EVENT__V1__EVENT__KIND_TURN_STARTED),
                     count_kind(f, KNDL__EVENT__V1__EVENT__KIND_TURN_ENDED));
    assert_int_equal(f->turns_started, 16);
    assert_int_equal(f->turns_ended, 16);
    assert_int_equal(count_kind(f, KNDL__EVENT__V1__EVENT__KIND_QUESTION), 3);
    assert_int_equal(count_kind(f, KNDL__EVENT__V1__EVENT__KIND_ANSWER), 3);
    assert_int_equal(count_kind(f, KNDL__EVENT__V1__EVENT__KIND_THINKING), 1);
    assert_int_equal(count_kind(f, KNDL__EVENT__V1__EVENT__KIND_SUBAGENT_STARTED), 1);
    assert_int_equal(count_kind(f, KNDL__EVENT__V1__EVENT__KIND_SUBAGENT_ENDED), 1);
    assert_int_equal(count_kind(f, KNDL__EVENT__V1__EVENT__KIND_TOOL_CALL),
                     count_kind(f, KNDL__EVENT__V1__EVENT__KIND_TOOL_RESULT));
    assert_true(f->conversation_ended);
}

static void a_prompt_of_ours_has_its_id_and_so_has_its_turn(void **state)
{
    struct fixture *f = *state;
    const EV1(Event) * prompt;

    f->prompt_text = "hello there";
    read_recording(f);
    prompt = nth(f, KNDL__EVENT__V1__EVENT__KIND_PROMPT, 0);
    assert_string_equal(prompt->prompt->prompt_id, "prompt-1");
    assert_string_equal(prompt->prompt->text, "hello there");
    assert_int_equal(prompt->prompt->origin, KNDL__EVENT__V1__PROMPT__ORIGIN__ORIGIN_PERSON);
    assert_string_equal(prompt->source_id, "15a95a35-ceb1-4f09-878e-4d81b3316519");
    assert_string_equal(
        nth(f, KNDL__EVENT__V1__EVENT__KIND_TURN_STARTED, 0)->turn_started->prompt_id, "prompt-1");
    assert_string_equal(
        nth(f, KNDL__EVENT__V1__EVENT__KIND_TURN_STARTED, 1)->turn_started->prompt_id, "");
}

static void an_api_error_ends_its_turn_with_claude_codes_word(void **state)
{
    struct fixture *f = *state;
    const EV1(TurnEnded) * ended;
    size_t n = 0;

    read_recording(f);
    do {
        ended = nth(f, KNDL__EVENT__V1__EVENT__KIND_TURN_ENDED, n++)->turn_ended;
    } while (ended->reason != KNDL__EVENT__V1__TURN_ENDED__REASON__REASON_ERROR);
    assert_string_equal(ended->error_code, "authentication_failed");
    assert_non_null(strstr(ended->error, "API Error: 401"));
}

static void a_stopped_turn_says_so(void **state)
{
    struct fixture *f = *state;
    size_t stopped = 0;

    read_recording(f);
    for (size_t n = 0; n < f->turns_ended; n++)
        stopped += nth(f, KNDL__EVENT__V1__EVENT__KIND_TURN_ENDED, n)->turn_ended->reason ==
                   KNDL__EVENT__V1__TURN_ENDED__REASON__REASON_STOPPED;
    assert_int_equal(stopped, 3);
}

static void answers_come_in_the_order_of_their_questions(void **state)
{
    struct fixture *f = *state;
    const EV1(Answer) * answer;

    read_recording(f);
    answer = nth(f, KNDL__EVENT__V1__EVENT__KIND_ANSWER, 1)->answer;
    assert_int_equal(answer->n_answers, 2);
    assert_string_equal(answer->answers[0], "Apple, Plum");
    assert_string_equal(answer->answers[1], "Two");
    assert_int_equal(answer->outcome, KNDL__EVENT__V1__ANSWER__OUTCOME__OUTCOME_ANSWERED_ELSEWHERE);
    /* The third was stopped while it was open. */
    answer = nth(f, KNDL__EVENT__V1__EVENT__KIND_ANSWER, 2)->answer;
    assert_int_equal(answer->outcome, KNDL__EVENT__V1__ANSWER__OUTCOME__OUTCOME_UNANSWERED);
    assert_int_equal(answer->n_answers, 0);
}

static void an_answer_of_ours_names_its_person(void **state)
{
    struct fixture *f = *state;

    f->answered_question = "q1";
    read_event(f, "{\"type\":\"question\",\"id\":\"q1\",\"questions\":[{\"question\":\"Why?\"}]}");
    read_event(f, "{\"type\":\"question.end\",\"id\":\"q1\",\"answers\":{\"Why?\":\"So\"}}");
    assert_string_equal(f->events[1]->answer->person_id, "ada");
    assert_int_equal(f->events[1]->answer->outcome,
                     KNDL__EVENT__V1__ANSWER__OUTCOME__OUTCOME_ANSWERED);
}

/* A question that an earlier process of the Runner heard. */
static void an_answer_to_a_question_of_before_is_one_all_the_same(void **state)
{
    struct fixture *f = *state;

    f->answered_question = "q1";
    read_event(f, "{\"type\":\"question.end\",\"id\":\"q1\",\"answers\":{\"A?\":\"one\",\"B?\":"
                  "\"two\"}}");
    assert_int_equal(f->count, 1);
    assert_int_equal(f->events[0]->answer->n_answers, 2);
    assert_string_equal(f->events[0]->answer->answers[1], "two");
    assert_int_equal(f->events[0]->answer->outcome,
                     KNDL__EVENT__V1__ANSWER__OUTCOME__OUTCOME_ANSWERED);
}

static void a_steer_is_the_persons_words_without_the_wrapping(void **state)
{
    struct fixture *f = *state;

    read_event(f, "{\"type\":\"session.append\",\"door\":\"queue\",\"origin\":{\"kind\":"
                  "\"engine\"},\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"go "
                  "left\"}]}}");
    read_event(f, "{\"type\":\"session.append\",\"door\":\"delivery\",\"origin\":{\"kind\":"
                  "\"composer\"},\"message\":{\"content\":[{\"type\":\"text\",\"text\":"
                  "\"<system-reminder>\\nThe user sent: go left\\n</system-reminder>\"}]}}");
    assert_int_equal(f->count, 1);
    assert_string_equal(f->events[0]->prompt->text, "go left");
    assert_int_equal(f->events[0]->prompt->origin, KNDL__EVENT__V1__PROMPT__ORIGIN__ORIGIN_STEER);
}

static void a_compaction_has_its_summary(void **state)
{
    struct fixture *f = *state;

    read_event(f, "{\"type\":\"compaction\",\"summary\":\"in short\"}");
    assert_string_equal(f->events[0]->compaction->summary, "in short");
}

static void a_long_text_is_cut_at_a_characters_edge_and_says_its_length(void **state)
{
    struct fixture *f = *state;
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf text = {0};

    kndl_buf_append_text(&text, "{\"type\":\"session.append\",\"door\":\"response\",\"message\":"
                                "{\"content\":[{\"type\":\"text\",\"text\":\"x");
    for (int i = 0; i < 100000; i++)
        kndl_buf_append_text(&text, "\xe6\xbc\xa2");
    kndl_buf_append_text(&text, "\"}]}}");
    read_event(f, kndl_buf_text(&text));
    assert_int_equal(f->events[0]->text->full_bytes, 300001);
    assert_int_equal(strlen(f->events[0]->text->text), 1 + 3 * 87381);
}

static void a_text_that_the_mod_cut_says_how_long_it_was(void **state)
{
    struct fixture *f = *state;

    read_event(f, "{\"type\":\"session.append\",\"door\":\"response\",\"message\":{\"content\":["
                  "{\"type\":\"text\",\"text\":\"abc\",\"fullBytes\":5000000},"
                  "{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"Write\","
                  "\"input\":{\"a\":\"(9 bytes)\"},\"fullBytes\":6000000}]}}");
    assert_string_equal(f->events[0]->text->text, "abc");
    assert_int_equal(f->events[0]->text->full_bytes, 5000000);
    assert_int_equal(f->events[1]->tool_call->full_bytes, 6000000);
    read_event(f, "{\"type\":\"session.append\",\"door\":\"tool-result\",\"message\":{\"content\":["
                  "{\"type\":\"tool_result\",\"tool_use_id\":\"t\",\"content\":["
                  "{\"type\":\"text\",\"text\":\"ab\"},"
                  "{\"type\":\"text\",\"text\":\"c\",\"fullBytes\":101},"
                  "{\"type\":\"text\",\"text\":\"\",\"fullBytes\":1000}]}]}}");
    assert_string_equal(f->events[2]->tool_result->text, "ab\nc\n");
    assert_int_equal(f->events[2]->tool_result->full_bytes, 2 + 1 + 101 + 1 + 1000);
    read_event(f, "{\"type\":\"session.append\",\"door\":\"prompt\",\"message\":"
                  "{\"content\":\"hi\",\"fullBytes\":700000}}");
    assert_int_equal(f->events[3]->prompt->full_bytes, 700000);
    read_event(f, "{\"type\":\"compaction\",\"summary\":\"so far\",\"fullBytes\":800000}");
    assert_int_equal(f->events[4]->compaction->full_bytes, 800000);

    /* Whoever says less than there is, or more than there can be, is not believed. */
    read_event(f, "{\"type\":\"session.append\",\"door\":\"response\",\"message\":{\"content\":["
                  "{\"type\":\"text\",\"text\":\"abc\",\"fullBytes\":2},"
                  "{\"type\":\"text\",\"text\":\"abc\",\"fullBytes\":9000000000000000000}]}}");
    assert_int_equal(f->events[5]->text->full_bytes, 0);
    assert_int_equal(f->events[6]->text->full_bytes, 0);
}

static void a_long_tool_input_keeps_its_short_members_and_no_half_string(void **state)
{
    struct fixture *f = *state;
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf text = {0};

    kndl_buf_append_text(&text,
                         "{\"type\":\"session.append\",\"door\":\"response\",\"message\":"
                         "{\"content\":[{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"Write\","
                         "\"input\":{\"file_path\":\"/a\",\"content\":\"");
    for (int i = 0; i < 300000; i++)
        kndl_buf_append_char(&text, 'x');
    kndl_buf_append_text(&text, "\"}}]}}");
    read_event(f, kndl_buf_text(&text));
    assert_string_equal(f->events[0]->tool_call->input_json,
                        "{\"file_path\":\"/a\",\"content\":\"(300002 bytes)\"}");
    assert_true(f->events[0]->tool_call->full_bytes > 300000);
}

static void what_it_does_not_know_is_passed_over(void **state)
{
    struct fixture *f = *state;
    static const char *const odd[] = {
        "{}",
        "[]",
        "7",
        "{\"type\":7}",
        "{\"type\":\"dance\"}",
        "{\"type\":\"session.append\"}",
        "{\"type\":\"session.append\",\"door\":\"response\",\"message\":{\"content\":[7,null,{}]}}",
        "{\"type\":\"question\",\"id\":\"q\",\"questions\":\"no\"}",
        "{\"type\":\"question.end\",\"id\":\"never asked\"}",
        "{\"type\":\"delta\",\"kind\":\"dance\"}",
    };

    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++)
        read_event(f, odd[i]);
    assert_int_equal(f->count, 0);
    assert_int_equal(f->deltas, 0);
}

/* A row of the transcript and the same row by the mod have one identity. */
static void the_transcript_tells_the_same_as_the_mod(void **state)
{
    struct fixture *f = *state;
    static const char *const lines[] = {
        "{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"hi\"},\"uuid\":"
        "\"2a931f96-e560-491d-b906-dde95af356aa\",\"origin\":{\"kind\":\"plugin\",\"name\":"
        "\"hub-link-commands\",\"asUser\":true}}",
        "{\"type\":\"assistant\",\"message\":{\"model\":\"m\",\"content\":[{\"type\":\"text\","
        "\"text\":\"yes\"}]},\"uuid\":\"f9a72eef-4d6a-439c-90da-54ab5a1487a8\"}",
        "{\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":"
        "\"t\",\"content\":\"out\",\"is_error\":true}]},\"uuid\":"
        "\"cf9f625e-d8a2-4961-afbf-afe734e6f7fe\"}",
        "{\"type\":\"user\",\"isCompactSummary\":true,\"message\":{\"content\":\"in short\"},"
        "\"uuid\":\"0816a69d-dc3e-4863-b9f3-7252c76853e8\"}",
        "{\"type\":\"user\",\"isMeta\":true,\"message\":{\"content\":\"x\"},\"uuid\":"
        "\"68dba698-2755-4dfe-8e0f-c851cb9aca36\"}",
        "{\"type\":\"mode\",\"mode\":\"x\"}",
        "{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"te",
    };
    struct claude_news news;

    f->prompt_text = "hi";
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        claude_read_line(f->reader, kndl_slice_of(lines[i]), "", f->arena, &news);
        take(f, &news);
    }
    assert_int_equal(f->count, 4);
    assert_string_equal(f->events[0]->prompt->prompt_id, "prompt-1");
    assert_string_equal(f->events[1]->source_id, "f9a72eef-4d6a-439c-90da-54ab5a1487a8");
    assert_string_equal(f->events[2]->tool_result->text, "out");
    assert_true(f->events[2]->tool_result->is_error);
    assert_string_equal(f->events[3]->compaction->summary, "in short");
}

static const char row_of_ours[] =
    "{\"type\":\"session.append\",\"door\":\"prompt\",\"uuid\":"
    "\"15a95a35-ceb1-4f09-878e-4d81b3316519\",\"origin\":{\"kind\":\"plugin\",\"name\":"
    "\"hub-link-commands\"},\"message\":{\"type\":\"user\",\"content\":\"hello\"}}";
static const char turn_of_ours[] = "{\"type\":\"turn.start\",\"turnId\":\"t1\",\"text\":\"hello\"}";

/* The spool was full: the mod posts the same again, and meanwhile sessions knew of the prompt. */
static void what_is_read_again_names_its_prompt_again(void **state)
{
    struct fixture *f = *state;

    f->prompt_text = "hello";
    read_event(f, row_of_ours);
    read_event(f, turn_of_ours);
    f->prompt_text = NULL;
    read_event(f, row_of_ours);
    read_event(f, turn_of_ours);
    read_event(f, turn_of_ours);
    assert_int_equal(f->count, 5);
    assert_string_equal(f->events[2]->prompt->prompt_id, "prompt-1");
    assert_string_equal(f->events[3]->turn_started->prompt_id, "prompt-1");
    assert_string_equal(f->events[4]->turn_started->prompt_id, "prompt-1");
}

/* Code in the Sandbox has the mod's token. */
static void a_row_that_only_looks_like_ours_is_no_persons_prompt(void **state)
{
    struct fixture *f = *state;

    read_event(f, row_of_ours);
    assert_string_equal(f->events[0]->prompt->prompt_id, "");
    assert_int_equal(f->events[0]->prompt->origin,
                     KNDL__EVENT__V1__PROMPT__ORIGIN__ORIGIN_TERMINAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(what_is_read_again_names_its_prompt_again),
        TEST(a_row_that_only_looks_like_ours_is_no_persons_prompt),
        TEST(the_recorded_conversation_becomes_events),
        TEST(a_prompt_of_ours_has_its_id_and_so_has_its_turn),
        TEST(an_api_error_ends_its_turn_with_claude_codes_word),
        TEST(a_stopped_turn_says_so),
        TEST(answers_come_in_the_order_of_their_questions),
        TEST(an_answer_of_ours_names_its_person),
        TEST(an_answer_to_a_question_of_before_is_one_all_the_same),
        TEST(a_steer_is_the_persons_words_without_the_wrapping),
        TEST(a_compaction_has_its_summary),
        TEST(a_long_text_is_cut_at_a_characters_edge_and_says_its_length),
        TEST(a_text_that_the_mod_cut_says_how_long_it_was),
        TEST(a_long_tool_input_keeps_its_short_members_and_no_half_string),
        TEST(what_it_does_not_know_is_passed_over),
        TEST(the_transcript_tells_the_same_as_the_mod),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
