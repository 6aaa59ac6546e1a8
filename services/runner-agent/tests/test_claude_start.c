/* What Claude Code is started with. */

#include "claude.h"

#include <string.h>

#include "kndl/testing.h"

static struct claude_start start_of(void)
{
    return (struct claude_start){
        .session_id = "s1",
        .claude_session_id = "b6a82ae1-f659-4f1f-b7b1-a96d6c0819d4",
        .model = "",
        .effort = "",
        .mod_copy = "copy-1",
        .time_zone = "Europe/Berlin",
        .relay_port = 18080,
        .session_token = kndl_slice_of("kndl_ses_x"),
    };
}

static void assert_merges(void (*merge)(struct kndl_slice, struct kndl_buf *), const char *existing,
                          const char *merged)
{
    struct kndl_buf out = {0};

    merge(kndl_slice_of(existing), &out);
    assert_string_equal(kndl_buf_text(&out), merged);
    kndl_buf_done(&out);
}

/* CC-02 */
static void cc_02_our_keys_are_merged_into_what_is_there(void **unused)
{
    (void)unused;
    assert_merges(claude_merge_config, "",
                  "{\"hasCompletedOnboarding\":true,\"projects\":{\"/workspace\":{"
                  "\"hasTrustDialogAccepted\":true}}}");
    assert_merges(claude_merge_config,
                  "{\"a\":1,\"hasCompletedOnboarding\":false,\"projects\":{\"/x\":{},"
                  "\"/workspace\":{\"hasTrustDialogAccepted\":false,\"n\":[2]}}}",
                  "{\"a\":1,\"hasCompletedOnboarding\":true,\"projects\":{\"/x\":{},"
                  "\"/workspace\":{\"n\":[2],\"hasTrustDialogAccepted\":true}}}");
    assert_merges(claude_merge_settings, "{\"model\":\"x\"}",
                  "{\"model\":\"x\",\"skipDangerousModePermissionPrompt\":true}");
}

static void a_config_that_is_no_object_is_replaced(void **unused)
{
    (void)unused;
    assert_merges(claude_merge_settings, "[1,2", "{\"skipDangerousModePermissionPrompt\":true}");
    assert_merges(claude_merge_settings, "[1]", "{\"skipDangerousModePermissionPrompt\":true}");
    assert_merges(claude_merge_config, "{\"projects\":7}",
                  "{\"hasCompletedOnboarding\":true,\"projects\":{\"/workspace\":{"
                  "\"hasTrustDialogAccepted\":true}}}");
}

/* CC-03 */
static void cc_03_a_new_session_names_its_id_and_both_plugins(void **unused)
{
    struct claude_start start = start_of();
    struct kndl_buf out = {0};

    (void)unused;
    assert_int_equal(claude_command(&start, &out, NULL), 0);
    assert_string_equal(kndl_buf_text(&out),
                        "'/opt/kndl/run-claude' '/opt/kndl/claude-code/claude' "
                        "'--dangerously-skip-permissions' '--session-id' "
                        "'b6a82ae1-f659-4f1f-b7b1-a96d6c0819d4' '--plugin-dir' "
                        "'/opt/kndl/mod/copy-1/hub-link' '--plugin-dir' "
                        "'/opt/kndl/mod/copy-1/hub-link-commands'");
    kndl_buf_done(&out);
}

static void cc_03_model_and_effort_are_there_only_when_set(void **unused)
{
    struct claude_start start = start_of();
    struct kndl_buf out = {0};

    (void)unused;
    start.resume = true;
    start.model = "opus[1m]";
    start.effort = "high";
    assert_int_equal(claude_command(&start, &out, NULL), 0);
    assert_non_null(strstr(kndl_buf_text(&out), "'--resume' 'b6a82ae1"));
    assert_non_null(strstr(kndl_buf_text(&out), "'--model' 'opus[1m]' '--effort' 'high'"));
    kndl_buf_done(&out);
}

static void a_model_that_is_no_word_is_refused(void **unused)
{
    static const char *const odd[] = {"a b", "it's", "x;y", "-p", "a\nb", "$HOME"};
    struct claude_start start = start_of();
    struct kndl_buf out = {0};
    struct kndl_error err = {0};

    (void)unused;
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        start.model = odd[i];
        assert_int_equal(claude_command(&start, &out, &err), -1);
        assert_int_equal(err.code, KNDL_INVALID_ARGUMENT);
    }
    assert_int_equal(out.size, 0);
}

