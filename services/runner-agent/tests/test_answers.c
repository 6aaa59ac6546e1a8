/* Answers on their way to Claude (EV-03). */

#include "answers.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fake_disk.h"
#include "kndl/id.h"
#include "kndl/mem.h"
#include "kndl/seal.h"
#include "kndl/testing.h"

struct fixture {
    struct disk disk;
    struct answers *answers;
    struct kndl_secret pair;
    uint8_t public_key[KNDL_SEAL_PUBLIC_BYTES];
    char directory[64];
    char command[KNDL_ID_SIZE];
    int taken;
    enum kndl_code refusal;
    int done, not_done, woken;
};

static void on_done(void *data, const char *command_id, bool done, const char *reason)
{
    struct fixture *f = data;

    assert_string_equal(command_id, f->command);
    assert_true(done == (reason[0] == '\0'));
    f->done += done;
    f->not_done += !done;
}

static void on_answer(void *data)
{
    ((struct fixture *)data)->woken++;
}

static void on_taken(void *data, const struct kndl_error *err)
{
    struct fixture *f = data;

    f->taken += err->code == KNDL_OK;
    f->refusal = err->code;
}

static void open_answers(struct fixture *f)
{
    f->answers = answers_new(
        &(struct answers_options){&f->disk, &f->pair, f->directory, on_done, on_answer, f});
}

static int set_up(void **state)
{
    static struct fixture fixture;
    struct fixture *f = *state = &fixture;
    struct kndl_error err = {0};

    *f = (struct fixture){.directory = "/tmp/kndl-answers-XXXXXX"};
    assert_non_null(mkdtemp(f->directory));
    assert_int_equal(kndl_crypt_init(&err), 0);
    kndl_seal_keypair(&f->pair, f->public_key);
    kndl_id_new(f->command);
    open_answers(f);
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    char path[128];

    answers_free(f->answers);
    fake_disk_run(&f->disk);
    snprintf(path, sizeof path, "%s/%s", f->directory, f->command);
    unlink(path);
    rmdir(f->directory);
    kndl_secret_done(&f->pair);
    return 0;
}

static void give(struct fixture *f, const char *command, const char *question)
{
    Kndl__Runner__V1__GiveAnswerRequest request = KNDL__RUNNER__V1__GIVE_ANSWER_REQUEST__INIT;
    Kndl__Runner__V1__Answers answers = KNDL__RUNNER__V1__ANSWERS__INIT;
    char *texts[] = {(char *)"Blue", (char *)"say \"two\""};
    struct kndl_buf sealed = {0};
    uint8_t packed[256];

    answers.answers = texts;
    answers.n_answers = 2;
    kndl_seal(f->public_key, kndl_slice(packed, kndl__runner__v1__answers__pack(&answers, packed)),
              &sealed);
    request.session_id = (char *)"s";
    request.command_id = (char *)command;
    request.question_id = (char *)question;
    request.creator_id = (char *)"ada";
    request.sealed_answers = (ProtobufCBinaryData){sealed.size, (uint8_t *)sealed.data};
    answers_give(f->answers, &request, on_taken, f);
    kndl_buf_done(&sealed);
}

static void assert_look(struct fixture *f, enum answer_state state, const char *json)
{
    struct kndl_buf out = {0};

    assert_int_equal(answers_look(f->answers, "q1", &out), state);
    assert_string_equal(kndl_buf_text(&out), json);
    kndl_buf_done(&out);
}

static const char given[] = "{\"answers\":[\"Blue\",\"say \\\"two\\\"\"]}";

static void an_answer_is_there_once_it_is_on_the_disk(void **state)
{
    struct fixture *f = *state;

    give(f, f->command, "q1");
    assert_look(f, ANSWER_NONE, "");
    fake_disk_run(&f->disk);
    assert_int_equal(f->taken, 1);
    assert_int_equal(f->woken, 1);
    assert_look(f, ANSWER_HERE, given);
    assert_string_equal(answers_person(f->answers, "q1"), "ada");
    assert_string_equal(answers_person(f->answers, "q2"), "");
}

static void a_restart_keeps_it(void **state)
{
    struct fixture *f = *state;

    give(f, f->command, "q1");
    fake_disk_run(&f->disk);
    answers_free(f->answers);
    open_answers(f);
    assert_look(f, ANSWER_HERE, given);
}

static void a_closed_question_says_what_became_of_its_answer(void **state)
{
    struct fixture *f = *state;

    give(f, f->command, "q1");
    fake_disk_run(&f->disk);
    answers_close(f->answers, "q1", true);
    assert_int_equal(f->done, 1);
    assert_look(f, ANSWER_CLOSED, "");
    give(f, f->command, "q1");
    assert_int_equal(f->refusal, KNDL_ABORTED);
}

static void one_closed_without_an_answer_was_not_done(void **state)
{
    struct fixture *f = *state;

    give(f, f->command, "q1");
    fake_disk_run(&f->disk);
    answers_close(f->answers, "q1", false);
    assert_int_equal(f->not_done, 1);
}

static void the_end_of_claude_code_ends_them_all(void **state)
{
    struct fixture *f = *state;

    give(f, f->command, "q1");
    fake_disk_run(&f->disk);
    answers_settle(f->answers);
    assert_int_equal(f->not_done, 1);
    assert_look(f, ANSWER_NONE, "");
}

static void a_second_answer_is_refused_and_the_same_again_is_taken(void **state)
{
    struct fixture *f = *state;
    char other[KNDL_ID_SIZE];

    kndl_id_new(other);
    give(f, f->command, "q1");
    fake_disk_run(&f->disk);
    give(f, other, "q1");
    assert_int_equal(f->refusal, KNDL_ABORTED);
    give(f, f->command, "q1");
    assert_int_equal(f->taken, 2);
    give(f, "../../etc/passwd", "q2");
    assert_int_equal(f->refusal, KNDL_INVALID_ARGUMENT);
}

static void a_question_that_closes_meanwhile_refuses_it(void **state)
{
    struct fixture *f = *state;

    give(f, f->command, "q1");
    answers_close(f->answers, "q1", false);
    fake_disk_run(&f->disk);
    assert_int_equal(f->refusal, KNDL_ABORTED);
    assert_int_equal(f->not_done, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(an_answer_is_there_once_it_is_on_the_disk),
        TEST(a_restart_keeps_it),
        TEST(a_closed_question_says_what_became_of_its_answer),
        TEST(one_closed_without_an_answer_was_not_done),
        TEST(the_end_of_claude_code_ends_them_all),
        TEST(a_second_answer_is_refused_and_the_same_again_is_taken),
        TEST(a_question_that_closes_meanwhile_refuses_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
