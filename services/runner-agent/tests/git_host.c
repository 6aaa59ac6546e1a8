/* Smart HTTP, one process a connection. */

#include "git_host.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include "kndl/buf.h"
#include "kndl/error.h"
#include "kndl/mem.h"
#include "program.h"

/* base64("x-access-token:" GIT_HOST_TOKEN) */
static const char authorization[] =
    "Basic eC1hY2Nlc3MtdG9rZW46Z2hzX3RoZS10b2tlbi1vZi1vbmUtcmVwbw==";

struct request {
    char method[8];
    char path[256];
    char query[256];
    char type[128];
    char encoding[32];
    bool allowed;
    bool chunked;
    size_t length;
};

static void run_git(const char *folder, const char *const *args)
{
    const char *argv[24] = {"git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org"};
    struct kndl_error err = {0};
    size_t at = 5;

    while (*args != NULL)
        argv[at++] = *args++;
    if (program_run(&(struct program){.argv = argv, .cwd = folder}, &err) < 0)
        fail_msg("%s", err.message);
}

static void make_repo(const char *folder)
{
    char work[300], path[400];
    FILE *file;

    run_git(folder, (const char *[]){"init", "--quiet", "--bare", "-b", "main", "hello.git", NULL});
    run_git(folder, (const char *[]){"init", "--quiet", "-b", "main", "work", NULL});
    (void)snprintf(work, sizeof work, "%s/work", folder);
    (void)snprintf(path, sizeof path, "%s/README", work);
    file = fopen(path, "we");
    assert_non_null(file);
    (void)fputs("hello\n", file);
    assert_int_equal(fclose(file), 0);
    (void)snprintf(path, sizeof path, "%s/evil", work);
    assert_int_equal(symlink("/etc", path), 0);
    run_git(work, (const char *[]){"add", ".", NULL});
    run_git(work, (const char *[]){"commit", "--quiet", "-m", "one", NULL});
    run_git(work, (const char *[]){"push", "--quiet", "../hello.git", "main", NULL});
    run_git(work, (const char *[]){"push", "--quiet", "../hello.git", "main:other", NULL});
}

static void take_header(struct request *request, const char *line)
{
    const char *value = strchr(line, ':');

    if (value == NULL)
        return;
    value += 1 + strspn(value + 1, " ");
    if (strncasecmp(line, "authorization:", 14) == 0)
        request->allowed = strcmp(value, authorization) == 0;
    else if (strncasecmp(line, "content-type:", 13) == 0)
        (void)snprintf(request->type, sizeof request->type, "%s", value);
    else if (strncasecmp(line, "content-encoding:", 17) == 0)
        (void)snprintf(request->encoding, sizeof request->encoding, "%s", value);
    else if (strncasecmp(line, "content-length:", 15) == 0)
        request->length = strtoul(value, NULL, 10);
    else if (strncasecmp(line, "transfer-encoding:", 18) == 0)
        request->chunked = true;
}

static bool read_head(FILE *in, struct request *request)
{
    char line[1024], target[512];
    char *query;

    *request = (struct request){0};
    if (fgets(line, sizeof line, in) == NULL ||
        sscanf(line, "%7s %511s", request->method, target) != 2)
        return false;
    query = strchr(target, '?');
    (void)snprintf(request->query, sizeof request->query, "%.255s", query == NULL ? "" : query + 1);
    if (query != NULL)
        *query = '\0';
    (void)snprintf(request->path, sizeof request->path, "%.255s", target);
    while (fgets(line, sizeof line, in) != NULL) {
        line[strcspn(line, "\r\n")] = '\0';
        if (line[0] == '\0')
            return true;
        take_header(request, line);
    }
    return false;
}

static void read_body(FILE *in, const struct request *request, struct kndl_buf *body)
{
    char line[64];
    size_t size = request->length;

    do {
        if (request->chunked) {
            if (fgets(line, sizeof line, in) == NULL)
                return;
            size = strtoul(line, NULL, 16);
        }
        body->size += fread(kndl_buf_reserve(body, size), 1, size, in);
        if (request->chunked)
            (void)fgets(line, sizeof line, in);
    } while (request->chunked && size > 0);
}

