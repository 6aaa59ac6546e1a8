#pragma once

/*
 * Sandboxes: where a Session's Claude Code runs. One Sandbox is one name, known to the backend and
 * to the disk, so that a Runner that starts again finds all of them.
 *
 * Everything belongs to the loop's thread and nothing here blocks: what may is a `runner-agent
 * <verb>` child (child.h), and each call answers by its callback, exactly once, from the loop,
 * never before the call returned. Arguments are borrowed for the length of the call. Calls may be
 * repeated: creating what is there as asked, starting what runs and stopping what is stopped
 * succeed. Calls about one Sandbox wait for each other in the child.
 *
 * A name is the prefix, a "-" and the Session's id: at most 63 of [a-z0-9-]. Whatever lies in a
 * Sandbox is hostile from its first boot on; guest_file.h reads it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kndl/env.h"
#include "kndl/error.h"
#include "kndl/slice.h"

struct children;
struct sandbox_host;

enum { SANDBOX_NAME_CHARS_MAX = 63, SANDBOX_EXEC_INPUT_BYTES_MAX = 1024 * 1024 };

/* The Runner's settings that Sandboxes need; a table for kndl_env_load(), shared by the process
 * and its children: RUNNER_HOME, RUNNER_NAME_PREFIX, RUNNER_SANDBOX_UID_BASE,
 * RUNNER_SANDBOX_UID_RANGES, RUNNER_DEFAULT_IMAGE, RUNNER_SANDBOX_ALLOW, RUNNER_OCI_RUNTIME,
 * RUNNER_RELAY_PORT. */
extern const struct kndl_env sandbox_env[];

/* Loads nothing and starts nothing; sandbox_env must have been loaded. `children` is borrowed.
 * Freeing forgets the commands that run, without callbacks: they go on, as Sandboxes do. */
struct sandbox_host *sandbox_host_new(struct children *children);
void sandbox_host_free(struct sandbox_host *host);

/* "<prefix>-<session id>". */
void sandbox_name(const char *session_id, char ret_name[SANDBOX_NAME_CHARS_MAX + 1]);

/*
 * What came of a call. err.code is KNDL_OK when it was done. `reason` is "" or one word that a
 * program may act on: no_space, no_image, boot_failed, timeout, unsupported, repo_clone_failed,
 * repo_denied, download_failed, wrong_hash. All is borrowed for the length of the callback.
 */
struct sandbox_answer {
    struct kndl_error err;
    const char *reason;
    int64_t took_ms;
};
typedef void (*sandbox_fn)(void *data, const struct sandbox_answer *answer);

/* ------------------------------------------------------------------ what this host can do */

struct sandbox_probe {
    struct sandbox_answer answer; /* FAILED_PRECONDITION: says what is missing on this host */
    const char *backend;          /* "namespace" */
    const char *runtime;          /* "runc 1.1.5" */
    const char *cgroup;           /* "v1" or "v2" */
};
typedef void (*sandbox_probe_fn)(void *data, const struct sandbox_probe *probe);
void sandbox_probe(struct sandbox_host *host, sandbox_probe_fn fn, void *data);

/* ------------------------------------------------------------------------------ its life */

enum sandbox_mount_kind {
    SANDBOX_BIND_READ_ONLY, /* root's file or folder, shown as it is: Claude Code, the mod */
    SANDBOX_BIND_OWNED,     /* a folder whose files are 0 on disk and root's inside: Workspace. It
                               must lie beneath one that only root may enter, since a guest may
                               leave root's set-uid programs in it */
    SANDBOX_FILE,           /* the bytes below, read-only, root's inside: /etc/gitconfig */
    SANDBOX_TMPFS,
};

struct sandbox_mount {
    enum sandbox_mount_kind kind;
    const char *source; /* a path of the host (BIND); the text (FILE), kept on disk: no secret */
    const char *target; /* an absolute path inside; made where it is missing */
    uint64_t size_mib;  /* TMPFS */
    uint32_t mode;      /* TMPFS, FILE */
};

