/* The relay's small bodies: what they must say, and nothing more of them is believed. */

#include "claude.h"

#include <string.h>

enum { EPOCH_CHARS_MAX = 32, BATCH_EVENTS_MAX = 1000, REASON_BYTES_MAX = 4096 };

static int read_epoch(const struct kndl_value *root, const char **ret_epoch, struct kndl_error *err)
{
    const char *epoch = kndl_json_text(kndl_json_get(root, "epoch"), "");

    if (epoch[0] == '\0' || strlen(epoch) > EPOCH_CHARS_MAX)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "epoch is missing or too long");
    *ret_epoch = epoch;
    return 0;
}

int claude_read_hello(const struct kndl_json *json, struct claude_hello *ret_hello,
                      struct kndl_error *err)
{
    const struct kndl_value *root = kndl_json_root(json);
    struct claude_hello hello;

    if (kndl_json_i64(kndl_json_get(root, "version"), 0) != 1)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "this mod is of another version");
    if (read_epoch(root, &hello.epoch, err) < 0)
        return -1;
    hello.claude_session_id = kndl_json_text(kndl_json_get(root, "claudeSessionId"), "");
    if (!claude_is_uuid(hello.claude_session_id))
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "claudeSessionId is no UUID");
    *ret_hello = hello;
    return 0;
}

int claude_read_batch(const struct kndl_json *json, struct claude_batch *ret_batch,
                      struct kndl_error *err)
{
    const struct kndl_value *root = kndl_json_root(json);
    int64_t first = kndl_json_i64(kndl_json_get(root, "first"), 0);
    struct claude_batch batch = {.events = kndl_json_get(root, "events")};

    if (read_epoch(root, &batch.epoch, err) < 0)
        return -1;
    if (first < 1 || first > INT64_MAX / 2)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "first is missing");
    if (kndl_json_kind(batch.events) != KNDL_JSON_ARRAY ||
        kndl_json_count(batch.events) > BATCH_EVENTS_MAX)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "events must be a list of at most %d",
                         BATCH_EVENTS_MAX);
    batch.first = (uint64_t)first;
    *ret_batch = batch;
    return 0;
}

static enum claude_outcome outcome_of_drop(const char *reason)
{
    if (strncmp(reason, "the session was stopped", 23) == 0)
        return CLAUDE_STOPPED;
    if (strncmp(reason, "the prompt was removed from the queue", 37) == 0)
        return CLAUDE_UNQUEUED;
    return CLAUDE_REFUSED;
}

int claude_read_result(const struct kndl_json *json, struct claude_result *ret_result,
                       struct kndl_error *err)
{
    const struct kndl_value *root = kndl_json_root(json);
    const struct kndl_value *result = kndl_json_get(root, "result");
    const struct kndl_value *is_filled = kndl_json_get(result, "isFilled");
    const char *drop = kndl_json_text(kndl_json_get(root, "drop"), "");
    const char *error = kndl_json_text(kndl_json_get(root, "error"), "");
    struct claude_result read = {
        .command = kndl_json_i64(kndl_json_get(root, "command"), 0),
        .outcome = CLAUDE_DONE,
        .reason = "",
        .draft = kndl_json_text(kndl_json_get(result, "draft"), ""),
    };

    if (read.command < 1)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "command is missing");
    if (error[0] != '\0') {
        read.outcome = CLAUDE_FAILED;
        read.reason = error;
    } else if (drop[0] != '\0') {
        read.outcome = outcome_of_drop(drop);
        read.reason = drop;
    } else if (kndl_json_bool(kndl_json_get(root, "started"), false)) {
        read.outcome = CLAUDE_STARTED;
    } else if (is_filled != NULL) {
        read.outcome = kndl_json_bool(is_filled, false) ? CLAUDE_FILLED : CLAUDE_DIALOG_OPEN;
    }
    if (strlen(read.reason) > REASON_BYTES_MAX)
        read.reason = "Claude Code gave a reason that is too long to show";
    *ret_result = read;
    return 0;
}
