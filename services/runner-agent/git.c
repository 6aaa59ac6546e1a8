/* The only file here that knows libgit2. */

#include "git.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <git2.h>

#include "kndl/clock.h"
#include "kndl/mem.h"

enum { PROGRESS_MS = 250 };

static const char authorities[] = "/etc/ssl/certs/ca-certificates.crt";

struct transfer {
    const struct git_remote_repo *repo;
    int asked; /* how often the other side asked for credentials */
    int64_t said_ms;
};

static void init_once(void)
{
    (void)git_libgit2_init();
    /* Its files are another uid's than ours where it is an idmapped folder. */
    (void)git_libgit2_opts(GIT_OPT_SET_OWNER_VALIDATION, 0);
    (void)git_libgit2_opts(GIT_OPT_SET_SEARCH_PATH, GIT_CONFIG_LEVEL_SYSTEM, "");
    (void)git_libgit2_opts(GIT_OPT_SET_SEARCH_PATH, GIT_CONFIG_LEVEL_XDG, "");
    (void)git_libgit2_opts(GIT_OPT_SET_SEARCH_PATH, GIT_CONFIG_LEVEL_GLOBAL, "");
    (void)git_libgit2_opts(GIT_OPT_SET_SEARCH_PATH, GIT_CONFIG_LEVEL_PROGRAMDATA, "");
    (void)git_libgit2_opts(GIT_OPT_SET_SSL_CERT_LOCATIONS, authorities, NULL);
}

/* What libgit2 says of its last failure; only our own url is ever in it, and that has no token. */
static const char *last_words(void)
{
    const git_error *last = git_error_last();

    return last == NULL || last->message == NULL ? "no reason was given" : last->message;
}

static void say(struct transfer *transfer, const char *text, unsigned percent)
{
    int64_t now = kndl_clock_ms();

    if (transfer->repo->on_progress == NULL || now - transfer->said_ms < PROGRESS_MS)
        return;
    transfer->said_ms = now;
    transfer->repo->on_progress(text, percent);
}

static int on_transfer(const git_indexer_progress *stats, void *data)
{
    unsigned all = stats->total_objects == 0 ? 1 : stats->total_objects;
    uint64_t percent = ((uint64_t)stats->received_objects + stats->indexed_objects) * 45 / all;

    say(data, "receiving objects", percent > 90 ? 90 : (unsigned)percent);
    return 0;
}

static int on_sideband(const char *text, int size, void *data)
{
    (void)text;
    (void)size;
    say(data, "the other side prepares", 0);
    return 0;
}

static void on_checkout(const char *path, size_t done, size_t all, void *data)
{
    (void)path;
    say(data, "checking out files", 90 + (unsigned)(all == 0 ? 0 : done * 10 / all));
}

/* Asked again without end where it is refused, so it is answered once. */
static int on_credentials(git_credential **ret, const char *url, const char *user, unsigned types,
                          void *data)
{
    struct transfer *transfer = data;

    (void)url;
    (void)user;
    if (transfer->repo->token == NULL || transfer->asked++ > 0 ||
        (types & GIT_CREDENTIAL_USERPASS_PLAINTEXT) == 0)
        return GIT_EAUTH;
    return git_credential_userpass_plaintext_new(ret, "x-access-token", transfer->repo->token);
}

static int explain_clone(int problem, struct kndl_error *err)
{
    const char *words = last_words();

    if (problem == GIT_EAUTH || strstr(words, "401") != NULL || strstr(words, "403") != NULL ||
        strstr(words, "404") != NULL)
        return kndl_fail(err, KNDL_PERMISSION_DENIED,
                         "the Repo is not there for this Runner: it may be gone, or the GitHub App "
                         "is not installed on it (%.80s)",
                         problem == GIT_EAUTH ? "the credentials were refused" : words);
    if (strstr(words, "No space left") != NULL || strstr(words, "disk full") != NULL)
        return kndl_fail(err, KNDL_RESOURCE_EXHAUSTED, "the Runner's disk is full");
    return kndl_fail(err, KNDL_UNAVAILABLE, "the Repo could not be cloned: %.180s", words);
}

