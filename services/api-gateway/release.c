/* Reads the Runner's release and writes down what it is made of. */

#include "release.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "folder.h"
#include "kndl/json.h"
#include "kndl/mem.h"
#include "kndl/token.h"
#include "kndl/version.h"

enum { FILES_MAX = 64, BYTES_MAX = 128 * 1024 * 1024 };

struct released {
    char *name;
    struct kndl_slice bytes;
    bool is_executable;
};

struct release {
    struct released files[FILES_MAX];
    size_t count;
    struct kndl_buf manifest;
};

static int add_file(void *data, const char *path, struct kndl_slice bytes, mode_t mode,
                    struct kndl_error *err)
{
    struct release *release = data;

    (void)err;
    release->files[release->count++] =
        (struct released){kndl_strdup(path), bytes, (mode & S_IXUSR) != 0};
    return 0;
}

static const struct released *find(const struct release *release, const char *name)
{
    for (size_t i = 0; i < release->count; i++)
        if (strcmp(release->files[i].name, name) == 0)
            return &release->files[i];
    return NULL;
}

static int check_programs(const struct release *release, struct kndl_error *err)
{
    static const char *const programs[] = {"runner-agent", "run-claude"};

    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        const struct released *program = find(release, programs[i]);

        if (program == NULL || !program->is_executable)
            return kndl_fail(err, KNDL_INVALID_ARGUMENT,
                             "HUB_RUNNER_DIR has no program %s: it holds runner-agent, run-claude "
                             "and mod/ of the Hub's own release",
                             programs[i]);
    }
    return 0;
}

static void write_file(const struct released *file, struct kndl_buf *out)
{
    uint8_t hash[KNDL_HASH_BYTES];

    kndl_hash(file->bytes, hash);
    kndl_buf_append_text(out, "{\"name\":");
    kndl_json_append_string(out, file->name);
    kndl_buf_printf(out, ",\"size\":%zu,\"sha256\":\"", file->bytes.size);
    for (size_t i = 0; i < sizeof hash; i++)
        kndl_buf_printf(out, "%02x", hash[i]);
    kndl_buf_printf(out, "\",\"executable\":%s}", file->is_executable ? "true" : "false");
}

static void write_manifest(struct release *release)
{
    struct kndl_buf *out = &release->manifest;
    struct utsname host;

    (void)uname(&host);
    kndl_buf_printf(out, "{\"version\":\"%s\",\"protocol\":%d,\"machine\":", KNDL_VERSION,
                    KNDL_RUNNER_PROTOCOL);
    kndl_json_append_string(out, host.machine);
    kndl_buf_append_text(out, ",\"files\":[");
    for (size_t i = 0; i < release->count; i++) {
        if (i > 0)
            kndl_buf_append_char(out, ',');
        write_file(&release->files[i], out);
    }
    kndl_buf_append_text(out, "]}\n");
}

int release_open(struct gateway *gateway, struct kndl_error *err)
{
    const struct folder_options options = {
        .setting = "HUB_RUNNER_DIR",
        .dir = gateway->settings.runner_dir,
        .files_max = FILES_MAX,
        .bytes_max = BYTES_MAX,
        .takes_hidden = true, /* a plugin's .claude-plugin */
    };

    gateway->release = kndl_new0(struct release);
    if (options.dir[0] == '\0')
        return 0;
    if (folder_read(&options, add_file, gateway->release, err) < 0 ||
        check_programs(gateway->release, err) < 0)
        return -1;
    write_manifest(gateway->release);
    return 0;
}

void release_close(struct gateway *gateway)
{
    struct release *release = gateway->release;

    if (release == NULL)
        return;
    for (size_t i = 0; i < release->count; i++) {
        free(release->files[i].name);
        free((void *)release->files[i].bytes.data);
    }
    kndl_buf_done(&release->manifest);
    free(release);
}

struct kndl_slice release_manifest(const struct gateway *gateway)
{
    return kndl_buf_slice(&gateway->release->manifest);
}

struct kndl_slice release_file(const struct gateway *gateway, const char *name)
{
    const struct released *file = find(gateway->release, name);

    return file == NULL ? kndl_slice(NULL, 0) : file->bytes;
}
