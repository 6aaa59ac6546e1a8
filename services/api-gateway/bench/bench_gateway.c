/*
 * What does the gateway cost? Requests a second and the median through it, each beside nginx doing
 * the least it can in the same minute: a small and a large file of the page, and a POST that here
 * goes over NATS to a service and back, and in nginx is answered on the spot.
 *
 * All real: nats-server, the gateway as a process, services that answer at once (this program
 * again, by name), wrk. Needs nginx and wrk, else it says so.
 */

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gateway.h"
#include "kndl/mem.h"
#include "kndl/raw_client.h"
#include "kndl/repo_access/v1/repo_access_service.pb-c.h"
#include "kndl/service.h"
#include "kndl/testing.h"
#include "kndl/token.h"

#define V1(name) Kndl__RepoAccess__V1__##name

enum {
    /* The gateway lets each person read 200 times a second. */
    PEOPLE = 400,
    SMALL_BYTES = 948,
    LARGE_BYTES = 352 * 1024,
    CHILDREN_MAX = 8,
};

static char dir[] = "/tmp/kndl-bench-gateway-XXXXXX";
static pid_t children[CHILDREN_MAX];
static int child_count;

/* ---- the services ---- */

static int authenticate(struct kndl_call *call, const V1(AuthenticateRequest) *request,
                        V1(AuthenticateResponse) *response)
{
    V1(Person) *person = kndl_arena_alloc(call->arena, sizeof *person);
    char *id = kndl_arena_alloc(call->arena, 27);

    for (int i = 0; i < 26; i++)
        id[i] = (char)('a' + request->credential_hash.data[i] % 26);
    kndl__repo_access__v1__person__init(person);
    person->id = id;
    response->person = person;
    response->valid_until_ms = INT64_MAX;
    return 0;
}

static int who_am_i(struct kndl_call *call, const V1(WhoAmIRequest) *request,
                    V1(WhoAmIResponse) *response)
{
    V1(Person) *person = kndl_arena_alloc(call->arena, sizeof *person);

    (void)request;
    kndl__repo_access__v1__person__init(person);
    person->id = kndl_arena_copy(call->arena, call->actor.id);
    person->name = (char *)"somebody whose name is as long as names are";
    response->person = person;
    return 0;
}

KNDL_RPC(V1, RepoAccessInternalService, Authenticate, authenticate)
KNDL_RPC(V1, RepoAccessService, WhoAmI, who_am_i)

/* The other methods are not asked. */
static V1(RepoAccessService_Service) people_service = {
    .base = {.descriptor = &kndl__repo_access__v1__repo_access_service__descriptor,
             .invoke = protobuf_c_service_invoke_internal},
    .who_am_i = rpc_who_am_i,
};
static V1(RepoAccessInternalService_Service) internal_service = {
    .base = {.descriptor = &kndl__repo_access__v1__repo_access_internal_service__descriptor,
             .invoke = protobuf_c_service_invoke_internal},
    .authenticate = rpc_authenticate,
};

static ProtobufCService *const people = &people_service.base;
static ProtobufCService *const internal = &internal_service.base;
static ProtobufCService *const *const answers[] = {&people, &internal, NULL};

static const struct kndl_service repo_access = {.name = "repo-access", .answers = answers};
static const struct kndl_service gateway = {
    .name = "api-gateway", .env = settings_env, .run = gateway_run};

/* ---- processes ---- */

static char *text(const char *format, const char *value)
{
    struct kndl_buf out = {0};
    const char *at = strstr(format, "@");

    kndl_buf_append(&out, format, (size_t)(at - format));
    kndl_buf_append_text(&out, value);
    kndl_buf_append_text(&out, at + 1);
    return kndl_buf_take(&out);
}

