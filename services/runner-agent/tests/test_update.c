/* CL-05: when this Runner updates itself, to what, and what it says where it could not. */

#include "update.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hub_release.h"
#include "kndl/clock.h"
#include "kndl/mem.h"
#include "kndl/secret.h"
#include "own_release.h"
#include "releases.h"

const struct own_release own_release = {"1.0", 2}; /* in place of the program's */

#define RUNS(version) "runner-agent runs, version " version

struct host {
    char home[64];
    char folder[96]; /* its releases */
    struct update *update;
};

static void start(struct host *host)
{
    struct kndl_error err;

    if (kndl_env_load(update_env, &err) < 0 || update_new(host->home, &host->update, &err) < 0)
        fail_msg("%s", err.message);
}

static void set_up(struct host *host)
{
    unsetenv("RUNNER_SELF_UPDATE");
    hub_release_folder(host->home);
    (void)snprintf(host->folder, sizeof host->folder, "%s/releases", host->home);
    start(host);
}

static void tear_down(struct host *host)
{
    update_free(host->update);
    hub_release_remove(host->home);
}

static void restart(struct host *host)
{
    update_free(host->update);
    start(host);
}

static bool look(struct host *host, struct hub_release *hub)
{
    return update_look(host->update, true, hub_release_get, hub);
}

static void assert_note(struct host *host, const char *says)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf note = {0};

    (void)update_note(host->update, &note);
    if (says[0] == '\0' ? note.size > 0 : strstr(kndl_buf_text(&note), says) == NULL)
        fail_msg("it says: %s", kndl_buf_text(&note));
}

static void assert_current(struct host *host, const char *version)
{
    char path[128], link[64] = "";

    (void)snprintf(path, sizeof path, "%s/current", host->folder);
    if (readlink(path, link, sizeof link - 1) < 0)
        link[0] = '\0';
    assert_string_equal(link, version);
}

/* What a start of `own` gives way to. */
static void assert_chosen(struct host *host, const char *own, const char *version)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf chosen = {0};
    struct kndl_error err;

    assert_int_equal(releases_choose(host->folder, own, &chosen, &err), 0);
    assert_string_equal(kndl_buf_text(&chosen), version);
}

static void cl_05_a_newer_release_is_made_ready(void **unused)
{
    struct hub_release hub = hub_release_of("1.1", RUNS("1.1"));
    struct host host;

    (void)unused;
    set_up(&host);
    assert_true(look(&host, &hub));
    assert_true(update_is_ready(host.update));
    assert_note(&host, "updating to 1.1");
    assert_current(&host, "1.1");
    assert_true(look(&host, &hub));
    assert_int_equal(hub.gets, 3);
    tear_down(&host);
}

static void cl_05_a_newer_protocol_is_wanted_whatever_its_version(void **unused)
{
    struct hub_release hub = hub_release_of("1.0", RUNS("1.0"));
    struct host host;

    (void)unused;
    set_up(&host);
    hub.protocol = 3;
    assert_true(look(&host, &hub));
    tear_down(&host);
}

static void cl_05_the_same_or_an_older_release_changes_nothing(void **unused)
{
    struct hub_release hub = hub_release_of("1.0", RUNS("1.0"));
    struct host host;

    (void)unused;
    set_up(&host);
    assert_false(look(&host, &hub));
    hub.version = "0.9";
    hub.protocol = 1;
    assert_false(look(&host, &hub));
    assert_int_equal(hub.gets, 0);
    assert_note(&host, "");
    tear_down(&host);
}

static void cl_05_a_broken_download_is_told_and_tried_again_with_growing_pauses(void **unused)
{
    struct hub_release hub = hub_release_of("1.1", RUNS("1.1"));
    struct host host;

    (void)unused;
    set_up(&host);
    hub.breaks = "run-claude";
    assert_false(look(&host, &hub));
    assert_note(&host, "could not update to 1.1: run-claude: the Hub went away");
    assert_current(&host, "");
    assert_false(look(&host, &hub));
    assert_int_equal(hub.manifests, 1);
    kndl_clock_shift(61 * 1000);
    assert_false(look(&host, &hub));
    assert_int_equal(hub.manifests, 2);
    kndl_clock_shift(61 * 1000);
    assert_false(look(&host, &hub));
    assert_int_equal(hub.manifests, 2);
    hub.breaks = NULL;
    kndl_clock_shift(61 * 1000);
    assert_true(look(&host, &hub));
    assert_current(&host, "1.1");
    tear_down(&host);
}

static void cl_05_a_release_that_does_not_run_here_is_not_tried_again(void **unused)
{
    struct hub_release hub = hub_release_of("1.1", "libnew.so.7: cannot open shared object file");
    struct host host;

    (void)unused;
    set_up(&host);
    assert_false(look(&host, &hub));
    assert_note(&host, "does not try it again: it does not run here: libnew.so.7");
    assert_current(&host, "");
    restart(&host);
    assert_false(look(&host, &hub));
    assert_int_equal(hub.gets, 3);
    assert_note(&host, "does not try it again: it does not run here: libnew.so.7");

    /* Until the Hub has another. */
    hub = hub_release_of("1.2", RUNS("1.2"));
    assert_true(look(&host, &hub));
    assert_current(&host, "1.2");
    tear_down(&host);
}

