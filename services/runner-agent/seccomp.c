/* Flattens the host's seccomp profile. */

#include "seccomp.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "kndl/json.h"
#include "kndl/mem.h"

static const char profile_path[] = "/usr/share/containers/seccomp.json";

enum { PROFILE_BYTES_MAX = 1024 * 1024 };

/* Refused with EPERM: ways into the kernel that builds and tests do not need. */
static const char *const refused[] = {
    "bpf", "perf_event_open", "userfaultfd", "io_uring_setup", "io_uring_enter",
    "io_uring_register", "keyctl", "add_key", "request_key", "kexec_load", "kexec_file_load",
    "open_by_handle_at", "init_module", "finit_module", "delete_module", "swapon", "swapoff",
    "acct", "clock_settime", "quotactl",
    /* and with "docker off" */
    "mount", "umount", "umount2", "setns", "unshare", "pivot_root", "fsopen", "fsmount", "fsconfig",
    "move_mount", "open_tree", "mount_setattr", NULL};

/* clone() only without CLONE_NEW*; clone3() hides its flags in memory, so libc must fall back. */
static const char clone_rules[] =
    ",{\"names\":[\"clone\"],\"action\":\"SCMP_ACT_ALLOW\",\"args\":[{\"index\":0,"
    "\"value\":2114060288,\"valueTwo\":0,\"op\":\"SCMP_CMP_MASKED_EQ\"}]}"
    ",{\"names\":[\"clone3\"],\"action\":\"SCMP_ACT_ERRNO\",\"errnoRet\":38}";

static bool is_refused(const char *name)
{
    for (size_t i = 0; refused[i] != NULL; i++) {
        if (strcmp(refused[i], name) == 0)
            return true;
    }
    return strcmp(name, "clone") == 0 || strcmp(name, "clone3") == 0;
}

struct machine {
    const char *go; /* as the profile's "arches" say */
    const char *names;
};

static struct machine this_machine(void)
{
    struct utsname about;

    (void)uname(&about);
    if (strcmp(about.machine, "aarch64") == 0)
        return (struct machine){"arm64", "\"SCMP_ARCH_AARCH64\",\"SCMP_ARCH_ARM\""};
    return (struct machine){"amd64", "\"SCMP_ARCH_X86_64\",\"SCMP_ARCH_X86\",\"SCMP_ARCH_X32\""};
}

static bool has(const struct kndl_value *array, const char *text)
{
    for (size_t i = 0; i < kndl_json_count(array); i++) {
        if (strcmp(kndl_json_text(kndl_json_at(array, i), ""), text) == 0)
            return true;
    }
    return false;
}

/* "includes" must hold and "excludes" must not, where every capability is there. */
static bool rule_holds(const struct kndl_value *rule, const char *arch)
{
    const struct kndl_value *includes = kndl_json_get(rule, "includes");
    const struct kndl_value *excludes = kndl_json_get(rule, "excludes");
    const struct kndl_value *arches = kndl_json_get(includes, "arches");

    if (kndl_json_count(arches) > 0 && !has(arches, arch))
        return false;
    return kndl_json_count(kndl_json_get(excludes, "caps")) == 0 &&
           !has(kndl_json_get(excludes, "arches"), arch);
}

static void append_member(struct kndl_buf *out, const struct kndl_value *rule, const char *key)
{
    const struct kndl_value *value = kndl_json_get(rule, key);

    if (kndl_json_kind(value) == KNDL_JSON_ABSENT || kndl_json_kind(value) == KNDL_JSON_NULL)
        return;
    kndl_buf_printf(out, ",\"%s\":", key);
    kndl_json_dump(value, out);
}

static void append_rule(struct kndl_buf *out, const struct kndl_value *rule)
{
    const struct kndl_value *names = kndl_json_get(rule, "names");
    bool allows = strcmp(kndl_json_text(kndl_json_get(rule, "action"), ""), "SCMP_ACT_ALLOW") == 0;
    size_t written = 0;
    size_t before = out->size;

    kndl_buf_append_text(out, ",{\"names\":[");
    for (size_t i = 0; i < kndl_json_count(names); i++) {
        const char *name = kndl_json_text(kndl_json_at(names, i), "");

        if (allows && is_refused(name))
            continue;
        if (written++ > 0)
            kndl_buf_append_char(out, ',');
        kndl_json_append_string(out, name);
    }
    kndl_buf_append_char(out, ']');
    append_member(out, rule, "action");
    append_member(out, rule, "args");
    append_member(out, rule, "errnoRet");
    kndl_buf_append_char(out, '}');
    if (written == 0) {
        out->size = before;
        out->data[before] = '\0';
    }
}

static int read_profile(struct kndl_buf *text, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_close) int fd = open(profile_path, O_RDONLY | O_CLOEXEC);
    ssize_t n = 0;

    if (fd < 0)
        return kndl_fail(err, KNDL_FAILED_PRECONDITION,
                         "%s: %s; install golang-github-containers-common", profile_path,
                         strerror(errno));
    while (text->size < PROFILE_BYTES_MAX &&
           (n = read(fd, kndl_buf_reserve(text, 65536), 65536)) > 0)
        text->size += (size_t)n;
    return n == 0 ? 0 : kndl_fail(err, KNDL_FAILED_PRECONDITION, "%s is too long", profile_path);
}

int seccomp_append(struct kndl_buf *out, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf text = {0};
    struct machine machine = this_machine();
    const struct kndl_value *root, *rules;
    struct kndl_json *json;

    if (read_profile(&text, err) < 0 ||
        kndl_json_parse(kndl_buf_slice(&text), PROFILE_BYTES_MAX, &json, err) < 0)
        return -1;
    root = kndl_json_root(json);
    rules = kndl_json_get(root, "syscalls");
    kndl_buf_printf(out, "{\"architectures\":[%s]", machine.names);
    append_member(out, root, "defaultAction");
    append_member(out, root, "defaultErrnoRet");
    kndl_buf_append_text(out, ",\"syscalls\":[{\"names\":[");
    for (size_t i = 0; refused[i] != NULL; i++)
        kndl_buf_printf(out, "%s\"%s\"", i > 0 ? "," : "", refused[i]);
    kndl_buf_append_text(out, "],\"action\":\"SCMP_ACT_ERRNO\",\"errnoRet\":1}");
    for (size_t i = 0; i < kndl_json_count(rules); i++) {
        if (rule_holds(kndl_json_at(rules, i), machine.go))
            append_rule(out, kndl_json_at(rules, i));
    }
    kndl_buf_append_text(out, clone_rules);
    kndl_buf_append_text(out, "]}");
    kndl_json_free(json);
    return 0;
}