/* Starts a program whose output goes to `log` of our folder; it ends with us. */
static void start(char *const argv[], char *const env[], const char *log)
{
    pid_t pid = fork();

    if (pid == 0) {
        char *path = text("@/", dir);
        char *full = text("@", log);
        struct kndl_buf both = {0};

        kndl_buf_printf(&both, "%s%s", path, full);
        int fd = open(both.data, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(fd, STDOUT_FILENO);
        dup2(fd, STDERR_FILENO);
        execvpe(argv[0], argv, env);
        _exit(127);
    }
    children[child_count++] = pid;
}

static void stop_all(void)
{
    while (child_count > 0) {
        kill(children[--child_count], SIGTERM);
        waitpid(children[child_count], NULL, 0);
    }
}

static void start_service(const char *name, const char *user, int port)
{
    struct kndl_buf creds = {0};
    struct kndl_buf listen = {0};
    struct kndl_buf url = {0};

    kndl_buf_printf(&creds, "HUB_NATS_CREDS_FILE=%s/creds/%s.creds", kndl_test_nats()->dir, user);
    kndl_buf_printf(&listen, "HUB_LISTEN=127.0.0.1:%d", port);
    kndl_buf_printf(&url, "HUB_PUBLIC_URL=http://127.0.0.1:%d", port);
    char *env[] = {creds.data,
                   listen.data,
                   url.data,
                   text("HUB_NATS_URL=@", kndl_test_nats()->url),
                   text("HUB_WEB_DIR=@/www", dir),
                   NULL};
    char *argv[] = {(char *)"/proc/self/exe", (char *)name, NULL};
    start(argv, env, name);
}

static void write_file(const char *name, const char *bytes, size_t size)
{
    struct kndl_buf path = {0};

    kndl_buf_printf(&path, "%s/%s", dir, name);
    int fd = open(path.data, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
        abort();
    close(fd);
    kndl_buf_done(&path);
}

static void start_nginx(int port)
{
    struct kndl_buf conf = {0};
    struct kndl_buf path = {0};

    kndl_buf_printf(&conf,
                    "daemon off; worker_processes 1; pid %s/nginx.pid; error_log %s/nginx.log;\n"
                    "events { worker_connections 1024; }\n"
                    "http { access_log off; keepalive_requests 10000000; default_type text/plain;\n"
                    "client_body_temp_path %s/t; proxy_temp_path %s/t; fastcgi_temp_path %s/t;\n"
                    "uwsgi_temp_path %s/t; scgi_temp_path %s/t;\n"
                    "open_file_cache max=100; server { listen 127.0.0.1:%d; root %s/www;\n"
                    "location /kndl. { return 200 \"%080d\"; } } }\n",
                    dir, dir, dir, dir, dir, dir, dir, port, dir, 0);
    write_file("nginx.conf", conf.data, conf.size);
    kndl_buf_printf(&path, "%s/nginx.conf", dir);
    char *argv[] = {(char *)"nginx", (char *)"-p", dir, (char *)"-c", path.data, NULL};
    char *env[] = {(char *)"PATH=/usr/sbin:/usr/bin:/sbin:/bin", NULL};
    start(argv, env, "nginx");
}

/* ---- measuring ---- */

/* A script for wrk: POSTs of many people, or a GET of one path. */
static void write_script(const char *name, const char *path, bool is_post, int port)
{
    struct kndl_buf out = {0};

    if (!is_post) {
        kndl_buf_printf(&out, "wrk.path = \"%s\"\n", path);
    } else {
        kndl_buf_append_text(&out, "local tokens = {\n");
        for (int i = 0; i < PEOPLE; i++) {
            struct kndl_secret token = {0};

            kndl_token_new(KNDL_TOKEN_WEB, &token);
            kndl_buf_printf(&out, "\"%.*s\",\n", (int)token.size, (const char *)token.data);
            kndl_secret_done(&token);
        }
        kndl_buf_printf(
            &out,
            "}\nlocal requests, n = {}, 0\n"
            "init = function()\n"
            "  for i, token in ipairs(tokens) do\n"
            "    requests[i] = wrk.format(\"POST\", \"%s\",\n"
            "      {[\"Content-Type\"] = \"application/proto\", Host = \"127.0.0.1:%d\","
            "\n       Origin = \"http://127.0.0.1:%d\", Cookie = \"kndl_dev_%d=\" .. token},"
            " \"\")\n  end\nend\n"
            "request = function() n = n + 1; return requests[n %% #tokens + 1] end\n",
            path, port, port, port);
    }
    write_file(name, out.data, out.size);
    kndl_buf_done(&out);
}

struct figures {
    double per_s;
    double median_us;
    long long refused;
};

static double number_after(const char *all, const char *label)
{
    const char *at = strstr(all, label);

    return at == NULL ? 0 : strtod(at + strlen(label), NULL);
}

/* "50%  1.23ms" and so on, in us. */
static double median_of(const char *all)
{
    const char *at = strstr(all, "50%");
    char *end;

    if (at == NULL)
        return 0;
    double value = strtod(at + 3, &end);
    return strncmp(end, "us", 2) == 0   ? value
           : strncmp(end, "ms", 2) == 0 ? value * 1e3
                                        : value * 1e6;
}

static struct figures run_wrk(int port, const char *script, const char *connections)
{
    struct kndl_buf url = {0};
    struct kndl_buf path = {0};
    struct kndl_buf all = {0};
    int ends[2];
    ssize_t got;

    kndl_buf_printf(&url, "http://127.0.0.1:%d/", port);
    kndl_buf_printf(&path, "%s/%s", dir, script);
    if (pipe2(ends, O_CLOEXEC) < 0)
        abort();
    pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[1], STDOUT_FILENO);
        execlp("wrk", "wrk", "-t1", "-c", connections, "-d3s", "--latency", "-s", path.data,
               url.data, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    while ((got = read(ends[0], kndl_buf_reserve(&all, 4096), 4096)) > 0)
        all.size += (size_t)got;
    kndl_buf_append_char(&all, '\n');
    close(ends[0]);
    waitpid(pid, NULL, 0);
    struct figures figures = {
        .per_s = number_after(all.data, "Requests/sec:"),
        .median_us = median_of(all.data),
        .refused = (long long)number_after(all.data, "Non-2xx or 3xx responses:"),
    };
    kndl_buf_done(&all);
    kndl_buf_done(&path);
    kndl_buf_done(&url);
    return figures;
}

static void compare(const char *what, const char *ours_script, const char *theirs_script, int ours,
                    int theirs, const char *connections)
{
    struct figures a = run_wrk(ours, ours_script, connections);
    struct figures b = run_wrk(theirs, theirs_script, connections);

    printf("%-34s c=%-3s %7.0f/s, median %5.0f us; nginx %7.0f/s, %5.0f us: %.2f of it\n", what,
           connections, a.per_s, a.median_us, b.per_s, b.median_us,
           b.per_s > 0 ? a.per_s / b.per_s : 0);
    if (a.refused > 0 || b.refused > 0)
        printf("  of these %lld and %lld were refused: the figure says nothing\n", a.refused,
               b.refused);
    fflush(stdout);
}

static bool has_program(const char *name)
{
    char *const argv[] = {(char *)name, (char *)"-v", NULL};
    char *const env[] = {(char *)"PATH=/usr/sbin:/usr/bin:/sbin:/bin", NULL};
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

        dup2(fd, STDOUT_FILENO);
        dup2(fd, STDERR_FILENO);
        execvpe(name, argv, env);
        _exit(127);
    }
    waitpid(pid, &status, 0);
    return !WIFEXITED(status) || WEXITSTATUS(status) != 127;
}

/* Until the gateway answers a person. */
static void wait_ready(int port)
{
    for (int i = 0; i < 500; i++) {
        struct figures figures;

        usleep(20000);
        if (i % 25 != 24)
            continue;
        figures = run_wrk(port, "post.lua", "1");
        if (figures.per_s > 10 && figures.refused == 0)
            return;
    }
    printf("the gateway did not get ready; see %s\n", dir);
    exit(1);
}

static void make_folder(void)
{
    char *www;
    static char bytes[LARGE_BYTES];

    if (mkdtemp(dir) == NULL)
        abort();
    www = text("@/www", dir);
    mkdir(www, 0755);
    chmod(dir, 0755); /* nginx's worker is another user */
    free(www);
    memset(bytes, 'x', sizeof bytes);
    write_file("www/index.html", bytes, SMALL_BYTES);
    write_file("www/app.js", bytes, LARGE_BYTES);
}

static void remove_folder(void)
{
    static const char *const names[] = {
        "www/index.html", "www/app.js",  "nginx.conf", "nginx.log", "nginx.pid", "nginx",
        "repo-access",    "api-gateway", "post.lua",   "small.lua", "large.lua", NULL};

    for (const char *const *name = names; *name != NULL; name++) {
        struct kndl_buf path = {0};

        kndl_buf_printf(&path, "%s/%s", dir, *name);
        unlink(path.data);
        kndl_buf_done(&path);
    }
    rmdir(text("@/www", dir));
    rmdir(text("@/t", dir));
    rmdir(dir);
}

int main(int argc, char **argv)
{
    char *own[] = {argv[0], NULL};
    struct kndl_error err;

    if (argc > 1 && strcmp(argv[1], "repo-access") == 0)
        return kndl_service_main(&repo_access, 1, own);
    if (argc > 1 && strcmp(argv[1], "api-gateway") == 0)
        return kndl_service_main(&gateway, 1, own);
    if (!has_program("nginx") || !has_program("wrk")) {
        printf("not measured: it needs nginx and wrk\n");
        return 0;
    }
    if (kndl_crypt_init(&err) < 0)
        abort();

    int port = kndl_raw_free_port();
    int nginx_port = kndl_raw_free_port();
    make_folder();
    write_script("post.lua", "/kndl.repo_access.v1.RepoAccessService/WhoAmI", true, port);
    write_script("small.lua", "/", false, port);
    write_script("large.lua", "/app.js", false, port);
    start_service("repo-access", "repo_access", port);
    start_service("api-gateway", "api_gateway", port);
    start_nginx(nginx_port);
    wait_ready(port);

    compare("a file of 948 bytes", "small.lua", "small.lua", port, nginx_port, "32");
    compare("a file of 352 KiB", "large.lua", "large.lua", port, nginx_port, "32");
    compare("a call over NATS; a POST there", "post.lua", "post.lua", port, nginx_port, "1");
    compare("a call over NATS; a POST there", "post.lua", "post.lua", port, nginx_port, "32");

    stop_all();
    remove_folder();
    return 0;
}
