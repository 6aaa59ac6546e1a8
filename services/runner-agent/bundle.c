/* Writes config.json. */

#include "bundle.h"

#include <sys/resource.h>

#include "kndl/json.h"
#include "overlay.h"
#include "seccomp.h"

enum { FILES_MAX = 20000, CPU_PERIOD_US = 100000 };

static const char capabilities[] =
    "[\"CAP_CHOWN\",\"CAP_DAC_OVERRIDE\",\"CAP_FSETID\",\"CAP_FOWNER\",\"CAP_MKNOD\","
    "\"CAP_NET_RAW\",\"CAP_SETGID\",\"CAP_SETUID\",\"CAP_SETFCAP\",\"CAP_SETPCAP\","
    "\"CAP_NET_BIND_SERVICE\",\"CAP_SYS_CHROOT\",\"CAP_KILL\",\"CAP_AUDIT_WRITE\"]";

static const char system_mounts[] =
    "{\"destination\":\"/proc\",\"type\":\"proc\",\"source\":\"proc\"},"
    "{\"destination\":\"/dev\",\"type\":\"tmpfs\",\"source\":\"tmpfs\",\"options\":"
    "[\"nosuid\",\"strictatime\",\"mode=755\",\"size=65536k\"]},"
    "{\"destination\":\"/dev/pts\",\"type\":\"devpts\",\"source\":\"devpts\",\"options\":"
    "[\"nosuid\",\"noexec\",\"newinstance\",\"ptmxmode=0666\",\"mode=0620\",\"gid=5\"]},"
    "{\"destination\":\"/dev/shm\",\"type\":\"tmpfs\",\"source\":\"shm\",\"options\":"
    "[\"nosuid\",\"nodev\",\"mode=1777\",\"size=65536k\"]},"
    "{\"destination\":\"/dev/mqueue\",\"type\":\"mqueue\",\"source\":\"mqueue\",\"options\":"
    "[\"nosuid\",\"noexec\",\"nodev\"]},"
    "{\"destination\":\"/sys\",\"type\":\"sysfs\",\"source\":\"sysfs\",\"options\":"
    "[\"nosuid\",\"noexec\",\"nodev\",\"ro\"]},"
    "{\"destination\":\"/sys/fs/cgroup\",\"type\":\"cgroup\",\"source\":\"cgroup\",\"options\":"
    "[\"nosuid\",\"noexec\",\"nodev\",\"relatime\",\"ro\"]}";

static const char hidden[] =
    "\"maskedPaths\":[\"/proc/acpi\",\"/proc/kcore\",\"/proc/keys\",\"/proc/latency_stats\","
    "\"/proc/timer_list\",\"/proc/sched_debug\",\"/proc/scsi\",\"/sys/firmware\","
    "\"/sys/devices/virtual/powercap\"],"
    "\"readonlyPaths\":[\"/proc/asound\",\"/proc/bus\",\"/proc/fs\",\"/proc/irq\",\"/proc/sys\","
    "\"/proc/sysrq-trigger\"]";

static void append_mounts(const struct bundle *bundle, struct kndl_buf *out)
{
    kndl_buf_printf(out, "\"mounts\":[%s", system_mounts);
    for (size_t i = 0; i < bundle->tmpfs_count; i++) {
        const struct bundle_tmpfs *tmpfs = &bundle->tmpfs[i];

        kndl_buf_append_text(out, ",{\"destination\":");
        kndl_json_append_string(out, tmpfs->target);
        kndl_buf_printf(out,
                        ",\"type\":\"tmpfs\",\"source\":\"tmpfs\",\"options\":[\"nosuid\","
                        "\"nodev\",\"mode=%o\",\"size=%llum\"]}",
                        tmpfs->mode, (unsigned long long)tmpfs->size_mib);
    }
    for (size_t i = 0; i < bundle->bind_count; i++) {
        const struct bundle_bind *bind = &bundle->binds[i];

        kndl_buf_append_text(out, ",{\"destination\":");
        kndl_json_append_string(out, bind->target);
        kndl_buf_append_text(out, ",\"type\":\"bind\",\"source\":");
        kndl_json_append_string(out, bind->source);
        kndl_buf_printf(out, ",\"options\":[\"rbind\",\"rprivate\",\"nosuid\",\"nodev\",\"%s\"]}",
                        bind->read_only ? "ro" : "rw");
    }
    kndl_buf_append_text(out, "],");
}