struct sandbox_spec {
    const char *image;    /* lower directories, "top:…:base", or NULL: RUNNER_DEFAULT_IMAGE */
    uint32_t cpu_percent; /* 100 = one CPU */
    uint64_t memory_mib;
    uint32_t pids;       /* processes and threads */
    uint16_t relay_port; /* 0: none; else held on the Sandbox's 127.0.0.1 from start to stop */
    const struct sandbox_mount *mounts; /* besides /run/kndl, /tmp, hosts, resolv.conf */
    size_t mount_count;
};

/* Writes down what start needs. The same name again: the new spec counts from
 * the next start on; ABORTED while it runs. */
void sandbox_create(struct sandbox_host *host, const char *name, const struct sandbox_spec *spec,
                    sandbox_fn fn, void *data);

/* Mounts, network, relay's socket, init. NOT_FOUND without create; boot_failed says why. A
 * half-made one is taken down again. */
void sandbox_start(struct sandbox_host *host, const char *name, sandbox_fn fn, void *data);

/* TERM to its init, KILL after grace_ms, then all mounts, network and sockets go; the disks stay.
 * What a start that died left behind goes too. */
void sandbox_stop(struct sandbox_host *host, const char *name, uint32_t grace_ms, sandbox_fn fn,
                  void *data);

/* Stops it, then deletes its disks. Bound folders stay. */
void sandbox_remove(struct sandbox_host *host, const char *name, sandbox_fn fn, void *data);

enum sandbox_state { SANDBOX_STOPPED, SANDBOX_RUNNING, SANDBOX_CRASHED /* not stopped by us */ };

struct sandbox_entry {
    const char *name;
    enum sandbox_state state;
    uint32_t uid_base; /* 0 while it is stopped */
};
/* Called once for each Sandbox of this prefix, then with `entry` NULL. */
typedef void (*sandbox_list_fn)(void *data, const struct sandbox_entry *entry,
                                const struct sandbox_answer *answer);
void sandbox_list(struct sandbox_host *host, sandbox_list_fn fn, void *data);

/* ---------------------------------------------------------------------- commands inside it */

struct sandbox_command {
    const char *const *argv;
    const char *const *env;  /* "NAME=value", NULL-ended, may be NULL. Never secrets: these are in
                                the host's list of processes while it starts */
    const char *cwd;         /* NULL: / */
    struct kndl_slice input; /* its stdin, at most SANDBOX_EXEC_INPUT_BYTES_MAX; may be secret */
    bool stream;         /* stdin and stdout become the caller's in on_start; `input` is not used */
    int64_t deadline_ms; /* 0: none. At the deadline it is killed: DEADLINE_EXCEEDED */
    size_t output_most;  /* what is kept of stdout and of stderr; the rest is dropped */
};

struct sandbox_exit {
    struct kndl_error err; /* OK: it ran; code and signal tell how it ended */
    int code;
    int signal;
    struct kndl_slice output; /* stdout (not with stream) */
    struct kndl_slice errors; /* stderr (with stream: 4096 bytes of it) */
};

struct sandbox_process;
typedef void (*sandbox_exit_fn)(void *data, const struct sandbox_exit *end);
/* With stream: the command runs; `in` and `out` (O_CLOEXEC, O_NONBLOCK) are the caller's now. */
typedef void (*sandbox_start_fn)(void *data, struct sandbox_process *process, int in, int out);

/*
 * Runs a command as root inside. on_start may be NULL without stream. on_exit comes once, after
 * which the process is gone; NOT_FOUND or FAILED_PRECONDITION when there is no such running
 * Sandbox. No process outside stays while it runs.
 */
struct sandbox_process *sandbox_exec(struct sandbox_host *host, const char *name,
                                     const struct sandbox_command *command,
                                     sandbox_start_fn on_start, sandbox_exit_fn on_exit,
                                     void *data);

