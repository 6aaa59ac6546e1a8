#include "peer.h"

#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kndl/clock.h"
#include "kndl/env.h"
#include "kndl/http.h"
#include "kndl/mem.h"
#include "kndl/token.h"
#include "settings.h"

struct repo hello = {.id = 3001, .name = "demo/hello", .installation_id = 2001};

static char folder[] = "/tmp/kndl-github-XXXXXX";
static char control[64]; /* http://127.0.0.1:<port> */
static pid_t server;

static pid_t start(char *const argv[], int out)
{
    char *const clean[] = {"PATH=/usr/local/bin:/usr/bin:/bin", NULL};
    pid_t child = fork();

    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(out, 1);
        execvpe(argv[0], argv, clean);
        _exit(127);
    }
    return child;
}

static void run(char *const argv[])
{
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    int status;

    waitpid(start(argv, null), &status, 0);
    close(null);
    if (status != 0) {
        fprintf(stderr, "%s failed\n", argv[0]);
        exit(1);
    }
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status;
    (void)kind;
    (void)walk;
    return remove(path);
}

int peer_stop(void **state)
{
    (void)state;
    kill(server, SIGTERM);
    waitpid(server, NULL, 0);
    return nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static void write_secret(void)
{
    char path[64];

    snprintf(path, sizeof path, "%s/client-secret", folder);
    FILE *file = fopen(path, "w");
    if (file == NULL || fputs("demo-client-secret-that-opens-nothing\n", file) < 0 ||
        fclose(file) != 0)
        abort();
    setenv("GITHUB_CLIENT_SECRET_FILE", path, 1);
}

/* Key, state and server; returns once it listens. */
static void start_server(void)
{
    char key[64], pub[64], state[64], git[64], line[256];
    int out[2];

    if (mkdtemp(folder) == NULL || pipe2(out, O_CLOEXEC) < 0)
        abort();
    umask(077);
    snprintf(key, sizeof key, "%s/app.pem", folder);
    snprintf(pub, sizeof pub, "%s/app.pub", folder);
    snprintf(state, sizeof state, "%s/state.json", folder);
    snprintf(git, sizeof git, "%s/git", folder);
    run((char *[]){"openssl", "genrsa", "-out", key, "2048", NULL});
    run((char *[]){"openssl", "rsa", "-in", key, "-pubout", "-out", pub, NULL});
    run((char *[]){"cp", PEER "/demo.json", state, NULL});
    server = start((char *[]){"node", PEER "/server.js", "--state", state, "--git", git,
                              "--public-key", pub, "--port", "0", NULL},
                   out[1]);
    close(out[1]);
    FILE *said = fdopen(out[0], "r");
    if (fgets(line, sizeof line, said) == NULL || strrchr(line, ':') == NULL)
        abort();
    fclose(said);
    snprintf(control, sizeof control, "http://127.0.0.1:%ld",
             strtol(strrchr(line, ':') + 1, NULL, 10));
    snprintf(line, sizeof line, "%s/api/v3", control);
    setenv("HUB_GITHUB_API_URL", line, 1);
    setenv("HUB_GITHUB_URL", control, 1);
    setenv("GITHUB_CLIENT_ID", "Iv1.kndldemo", 1);
    write_secret();
    setenv("GITHUB_APP_ID", "1001", 1);
    setenv("GITHUB_APP_KEY_FILE", key, 1);
}

int peer_start(void **state)
{
    struct kndl_error err = {0};

    (void)state;
    start_server();
    setenv("HUB_DATABASE_URL", "", 1);
    setenv("HUB_PUBLIC_URL", "http://127.0.0.1", 1);
    assert_int_equal(kndl_crypt_init(&err), 0);
    assert_int_equal(kndl_env_load(settings, &err), 0);
    return 0;
}

static void ask_control(const char *method, const char *path, const char *body)
{
    struct kndl_http *http = kndl_http_new("test");
    struct kndl_http_response response;
    struct kndl_error err = {0};
    char url[128];

    snprintf(url, sizeof url, "%s/__fake/%s", control, path);
    const struct kndl_http_request request = {.method = method,
                                              .url = url,
                                              .body = kndl_slice_of(body),
                                              .timeout_ms = 10000,
                                              .response_bytes_max = 1 << 20};
    assert_int_equal(kndl_http_do(http, &request, &response, &err), 0);
    assert_int_equal(response.status, 200);
    kndl_http_response_done(&response);
    kndl_http_free(http);
}

void fault(const char *faults)
{
    ask_control("PUT", "faults", faults);
}

void change(const char *patch)
{
    ask_control("PATCH", "state", patch);
}

void move_clock(struct fixture *f, int64_t ms)
{
    kndl_clock_shift(ms);
    f->moved_ms += ms;
}

int set_up(void **state)
{
    struct fixture *f = kndl_new0(struct fixture);

    fault("[]");
    f->arena = kndl_arena_new(KNDL_ARENA_PLAIN);
    assert_int_equal(github_open(&f->github, &f->err), 0);
    *state = f;
    return 0;
}

int tear_down(void **state)
{
    struct fixture *f = *state;

    kndl_clock_shift(-f->moved_ms); /* also after a failure: the stand-in's clock stays */
    github_close(f->github);
    kndl_arena_free(f->arena);
    free(f);
    return 0;
}

int check(struct fixture *f, const char *login)
{
    bool yes = false;

    f->err = (struct kndl_error){0};
    return github_check_collaborator(f->github, &hello, login, &yes, &f->err) < 0 ? -1 : yes;
}

int mint(struct fixture *f, int64_t repo_id, bool write)
{
    struct github_token token = {0};
    struct repo repo = hello;

    repo.id = repo_id;
    f->err = (struct kndl_error){0};
    int result = github_mint(f->github, &repo, write, f->arena, &token, &f->err);
    if (result == 0) {
        assert_true(token.token.size > 10);
        assert_true(token.expires_at_ms > kndl_clock_wall_ms() + 50 * 60 * 1000);
        assert_string_equal(token.repo_name, "demo/hello");
        kndl_secret_done(&token.token);
    }
    return result;
}
