/* Answers the files of a folder by path, encoding and ETag. */

#include "files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "answer.h"
#include "folder.h"
#include "kndl/buf.h"
#include "kndl/mem.h"
#include "kndl/token.h"

enum {
    FILES_MAX = 4096,
    FILES_BYTES_MAX = 64 * 1024 * 1024,
};

enum encoding { IDENTITY, BROTLI, GZIP, ENCODINGS };

static const struct {
    const char *suffix;
    const char *name; /* as in Accept-Encoding */
} encodings[ENCODINGS] = {
    [IDENTITY] = {"", NULL},
    [BROTLI] = {".br", "br"},
    [GZIP] = {".gz", "gzip"},
};

struct file {
    char *path; /* as in a URL */
    const char *type;
    bool is_immutable;
    struct form {
        struct kndl_slice body; /* data NULL: not there */
        char etag[40];          /* quoted; each form has its own */
    } forms[ENCODINGS];
};

struct files {
    struct file *files; /* by path */
    size_t count;
    const struct file *index;
};

static const char *type_of(const char *path)
{
    static const struct {
        const char *suffix;
        const char *type;
    } types[] = {
        {".html", "text/html; charset=utf-8"},
        {".js", "text/javascript; charset=utf-8"},
        {".css", "text/css; charset=utf-8"},
        {".svg", "image/svg+xml"},
        {".png", "image/png"},
        {".ico", "image/x-icon"},
        {".woff2", "font/woff2"},
        {".json", "application/json"},
        {".webmanifest", "application/manifest+json"},
        {".txt", "text/plain; charset=utf-8"},
    };
    const char *dot = strrchr(path, '.');

    for (size_t i = 0; dot != NULL && i < sizeof types / sizeof *types; i++)
        if (strcmp(dot, types[i].suffix) == 0)
            return types[i].type;
    return "application/octet-stream";
}

static bool has_suffix(const char *text, const char *suffix)
{
    size_t length = strlen(text);
    size_t suffix_length = strlen(suffix);

    return length >= suffix_length && strcmp(text + length - suffix_length, suffix) == 0;
}

static struct file *find_or_add(struct files *files, const char *path)
{
    for (size_t i = 0; i < files->count; i++)
        if (strcmp(files->files[i].path, path) == 0)
            return &files->files[i];
    struct file *file = &files->files[files->count++];
    file->path = kndl_strdup(path);
    file->type = type_of(path);
    file->is_immutable = strncmp(path, "/assets/", 8) == 0;
    return file;
}

static void set_etag(struct form *form)
{
    uint8_t hash[KNDL_HASH_BYTES];

    kndl_hash(form->body, hash);
    form->etag[0] = '"';
    for (int i = 0; i < 16; i++)
        snprintf(form->etag + 1 + 2 * i, 3, "%02x", hash[i]);
    strcat(form->etag, "\"");
}

static int add_file(void *data, const char *name, struct kndl_slice bytes, mode_t mode,
                    struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf path = {0};
    struct files *files = data;
    enum encoding encoding = has_suffix(name, ".br")   ? BROTLI
                             : has_suffix(name, ".gz") ? GZIP
                                                       : IDENTITY;

    (void)mode;
    (void)err;
    kndl_buf_printf(&path, "/%s", name);
    path.size -= strlen(encodings[encoding].suffix);
    path.data[path.size] = '\0';
    struct form *form = &find_or_add(files, kndl_buf_text(&path))->forms[encoding];
    form->body = bytes;
    set_etag(form);
    return 0;
}

static int compare(const void *a, const void *b)
{
    return strcmp(((const struct file *)a)->path, ((const struct file *)b)->path);
}

static const struct file *find(const struct files *files, const char *path)
{
    const struct file key = {.path = (char *)path};

    return bsearch(&key, files->files, files->count, sizeof key, compare);
}

int files_open(struct gateway *gateway, struct kndl_error *err)
{
    const struct folder_options options = {
        .setting = "HUB_WEB_DIR",
        .dir = gateway->settings.web_dir,
        .files_max = FILES_MAX,
        .bytes_max = FILES_BYTES_MAX,
    };

    gateway->files = kndl_new0(struct files);
    gateway->files->files = kndl_new_array(struct file, FILES_MAX);
    if (options.dir[0] == '\0')
        return 0;
    if (folder_read(&options, add_file, gateway->files, err) < 0)
        return -1;
    qsort(gateway->files->files, gateway->files->count, sizeof(struct file), compare);
    gateway->files->index = find(gateway->files, "/index.html");
    return 0;
}

void files_close(struct gateway *gateway)
{
    if (gateway->files == NULL)
        return;
    for (size_t i = 0; i < gateway->files->count; i++) {
        free(gateway->files->files[i].path);
        for (int e = 0; e < ENCODINGS; e++)
            free((void *)gateway->files->files[i].forms[e].body.data);
    }
    free(gateway->files->files);
    free(gateway->files);
}

/* Does Accept-Encoding take it? q=0 says no. */
static bool accepts(const char *header, const char *name)
{
    size_t length = strlen(name);

    while (header != NULL && *header != '\0') {
        header += strspn(header, ", \t");
        size_t size = strcspn(header, ",");
        if (strncasecmp(header, name, length) == 0 && strchr(", \t;", header[length]) != NULL) {
            const char *q = memmem(header, size, "q=", 2);

            return q == NULL || strtod(q + 2, NULL) > 0;
        }
        header += size;
    }
    return false;
}

const char *files_version(const struct gateway *gateway)
{
    return gateway->files->index == NULL ? "" : gateway->files->index->forms[IDENTITY].etag;
}

static const struct form *choose(const struct file *file, const char *accept, const char **ret_name)
{
    for (int e = BROTLI; e < ENCODINGS; e++) {
        if (file->forms[e].body.data != NULL && accepts(accept, encodings[e].name)) {
            *ret_name = encodings[e].name;
            return &file->forms[e];
        }
    }
    *ret_name = NULL;
    return &file->forms[IDENTITY];
}

void files_answer(struct gateway *gateway, struct kndl_web_request *request, const char *trace)
{
    const char *path = kndl_web_path(request);
    const struct file *file = find(gateway->files, path);
    const char *encoding;
    struct kndl_error err;

    /* A file that is gone is no page: an old page would take the new one for its script. Nor is
     * what scanners look for, such as /.git. */
    if (file == NULL && strncmp(path, "/assets/", 8) != 0 && strstr(path, "/.") == NULL)
        file = gateway->files->index;
    if (file == NULL || file->forms[IDENTITY].body.data == NULL) {
        kndl_fail(&err, KNDL_NOT_FOUND, "there is no such page");
        answer_error_as(gateway, request, 404, &err, trace);
        return;
    }
    const struct form *form = choose(file, kndl_web_header(request, "accept-encoding"), &encoding);
    const char *known = kndl_web_header(request, "if-none-match");
    struct answer answer = {
        .status = 200,
        .type = file->type,
        .body = form->body,
        .is_static = true,
        .cache = file->is_immutable ? ANSWER_IMMUTABLE : ANSWER_REVALIDATE,
        .etag = form->etag,
        .encoding = encoding,
    };
    if (known != NULL && strstr(known, form->etag) != NULL) {
        answer.status = 304;
        answer.body.size = 0;
        answer.encoding = NULL;
        answer.type = NULL;
    }
    answer_with(gateway, request, &answer);
}
