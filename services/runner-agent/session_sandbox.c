/*
 * A Session's Sandbox: made, Claude Code's config seeded and the mod copied into what it binds,
 * started, its relay opened.
 */

#include "session_parts.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "guest_file.h"
#include "kndl/log.h"
#include "kndl/mem.h"
#include "mod_copy.h"

enum { PIDS_MOST = 1024, DEFAULT_MEMORY_MIB = 2048 };

static void sandbox_started(void *data, const struct sandbox_answer *answer)
{
    struct session *session = data;
    struct kndl_error err;

    if (!session_goes_on_after(session, answer, "sandbox_failed"))
        return;
    session_step_begin(session, "relay");
    if (session_open_relay(session, &err) < 0) {
        kndl_log(KNDL_WARNING, "the relay does not listen", KNDL_STR("session", session->id),
                 KNDL_STR("why", err.message));
        session_fail(session, "sandbox_failed", "The relay in the Sandbox does not listen. Retry.");
        return;
    }
    session_keep_git(session);
    session_start_claude(session);
}

static void mod_copied(void *data, const struct kndl_error *err)
{
    struct session *session = data;

    if (!session_goes_on_after(session, &(struct sandbox_answer){.err = *err, .reason = ""},
                               "mod_missing"))
        return;
    session_enter(session);
    sandbox_start(session->runner->sandboxes, session->sandbox, sandbox_started, session);
}

static void copy_mod(struct session *session)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf to = {0};

    kndl_buf_printf(&to, "%s/mod/%s", session->directory, session->mod_copy);
    session_enter(session);
    mod_copy(session->runner->disk, session->runner->mod_dir, kndl_buf_text(&to), mod_copied,
             session);
}

static struct guest_place config_place(const struct session *session, struct kndl_buf *path)
{
    session_path(session, "config", path);
    return (struct guest_place){session->sandbox, kndl_buf_text(path)};
}

static void settings_written(void *data, const struct sandbox_answer *answer)
{
    struct session *session = data;

    if (session_goes_on_after(session, answer, "sandbox_failed"))
        copy_mod(session);
}

static void write_merged(struct session *session, const char *name, struct kndl_slice existing,
                         void (*merge)(struct kndl_slice, struct kndl_buf *), sandbox_fn fn)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf merged = {0}, path = {0};
    struct guest_place place = config_place(session, &path);

    merge(existing, &merged);
    session_enter(session);
    guest_file_write(session->runner->sandboxes, &place, name, kndl_buf_slice(&merged), 0600, fn,
                     session);
}

/* A file that is not there, or none that may be read, is one without keys. */
static void settings_read(void *data, const struct sandbox_answer *answer, struct kndl_slice bytes,
                          uint64_t size)
{
    struct session *session = data;
    bool is_whole = answer->err.code == KNDL_OK && bytes.size == size;

    if (session_goes_on(session))
        write_merged(session, "settings.json", is_whole ? bytes : (struct kndl_slice){0},
                     claude_merge_settings, settings_written);
}

static void read_config(struct session *session, const char *name, size_t most, guest_read_fn fn)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf path = {0};
    struct guest_place place = config_place(session, &path);

    session_enter(session);
    guest_file_read(session->runner->sandboxes, &place, name, 0, most, fn, session);
}

static void config_written(void *data, const struct sandbox_answer *answer)
{
    struct session *session = data;

    if (session_goes_on_after(session, answer, "sandbox_failed"))
        read_config(session, "settings.json", CLAUDE_CONFIG_BYTES_MAX, settings_read);
}

static void config_read(void *data, const struct sandbox_answer *answer, struct kndl_slice bytes,
                        uint64_t size)
{
    struct session *session = data;
    bool is_whole = answer->err.code == KNDL_OK && bytes.size == size;

    if (session_goes_on(session))
        write_merged(session, ".claude.json", is_whole ? bytes : (struct kndl_slice){0},
                     claude_merge_config, config_written);
}

