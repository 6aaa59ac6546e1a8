/* kndl answer: answers an Open question. */

#include "session_id.h"

#define V1(name) Kndl__Sessions__V1__##name

static int run(struct cli *cli, const struct args *args, struct kndl_error *err)
{
    V1(AnswerQuestionRequest) request = KNDL__SESSIONS__V1__ANSWER_QUESTION_REQUEST__INIT;
    V1(AnswerQuestionResponse) *response;
    char session_id[KNDL_ID_SIZE];

    if (session_id_read(cli, args->rest[0], session_id, err) < 0)
        return -1;
    request.session_id = session_id;
    request.question_id = (char *)args->rest[1];
    request.answers = (char **)&args->rest[2];
    request.n_answers = args->count - 2;
    if (CLIENT_CHANGE(V1, AnswerQuestion, kndl__sessions__v1__sessions_service__descriptor, cli,
                      &request, &response, err) < 0)
        return verb_hint(KNDL_NOT_FOUND, "kndl show SESSION lists the open ones", err);
    return 0;
}

const struct verb verb_answer = {
    .name = "answer",
    .usage = "SESSION QUESTION ANSWER…",
    .summary = "answer a question that Claude asked",
    .help = "One ANSWER for each question asked; the labels of a multi-select are joined by \", "
            "\".\nkndl show lists the open questions.\n",
    .options = no_options,
    .least = 3,
    .most = 34,
    .run = run,
};