/* http(s)://host/…: no other transport, no credentials in it. */
static bool url_is_plain(const char *url)
{
    const char *host = strstr(url, "://");
    size_t authority;

    if (strncmp(url, "https://", 8) != 0 && strncmp(url, "http://", 7) != 0)
        return false;
    host += 3;
    authority = strcspn(host, "/");
    return authority > 0 && memchr(host, '@', authority) == NULL && strchr(url, '\n') == NULL;
}

int git_clone_whole(const struct git_remote_repo *repo, struct kndl_error *err)
{
    git_clone_options options;
    struct transfer transfer = {.repo = repo};
    git_repository *made = NULL;
    int problem;

    if (!url_is_plain(repo->url))
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "the Repo's url must be http or https");
    init_once();
    (void)git_clone_options_init(&options, GIT_CLONE_OPTIONS_VERSION);
    options.fetch_opts.callbacks.transfer_progress = on_transfer;
    options.fetch_opts.callbacks.sideband_progress = on_sideband;
    options.fetch_opts.callbacks.credentials = on_credentials;
    options.fetch_opts.callbacks.payload = &transfer;
    /* None to another host, which would get the token. */
    options.fetch_opts.follow_redirects = GIT_REMOTE_REDIRECT_NONE;
    options.fetch_opts.proxy_opts.type = GIT_PROXY_NONE;
    options.checkout_opts.checkout_strategy = GIT_CHECKOUT_SAFE;
    options.checkout_opts.progress_cb = on_checkout;
    options.checkout_opts.progress_payload = &transfer;
    if (repo->base[0] != '\0')
        options.checkout_branch = repo->base;
    problem = git_clone(&made, repo->url, repo->path, &options);
    if (problem < 0)
        return explain_clone(problem, err);
    git_repository_free(made);
    return 0;
}

static int set_author(git_repository *repo, const char *name, const char *email)
{
    git_config *config = NULL;
    int problem = git_repository_config(&config, repo);

    if (problem == 0 && name[0] != '\0')
        problem = git_config_set_string(config, "user.name", name);
    if (problem == 0 && email[0] != '\0')
        problem = git_config_set_string(config, "user.email", email);
    git_config_free(config);
    return problem;
}

/* HEAD moves to a branch that points where it did, so nothing needs to be checked out. */
static int start_branch(git_repository *repo, const char *branch)
{
    char name[300];
    git_reference *made = NULL;
    git_object *head = NULL;
    git_commit *commit = NULL;
    int problem = 0;

    (void)snprintf(name, sizeof name, "refs/heads/%s", branch);
    if (git_repository_head_unborn(repo) != 1) {
        problem = git_revparse_single(&head, repo, "HEAD");
        if (problem == 0)
            problem = git_commit_lookup(&commit, repo, git_object_id(head));
        if (problem == 0)
            problem = git_branch_create(&made, repo, branch, commit, 0);
    }
    if (problem == 0)
        problem = git_repository_set_head(repo, name);
    git_reference_free(made);
    git_commit_free(commit);
    git_object_free(head);
    return problem;
}

int git_begin(const char *path, const char *branch, const char *author_name,
              const char *author_email, struct kndl_error *err)
{
    git_repository *repo = NULL;
    int problem;

    init_once();
    problem = git_repository_open_ext(&repo, path, GIT_REPOSITORY_OPEN_NO_SEARCH, NULL);
    if (problem == 0)
        problem = set_author(repo, author_name, author_email);
    if (problem == 0 && branch[0] != '\0')
        problem = start_branch(repo, branch);
    git_repository_free(repo);
    if (problem < 0)
        return kndl_fail(err, KNDL_INTERNAL, "branch %.60s: %.120s", branch, last_words());
    return 0;
}

int git_exclude(const char *path, const char *lines, struct kndl_error *err)
{
    char file[512];
    KNDL_CLEANUP(kndl_close) int fd = -1;

    (void)snprintf(file, sizeof file, "%s/.git/info", path);
    (void)mkdir(file, 0755);
    (void)snprintf(file, sizeof file, "%s/.git/info/exclude", path);
    fd = open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0 || write(fd, lines, strlen(lines)) != (ssize_t)strlen(lines))
        return kndl_fail(err, errno == ENOSPC ? KNDL_RESOURCE_EXHAUSTED : KNDL_INTERNAL,
                         ".git/info/exclude: %s", strerror(errno));
    return 0;
}
