#include "transcript.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kndl/testing.h"

#define V1(name) Kndl__Event__V1__##name

static char *text;
static size_t size;
static struct screen screen;

static int set_up(void **state)
{
    (void)state;
    screen = (struct screen){.out = open_memstream(&text, &size), .columns = 60};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    fclose(screen.out);
    free(text);
    return 0;
}

static void assert_written(const char *wanted)
{
    fflush(screen.out);
    assert_string_equal(text, wanted);
}

/* Writes an Event that is this message, which is the member of that name. */
#define WRITE(KIND, member, message)                                                               \
    do {                                                                                           \
        V1(Event) event = KNDL__EVENT__V1__EVENT__INIT;                                            \
        event.kind_case = KNDL__EVENT__V1__EVENT__KIND_##KIND;                                     \
        event.member = (message);                                                                  \
        transcript_write(&screen, &event, TRANSCRIPT_TEXT);                                        \
    } while (0)

static V1(Event) tool_call(V1(ToolCall) *call, const char *name, const char *input)
{
    V1(Event) event = KNDL__EVENT__V1__EVENT__INIT;

    *call = (V1(ToolCall))KNDL__EVENT__V1__TOOL_CALL__INIT;
    call->name = (char *)name;
    call->input_json = (char *)input;
    event.kind_case = KNDL__EVENT__V1__EVENT__KIND_TOOL_CALL;
    event.tool_call = call;
    return event;
}

static void a_tool_call_is_one_line(void **state)
{
    V1(ToolCall) call;
    V1(Event) event = tool_call(&call, "Bash", "{\"command\":\"make\\ntest\",\"timeout\":5}");

    (void)state;
    transcript_write(&screen, &event, TRANSCRIPT_TEXT);
    event = tool_call(&call, "Other", "{\"a\":1}");
    transcript_write(&screen, &event, TRANSCRIPT_TEXT);
    event = tool_call(&call, "Broken", "{oops");
    event.subagent_id = (char *)"s";
    transcript_write(&screen, &event, TRANSCRIPT_TEXT);
    assert_written("Bash  make\nOther  {\"a\":1}\n  | Broken  {oops\n");
}

static void a_long_line_is_cut(void **state)
{
    V1(ToolCall) call;
    V1(Event) event = tool_call(
        &call, "Read",
        "{\"file_path\":\"/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"}");

    (void)state;
    transcript_write(&screen, &event, TRANSCRIPT_TEXT);
    fflush(screen.out);
    assert_non_null(strstr(text, "…\n"));
    assert_true(size < 70);
}

static void a_result_shows_its_first_line_and_how_many_more(void **state)
{
    V1(ToolResult) result = KNDL__EVENT__V1__TOOL_RESULT__INIT;

    (void)state;
    result.text = (char *)"one\ntwo\nthree\n";
    WRITE(TOOL_RESULT, tool_result, &result);
    result.text = (char *)"one\ntwo\n";
    WRITE(TOOL_RESULT, tool_result, &result);
    result.text = (char *)"";
    WRITE(TOOL_RESULT, tool_result, &result);
    assert_written("  one  +2 lines\n  one  +1 line\n  (nothing)\n");
}

static void text_of_others_cannot_move_the_terminal(void **state)
{
    V1(Text) block = KNDL__EVENT__V1__TEXT__INIT;

    (void)state;
    block.text = (char *)"a\033]0;title\007b\r\nc\td\xc2\x9b"
                         "31m\u202e\x7f\x80 é😀\n";
    WRITE(TEXT, text, &block);
    assert_written("a·]0;title·b\nc\td·31m··· é😀\n");
}

static void a_turn_ends_with_why_and_what_it_took(void **state)
{
    V1(TurnEnded) ended = KNDL__EVENT__V1__TURN_ENDED__INIT;
    V1(Usage) usage = KNDL__EVENT__V1__USAGE__INIT;

    (void)state;
    ended.reason = KNDL__EVENT__V1__TURN_ENDED__REASON__REASON_ANSWER;
    ended.duration_ms = 3210;
    usage.input_tokens = 12;
    usage.output_tokens = 5;
    ended.usage = &usage;
    WRITE(TURN_ENDED, turn_ended, &ended);
    ended = (V1(TurnEnded))KNDL__EVENT__V1__TURN_ENDED__INIT;
    ended.reason = KNDL__EVENT__V1__TURN_ENDED__REASON__REASON_ERROR;
    ended.error = (char *)"the token is not good";
    WRITE(TURN_ENDED, turn_ended, &ended);
    assert_written("-- done, 3.2 s, 12 tokens in, 5 out\n-- failed: the token is not good\n");
}

