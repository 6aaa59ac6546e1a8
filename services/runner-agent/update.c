/* When to update, and to what. */

#include "update.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "disk.h"
#include "kndl/clock.h"
#include "kndl/log.h"
#include "kndl/mem.h"
#include "kndl/version.h"
#include "own_release.h"
#include "releases.h"
#include "trial.h"

enum { PAUSE_MS_LEAST = 60 * 1000, PAUSE_MS_MOST = 60 * 60 * 1000 };

const struct kndl_env update_env[] = {
    {"RUNNER_SELF_UPDATE", "on", "on: updates itself to the Hub's release; off: never"},
    {NULL, NULL, NULL},
};

struct update {
    char *folder; /* RUNNER_HOME/releases */
    bool is_off;
    bool has_reached;      /* the loop's */
    int64_t not_before_ms; /* of the thread that looks, as the next one */
    int64_t pause_ms;

    pthread_mutex_t lock; /* for what follows */
    char *note;
    unsigned notes; /* how often it changed */
    char *ready;    /* the version to become; NULL: none */
};

/* ---- what is told ---- */

__attribute__((format(printf, 2, 3))) static void tell(struct update *update, const char *format,
                                                       ...)
{
    KNDL_CLEANUP(kndl_free) char *older = NULL;
    char note[400];
    va_list values;

    va_start(values, format);
    (void)vsnprintf(note, sizeof note, format, values);
    va_end(values);
    pthread_mutex_lock(&update->lock);
    older = update->note;
    update->note = kndl_strdup(note);
    bool is_new = strcmp(note, older) != 0;
    update->notes += is_new;
    pthread_mutex_unlock(&update->lock);
    if (is_new && note[0] != '\0')
        kndl_log(KNDL_WARNING, "the update of this Runner", KNDL_STR("what", note));
}

unsigned update_note(struct update *update, struct kndl_buf *out)
{
    pthread_mutex_lock(&update->lock);
    kndl_buf_append_text(out, update->note);
    unsigned notes = update->notes;
    pthread_mutex_unlock(&update->lock);
    return notes;
}

/* ---- beginning and end ---- */

int update_new(const char *home, struct update **ret_update, struct kndl_error *err)
{
    const char *setting = kndl_env_get("RUNNER_SELF_UPDATE");
    struct kndl_buf folder = {0};
    struct update *update;

    if (strcmp(setting, "on") != 0 && strcmp(setting, "off") != 0)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "RUNNER_SELF_UPDATE is %s; it is on or off",
                         setting);
    update = kndl_new0(struct update);
    kndl_buf_printf(&folder, "%s/releases", home);
    update->folder = kndl_buf_take(&folder);
    update->is_off = strcmp(setting, "off") == 0;
    update->note = kndl_strdup("");
    pthread_mutex_init(&update->lock, NULL);
    if (update->is_off)
        tell(update, "it does not update itself (RUNNER_SELF_UPDATE=off)");
    *ret_update = update;
    return 0;
}

void update_free(struct update *update)
{
    if (update == NULL)
        return;
    pthread_mutex_destroy(&update->lock);
    free(update->note);
    free(update->ready);
    free(update->folder);
    free(update);
}

static void program_of(const struct update *update, const char *version, struct kndl_buf *out)
{
    kndl_buf_printf(out, "%s/%s/runner-agent", update->folder, version);
}

static void become(struct update *update, const char *version, char **argv)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf program = {0};
    struct kndl_error ignored;

    program_of(update, version, &program);
    kndl_log(KNDL_INFO, "this Runner becomes another release", KNDL_STR("own", own_release.version),
             KNDL_STR("program", kndl_buf_text(&program)));
    argv[0] = program.data;
    (void)execve(program.data, argv, environ);
    tell(update, "could not update to %s: %s: %s", version, program.data, strerror(errno));
    (void)releases_fail(update->folder, version, strerror(errno), &ignored);
}

void update_give_way(struct update *update, char **argv)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf version = {0};
    struct kndl_error err;

    if (update->is_off)
        return;
    if (releases_choose(update->folder, own_release.version, &version, &err) < 0) {
        tell(update, "could not update: %s", err.message);
        return;
    }
    if (version.size == 0)
        return;
    become(update, kndl_buf_text(&version), argv);
}

bool update_is_ready(struct update *update)
{
    pthread_mutex_lock(&update->lock);
    bool is_ready = update->ready != NULL;
    pthread_mutex_unlock(&update->lock);
    return is_ready;
}