/* git http-backend is a CGI program: it wants the request in its environment and on its stdin. */
static void run_backend(const char *folder, const struct request *request,
                        const struct kndl_buf *body, int out)
{
    char env[6][320];
    const char *names[] = {"GIT_PROJECT_ROOT", "PATH_INFO",    "QUERY_STRING",
                           "REQUEST_METHOD",   "CONTENT_TYPE", "HTTP_CONTENT_ENCODING"};
    const char *values[] = {folder,          request->path, request->query,
                            request->method, request->type, request->encoding};
    char *environment[10] = {NULL};
    FILE *file = tmpfile();

    for (size_t i = 0; i < 6; i++) {
        (void)snprintf(env[i], sizeof env[i], "%s=%s", names[i], values[i]);
        environment[i] = env[i];
    }
    environment[6] = (char *)(uintptr_t) "GIT_HTTP_EXPORT_ALL=1";
    environment[7] = (char *)(uintptr_t) "REMOTE_USER=x";
    environment[8] = (char *)(uintptr_t) "PATH=/usr/bin:/bin";
    if (file == NULL || fwrite(kndl_buf_text(body), 1, body->size, file) != body->size)
        _exit(1);
    rewind(file);
    (void)dup2(fileno(file), 0);
    (void)dup2(out, 1);
    (void)execve(
        "/usr/bin/git",
        (char *const[]){(char *)(uintptr_t) "git", (char *)(uintptr_t) "http-backend", NULL},
        environment);
    _exit(1);
}

static void say(int fd, const char *text)
{
    (void)!write(fd, text, strlen(text));
}

static void serve(const char *folder, unsigned port, int fd)
{
    FILE *in = fdopen(dup(fd), "re");
    struct kndl_buf body = {0};
    struct request request;

    if (in == NULL || !read_head(in, &request))
        return;
    read_body(in, &request, &body);
    if (strncmp(request.path, "/stuck.git", 10) == 0) {
        char path[300];

        (void)snprintf(path, sizeof path, "%s/stuck", folder);
        (void)mkdir(path, 0700);
        (void)pause();
    }
    if (strncmp(request.path, "/moved.git", 10) == 0) {
        dprintf(fd,
                "HTTP/1.1 302 Found\r\nContent-Length: 0\r\nConnection: close\r\nLocation: "
                "http://localhost:%u/hello.git/info/refs?service=git-upload-pack\r\n\r\n",
                port);
    } else if (!request.allowed) {
        say(fd, "HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=\"git\"\r\n"
                "Content-Length: 0\r\nConnection: close\r\n\r\n");
    } else if (strncmp(request.path, "/hello.git/", 11) != 0) {
        say(fd, "HTTP/1.1 404 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    } else {
        /* Its headers and body follow; the end of the connection is the end of it. */
        say(fd, "HTTP/1.1 200 OK\r\nConnection: close\r\n");
        run_backend(folder, &request, &body, fd);
    }
}

void git_host_start(struct git_host *host, const char *folder)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    make_repo(folder);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(listener, 16), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    host->port = ntohs(address.sin_port);
    host->pid = fork();
    if (host->pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        (void)setpgid(0, 0);
        (void)signal(SIGCHLD, SIG_IGN);
        for (;;) {
            int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

            if (fd >= 0 && fork() == 0) {
                (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
                (void)signal(SIGCHLD, SIG_DFL); /* git waits for its own */
                serve(folder, host->port, fd);
                _exit(0);
            }
            kndl_close(&fd);
        }
    }
    (void)setpgid(host->pid, host->pid);
    kndl_close(&listener);
}

void git_host_stop(struct git_host *host)
{
    (void)kill(-host->pid, SIGKILL);
}