/* ------------------------------------------------------------------------------- network */

/*
 * The relay's listening socket in that Sandbox, which `runner-agent hold` keeps while it runs: a
 * copy of it (O_CLOEXEC, O_NONBLOCK), the caller's. Does not block. NOT_FOUND: none is held.
 */
int sandbox_relay_socket(struct sandbox_host *host, const char *name, int *ret_fd,
                         struct kndl_error *err);

/* The next two are for a Session's ports (PO-01 to PO-03), which nobody can ask for yet. */

/* A connection to a TCP port of the Sandbox's own 127.0.0.1. `fd` is the callback's to keep
 * (O_CLOEXEC, O_NONBLOCK), -1 on failure; UNAVAILABLE: refused. PERMISSION_DENIED: the
 * relay's. */
typedef void (*sandbox_dial_fn)(void *data, const struct sandbox_answer *answer, int fd);
void sandbox_dial(struct sandbox_host *host, const char *name, uint16_t port, sandbox_dial_fn fn,
                  void *data);

struct sandbox_listener {
    const char *address; /* "127.0.0.1", "0.0.0.0", "::" */
    uint16_t port;
};
/* Called with what listens inside, at most 256, the relay's socket left out. */
typedef void (*sandbox_listeners_fn)(void *data, const struct sandbox_answer *answer,
                                     const struct sandbox_listener *listeners, size_t count);
void sandbox_listeners(struct sandbox_host *host, const char *name, sandbox_listeners_fn fn,
                       void *data);

struct sandbox_stats {
    struct sandbox_answer answer;
    uint64_t cpu_us;
    uint64_t memory_bytes;
    uint64_t memory_peak_bytes;
    uint64_t pids;
};
typedef void (*sandbox_stats_fn)(void *data, const struct sandbox_stats *stats);
void sandbox_stats(struct sandbox_host *host, const char *name, sandbox_stats_fn fn, void *data);

/* ------------------------------------------------------------- what a Session needs besides */

struct workspace_clone {
    const char *sandbox;   /* its name: the clone runs as a uid of its own */
    const char *url;       /* without credentials */
    const char *directory; /* made; must be empty or absent. Its files are 0 on disk */
    const char *base;      /* a branch, or "": the default one */
    const char *branch;    /* to make and check out ("kndl/<slug>-<4>"), or "": stay on base */
    const char *author_name;
    const char *author_email;
    struct kndl_slice token; /* empty: none */
    bool host_git;           /* GI-06 without the App: the host's own git and its credentials */
};

/* At most 4 times a second. */
typedef void (*workspace_progress_fn)(void *data, const char *text, unsigned percent);

/* A clone that runs; gone once its fn was called. */
struct workspace_work;

/*
 * Clones (libgit2, full history, no hooks, no redirect to another host) and leaves
 * .claude/worktrees/ and .kndl/ in .git/info/exclude. Ends after 120 s without progress or 30
 * minutes. On failure nothing of it is left on the disk: reason repo_clone_failed or repo_denied.
 */
struct workspace_work *workspace_clone(struct sandbox_host *host,
                                       const struct workspace_clone *clone,
                                       workspace_progress_fn on_progress, sandbox_fn fn,
                                       void *data);

/* Ends it at once, whatever its remote does; fn follows with CANCELLED when nothing of it is left.
 */
void workspace_cancel(struct workspace_work *work);

/* Deletes a folder of a Session on this host, however its files try to lead elsewhere. Absent is
 * success. */
void workspace_remove(struct sandbox_host *host, const char *directory, sandbox_fn fn, void *data);

/*
 * The pinned Claude Code is in RUNNER_HOME/claude-code/2.1.332-glibc/claude: answers at once if
 * it is there, else fetches it by the host's npm and checks its integrity.
 */
#define CLAUDE_CODE_VERSION "2.1.332"
void claude_code_ensure(struct sandbox_host *host, workspace_progress_fn on_progress, sandbox_fn fn,
                        void *data);
