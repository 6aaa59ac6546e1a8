/* The prompt in hand: a small state machine with a file. */

#include "prompts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "disk.h"
#include "kndl/guard.h"
#include "kndl/loop.h"
#include "kndl/mem.h"
#include "kndl/seal.h"
#include "orders.h"

#define OUTCOME(name) KNDL__SESSIONS__V1__REPORT_PROMPT_REQUEST__OUTCOME__OUTCOME_##name

enum { FILE_BYTES_MAX = 512 * 1024, DIALOG_PAUSE_MS = 1000, DONE_KEPT = 16, ID_SIZE = 64 };

enum state {
    NONE,
    STORING, /* on its way to the disk */
    OFFERED, /* an order of the mod's */
    FILLING, /* into the box, because submitting was refused */
    TYPED,   /* Enter was pressed; its row proves it */
    SETTLED, /* sessions is being told */
};

/* As the file begins; the packed HandPromptRequest follows. */
struct head {
    uint32_t version;
    uint32_t outcome;
    int64_t n;
};

struct done {
    char id[ID_SIZE];
    prompt_outcome outcome;
};

struct prompts {
    struct prompts_options options;
    char *path;
    enum state state;
    char id[ID_SIZE];
    struct kndl_secret text;
    struct kndl_buf sealed; /* the packed request */
    int64_t n;              /* of the order */
    bool was_here_before;   /* read from the file: the mod may have fetched it */
    char *draft;            /* what the person had in the box */
    prompt_outcome outcome;
    char *reason;
    prompts_fn taken;
    void *taken_data;
    struct kndl_timer *timer;
    struct done done[DONE_KEPT];
    size_t done_at;
    bool was_seen; /* its row came */
    bool was_typed;
    /* The last one that started before its row came: sessions' answer may be quicker. */
    struct {
        char id[ID_SIZE];
        struct kndl_secret text;
        bool was_typed;
    } unseen;
    bool is_storing; /* the disk has it: prompts_free() waits for that */
    bool is_freed;
};

static void offer(struct prompts *prompts);
static void fill(struct prompts *prompts);
static void settle_as(struct prompts *prompts, prompt_outcome outcome, const char *reason);

static void fill_again(void *data)
{
    fill(data);
}

/* ---------------------------------------------------------------------------------- file */

static void store(struct prompts *prompts, disk_done_fn done)
{
    struct kndl_buf file = {0};
    struct head head = {1, (uint32_t)prompts->outcome, prompts->n};

    kndl_buf_append(&file, &head, sizeof head);
    kndl_buf_append(&file, prompts->sealed.data, prompts->sealed.size);
    if (done != NULL)
        prompts->is_storing = true;
    disk_write_file(prompts->options.disk, prompts->path, file.data, file.size, done, prompts);
    kndl_buf_done(&file);
}

/* The text, or what is wrong with the seal. */
static int open_seal(struct prompts *prompts, const Kndl__Runner__V1__HandPromptRequest *request,
                     struct kndl_error *err)
{
    struct kndl_slice sealed = kndl_slice(request->sealed_text.data, request->sealed_text.len);

    if (kndl_seal_open(prompts->options.seal_pair, sealed, &prompts->text, err) < 0)
        return -1;
    if (memchr(prompts->text.data, '\0', prompts->text.size) != NULL || prompts->text.size == 0) {
        kndl_secret_done(&prompts->text);
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "the prompt is no text");
    }
    return 0;
}