/* CC-05 */
static void cc_05_the_environment_is_what_the_spec_names(void **unused)
{
    static const char *const wanted[][2] = {
        {"KNDL_SESSION_ID", "s1"},
        {"CLAUDE_CONFIG_DIR", "/var/lib/kndl/claude"},
        {"IS_SANDBOX", "1"},
        {"CLAUDE_CODE_DISABLE_AUTO_MEMORY", "1"},
        {"CLAUDE_CODE_DISABLE_AGENT_VIEW", "1"},
        {"DISABLE_INSTALLATION_CHECKS", "1"},
        {"TZ", "Europe/Berlin"},
        {"KNDL_URL", "http://host.microsandbox.internal:18080"},
        {"KNDL_MOD_TOKEN", "kndl_ses_x"},
        {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"},
        {"DISABLE_AUTOUPDATER", "1"},
    };
    struct claude_start start = start_of();
    struct kndl_buf out = {0};

    (void)unused;
    claude_environment(&start, &out);
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        struct kndl_slice value = claude_variable(kndl_buf_slice(&out), wanted[i][0]);

        assert_true(kndl_slice_equal(value, kndl_slice_of(wanted[i][1])));
    }
    /* CR-03: the setup token goes by tmux alone. */
    assert_int_equal(claude_variable(kndl_buf_slice(&out), "CLAUDE_CODE_OAUTH_TOKEN").size, 0);
    kndl_buf_done(&out);
}

/* As the launcher does it: of two of one name the last wins. */
static struct kndl_slice winner(struct kndl_slice environ, const char *name)
{
    struct kndl_slice value = claude_variable(environ, name);

    while (value.data != NULL) {
        const uint8_t *rest = value.data + value.size + 1;
        struct kndl_slice later =
            claude_variable(kndl_slice(rest, (size_t)(environ.data + environ.size - rest)), name);

        if (later.data == NULL)
            break;
        value = later;
    }
    return value;
}

/* CC-05: also if the Hub let a name through that it should have refused. */
static void cc_05_variables_win_over_a_login_and_never_over_what_kndl_needs(void **unused)
{
    static const char variables[] = "DB=two\nlines = and more\0TZ=Asia/Tokyo\0EMPTY=\0"
                                    "KNDL_URL=http://evil\0KNDL_MOD_TOKEN=evil\0"
                                    "DISABLE_AUTOUPDATER=0\0CLAUDE_CODE_OAUTH_TOKEN=evil\0"
                                    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=0\0"
                                    "CLAUDE_CODE_DISABLE_AUTO_MEMORY=0";
    static const char *const wanted[][2] = {
        {"DB", "two\nlines = and more"},
        {"TZ", "Asia/Tokyo"},
        {"EMPTY", ""},
        {"KNDL_URL", "http://host.microsandbox.internal:18080"},
        {"KNDL_MOD_TOKEN", "kndl_ses_x"},
        {"DISABLE_AUTOUPDATER", "1"},
        {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"},
        {"CLAUDE_CODE_DISABLE_AUTO_MEMORY", "1"},
    };
    struct claude_start start = start_of();
    struct kndl_buf out = {0};

    (void)unused;
    start.variables = kndl_slice(variables, sizeof variables);
    claude_environment(&start, &out);
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        assert_true(kndl_slice_equal(winner(kndl_buf_slice(&out), wanted[i][0]),
                                     kndl_slice_of(wanted[i][1])));
    assert_null(winner(kndl_buf_slice(&out), "CLAUDE_CODE_OAUTH_TOKEN").data);
    kndl_buf_done(&out);
}

static void a_variable_is_found_by_its_whole_name(void **unused)
{
    static const char environ[] = "AB=1\0B=two\0EMPTY=\0C=3";

    (void)unused;
    struct kndl_slice all = kndl_slice(environ, sizeof environ - 1);
    assert_true(kndl_slice_equal(claude_variable(all, "B"), kndl_slice_of("two")));
    assert_true(kndl_slice_equal(claude_variable(all, "C"), kndl_slice_of("3")));
    assert_int_equal(claude_variable(all, "A").size, 0);
    assert_int_equal(claude_variable(kndl_slice(environ, 3), "AB").size, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cc_02_our_keys_are_merged_into_what_is_there),
        cmocka_unit_test(a_config_that_is_no_object_is_replaced),
        cmocka_unit_test(cc_03_a_new_session_names_its_id_and_both_plugins),
        cmocka_unit_test(cc_03_model_and_effort_are_there_only_when_set),
        cmocka_unit_test(a_model_that_is_no_word_is_refused),
        cmocka_unit_test(cc_05_the_environment_is_what_the_spec_names),
        cmocka_unit_test(cc_05_variables_win_over_a_login_and_never_over_what_kndl_needs),
        cmocka_unit_test(a_variable_is_found_by_its_whole_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
