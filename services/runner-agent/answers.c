/* Answers on their way: a short list, each with a file. */

#include "answers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "disk.h"
#include "kndl/guard.h"
#include "kndl/id.h"
#include "kndl/json.h"
#include "kndl/mem.h"
#include "kndl/seal.h"

enum { GIVEN_MAX = 32, CLOSED_KEPT = 32, QUESTION_BYTES_MAX = 128, FILE_BYTES_MAX = 256 * 1024 };

struct given {
    struct answers *answers;
    char *command_id;
    char *question_id;
    char *person_id;
    struct kndl_secret plain; /* a packed kndl.runner.v1.Answers */
    bool is_stored;
    bool is_gone; /* closed while it was on its way to the disk */
    answers_fn taken;
    void *taken_data;
    struct given *next;
};

struct answers {
    struct answers_options options;
    char *directory;
    struct given *first;
    size_t count;
    char closed[CLOSED_KEPT][QUESTION_BYTES_MAX];
    size_t closed_at;
    bool is_freed;
    size_t storing; /* writes that are out */
};

static char *path_of(const struct answers *answers, const char *command_id)
{
    struct kndl_buf path = {0};

    kndl_buf_printf(&path, "%s/%s", answers->directory, command_id);
    return kndl_buf_take(&path);
}

static void free_given(struct given *given)
{
    kndl_secret_done(&given->plain);
    free(given->command_id);
    free(given->question_id);
    free(given->person_id);
    free(given);
}

/* What is inside the seal, checked. */
static int open_answers(const struct answers *answers,
                        const Kndl__Runner__V1__GiveAnswerRequest *request,
                        struct kndl_secret *ret_plain, struct kndl_error *err)
{
    struct kndl_slice sealed =
        kndl_slice(request->sealed_answers.data, request->sealed_answers.len);

    if (kndl_seal_open(answers->options.seal_pair, sealed, ret_plain, err) < 0)
        return -1;
    if (kndl_guard_check(&kndl__runner__v1__answers__descriptor,
                         kndl_slice(ret_plain->data, ret_plain->size), err) < 0) {
        kndl_secret_done(ret_plain);
        return -1;
    }
    return 0;
}

static struct given *add(struct answers *answers,
                         const Kndl__Runner__V1__GiveAnswerRequest *request, struct kndl_error *err)
{
    struct given *given = kndl_new0(struct given);

    if (open_answers(answers, request, &given->plain, err) < 0) {
        free(given);
        return NULL;
    }
    given->answers = answers;
    given->command_id = kndl_strdup(request->command_id);
    given->question_id = kndl_strdup(request->question_id);
    given->person_id = kndl_strdup(request->creator_id);
    given->next = answers->first;
    answers->first = given;
    answers->count++;
    return given;
}