static void load(struct prompts *prompts)
{
    KNDL_CLEANUP(kndl_close) int fd = open(prompts->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    KNDL_CLEANUP(kndl_free) char *bytes = kndl_alloc(1, FILE_BYTES_MAX);
    Kndl__Runner__V1__HandPromptRequest *request;
    struct head head;
    ssize_t size;

    if (fd < 0)
        return;
    size = read(fd, bytes, FILE_BYTES_MAX);
    if (size < (ssize_t)sizeof head)
        return;
    memcpy(&head, bytes, sizeof head);
    kndl_buf_append(&prompts->sealed, bytes + sizeof head, (size_t)size - sizeof head);
    request = kndl__runner__v1__hand_prompt_request__unpack(NULL, prompts->sealed.size,
                                                            (const uint8_t *)prompts->sealed.data);
    if (request == NULL || head.version != 1 || strlen(request->prompt_id) >= sizeof prompts->id) {
        kndl_buf_clear(&prompts->sealed);
        return;
    }
    memcpy(prompts->id, request->prompt_id, strlen(request->prompt_id) + 1);
    prompts->n = head.n;
    prompts->was_here_before = true;
    if (head.outcome != OUTCOME(UNSPECIFIED))
        settle_as(prompts, (prompt_outcome)head.outcome, "");
    else if (open_seal(prompts, request, NULL) < 0)
        settle_as(prompts, OUTCOME(UNSURE), "");
    else
        offer(prompts);
    kndl__runner__v1__hand_prompt_request__free_unpacked(request, NULL);
}

struct prompts *prompts_new(const struct prompts_options *options)
{
    struct prompts *prompts = kndl_new0(struct prompts);

    prompts->options = *options;
    prompts->path = kndl_strdup(options->path);
    prompts->timer = kndl_timer_new(options->loop, fill_again, prompts);
    load(prompts);
    return prompts;
}

/* Started, and its row is still to come: it must name the prompt all the same. */
static void remember_unseen(struct prompts *prompts)
{
    if (prompts->outcome != OUTCOME(STARTED) || prompts->was_seen || prompts->text.data == NULL)
        return;
    kndl_secret_done(&prompts->unseen.text);
    prompts->unseen.text = prompts->text;
    prompts->text = (struct kndl_secret){0};
    prompts->unseen.was_typed = prompts->was_typed;
    memcpy(prompts->unseen.id, prompts->id, sizeof prompts->id);
}

static void forget(struct prompts *prompts)
{
    kndl_timer_stop(prompts->timer);
    remember_unseen(prompts);
    if (prompts->state == OFFERED || prompts->state == FILLING)
        orders_remove(prompts->options.orders, prompts->n);
    kndl_secret_done(&prompts->text);
    kndl_buf_done(&prompts->sealed);
    free(kndl_steal(&prompts->draft));
    free(kndl_steal(&prompts->reason));
    prompts->id[0] = '\0';
    prompts->n = 0;
    prompts->was_here_before = false;
    prompts->was_seen = false;
    prompts->was_typed = false;
    prompts->outcome = OUTCOME(UNSPECIFIED);
    prompts->state = NONE;
}

static void free_now(struct prompts *prompts)
{
    kndl_secret_done(&prompts->unseen.text);
    kndl_timer_free(prompts->timer);
    free(prompts->path);
    free(prompts);
}

void prompts_free(struct prompts *prompts)
{
    if (prompts == NULL)
        return;
    forget(prompts);
    prompts->is_freed = true;
    if (!prompts->is_storing)
        free_now(prompts);
}

/* --------------------------------------------------------------------------------- orders */

static void submitted(void *data, const char *id, const struct claude_result *result)
{
    struct prompts *prompts = data;

    (void)id;
    if (prompts->state != OFFERED)
        return;
    switch (result->outcome) {
    case CLAUDE_STARTED:
    case CLAUDE_DONE:
    case CLAUDE_FILLED:
        settle_as(prompts, OUTCOME(STARTED), "");
        break;
    case CLAUDE_STOPPED:
        fill(prompts);
        break;
    case CLAUDE_UNQUEUED:
        settle_as(prompts, OUTCOME(REQUEUE), "");
        break;
    case CLAUDE_REFUSED:
    case CLAUDE_DIALOG_OPEN:
    case CLAUDE_FAILED:
        settle_as(prompts, OUTCOME(REFUSED), result->reason);
        break;
    }
}

static void offer(struct prompts *prompts)
{
    struct order order = {
        .n = prompts->n,
        .id = prompts->id,
        .op = ORDER_PROMPT,
        .text = (const char *)prompts->text.data,
        .fn = submitted,
        .data = prompts,
    };

    prompts->state = OFFERED;
    prompts->n = orders_add(prompts->options.orders, &order);
    prompts->options.on_order(prompts->options.data);
}

static void filled(void *data, const char *id, const struct claude_result *result)
{
    struct prompts *prompts = data;

    (void)id;
    if (prompts->state != FILLING)
        return;
    if (result->outcome == CLAUDE_FILLED) {
        free(prompts->draft);
        prompts->draft = kndl_strdup(result->draft);
        prompts->state = TYPED;
        prompts->was_typed = true;
        prompts->options.on_enter(prompts->options.data);
        return;
    }
    /* A dialog is open: an Enter now would choose its first option. */
    prompts->n = 0;
    kndl_timer_start(prompts->timer, DIALOG_PAUSE_MS, 0);
}

static void fill(struct prompts *prompts)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf text = {0};
    struct order order = {.id = prompts->id, .op = ORDER_FILL, .fn = filled, .data = prompts};

    /* A leading slash would run as a command there. */
    if (prompts->text.data[0] == '/')
        kndl_buf_append_char(&text, ' ');
    kndl_buf_append(&text, prompts->text.data, prompts->text.size);
    order.text = kndl_buf_text(&text);
    prompts->state = FILLING;
    prompts->n = orders_add(prompts->options.orders, &order);
    prompts->options.on_order(prompts->options.data);
}