void update_become(struct update *update, char **argv)
{
    become(update, update->ready, argv);
}

/* ---- a look ---- */

static bool is_newer(const struct release *release)
{
    return release->protocol > own_release.protocol ||
           kndl_version_compare(release->version, own_release.version) > 0;
}

/* Not now, but later: the Hub, the way to it or this host's disk may mend. */
static void try_later(struct update *update, const char *version, const struct kndl_error *err)
{
    int64_t doubled = update->pause_ms == 0 ? PAUSE_MS_LEAST : 2 * update->pause_ms;

    update->pause_ms = doubled > PAUSE_MS_MOST ? PAUSE_MS_MOST : doubled;
    update->not_before_ms = kndl_clock_ms() + update->pause_ms;
    tell(update, "could not update to %s: %s", version, err->message);
}

/* Is it of this host, and did it not fail here before? */
static bool may_try(struct update *update, const struct release *release)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf version = {0}, why = {0};
    struct utsname host;

    releases_read_failed(update->folder, &version, &why);
    if (strcmp(kndl_buf_text(&version), release->version) == 0) {
        tell(update, "could not update to %s, and does not try it again: %s", release->version,
             kndl_buf_text(&why));
        return false;
    }
    if (uname(&host) == 0 && strcmp(release->machine, host.machine) != 0) {
        tell(update, "could not update to %s: the Hub has it for %.40s, and this host is %s",
             release->version, release->machine, host.machine);
        return false;
    }
    return true;
}

static bool make_ready(struct update *update, const struct release *release, release_get_fn get,
                       void *data)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf program = {0};
    struct kndl_error err, ignored;

    if (!may_try(update, release))
        return false;
    tell(update, "updating to %s", release->version);
    if (release_install(release, update->folder, get, data, &err) < 0) {
        try_later(update, release->version, &err);
        return false;
    }
    program_of(update, release->version, &program);
    if (trial_run(kndl_buf_text(&program), release->version, &err) < 0) {
        (void)releases_fail(update->folder, release->version, err.message, &ignored);
        (void)may_try(update, release);
        return false;
    }
    if (releases_switch(update->folder, release->version, &err) < 0) {
        try_later(update, release->version, &err);
        return false;
    }
    pthread_mutex_lock(&update->lock);
    update->ready = kndl_strdup(release->version);
    pthread_mutex_unlock(&update->lock);
    return true;
}

static void free_release(struct release **release)
{
    release_free(*release);
}

/* A Hub without a release to give is no problem of a Runner that it takes. */
static void tell_absent(struct update *update, bool is_refused, const struct kndl_error *err)
{
    if (err->code == KNDL_NOT_FOUND && !is_refused)
        tell(update, "%s", "");
    else
        tell(update, "could not update: %s", err->message);
}

bool update_look(struct update *update, bool is_refused, release_get_fn get, void *data)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf manifest = {0};
    KNDL_CLEANUP(free_release) struct release *release = NULL;
    struct kndl_error err;

    if (update->is_off || kndl_clock_ms() < update->not_before_ms)
        return false;
    if (update_is_ready(update))
        return true;
    if (get(data, "", RELEASE_MANIFEST_BYTES_MAX, &manifest, &err) < 0) {
        tell_absent(update, is_refused, &err);
        return false;
    }
    if (release_read(kndl_buf_slice(&manifest), &release, &err) < 0) {
        try_later(update, "the Hub's release", &err);
        return false;
    }
    if (!is_newer(release)) {
        tell(update, "%s", "");
        return false;
    }
    return make_ready(update, release, get, data);
}

/* ---- on trial no more ---- */

struct confirmation {
    char *folder;
};

static int confirm(void *data, struct kndl_error *err)
{
    const struct confirmation *confirmation = data;

    return releases_confirm(confirmation->folder, own_release.version, err);
}

static void confirmed(void *data, const struct kndl_error *err)
{
    struct confirmation *confirmation = data;

    if (err->code != KNDL_OK)
        kndl_log(KNDL_WARNING, "older releases could not be deleted",
                 KNDL_STR("why", err->message));
    free(confirmation->folder);
    free(confirmation);
}

void update_reached_hub(struct update *update, struct disk *disk)
{
    struct confirmation *confirmation;

    if (update->has_reached)
        return;
    update->has_reached = true;
    confirmation = kndl_new0(struct confirmation);
    confirmation->folder = kndl_strdup(update->folder);
    disk_do(disk, confirm, confirmed, confirmation);
}