static void load_one(struct answers *answers, const char *name)
{
    KNDL_CLEANUP(kndl_free) char *path = path_of(answers, name);
    KNDL_CLEANUP(kndl_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    KNDL_CLEANUP(kndl_free) uint8_t *bytes = kndl_alloc(1, FILE_BYTES_MAX);
    ssize_t size = fd < 0 ? -1 : read(fd, bytes, FILE_BYTES_MAX);
    Kndl__Runner__V1__GiveAnswerRequest *request;
    struct given *given;

    if (size <= 0)
        return;
    request = kndl__runner__v1__give_answer_request__unpack(NULL, (size_t)size, bytes);
    if (request == NULL)
        return;
    given = add(answers, request, NULL);
    if (given != NULL)
        given->is_stored = true;
    kndl__runner__v1__give_answer_request__free_unpacked(request, NULL);
}

struct answers *answers_new(const struct answers_options *options)
{
    struct answers *answers = kndl_new0(struct answers);
    const struct dirent *entry;
    DIR *folder;

    answers->options = *options;
    answers->directory = kndl_strdup(options->directory);
    (void)mkdir(answers->directory, 0700);
    folder = opendir(answers->directory);
    while (folder != NULL && (entry = readdir(folder)) != NULL && answers->count < GIVEN_MAX)
        if (kndl_id_is_valid(entry->d_name))
            load_one(answers, entry->d_name);
    if (folder != NULL)
        closedir(folder);
    return answers;
}

static void free_now(struct answers *answers)
{
    while (answers->first != NULL) {
        struct given *given = answers->first;

        answers->first = given->next;
        free_given(given);
    }
    free(answers->directory);
    free(answers);
}

void answers_free(struct answers *answers)
{
    if (answers == NULL)
        return;
    answers->is_freed = true;
    if (answers->storing == 0)
        free_now(answers);
}

static bool is_closed(const struct answers *answers, const char *question_id)
{
    for (size_t i = 0; i < CLOSED_KEPT; i++)
        if (strcmp(answers->closed[i], question_id) == 0)
            return true;
    return false;
}

static struct given *find(const struct answers *answers, const char *question_id)
{
    for (struct given *given = answers->first; given != NULL; given = given->next)
        if (!given->is_gone && strcmp(given->question_id, question_id) == 0)
            return given;
    return NULL;
}

static void take_out(struct answers *answers, struct given *given)
{
    struct given **at = &answers->first;

    while (*at != given)
        at = &(*at)->next;
    *at = given->next;
    answers->count--;
    free_given(given);
}

static void stored(void *data, const struct kndl_error *err)
{
    struct given *given = data;
    struct answers *answers = given->answers;
    struct kndl_error over = *err;

    answers->storing--;
    given->is_stored = true;
    if (answers->is_freed || given->is_gone)
        kndl_fail(&over, KNDL_ABORTED, "the question is closed");
    given->taken(given->taken_data, &over);
    if (answers->is_freed) {
        if (answers->storing == 0)
            free_now(answers);
    } else if (over.code != KNDL_OK) {
        KNDL_CLEANUP(kndl_free) char *path = path_of(answers, given->command_id);

        disk_remove_file(answers->options.disk, path, NULL, NULL);
        take_out(answers, given);
    } else {
        answers->options.on_answer(answers->options.data);
    }
}

void answers_give(struct answers *answers, const Kndl__Runner__V1__GiveAnswerRequest *request,
                  answers_fn fn, void *data)
{
    KNDL_CLEANUP(kndl_free) char *path = NULL;
    KNDL_CLEANUP(kndl_free) uint8_t *bytes = NULL;
    size_t size = protobuf_c_message_get_packed_size(&request->base);
    struct given *known = find(answers, request->question_id);
    struct given *given;
    struct kndl_error err = {0};

    if (!kndl_id_is_valid(request->command_id) || request->question_id[0] == '\0' ||
        strlen(request->question_id) >= QUESTION_BYTES_MAX || size > FILE_BYTES_MAX)
        kndl_fail(&err, KNDL_INVALID_ARGUMENT, "command_id or question_id is none");
    else if (known != NULL && strcmp(known->command_id, request->command_id) != 0)
        kndl_fail(&err, KNDL_ABORTED, "the question has an answer already");
    else if (is_closed(answers, request->question_id))
        kndl_fail(&err, KNDL_ABORTED, "the question is closed");
    else if (answers->count >= GIVEN_MAX)
        kndl_fail(&err, KNDL_RESOURCE_EXHAUSTED, "too many answers wait");
    if (err.code != KNDL_OK || (known != NULL && known->is_stored)) {
        fn(data, &err);
        return;
    }
    given = known == NULL ? add(answers, request, &err) : NULL;
    if (given == NULL) {
        if (known != NULL)
            kndl_fail(&err, KNDL_UNAVAILABLE, "the answer is being stored");
        fn(data, &err);
        return;
    }
    path = path_of(answers, request->command_id);
    bytes = kndl_alloc(1, size + 1);
    protobuf_c_message_pack(&request->base, bytes);
    given->taken = fn;
    given->taken_data = data;
    answers->storing++;
    disk_write_file(answers->options.disk, path, bytes, size, stored, given);
}

enum answer_state answers_look(struct answers *answers, const char *question_id,
                               struct kndl_buf *out)
{
    const struct given *given = find(answers, question_id);
    Kndl__Runner__V1__Answers *plain;

    if (is_closed(answers, question_id))
        return ANSWER_CLOSED;
    if (given == NULL || !given->is_stored)
        return ANSWER_NONE;
    plain = kndl__runner__v1__answers__unpack(NULL, given->plain.size, given->plain.data);
    if (plain == NULL)
        return ANSWER_NONE;
    kndl_buf_append_text(out, "{\"answers\":[");
    for (size_t i = 0; i < plain->n_answers; i++) {
        kndl_buf_append_text(out, i > 0 ? "," : "");
        kndl_json_append_string(out, plain->answers[i]);
    }
    kndl_buf_append_text(out, "]}");
    kndl__runner__v1__answers__free_unpacked(plain, NULL);
    return ANSWER_HERE;
}

const char *answers_person(const struct answers *answers, const char *question_id)
{
    const struct given *given = find(answers, question_id);

    return given == NULL ? "" : given->person_id;
}

static void settle(struct answers *answers, struct given *given, bool done, const char *reason)
{
    KNDL_CLEANUP(kndl_free) char *path = path_of(answers, given->command_id);

    answers->options.on_done(answers->options.data, given->command_id, done, reason);
    if (!given->is_stored) {
        given->is_gone = true;
        return;
    }
    disk_remove_file(answers->options.disk, path, NULL, NULL);
    take_out(answers, given);
}

void answers_close(struct answers *answers, const char *question_id, bool is_answered)
{
    char *closed = answers->closed[answers->closed_at++ % CLOSED_KEPT];
    struct given *given = find(answers, question_id);
    size_t size = strlen(question_id);

    if (size < QUESTION_BYTES_MAX)
        memcpy(closed, question_id, size + 1);
    if (given != NULL)
        settle(answers, given, is_answered,
               is_answered ? "" : "the question was closed without an answer");
}

void answers_settle(struct answers *answers)
{
    struct given *next;

    for (struct given *given = answers->first; given != NULL; given = next) {
        next = given->next;
        if (!given->is_gone)
            settle(answers, given, false, "Claude Code ended before it took the answer");
    }
}