/* The person's own words go back into the box. */
static void put_draft_back(struct prompts *prompts)
{
    struct order order = {.id = "draft", .op = ORDER_FILL, .text = prompts->draft};

    if (prompts->draft == NULL || prompts->draft[0] == '\0')
        return;
    orders_add(prompts->options.orders, &order);
    prompts->options.on_order(prompts->options.data);
}

/* -------------------------------------------------------------------------------- outcomes */

static void remember_done(struct prompts *prompts)
{
    struct done *done = &prompts->done[prompts->done_at++ % DONE_KEPT];

    memcpy(done->id, prompts->id, sizeof done->id);
    done->outcome = prompts->outcome;
}

static const struct done *find_done(const struct prompts *prompts, const char *id)
{
    for (size_t i = 0; i < DONE_KEPT; i++)
        if (prompts->done[i].id[0] != '\0' && strcmp(prompts->done[i].id, id) == 0)
            return &prompts->done[i];
    return NULL;
}

static void settle_as(struct prompts *prompts, prompt_outcome outcome, const char *reason)
{
    if (prompts->state == SETTLED)
        return;
    kndl_timer_stop(prompts->timer);
    if (prompts->state == OFFERED || prompts->state == FILLING)
        orders_remove(prompts->options.orders, prompts->n);
    if (prompts->state == TYPED)
        put_draft_back(prompts);
    prompts->state = SETTLED;
    prompts->outcome = outcome;
    prompts->reason = kndl_strdup(reason);
    remember_done(prompts);
    store(prompts, NULL);
    prompts->options.on_outcome(prompts->options.data, prompts->id, outcome, prompts->reason);
}

void prompts_reported(struct prompts *prompts, const char *prompt_id)
{
    if (prompts->state != SETTLED || strcmp(prompts->id, prompt_id) != 0)
        return;
    disk_remove_file(prompts->options.disk, prompts->path, NULL, NULL);
    forget(prompts);
}

static bool is_same_typed(const char *typed, const char *text)
{
    size_t size = strlen(text);

    if (text[0] == '/' && typed[0] == ' ')
        typed++;
    while (size > 0 && strchr(" \t\n", text[size - 1]) != NULL)
        size--;
    return strncmp(typed, text, size) == 0 && typed[size + strspn(typed + size, " \t\n")] == '\0';
}

static bool is_same(const char *row, const struct kndl_secret *text, bool was_typed)
{
    const char *known = (const char *)text->data;

    if (known == NULL || row[0] == '\0')
        return false;
    return was_typed ? is_same_typed(row, known) : strcmp(row, known) == 0;
}

static bool is_unseen(const struct prompts *prompts, const char *text, bool was_typed)
{
    return was_typed == prompts->unseen.was_typed &&
           is_same(text, &prompts->unseen.text, was_typed);
}

