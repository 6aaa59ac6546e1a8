/*
 * The permission table: that it is whole, that docs/subjects.md shows it, that a real nats-server
 * enforces exactly it, and that answers don't go astray.
 *
 *   test_bus.permissions --print > docs/subjects.md
 */

#include "kndl/permissions.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "kndl/mem.h"
#include "wire.h"

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "r");
    struct kndl_buf text = {0};
    char piece[4096];
    size_t size;

    if (file == NULL)
        fail_msg("%s is not there", path);
    while ((size = fread(piece, 1, sizeof piece, file)) > 0)
        kndl_buf_append(&text, piece, size);
    fclose(file);
    return kndl_buf_take(&text);
}

static char *print_table(void)
{
    struct kndl_buf text = {0};

    kndl_permissions_print(&text);
    return kndl_buf_take(&text);
}

static void the_document_shows_the_table(void **unused)
{
    char *document = read_file(KNDL_SOURCE_DIR "/docs/subjects.md");
    char *table = print_table();

    (void)unused;
    assert_string_equal(document, table);
    free(document);
    free(table);
}

/* How the table shows the method of a .proto, whose package and service were read before. */
static void find_method(const char *table, const char *package, const char *service,
                        const char *method)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf row = {0};

    if (strcmp(package, "kndl.runner.v1") == 0)
        kndl_buf_printf(&row, "`kndl.runner.<runner>.cmd.%s`", method);
    else if (strstr(service, "RawService") != NULL)
        kndl_buf_append_text(&row, "`kndl.raw.<instance>.<runner>.<session>`");
    else
        kndl_buf_printf(&row, ".%s.%s.%s`", package + strlen("kndl."), service, method);
    if (strstr(table, kndl_buf_text(&row)) == NULL)
        fail_msg("%s.%s.%s has no row in libs/bus/permissions.c", package, service, method);
}

static size_t check_proto(const char *table, const char *path)
{
    FILE *file = fopen(path, "r");
    char line[1024];
    char package[128] = "";
    char service[128] = "";
    char method[128];
    size_t count = 0;

    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        (void)sscanf(line, "package %127[a-z0-9_.];", package);
        (void)sscanf(line, "service %127[A-Za-z0-9] {", service);
        if (sscanf(line, " rpc %127[A-Za-z0-9](", method) == 1) {
            find_method(table, package, service, method);
            count++;
        }
    }
    fclose(file);
    return count;
}

static size_t check_protos(const char *table, const char *path)
{
    DIR *folder = opendir(path);
    struct dirent *entry;
    size_t count = 0;

    if (folder == NULL)
        return strstr(path, ".proto") != NULL ? check_proto(table, path) : 0;
    while ((entry = readdir(folder)) != NULL) {
        KNDL_CLEANUP(kndl_buf_done) struct kndl_buf inner = {0};
        kndl_buf_printf(&inner, "%s/%s", path, entry->d_name);
        if (entry->d_name[0] != '.')
            count += check_protos(table, kndl_buf_text(&inner));
    }
    closedir(folder);
    return count;
}

static void every_method_of_the_protos_has_a_row(void **unused)
{
    char *table = print_table();

    (void)unused;
    assert_in_range(check_protos(table, KNDL_SOURCE_DIR "/proto"), 40, 1000);
    free(table);
}

/* Written apart from the table's own matching: does the pattern take all that `subject` names? */
static bool covers(const char *pattern, const char *subject)
{
    size_t wanted = strcspn(pattern, ".");
    size_t given = strcspn(subject, ".");

    if (strcmp(pattern, ">") == 0)
        return true;
    bool is_any = wanted == 1 && *pattern == '*' && !(given == 1 && *subject == '>');
    bool is_same = wanted == given && memcmp(pattern, subject, wanted) == 0;
    if (!is_any && !is_same)
        return false;
    if (pattern[wanted] == '\0' || subject[given] == '\0')
        return pattern[wanted] == subject[given];
    return covers(pattern + wanted + 1, subject + given + 1);
}

static bool covers_any(char *const *patterns, const char *subject)
{
    for (; *patterns != NULL; patterns++)
        if (covers(*patterns, subject))
            return true;
    return false;
}

/* Every subject there is, for Runners r1 and r2, and some that nobody may use. */
struct list {
    char *subjects[256];
    size_t count;
};

static void add(struct list *list, const char *subject)
{
    assert_in_range(list->count, 0, 255);
    list->subjects[list->count++] = kndl_strdup(subject);
}