/* --resume exits where there is no transcript; a start without one is a fresh conversation with
 * the same id (LI-05). */
static void transcript_looked(void *data, const struct sandbox_answer *answer,
                              struct kndl_slice bytes, uint64_t size)
{
    struct session *session = data;

    (void)bytes;
    if (!session_goes_on(session))
        return;
    session->is_resumed = answer->err.code == KNDL_OK && size > 0;
    if (session->start->resume && !session->is_resumed)
        session_note(session, "conversation_lost",
                     "Claude Code starts a fresh conversation here: the earlier one was never "
                     "written down, so Claude does not remember it. The Workspace is as it was.");
    read_config(session, ".claude.json", CLAUDE_CONFIG_BYTES_MAX, config_read);
}

static void sandbox_created(void *data, const struct sandbox_answer *answer)
{
    struct session *session = data;
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf path = {0};

    if (!session_goes_on_after(session, answer, "sandbox_failed"))
        return;
    claude_transcript_path(session->start->claude_session_id, &path);
    read_config(session, kndl_buf_text(&path), 1, transcript_looked);
}

static uint32_t within(int32_t wanted, int32_t most, int32_t usual)
{
    int32_t value = wanted > 0 ? wanted : usual;

    return (uint32_t)(most > 0 && value > most ? most : value);
}

void session_make_sandbox(struct session *session)
{
    const struct runner *runner = session->runner;
    KNDL_CLEANUP(kndl_buf_done)
    struct kndl_buf workspace = {0}, config = {0}, claude = {0}, mod = {0};
    struct sandbox_mount mounts[] = {
        {.kind = SANDBOX_BIND_OWNED, .target = "/workspace"},
        {.kind = SANDBOX_BIND_OWNED, .target = CLAUDE_CONFIG_DIR},
        {.kind = SANDBOX_BIND_READ_ONLY, .target = CLAUDE_BINARY_DIR},
        {.kind = SANDBOX_BIND_READ_ONLY, .target = CLAUDE_MOD_DIR},
        {.kind = SANDBOX_BIND_READ_ONLY, .target = CLAUDE_LAUNCHER, .source = runner->launcher},
    };
    struct sandbox_spec spec = {
        .cpu_percent = 100 * within(session->start->cpus, runner->max_cpus,
                                    runner->max_cpus > 0 ? runner->max_cpus : 2),
        .memory_mib =
            within(session->start->memory_mib, runner->max_memory_mib, DEFAULT_MEMORY_MIB),
        .pids = PIDS_MOST,
        .relay_port = (uint16_t)runner->relay_port,
        .mounts = mounts,
        .mount_count = sizeof mounts / sizeof mounts[0],
    };

    session_step_begin(session, "sandbox");
    kndl_id_new(session->mod_copy);
    session_path(session, "workspace", &workspace);
    session_path(session, "config", &config);
    session_path(session, "mod", &mod);
    kndl_buf_printf(&claude, "%s/claude-code/" CLAUDE_CODE_VERSION "-glibc", runner->home);
    if ((mkdir(kndl_buf_text(&config), 0700) < 0 && errno != EEXIST) ||
        (mkdir(kndl_buf_text(&mod), 0755) < 0 && errno != EEXIST)) {
        struct sandbox_answer answer = {.reason = errno == ENOSPC ? "no_space" : ""};

        kndl_fail(&answer.err, KNDL_INTERNAL, "mkdir: %s", strerror(errno));
        session_fail_by_answer(session, &answer, "sandbox_failed");
        return;
    }
    mounts[0].source = kndl_buf_text(&workspace);
    mounts[1].source = kndl_buf_text(&config);
    mounts[2].source = kndl_buf_text(&claude);
    mounts[3].source = kndl_buf_text(&mod);
    session_enter(session);
    sandbox_create(runner->sandboxes, session->sandbox, &spec, sandbox_created, session);
}
