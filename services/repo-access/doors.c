/* The first door, and the broom. */

#include "doors.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kndl/buf.h"
#include "kndl/clock.h"
#include "kndl/env.h"
#include "kndl/log.h"
#include "kndl/mem.h"
#include "kndl/rpc.h"
#include "kndl/token.h"
#include "rpc.h"
#include "store_doors.h"

#define HOUR_MS (INT64_C(60) * 60 * 1000)

static const int64_t link_ms = 24 * HOUR_MS;

enum { LINK_SIZE = 1024, PATH_SIZE = 1024 };

void doors_write_page(const char *path, struct kndl_buf *out)
{
    const char *url = kndl_env_get("HUB_PUBLIC_URL");
    size_t size = strlen(url);

    while (size > 0 && url[size - 1] == '/')
        size--;
    kndl_buf_append(out, url, size);
    kndl_buf_append_text(out, path);
}

void doors_write_link(const char *name, const char *token, struct kndl_buf *out)
{
    kndl_buf_reserve(out, LINK_SIZE); /* so that no copy of the token is left behind */
    doors_write_page("/", out);
    kndl_buf_printf(out, "#%s=%s", name, token);
}

static int write_all(int fd, struct kndl_slice text)
{
    return write(fd, text.data, text.size) == (ssize_t)text.size ? 0 : -1;
}

/* Whole or not at all: whoever waits for the file never reads half of it. */
static int write_file(const char *path, struct kndl_slice line, struct kndl_error *err)
{
    char next[PATH_SIZE];

    if (snprintf(next, sizeof next, "%s.new", path) >= (int)sizeof next)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "HUB_SETUP_LINK_FILE is too long");
    (void)unlink(next);
    KNDL_CLEANUP(kndl_close)
    int fd = open(next, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 || write_all(fd, line) < 0 || rename(next, path) < 0)
        return kndl_fail(err, KNDL_UNAVAILABLE, "HUB_SETUP_LINK_FILE cannot be written: %s",
                         strerror(errno));
    return 0;
}

static int show(const char *token, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf line = {0};
    const char *path = kndl_env_get("HUB_SETUP_LINK_FILE");

    kndl_buf_reserve(&line, LINK_SIZE);
    if (path[0] == '\0')
        kndl_buf_append_text(&line, "Become the Owner of this kndl, within 24 h and once: ");
    doors_write_link("setup", token, &line);
    kndl_buf_append_char(&line, '\n');
    int result = path[0] != '\0' ? write_file(path, kndl_buf_slice(&line), err)
                                 : write_all(STDOUT_FILENO, kndl_buf_slice(&line));
    explicit_bzero(line.data, line.size);
    return result;
}

/* Without its file a link is lost, and another one is offered. */
static bool is_lost(void)
{
    const char *path = kndl_env_get("HUB_SETUP_LINK_FILE");

    return path[0] != '\0' && access(path, F_OK) < 0;
}

static int offer(struct kndl_call *call)
{
    struct repo_access *repo_access = call->state;
    KNDL_CLEANUP(kndl_secret_done) struct kndl_secret token = {0};
    int64_t now_ms = kndl_clock_wall_ms();
    uint8_t hash[KNDL_HASH_BYTES];
    bool is_kept;

    kndl_token_new(KNDL_TOKEN_SET, &token);
    kndl_hash(kndl_slice(token.data, token.size), hash);
    if (store_offer_setup_link(repo_access->store, hash, now_ms, now_ms + link_ms, is_lost(),
                               call->arena, &is_kept, &call->err) < 0)
        return -1;
    if (!is_kept)
        return 0;
    if (show((const char *)token.data, &call->err) < 0)
        return -1;
    kndl_log(KNDL_INFO, "there is no Owner: a Setup link was made");
    return 0;
}

static int tidy(struct kndl_call *call)
{
    struct repo_access *repo_access = call->state;
    int64_t now_ms = kndl_clock_wall_ms();

    /* With dev login whoever comes first is the Owner. */
    if (!repo_access->has_offered && strcmp(kndl_env_get("HUB_DEV_LOGIN"), "1") != 0) {
        if (offer(call) < 0)
            return -1;
        repo_access->has_offered = true;
    }
    return store_tidy(repo_access->store, now_ms, &call->err);
}

void doors_close_setup(void)
{
    const char *path = kndl_env_get("HUB_SETUP_LINK_FILE");

    if (path[0] != '\0' && unlink(path) < 0 && errno != ENOENT)
        kndl_log(KNDL_WARNING, "the used Setup link's file cannot be removed",
                 KNDL_STR("why", strerror(errno)));
}

const struct kndl_task doors_task = {
    .name = "doors",
    .period_ms = 60 * 1000,
    .run = tidy,
};
