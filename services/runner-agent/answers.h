#pragma once

/*
 * Answers to Open questions on their way to Claude (EV-03). The mod asks for them by the
 * question's id, which is Claude Code's tool_use_id; whether it took one shows when the question
 * is closed. Kept on the disk, still sealed, until then.
 *
 * Belongs to the loop's thread.
 */

#include <stdbool.h>

#include "kndl/buf.h"
#include "kndl/error.h"
#include "kndl/runner/v1/runner_service.pb-c.h"

struct answers;
struct disk;
struct kndl_secret;

struct answers_options {
    struct disk *disk;
    const struct kndl_secret *seal_pair; /* borrowed */
    const char *directory;               /* of its own; made if it is missing */
    /* What became of it. `reason` is "" when it was taken. */
    void (*on_done)(void *data, const char *command_id, bool done, const char *reason);
    /* There is an answer that the mod may be waiting for. */
    void (*on_answer)(void *data);
    void *data;
};

struct answers *answers_new(const struct answers_options *options);
void answers_free(struct answers *answers);

typedef void (*answers_fn)(void *data, const struct kndl_error *err);

/* Takes one; fn is called when it is on the disk. The same again is taken again; ABORTED if the
 * question is closed or has an answer. */
void answers_give(struct answers *answers, const Kndl__Runner__V1__GiveAnswerRequest *request,
                  answers_fn fn, void *data);

enum answer_state { ANSWER_NONE, ANSWER_HERE, ANSWER_CLOSED };

/* Appends {"answers":[…]} if it is here. */
enum answer_state answers_look(struct answers *answers, const char *question_id,
                               struct kndl_buf *out);

/* Who gave the answer of this question; "" for nobody. */
const char *answers_person(const struct answers *answers, const char *question_id);

/* The question is over, with an answer or without. */
void answers_close(struct answers *answers, const char *question_id, bool is_answered);

/* Claude Code is gone, and all its questions with it. */
void answers_settle(struct answers *answers);