static bool is_in_hand(const struct prompts *prompts, const char *text, bool was_typed)
{
    bool may_be_typed = prompts->state == TYPED || prompts->state == FILLING || prompts->was_typed;

    return is_same(text, &prompts->text, was_typed) && (!was_typed || may_be_typed) &&
           (prompts->state != SETTLED || prompts->outcome == OUTCOME(STARTED));
}

const char *prompts_match(struct prompts *prompts, const char *text, bool was_typed)
{
    if (is_unseen(prompts, text, was_typed)) {
        kndl_secret_done(&prompts->unseen.text);
        return prompts->unseen.id;
    }
    if (!is_in_hand(prompts, text, was_typed))
        return "";
    prompts->was_seen = true;
    settle_as(prompts, OUTCOME(STARTED), "");
    return prompts->id;
}

const char *prompts_of_turn(struct prompts *prompts, const char *text)
{
    if (is_unseen(prompts, text, false))
        return prompts->unseen.id;
    if (!is_in_hand(prompts, text, false))
        return "";
    settle_as(prompts, OUTCOME(STARTED), "");
    return prompts->id;
}

void prompts_settle(struct prompts *prompts)
{
    bool may_be_sent = prompts->state == TYPED || prompts->was_here_before ||
                       orders_was_fetched(prompts->options.orders, prompts->n);

    if (prompts->state == NONE || prompts->state == SETTLED || prompts->state == STORING)
        return;
    /* Being filled, it was in the box at most, which is gone. */
    if (prompts->state == FILLING)
        may_be_sent = false;
    settle_as(prompts, may_be_sent ? OUTCOME(UNSURE) : OUTCOME(REQUEUE), "");
}

/* ------------------------------------------------------------------------------ handing over */

static void stored(void *data, const struct kndl_error *err)
{
    struct prompts *prompts = data;
    prompts_fn taken = prompts->taken;

    prompts->is_storing = false;
    if (prompts->is_freed) {
        struct kndl_error gone;

        kndl_fail(&gone, KNDL_ABORTED, "the run is over");
        taken(prompts->taken_data, &gone);
        free_now(prompts);
        return;
    }
    if (err->code != KNDL_OK) {
        forget(prompts);
        taken(prompts->taken_data, err);
        return;
    }
    taken(prompts->taken_data, err);
    if (prompts->text.data == NULL) {
        prompts->state = OFFERED;
        settle_as(prompts, OUTCOME(REFUSED),
                  "this Runner has a new key and cannot open the prompt: send it again");
    } else {
        offer(prompts);
    }
}

void prompts_hand(struct prompts *prompts, const Kndl__Runner__V1__HandPromptRequest *request,
                  prompts_fn fn, void *data)
{
    const struct done *done = find_done(prompts, request->prompt_id);
    struct kndl_error err = {0};

    if (strlen(request->prompt_id) >= sizeof prompts->id || request->prompt_id[0] == '\0') {
        kndl_fail(&err, KNDL_INVALID_ARGUMENT, "prompt_id is no id");
        fn(data, &err);
        return;
    }
    if (done != NULL) {
        fn(data, &err);
        prompts->options.on_outcome(prompts->options.data, done->id, done->outcome, "");
        return;
    }
    if (strcmp(prompts->id, request->prompt_id) == 0 && prompts->state != STORING) {
        fn(data, &err);
        return;
    }
    /* sessions hands over the next only when it knows of the one before. */
    if (prompts->state == SETTLED)
        forget(prompts);
    if (prompts->state != NONE) {
        kndl_fail(&err, KNDL_ABORTED, "another prompt is in Claude Code's hands");
        fn(data, &err);
        return;
    }
    memcpy(prompts->id, request->prompt_id, strlen(request->prompt_id) + 1);
    (void)open_seal(prompts, request, NULL);
    kndl_buf_clear(&prompts->sealed);
    protobuf_c_message_pack(
        &request->base, (uint8_t *)kndl_buf_reserve(
                            &prompts->sealed, protobuf_c_message_get_packed_size(&request->base)));
    prompts->sealed.size = protobuf_c_message_get_packed_size(&request->base);
    prompts->taken = fn;
    prompts->taken_data = data;
    prompts->n = orders_reserve(prompts->options.orders);
    prompts->state = STORING;
    store(prompts, stored);
}