static void append_process(struct kndl_buf *out)
{
    struct rlimit files = {FILES_MAX, FILES_MAX};
    rlim_t most = FILES_MAX;

    /* Never more than our own hard limit: raising it needs CAP_SYS_RESOURCE. */
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_max < most)
        most = files.rlim_max;
    kndl_buf_append_text(
        out, "\"process\":{\"terminal\":false,\"user\":{\"uid\":0,\"gid\":0},\"cwd\":\"/\","
             "\"args\":[\"/.kndl-init\",\"--\",\"sleep\",\"infinity\"],\"env\":["
             "\"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\","
             "\"HOME=/root\",\"LANG=C.UTF-8\",\"TERM=xterm-256color\"],\"capabilities\":{");
    kndl_buf_printf(out, "\"bounding\":%s,\"effective\":%s,\"permitted\":%s},", capabilities,
                    capabilities, capabilities);
    /* No core: it would lay what a process knows, tokens too, on a disk. */
    kndl_buf_printf(out,
                    "\"noNewPrivileges\":true,\"rlimits\":[{\"type\":\"RLIMIT_CORE\","
                    "\"hard\":0,\"soft\":0},{\"type\":\"RLIMIT_NOFILE\","
                    "\"hard\":%llu,\"soft\":%llu}]},",
                    (unsigned long long)most, (unsigned long long)most);
}

static int append_linux(const struct bundle *bundle, struct kndl_buf *out, struct kndl_error *err)
{
    kndl_buf_append_text(out, "\"linux\":{");
    for (int i = 0; i < 2; i++)
        kndl_buf_printf(out, "\"%sMappings\":[{\"containerID\":0,\"hostID\":%u,\"size\":%d}],",
                        i == 0 ? "uid" : "gid", bundle->uid_base, SANDBOX_UIDS);
    kndl_buf_append_text(out, "\"namespaces\":[{\"type\":\"pid\"},{\"type\":\"ipc\"},"
                              "{\"type\":\"uts\"},{\"type\":\"mount\"},{\"type\":\"network\"},"
                              "{\"type\":\"user\"},{\"type\":\"cgroup\"}],\"cgroupsPath\":");
    kndl_json_append_string(out, bundle->cgroup_path);
    kndl_buf_printf(out,
                    ",\"resources\":{\"devices\":[{\"allow\":false,\"access\":\"rwm\"}],"
                    "\"memory\":{\"limit\":%llu},\"cpu\":{\"quota\":%llu,\"period\":%d},"
                    "\"pids\":{\"limit\":%llu}},%s,\"seccomp\":",
                    (unsigned long long)bundle->memory_mib << 20,
                    (unsigned long long)bundle->cpu_percent * CPU_PERIOD_US / 100, CPU_PERIOD_US,
                    (unsigned long long)bundle->pids, hidden);
    if (seccomp_append(out, err) < 0)
        return -1;
    kndl_buf_append_text(out, "}}\n");
    return 0;
}

int bundle_append(const struct bundle *bundle, struct kndl_buf *out, struct kndl_error *err)
{
    kndl_buf_append_text(out, "{\"ociVersion\":\"1.0.0\",\"hostname\":");
    kndl_json_append_string(out, bundle->name);
    kndl_buf_append_text(out, ",\"root\":{\"path\":");
    kndl_json_append_string(out, bundle->root);
    kndl_buf_append_text(out, "},");
    append_mounts(bundle, out);
    append_process(out);
    return append_linux(bundle, out, err);
}
