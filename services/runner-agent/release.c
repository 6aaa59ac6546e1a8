/* What a release is made of, read with suspicion. */

#include "release.h"

#include <stdlib.h>
#include <string.h>

#include "kndl/json.h"
#include "kndl/mem.h"

enum { VERSION_CHARS_MAX = 64, NAME_CHARS_MAX = 200 };

static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-";

static int bad(struct kndl_error *err, const char *what, const char *value)
{
    return kndl_fail(err, KNDL_INVALID_ARGUMENT, "the Hub's release has %s: \"%.80s\"", what,
                     value);
}

bool release_is_version(const char *text)
{
    size_t size = strlen(text);

    return size > 0 && size <= VERSION_CHARS_MAX && strspn(text, plain) == size && text[0] >= '0' &&
           text[0] <= '9';
}

/* Folders and a file, none of them "", "." or "..". */
static bool is_name(const char *text)
{
    if (strlen(text) > NAME_CHARS_MAX)
        return false;
    for (;;) {
        size_t size = strspn(text, plain);

        if (size == 0 || strncmp(text, ".", size) == 0 || strncmp(text, "..", size) == 0)
            return false;
        text += size;
        if (*text == '\0')
            return true;
        if (*text++ != '/')
            return false;
    }
}

static const struct release_file *find(const struct release *release, const char *name)
{
    for (size_t i = 0; i < release->count; i++)
        if (strcmp(release->files[i].name, name) == 0)
            return &release->files[i];
    return NULL;
}

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool read_hash(const char *hex, uint8_t ret_hash[KNDL_HASH_BYTES])
{
    if (strlen(hex) != (size_t)2 * KNDL_HASH_BYTES)
        return false;
    for (size_t i = 0; i < KNDL_HASH_BYTES; i++) {
        int high = digit(hex[2 * i]);
        int low = digit(hex[2 * i + 1]);

        if (high < 0 || low < 0)
            return false;
        ret_hash[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

static int read_file(struct release *release, const struct kndl_value *value, size_t *bytes,
                     struct kndl_error *err)
{
    struct release_file *file = &release->files[release->count];
    const char *name = kndl_json_text(kndl_json_get(value, "name"), "");
    int64_t size = kndl_json_i64(kndl_json_get(value, "size"), -1);

    if (!is_name(name))
        return bad(err, "a file that is not below its folder", name);
    if (find(release, name) != NULL)
        return bad(err, "a file twice", name);
    if (size < 0 || (uint64_t)size > RELEASE_BYTES_MAX - *bytes)
        return bad(err, "a file that is too big", name);
    if (!read_hash(kndl_json_text(kndl_json_get(value, "sha256"), ""), file->hash))
        return bad(err, "a file without a digest", name);
    *bytes += (size_t)size;
    file->name = kndl_strdup(name);
    file->size = (size_t)size;
    file->is_executable = kndl_json_bool(kndl_json_get(value, "executable"), false);
    release->count++;
    return 0;
}

static int read_files(struct release *release, const struct kndl_value *files,
                      struct kndl_error *err)
{
    static const char *const programs[] = {"runner-agent", "run-claude"};
    size_t bytes = 0;

    if (kndl_json_kind(files) != KNDL_JSON_ARRAY || kndl_json_count(files) > RELEASE_FILES_MAX)
        return bad(err, "no list of at most 64 files", release->version);
    for (size_t i = 0; i < kndl_json_count(files); i++)
        if (read_file(release, kndl_json_at(files, i), &bytes, err) < 0)
            return -1;
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        const struct release_file *program = find(release, programs[i]);

        if (program == NULL || !program->is_executable)
            return bad(err, "no program", programs[i]);
    }
    return 0;
}

static void free_json(struct kndl_json **json)
{
    kndl_json_free(*json);
}

int release_read(struct kndl_slice manifest, struct release **ret_release, struct kndl_error *err)
{
    KNDL_CLEANUP(free_json) struct kndl_json *json = NULL;
    struct release *release;

    if (kndl_json_parse(manifest, RELEASE_MANIFEST_BYTES_MAX, &json, err) < 0)
        return kndl_wrap(err, "the Hub's release");
    const struct kndl_value *root = kndl_json_root(json);
    const char *version = kndl_json_text(kndl_json_get(root, "version"), "");
    if (!release_is_version(version))
        return bad(err, "no version", version);
    release = kndl_new0(struct release);
    release->version = kndl_strdup(version);
    release->protocol = kndl_json_i64(kndl_json_get(root, "protocol"), 0);
    release->machine = kndl_strdup(kndl_json_text(kndl_json_get(root, "machine"), ""));
    if (read_files(release, kndl_json_get(root, "files"), err) < 0) {
        release_free(release);
        return -1;
    }
    *ret_release = release;
    return 0;
}

void release_free(struct release *release)
{
    if (release == NULL)
        return;
    for (size_t i = 0; i < release->count; i++)
        free(release->files[i].name);
    free(release->version);
    free(release->machine);
    free(release);
}
