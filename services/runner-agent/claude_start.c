/* What Claude Code is started with: its config files, its command, its environment. */

#include "claude.h"

#include <ctype.h>
#include <string.h>

#include "kndl/mem.h"

/* --------------------------------------------------------------------------- config files */

struct setting {
    const char *key;
    const char *json; /* its value */
};

/* An object's members but those that `ours` names, then ours. `value` may be NULL. */
static void merge_object(const struct kndl_value *value, const struct setting *ours, size_t count,
                         struct kndl_buf *out)
{
    kndl_buf_append_char(out, '{');
    for (size_t i = 0; kndl_json_kind(value) == KNDL_JSON_OBJECT && i < kndl_json_count(value);
         i++) {
        const char *key;
        const struct kndl_value *member = kndl_json_member(value, i, &key);
        bool is_ours = false;

        for (size_t j = 0; j < count; j++)
            is_ours = is_ours || strcmp(ours[j].key, key) == 0;
        if (is_ours)
            continue;
        kndl_json_append_string(out, key);
        kndl_buf_append_char(out, ':');
        kndl_json_dump(member, out);
        kndl_buf_append_char(out, ',');
    }
    for (size_t j = 0; j < count; j++) {
        kndl_json_append_string(out, ours[j].key);
        kndl_buf_printf(out, ":%s%s", ours[j].json, j + 1 < count ? "," : "");
    }
    kndl_buf_append_char(out, '}');
}

static struct kndl_json *parse_object(struct kndl_slice text)
{
    struct kndl_json *json;

    if (text.size == 0 || kndl_json_parse(text, CLAUDE_CONFIG_BYTES_MAX, &json, NULL) < 0)
        return NULL;
    return json;
}

static const struct kndl_value *root_of(const struct kndl_json *json)
{
    return json == NULL ? NULL : kndl_json_root(json);
}

void claude_merge_config(struct kndl_slice existing, struct kndl_buf *out)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf workspace = {0}, projects = {0};
    struct kndl_json *json = parse_object(existing);
    const struct kndl_value *root = root_of(json);
    const struct kndl_value *known = kndl_json_get(root, "projects");

    merge_object(kndl_json_get(known, "/workspace"),
                 &(struct setting){"hasTrustDialogAccepted", "true"}, 1, &workspace);
    merge_object(known, &(struct setting){"/workspace", kndl_buf_text(&workspace)}, 1, &projects);
    merge_object(root,
                 (struct setting[]){{"hasCompletedOnboarding", "true"},
                                    {"projects", kndl_buf_text(&projects)}},
                 2, out);
    kndl_json_free(json);
}

void claude_merge_settings(struct kndl_slice existing, struct kndl_buf *out)
{
    struct kndl_json *json = parse_object(existing);

    merge_object(root_of(json), &(struct setting){"skipDangerousModePermissionPrompt", "true"}, 1,
                 out);
    kndl_json_free(json);
}

/* -------------------------------------------------------------------------------- command */

/* A word that may be an argument: letters, digits and what model names use. */
static bool is_plain_word(const char *text)
{
    if (text[0] == '-' || strlen(text) > 128)
        return false;
    for (; *text != '\0'; text++)
        if (!isalnum((unsigned char)*text) && strchr("-._:[]/@", *text) == NULL)
            return false;
    return true;
}

static void append_word(struct kndl_buf *out, const char *word)
{
    kndl_buf_printf(out, "%s'%s'", out->size > 0 ? " " : "", word);
}

int claude_command(const struct claude_start *start, struct kndl_buf *out, struct kndl_error *err)
{
    static const char *const plugins[] = {"hub-link", "hub-link-commands"};
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf words = {0};

    if (!is_plain_word(start->model))
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "\"%.64s\" is no name of a model",
                         start->model);
    if (!is_plain_word(start->effort))
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "\"%.64s\" is no effort", start->effort);
    append_word(&words, CLAUDE_LAUNCHER);
    append_word(&words, CLAUDE_BINARY_DIR "/claude");
    append_word(&words, "--dangerously-skip-permissions");
    append_word(&words, start->resume ? "--resume" : "--session-id");
    append_word(&words, start->claude_session_id);
    if (start->model[0] != '\0') {
        append_word(&words, "--model");
        append_word(&words, start->model);
    }
    if (start->effort[0] != '\0') {
        append_word(&words, "--effort");
        append_word(&words, start->effort);
    }
    for (size_t i = 0; i < sizeof plugins / sizeof plugins[0]; i++) {
        append_word(&words, "--plugin-dir");
        kndl_buf_printf(&words, " '%s/%s/%s'", CLAUDE_MOD_DIR, start->mod_copy, plugins[i]);
    }
    kndl_buf_append(out, words.data, words.size);
    return 0;
}