static void add_filled(struct list *list, const char *subject, const char *runner, bool is_pattern)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf filled = {0};

    for (const char *at = subject; *at != '\0';) {
        if (*at == '<') {
            kndl_buf_append_text(&filled, strncmp(at, "<runner>", 8) == 0 ? runner
                                          : is_pattern                    ? "*"
                                                                          : "abc");
            at = strchr(at, '>') + 1;
        } else if (*at == '*') {
            kndl_buf_append_text(&filled, is_pattern ? "*" : "abc");
            at++;
        } else {
            kndl_buf_append_char(&filled, *at++);
        }
    }
    if (is_pattern && strchr(subject, '<') == NULL && strncmp(subject, "kndl.rpc.", 9) == 0) {
        filled.size = (size_t)(strrchr(filled.data, '.') - filled.data);
        filled.data[filled.size] = '\0';
        kndl_buf_append_text(&filled, ".*");
    }
    add(list, kndl_buf_text(&filled));
}

static void fill_list(struct list *list, bool is_pattern)
{
    static const char *const others[] = {
        "_INBOX.abc",
        "_INBOX.runner.r1.abc",
        "_INBOX.runner.r2.abc",
        "$SRV.PING",
        "$SYS.REQ.CLAIMS.UPDATE",
        "$JS.API.INFO",
        "kndl",
        "kndl.live.abc.terminal",
        "kndl.runner.*.rpc.sessions.v1.SessionsRunnerService.Attend",
        "kndl.raw.abc.*.abc",
        "abc",
        NULL};
    static const char *const wild[] = {">",
                                       "*",
                                       "_INBOX.>",
                                       "_INBOX.*.abc",
                                       "_INBOX.runner.>",
                                       "kndl.>",
                                       "kndl.runner.>",
                                       "kndl.live.>",
                                       "kndl.raw.>",
                                       "kndl.rpc.>",
                                       "$SRV.>",
                                       "$SYS.>",
                                       NULL};
    char *table = print_table();

    for (char *at = strstr(table, "| `"); at != NULL; at = strstr(at, "| `")) {
        char subject[512];
        at += 3;
        size_t size = strcspn(at, "`");
        snprintf(subject, sizeof subject, "%.*s", (int)size, at);
        if (strchr(subject, '$') != NULL)
            continue;
        add_filled(list, subject, "r1", is_pattern);
        if (strstr(subject, "<runner>") != NULL)
            add_filled(list, subject, is_pattern ? "*" : "r2", is_pattern);
    }
    for (size_t i = 0; kndl_bus_users[i] != NULL; i++) {
        char subject[128];
        snprintf(subject, sizeof subject, "_INBOX.%s.%s", kndl_bus_users[i],
                 is_pattern ? ">" : "a");
        add(list, subject);
    }
    for (size_t i = 0; others[i] != NULL; i++)
        add(list, others[i]);
    for (size_t i = 0; is_pattern && wild[i] != NULL; i++)
        add(list, wild[i]);
    free(table);
}

static void free_list(struct list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->subjects[i]);
}

static struct wire *open_wire(const char *user, const char *runner_id)
{
    char creds[512];

    if (runner_id != NULL)
        snprintf(creds, sizeof creds, "%s/creds/runner-%s.creds", kndl_test_nats()->dir, runner_id);
    else
        snprintf(creds, sizeof creds, "%s/creds/%s.creds", kndl_test_nats()->dir, user);
    return wire_open(kndl_test_nats()->url, creds);
}

/* Tries everything as this user; the server must say what the table says. */
static void try_all(const char *user, const char *runner_id)
{
    struct wire *wire = open_wire(user, runner_id);
    struct kndl_subjects table;
    struct list publish = {0};
    struct list subscribe = {0};
    size_t allowed = 0;

    kndl_permissions_of(user, runner_id, &table);
    fill_list(&publish, false);
    fill_list(&subscribe, true);
    for (size_t i = 0; i < publish.count; i++) {
        bool expected = covers_any(table.publish, publish.subjects[i]);
        if (wire_may_publish(wire, publish.subjects[i]) != expected ||
            kndl_permissions_allow(user, runner_id, publish.subjects[i]) != expected)
            fail_msg("%s may%s publish to %s", user, expected ? " not" : "", publish.subjects[i]);
        allowed += expected;
    }
    for (size_t i = 0; i < subscribe.count; i++) {
        bool expected = covers_any(table.subscribe, subscribe.subjects[i]);
        if (wire_may_subscribe(wire, subscribe.subjects[i]) != expected)
            fail_msg("%s may%s subscribe to %s", user, expected ? " not" : "",
                     subscribe.subjects[i]);
    }
    assert_in_range(allowed, 1, publish.count / 2);
    free_list(&publish);
    free_list(&subscribe);
    kndl_subjects_done(&table);
    wire_close(wire);
}

static void the_server_allows_exactly_what_the_table_says(void **unused)
{
    (void)unused;
    for (size_t i = 0; kndl_bus_users[i] != NULL; i++)
        try_all(kndl_bus_users[i], NULL);
    try_all("runner", "r1");
    try_all("runner", "r2");
}