static void a_question_says_how_to_answer_it(void **state)
{
    V1(Question__Option) option = KNDL__EVENT__V1__QUESTION__OPTION__INIT;
    V1(Question__Option) *options[] = {&option};
    V1(Question__Asked) asked = KNDL__EVENT__V1__QUESTION__ASKED__INIT;
    V1(Question__Asked) *questions[] = {&asked};
    V1(Question) question = KNDL__EVENT__V1__QUESTION__INIT;

    (void)state;
    option.label = (char *)"Blue";
    asked.question = (char *)"Which colour?";
    asked.options = options;
    asked.n_options = 1;
    question.id = (char *)"q1";
    question.questions = questions;
    question.n_questions = 1;
    WRITE(QUESTION, question, &question);
    assert_written("? Which colour?\n  - Blue\n  kndl answer SESSION q1 ANSWER\n");
}

static void json_is_protobufs_form_on_one_line(void **state)
{
    V1(Text) block = KNDL__EVENT__V1__TEXT__INIT;
    V1(Event) event = KNDL__EVENT__V1__EVENT__INIT;

    (void)state;
    event.seq = 7;
    event.kind_case = KNDL__EVENT__V1__EVENT__KIND_TEXT;
    event.text = &block;
    block.text = (char *)"a\nb";
    transcript_write(&screen, &event, TRANSCRIPT_JSON);
    assert_written("{\"seq\":\"7\",\"text\":{\"text\":\"a\\nb\"}}\n");
}

static void a_text_that_was_cut_says_how_much_more_there_was(void **state)
{
    V1(Text) said = KNDL__EVENT__V1__TEXT__INIT;

    (void)state;
    said.text = (char *)"begin";
    said.full_bytes = 5 + 1258291;
    WRITE(TEXT, text, &said);
    said.full_bytes = 6;
    WRITE(TEXT, text, &said);
    said.full_bytes = 5;
    WRITE(TEXT, text, &said);
    assert_written("begin\n(1.2 MiB more; all of it has 1.2 MiB)\n"
                   "begin\n(1 byte more; all of it has 6 bytes)\n"
                   "begin\n(shortened; all of it has 5 bytes)\n");
}

static void what_is_shown_in_a_line_says_how_long_all_of_it_was(void **state)
{
    V1(Thinking) thinking = KNDL__EVENT__V1__THINKING__INIT;
    V1(ToolCall) call = KNDL__EVENT__V1__TOOL_CALL__INIT;
    V1(ToolResult) result = KNDL__EVENT__V1__TOOL_RESULT__INIT;
    V1(Compaction) compaction = KNDL__EVENT__V1__COMPACTION__INIT;

    (void)state;
    thinking.text = (char *)"hm";
    thinking.full_bytes = 2048;
    WRITE(THINKING, thinking, &thinking);
    call.name = (char *)"Write";
    call.input_json = (char *)"{\"file_path\":\"/x\"}";
    call.full_bytes = 3072;
    WRITE(TOOL_CALL, tool_call, &call);
    result.text = (char *)"a\nb";
    result.full_bytes = 4096;
    WRITE(TOOL_RESULT, tool_result, &result);
    compaction.summary = (char *)"so far";
    compaction.full_bytes = 5120;
    WRITE(COMPACTION, compaction, &compaction);
    assert_written("thinking: hm  (all of it has 2.0 KiB)\n"
                   "Write  /x  (all of it has 3.0 KiB)\n"
                   "  a  +1 line  (all of it has 4.0 KiB)\n"
                   "-- conversation summed up: so far  (all of it has 5.0 KiB)\n");
}