/* ---------------------------------------------------------------------------- environment */

static void append_variable(struct kndl_buf *out, const char *name, const char *value)
{
    kndl_buf_printf(out, "%s=%s", name, value);
    kndl_buf_append_char(out, '\0');
}

/* All but the setup token, which tmux gives (CR-03) and nothing here may stand in for. */
static void append_variables(struct kndl_buf *out, struct kndl_slice variables)
{
    static const char token[] = "CLAUDE_CODE_OAUTH_TOKEN=";

    for (size_t at = 0; at < variables.size;) {
        const char *entry = (const char *)variables.data + at;
        size_t length = strnlen(entry, variables.size - at);

        if (strncmp(entry, token, sizeof token - 1) != 0) {
            kndl_buf_append(out, entry, length);
            kndl_buf_append_char(out, '\0');
        }
        at += length + 1;
    }
}

void claude_environment(const struct claude_start *start, struct kndl_buf *out)
{
    /* One reservation: growing would leave copies of secrets behind. */
    kndl_buf_reserve(out, 4096 + start->variables.size + start->session_token.size);

    append_variable(out, "PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    append_variable(out, "HOME", "/root");
    append_variable(out, "SHELL", "/bin/bash");
    append_variable(out, "LANG", "C.UTF-8");
    append_variable(out, "TZ", start->time_zone);
    append_variables(out, start->variables);
    append_variable(out, "IS_SANDBOX", "1");
    append_variable(out, "CLAUDE_CODE_SANDBOXED", "1");
    append_variable(out, "CLAUDE_CONFIG_DIR", CLAUDE_CONFIG_DIR);
    append_variable(out, "CLAUDE_CODE_TMPDIR", "/tmp/claude");
    append_variable(out, "CLAUDE_CODE_DISABLE_AUTO_MEMORY", "1");
    append_variable(out, "CLAUDE_CODE_DISABLE_AGENT_VIEW", "1");
    append_variable(out, "CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL", "1");
    append_variable(out, "DISABLE_INSTALLATION_CHECKS", "1");
    append_variable(out, "KNDL_SESSION_ID", start->session_id);
    /* These win over a Variable of the same name (CC-05). */
    kndl_buf_printf(out, "KNDL_URL=http://host.microsandbox.internal:%d", start->relay_port);
    kndl_buf_append_char(out, '\0');
    kndl_buf_append_text(out, "KNDL_MOD_TOKEN=");
    kndl_buf_append(out, start->session_token.data, start->session_token.size);
    kndl_buf_append_char(out, '\0');
    append_variable(out, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1");
    append_variable(out, "DISABLE_AUTOUPDATER", "1");
}

struct kndl_slice claude_variable(struct kndl_slice environ, const char *name)
{
    size_t size = strlen(name);

    for (size_t at = 0; at < environ.size;) {
        const uint8_t *entry = environ.data + at;
        size_t length = strnlen((const char *)entry, environ.size - at);

        if (length > size && memcmp(entry, name, size) == 0 && entry[size] == '=')
            return kndl_slice(entry + size + 1, length - size - 1);
        at += length + 1;
    }
    return (struct kndl_slice){0};
}

void claude_transcript_path(const char *claude_session_id, struct kndl_buf *out)
{
    kndl_buf_printf(out, "projects/-workspace/%s.jsonl", claude_session_id);
}

bool claude_is_uuid(const char *text)
{
    size_t i;

    for (i = 0; i < 36 && text[i] != '\0'; i++) {
        bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;

        if (is_dash ? text[i] != '-' : !isxdigit((unsigned char)text[i]))
            return false;
    }
    return i == 36 && text[36] == '\0';
}