static void nobody_may_publish_to_an_inbox_or_listen_to_anothers(void **unused)
{
    (void)unused;
    for (size_t i = 0; kndl_bus_users[i] != NULL; i++) {
        struct wire *wire = open_wire(kndl_bus_users[i], NULL);
        char own[128];
        snprintf(own, sizeof own, "_INBOX.%s.>", kndl_bus_users[i]);
        assert_true(wire_may_subscribe(wire, own));
        assert_false(wire_may_subscribe(wire, "_INBOX.>"));
        assert_false(wire_may_subscribe(wire, ">"));
        assert_false(wire_may_subscribe(wire, "_INBOX.runner.>"));
        assert_false(wire_may_publish(wire, own));
        wire_close(wire);
    }
}

static void a_runner_reaches_its_own_subjects_alone(void **unused)
{
    struct wire *wire = open_wire("runner", "r1");

    (void)unused;
    assert_true(
        wire_may_publish(wire, "kndl.runner.r1.rpc.sessions.v1.SessionsRunnerService.Attend"));
    assert_false(
        wire_may_publish(wire, "kndl.runner.r2.rpc.sessions.v1.SessionsRunnerService.Attend"));
    assert_false(
        wire_may_publish(wire, "kndl.rpc.sessions.v1.SessionsInternalService.AppendEvents"));
    assert_false(wire_may_publish(wire, "kndl.runner.r2.cmd.StartRun"));
    assert_false(wire_may_publish(wire, "kndl.runner.r1.cmd.StartRun"));
    assert_false(wire_may_publish(wire, "kndl.live.abc.event"));
    assert_true(wire_may_publish(wire, "kndl.raw.abc.r1.abc"));
    assert_false(wire_may_publish(wire, "kndl.raw.abc.r2.abc"));
    assert_true(wire_may_subscribe(wire, "kndl.runner.r1.cmd.*"));
    assert_false(wire_may_subscribe(wire, "kndl.runner.r2.cmd.*"));
    assert_false(wire_may_subscribe(wire, "kndl.live.*.event"));
    wire_close(wire);
}

/*
 * A Runner asks so that the answer would go where it may not publish itself: to viewers, to
 * another service's method, to another user's inbox.
 */
static void an_answer_goes_to_the_inbox_of_who_asked_alone(void **unused)
{
    static const char open_subject[] = "kndl.runner.r1.rpc.redactor.v1.RedactorRunnerService.Open";
    struct kndl_bus *sessions = open_bus("sessions");
    struct asked asked;

    (void)unused;
    start_redactor();
    do
        mask(sessions, "ready?", &asked);
    while (asked.err.code == KNDL_UNAVAILABLE);

    struct wire *runner = open_wire("runner", "r1");
    struct wire *victim = open_wire("runner", "r2");
    struct wire *viewer = open_wire("api_gateway", NULL);
    struct wire *other = open_wire("sessions", NULL);
    assert_true(wire_subscribe(runner, "_INBOX.runner.r1.>"));
    assert_true(wire_subscribe(victim, "_INBOX.runner.r2.>"));
    assert_true(wire_subscribe(viewer, "kndl.live.*.event"));
    assert_true(wire_subscribe(other, "_INBOX.sessions.>"));

    wire_publish(runner, open_subject, "kndl.live.victim.event", "");
    wire_publish(runner, open_subject, "kndl.rpc.redactor.v1.RedactorInternalService.Mask", "");
    wire_publish(runner, open_subject, "_INBOX.runner.r2.x", "");
    wire_publish(runner, open_subject, "_INBOX.sessions.x", "");
    wire_publish(runner, open_subject, "_INBOX.runner", "");
    wire_publish(runner, open_subject, "_INBOX.runner.r1.x", "");

    while (wire_received(runner) == 0)
        ;
    assert_true(lane_wait_idle(&redactor.calls, 10000));
    assert_int_equal(natsConnection_Flush(redactor.bus->nats), NATS_OK);
    assert_int_equal(wire_received(runner), 1);
    assert_int_equal(wire_received(victim), 0);
    assert_int_equal(wire_received(viewer), 0);
    assert_int_equal(wire_received(other), 0);
    /* Calls handled since the start: those of `mask` above and the one Open. */
    assert_int_equal(atomic_load(&redactor.families[1].stats[0].requests), 1);

    wire_close(runner);
    wire_close(victim);
    wire_close(viewer);
    wire_close(other);
    stop_redactor();
    kndl_bus_close(sessions);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_document_shows_the_table),
        cmocka_unit_test(every_method_of_the_protos_has_a_row),
        cmocka_unit_test(the_server_allows_exactly_what_the_table_says),
        cmocka_unit_test(nobody_may_publish_to_an_inbox_or_listen_to_anothers),
        cmocka_unit_test(a_runner_reaches_its_own_subjects_alone),
        cmocka_unit_test(an_answer_goes_to_the_inbox_of_who_asked_alone),
    };

    if (argc > 1 && strcmp(argv[1], "--print") == 0) {
        char *table = print_table();
        fputs(table, stdout);
        free(table);
        return 0;
    }
    return cmocka_run_group_tests_name("permissions", tests, NULL, NULL);
}
