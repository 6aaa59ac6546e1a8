/* The token's files. Each is written beside its place and renamed, so that no reader sees half. */

#include "git_access.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TOKEN_FILE "/run/kndl/github-token"
#define GH_FILE "/run/kndl/gh-hosts.yml"
#define CONFIG_FILE "/run/kndl/gitconfig" /* which /etc/gitconfig includes */
#define GH_DIR "/root/.config/gh"
#define HELPER "/opt/kndl/run-claude"

enum { INPUT_BYTES_MAX = 4096 };

static int fail(const char *what)
{
    (void)fprintf(stderr, "run-claude: %s: %s\n", what, strerror(errno));
    return 1;
}

/* Into a file of git's or gh's: nothing that could end a string there. */
static bool is_plain(const char *text)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                "-._~:/[]";

    return text[0] != '\0' && text[strspn(text, plain)] == '\0';
}

static int write_file(const char *path, const char *text)
{
    char next[64];
    size_t size = strlen(text);

    (void)snprintf(next, sizeof next, "%s.new", path);
    unlink(next);
    int fd = open(next, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return fail(next);
    bool is_whole = write(fd, text, size) == (ssize_t)size;
    close(fd);
    if (!is_whole || rename(next, path) < 0)
        return fail(path);
    return 0;
}

static int write_gh(const char *token)
{
    char text[INPUT_BYTES_MAX + 256];

    (void)snprintf(text, sizeof text,
                   "github.com:\n    user: x-access-token\n    oauth_token: %s\n"
                   "    git_protocol: https\n",
                   token);
    int status = write_file(GH_FILE, text);
    explicit_bzero(text, sizeof text);
    return status;
}

static int write_config(const char *origin)
{
    static const char section[] = "[credential \"%s\"]\n\thelper = " HELPER " --git-credential\n";
    char text[2 * INPUT_BYTES_MAX];
    int size = snprintf(text, sizeof text, section, "https://github.com");

    if (strcmp(origin, "https://github.com") != 0)
        (void)snprintf(text + size, sizeof text - (size_t)size, section, origin);
    return write_file(CONFIG_FILE, text);
}

/* A file that somebody made there is left alone; what is on the disk is a link and no token. */
static void link_gh(void)
{
    (void)mkdir("/root/.config", 0700);
    (void)mkdir(GH_DIR, 0700);
    (void)!symlink(GH_FILE, GH_DIR "/hosts.yml");
}

int git_take_token(void)
{
    static char input[INPUT_BYTES_MAX];
    size_t size = 0;
    ssize_t got;

    while (size < sizeof input - 1 &&
           (got = read(STDIN_FILENO, input + size, sizeof input - 1 - size)) > 0)
        size += (size_t)got;
    char *token = strchr(input, '\n');
    if (token == NULL)
        return 2;
    *token++ = '\0';
    if (!is_plain(input) || !is_plain(token))
        return 2;
    int status = write_file(TOKEN_FILE, token);
    if (status == 0)
        status = write_gh(token);
    if (status == 0)
        status = write_config(input);
    link_gh();
    explicit_bzero(input, sizeof input);
    return status;
}

int git_give_credential(const char *verb)
{
    char token[INPUT_BYTES_MAX];
    ssize_t size;

    if (strcmp(verb, "get") != 0)
        return 0;
    int fd = open(TOKEN_FILE, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0; /* there is none: git says so */
    size = read(fd, token, sizeof token);
    close(fd);
    if (size > 0)
        (void)printf("username=x-access-token\npassword=%.*s\n", (int)size, token);
    explicit_bzero(token, sizeof token);
    return 0;
}