static void what_was_cut_off_says_so(void **state)
{
    V1(Text) said = KNDL__EVENT__V1__TEXT__INIT;
    V1(Thinking) thinking = KNDL__EVENT__V1__THINKING__INIT;
    V1(ToolCall) call = KNDL__EVENT__V1__TOOL_CALL__INIT;

    (void)state;
    said.text = (char *)"it is";
    said.is_unfinished = true;
    WRITE(TEXT, text, &said);
    thinking.text = (char *)"hm";
    thinking.is_unfinished = true;
    WRITE(THINKING, thinking, &thinking);
    call.name = (char *)"Bash";
    call.input_json = (char *)"{\"command\":\"ls";
    call.is_unfinished = true;
    WRITE(TOOL_CALL, tool_call, &call);
    assert_written("it is\n(cut off here: Claude had not finished)\n"
                   "thinking, cut off: hm\n"
                   "Bash  {\"command\":\"ls  (cut off: it was never made)\n");
}

/* A prompt, how its Turn ended, and that the Session sleeps: half past midnight, two hours east. */
static void write_three(enum transcript_form form)
{
    V1(Prompt) prompt = KNDL__EVENT__V1__PROMPT__INIT;
    V1(TurnStarted) started = KNDL__EVENT__V1__TURN_STARTED__INIT;
    V1(TurnEnded) ended = KNDL__EVENT__V1__TURN_ENDED__INIT;
    V1(StateChanged) changed = KNDL__EVENT__V1__STATE_CHANGED__INIT;
    V1(Event) event = KNDL__EVENT__V1__EVENT__INIT;

    event.at_ms = INT64_C(1700000000000);
    event.kind_case = KNDL__EVENT__V1__EVENT__KIND_PROMPT;
    event.prompt = &prompt;
    prompt.text = (char *)"hello";
    transcript_write(&screen, &event, form);
    event.kind_case = KNDL__EVENT__V1__EVENT__KIND_TURN_STARTED;
    event.turn_started = &started;
    transcript_write(&screen, &event, form);
    event.kind_case = KNDL__EVENT__V1__EVENT__KIND_TURN_ENDED;
    event.turn_ended = &ended;
    ended.reason = KNDL__EVENT__V1__TURN_ENDED__REASON__REASON_ANSWER;
    transcript_write(&screen, &event, form);
    event.kind_case = KNDL__EVENT__V1__EVENT__KIND_STATE_CHANGED;
    event.state_changed = &changed;
    changed.state = KNDL__EVENT__V1__STATE__STATE_ASLEEP;
    changed.reason = (char *)"Its Creator put it to sleep.";
    transcript_write(&screen, &event, form);
}

static void prompts_states_and_ends_say_when(void **state)
{
    (void)state;
    write_three(TRANSCRIPT_TEXT);
    assert_written("2023-11-15 00:13 > hello\n"
                   "-- done at 2023-11-15 00:13\n"
                   "-- Asleep at 2023-11-15 00:13: Its Creator put it to sleep.\n");
}

static void with_timestamps_each_event_says_when(void **state)
{
    (void)state;
    write_three(TRANSCRIPT_STAMPED);
    assert_written("2023-11-15T00:13:20+02:00  > hello\n"
                   "2023-11-15T00:13:20+02:00  -- done\n"
                   "2023-11-15T00:13:20+02:00  -- Asleep: Its Creator put it to sleep.\n");
}

static void of_today_the_hour_is_enough(void **state)
{
    const int64_t at_ms = INT64_C(1700000000000);

    (void)state;
    screen_time(&screen, at_ms, at_ms + 3600 * 1000);
    fputc('|', screen.out);
    screen_time(&screen, at_ms - 3600 * 1000, at_ms); /* before midnight */
    assert_written("00:13|2023-11-14 23:13");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(a_text_that_was_cut_says_how_much_more_there_was),
        TEST(what_is_shown_in_a_line_says_how_long_all_of_it_was),
        TEST(what_was_cut_off_says_so),
        TEST(prompts_states_and_ends_say_when),
        TEST(with_timestamps_each_event_says_when),
        TEST(of_today_the_hour_is_enough),
        TEST(a_tool_call_is_one_line),
        TEST(a_long_line_is_cut),
        TEST(a_result_shows_its_first_line_and_how_many_more),
        TEST(text_of_others_cannot_move_the_terminal),
        TEST(a_turn_ends_with_why_and_what_it_took),
        TEST(a_question_says_how_to_answer_it),
        TEST(json_is_protobufs_form_on_one_line),
    };

    setenv("TZ", "EAST-2", 1);
    tzset();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
