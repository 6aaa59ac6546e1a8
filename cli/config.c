/* The CLI's own file. */

#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kndl/buf.h"
#include "kndl/json.h"
#include "kndl/mem.h"

enum { FILE_BYTES_MAX = 4096, PATH_SIZE = 1024 };

const struct kndl_env config_env[] = {
    {"KNDL_CONFIG", "", "the file with the Hub's address and this machine's token"},
    {"HOME", "", "where that file is, in .config/kndl/cli.json, unless KNDL_CONFIG says"},
    {"NO_COLOR", "", "set to anything: no colours"},
    {"TERM", "", "dumb: no colours"},
    {NULL, NULL, NULL},
};

static int find_path(char path[PATH_SIZE], struct kndl_error *err)
{
    const char *own = kndl_env_get("KNDL_CONFIG");
    const char *home = kndl_env_get("HOME");
    int size = own[0] != '\0' ? snprintf(path, PATH_SIZE, "%s", own)
                              : snprintf(path, PATH_SIZE, "%s/.config/kndl/cli.json", home);

    if (size >= PATH_SIZE || (own[0] == '\0' && home[0] == '\0'))
        return kndl_fail(err, KNDL_FAILED_PRECONDITION, "set KNDL_CONFIG to a file's path");
    return 0;
}

static void free_json(struct kndl_json **json)
{
    kndl_json_free(*json);
}

int config_set_url(struct config *config, const char *url, struct kndl_error *err)
{
    size_t size = strlen(url);

    while (size > 0 && url[size - 1] == '/')
        size--;
    if (size == 0 || size >= sizeof config->url ||
        (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0))
        return kndl_fail(err, KNDL_INVALID_ARGUMENT,
                         "%.100s is no address of a Hub, such as https://kndl.example.com", url);
    memcpy(config->url, url, size);
    config->url[size] = '\0';
    return 0;
}

int config_load(struct config *ret_config, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_secret_done) struct kndl_secret text = {0};
    KNDL_CLEANUP(free_json) struct kndl_json *json = NULL;
    struct config config = {0};
    char path[PATH_SIZE];

    if (find_path(path, err) < 0)
        return -1;
    if (access(path, F_OK) < 0 && errno == ENOENT) {
        *ret_config = config;
        return 0;
    }
    if (kndl_secret_read_file(path, FILE_BYTES_MAX, &text, err) < 0)
        return -1;
    if (kndl_json_parse(kndl_slice(text.data, text.size), FILE_BYTES_MAX, &json, NULL) < 0 ||
        config_set_url(&config, kndl_json_text(kndl_json_get(kndl_json_root(json), "url"), ""),
                       NULL) < 0)
        return kndl_fail(err, KNDL_FAILED_PRECONDITION,
                         "%.180s is not as kndl wrote it; sign in again", path);
    const char *token = kndl_json_text(kndl_json_get(kndl_json_root(json), "token"), "");
    if (token[0] != '\0')
        kndl_secret_copy(&config.token, kndl_slice_of(token));
    *ret_config = config;
    return 0;
}

/* The folders on the way to a file; those that are there stay as they are. */
static void make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path, 0700);
        *slash = '/';
    }
}

static int write_file(const char *path, struct kndl_slice text, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_close)
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

    if (fd < 0 || write(fd, text.data, text.size) != (ssize_t)text.size || fsync(fd) < 0)
        return kndl_fail(err, KNDL_FAILED_PRECONDITION, "%.150s cannot be written: %s", path,
                         strerror(errno));
    return 0;
}

int config_save(const struct config *config, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf text = {0};
    char path[PATH_SIZE], next[PATH_SIZE + 8];

    if (find_path(path, err) < 0)
        return -1;
    make_folders(path);
    snprintf(next, sizeof next, "%s.new", path);
    kndl_buf_reserve(&text, FILE_BYTES_MAX); /* so that no copy of the token is left behind */
    kndl_buf_append_text(&text, "{\"url\":");
    kndl_json_append_string(&text, config->url);
    if (config->token.size > 0) {
        kndl_buf_append_text(&text, ",\"token\":");
        kndl_json_append_string(&text, (const char *)config->token.data);
    }
    kndl_buf_append_text(&text, "}\n");

    (void)unlink(next);
    int result = write_file(next, kndl_buf_slice(&text), err);
    explicit_bzero(text.data, text.size);
    if (result == 0 && rename(next, path) < 0)
        result = kndl_fail(err, KNDL_FAILED_PRECONDITION, "%.150s cannot be written: %s", path,
                           strerror(errno));
    return result;
}

void config_done(struct config *config)
{
    kndl_secret_done(&config->token);
    *config = (struct config){0};
}
