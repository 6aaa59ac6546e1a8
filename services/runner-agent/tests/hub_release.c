#include "hub_release.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "tree.h"

struct hub_release hub_release_of(const char *version, const char *says)
{
    static char script[512];

    (void)snprintf(script, sizeof script, "#!/bin/sh\necho '%s'\n", says);
    return (struct hub_release){
        .version = version,
        .protocol = 1,
        .files = {{"runner-agent", script, true, NULL},
                  {"run-claude", "a program", true, NULL},
                  {"mod/.claude-plugin/plugin.json", "{}", false, NULL}},
        .count = 3,
    };
}

void hub_release_manifest(const struct hub_release *hub, struct kndl_buf *out)
{
    uint8_t hash[KNDL_HASH_BYTES];
    struct utsname host;

    assert_int_equal(uname(&host), 0);
    kndl_buf_printf(
        out, "{\"version\":\"%s\",\"protocol\":%d,\"machine\":\"%s\",\"mood\":1,\"files\":[",
        hub->version, hub->protocol, hub->machine == NULL ? host.machine : hub->machine);
    for (size_t i = 0; i < hub->count; i++) {
        const struct hub_file *file = &hub->files[i];

        kndl_hash(kndl_slice_of(file->text), hash);
        kndl_buf_printf(out, "%s{\"name\":\"%s\",\"size\":%zu,\"sha256\":\"", i == 0 ? "" : ",",
                        file->name, strlen(file->text));
        for (size_t j = 0; j < sizeof hash; j++)
            kndl_buf_printf(out, "%02x", hash[j]);
        kndl_buf_printf(out, "\",\"executable\":%s}", file->is_executable ? "true" : "false");
    }
    kndl_buf_append_text(out, "]}");
}

int hub_release_get(void *data, const char *name, size_t most, struct kndl_buf *ret_bytes,
                    struct kndl_error *err)
{
    struct hub_release *hub = data;

    if (name[0] == '\0') {
        hub->manifests++;
        hub_release_manifest(hub, ret_bytes);
        return 0;
    }
    hub->gets++;
    if (hub->breaks != NULL && strcmp(hub->breaks, name) == 0)
        return kndl_fail(err, KNDL_UNAVAILABLE, "the Hub went away");
    for (size_t i = 0; i < hub->count; i++) {
        const struct hub_file *file = &hub->files[i];

        if (strcmp(file->name, name) != 0)
            continue;
        kndl_buf_append_text(ret_bytes, file->served == NULL ? file->text : file->served);
        assert_true(most == strlen(file->text));
        return 0;
    }
    fail_msg("%s was asked for", name);
    return -1;
}

void hub_release_folder(char path[64])
{
    (void)strcpy(path, "/tmp/kndl-release-XXXXXX");
    assert_non_null(mkdtemp(path));
}

void hub_release_remove(const char *path)
{
    struct kndl_error err;

    if (tree_remove(path, &err) < 0)
        fail_msg("%s", err.message);
}

size_t hub_release_entries(const char *path)
{
    DIR *folder = opendir(path);
    struct dirent *entry;
    size_t count = 0;

    if (folder == NULL)
        return 0;
    while ((entry = readdir(folder)) != NULL)
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(folder);
    return count;
}