static void cl_05_a_release_says_the_version_that_it_was_fetched_as(void **unused)
{
    struct hub_release hub = hub_release_of("1.1", RUNS("1.0"));
    struct host host;

    (void)unused;
    set_up(&host);
    assert_false(look(&host, &hub));
    assert_note(&host, "it does not run here: runner-agent runs, version 1.0");
    tear_down(&host);
}

static void a_release_for_another_machine_is_left(void **unused)
{
    struct hub_release hub = hub_release_of("1.1", RUNS("1.1"));
    struct host host;

    (void)unused;
    set_up(&host);
    hub.machine = "vax";
    assert_false(look(&host, &hub));
    assert_int_equal(hub.gets, 0);
    assert_note(&host, "the Hub has it for vax");
    tear_down(&host);
}

static void cl_05_it_can_be_turned_off(void **unused)
{
    struct hub_release hub = hub_release_of("1.1", RUNS("1.1"));
    struct kndl_error err;
    struct host host;

    (void)unused;
    set_up(&host);
    setenv("RUNNER_SELF_UPDATE", "off", 1);
    restart(&host);
    assert_false(look(&host, &hub));
    assert_int_equal(hub.manifests, 0);
    assert_note(&host, "RUNNER_SELF_UPDATE=off");
    update_free(host.update);
    setenv("RUNNER_SELF_UPDATE", "maybe", 1);
    assert_int_equal(kndl_env_load(update_env, &err), 0);
    assert_int_equal(update_new(host.home, &host.update, &err), -1);
    assert_non_null(strstr(err.message, "RUNNER_SELF_UPDATE is maybe"));
    host.update = NULL;
    tear_down(&host);
}

/* ---- across starts ---- */

static void cl_05_a_start_gives_way_to_the_current_release_if_it_is_newer(void **unused)
{
    struct hub_release hub = hub_release_of("1.1", RUNS("1.1"));
    struct kndl_error err;
    struct host host;

    (void)unused;
    set_up(&host);
    assert_chosen(&host, "1.0", "");
    assert_true(look(&host, &hub));
    assert_chosen(&host, "1.1", "");
    assert_chosen(&host, "2.0", "");
    assert_int_equal(releases_confirm(host.folder, "1.1", &err), 0);
    for (int i = 0; i < 2 * RELEASE_TRIES_MAX; i++)
        assert_chosen(&host, "1.0", "1.1");
    tear_down(&host);
}

static void cl_05_a_release_that_dies_before_it_reached_the_hub_is_left_after_three(void **unused)
{
    struct hub_release hub = hub_release_of("1.1", RUNS("1.1"));
    struct host host;

    (void)unused;
    set_up(&host);
    assert_true(look(&host, &hub)); /* its first start */
    for (int i = 1; i < RELEASE_TRIES_MAX; i++)
        assert_chosen(&host, "1.0", "1.1");
    assert_chosen(&host, "1.0", "");
    assert_current(&host, "");
    restart(&host);
    assert_false(look(&host, &hub));
    assert_note(&host, "does not try it again: it ended each time before it reached the Hub");
    assert_int_equal(hub.gets, 3);
    tear_down(&host);
}

static void a_release_that_reached_the_hub_is_the_only_one_left(void **unused)
{
    struct hub_release hub = hub_release_of("1.1", RUNS("1.1"));
    struct kndl_error err;
    struct host host;

    (void)unused;
    set_up(&host);
    assert_true(look(&host, &hub));
    restart(&host);
    hub = hub_release_of("1.2", RUNS("1.2"));
    assert_true(look(&host, &hub));
    assert_int_equal(hub_release_entries(host.folder), 4); /* two, current, trying */

    /* The program that was installed reaches it, too: nothing is its to delete. */
    assert_int_equal(releases_confirm(host.folder, "1.0", &err), 0);
    assert_int_equal(hub_release_entries(host.folder), 4);
    assert_int_equal(releases_confirm(host.folder, "1.2", &err), 0);
    assert_int_equal(hub_release_entries(host.folder), 2);
    assert_current(&host, "1.2");
    assert_chosen(&host, "1.0", "1.2");
    tear_down(&host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cl_05_a_newer_release_is_made_ready),
        cmocka_unit_test(cl_05_a_newer_protocol_is_wanted_whatever_its_version),
        cmocka_unit_test(cl_05_the_same_or_an_older_release_changes_nothing),
        cmocka_unit_test(cl_05_a_broken_download_is_told_and_tried_again_with_growing_pauses),
        cmocka_unit_test(cl_05_a_release_that_does_not_run_here_is_not_tried_again),
        cmocka_unit_test(cl_05_a_release_says_the_version_that_it_was_fetched_as),
        cmocka_unit_test(a_release_for_another_machine_is_left),
        cmocka_unit_test(cl_05_it_can_be_turned_off),
        cmocka_unit_test(cl_05_a_start_gives_way_to_the_current_release_if_it_is_newer),
        cmocka_unit_test(cl_05_a_release_that_dies_before_it_reached_the_hub_is_left_after_three),
        cmocka_unit_test(a_release_that_reached_the_hub_is_the_only_one_left),
    };

    return kndl_crypt_init(NULL) < 0 ? 1 : cmocka_run_group_tests_name("update", tests, NULL, NULL);
}
