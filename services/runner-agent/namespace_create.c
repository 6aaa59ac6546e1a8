/* Writes down what a Sandbox is. */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "box.h"
#include "image.h"
#include "kndl/buf.h"
#include "kndl/env.h"
#include "kndl/mem.h"
#include "verbs.h"

static int check_mounts(const char *const *args, struct kndl_error *err)
{
    const char *target;

    for (size_t i = 0; (target = verb_arg_at(args, "target", i)) != NULL; i++) {
        if (target[0] != '/' || strstr(target, "/..") != NULL)
            return kndl_fail(err, KNDL_INVALID_ARGUMENT, "\"%s\" is no place for a mount", target);
    }
    return 0;
}

static int check_numbers(const char *const *args, struct kndl_error *err)
{
    uint64_t value;

    if (verb_arg_u64(args, "cpu_percent", 100000, &value, err) < 0 ||
        verb_arg_u64(args, "memory_mib", 1024 * 1024, &value, err) < 0 ||
        verb_arg_u64(args, "pids", 1024 * 1024, &value, err) < 0 ||
        verb_arg_u64(args, "relay_port", UINT16_MAX, &value, err) < 0)
        return -1;
    return 0;
}

static int write_spec(const struct box *box, const char *const *args, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf spec = {0};

    for (size_t i = 0; args[i] != NULL; i++)
        kndl_buf_append(&spec, args[i], strlen(args[i]) + 1);
    return box_write(box, "spec", spec.data, spec.size, 0600, err);
}

static int make_folders(const struct box *box, struct kndl_error *err)
{
    static const struct {
        const char *name;
        mode_t mode;
    } folders[] = {
        {"layer", 0700},   {"layer/upper", 0755}, {"layer/work", 0755}, {"root", 0755},
        {"scratch", 0700}, {"binds", 0700},       {"files", 0700},
    };
    char path[BOX_PATH_SIZE];

    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        box_path(box, folders[i].name, path);
        if (mkdir(path, folders[i].mode) < 0 && errno != EEXIST)
            return kndl_fail(err, errno == ENOSPC ? KNDL_RESOURCE_EXHAUSTED : KNDL_INTERNAL,
                             "mkdir %s: %s", path, strerror(errno));
    }
    return 0;
}

int namespace_create_run(const char *const *args, struct kndl_error *err)
{
    KNDL_CLEANUP(box_done) struct box box = {.lock = -1};
    KNDL_CLEANUP(kndl_close) int pidfd = -1;
    const char *image = verb_arg(args, "image");

    if (check_mounts(args, err) < 0 || check_numbers(args, err) < 0 ||
        image_check(image[0] != '\0' ? image : kndl_env_get("RUNNER_DEFAULT_IMAGE"), err) < 0 ||
        box_open(&box, verb_arg(args, "name"), BOX_CREATE, err) < 0)
        return -1;
    if (box_read_pid(&box, "init.pid", &pidfd) > 0)
        return kndl_fail(err, KNDL_ABORTED, "Sandbox %s runs", box.name);
    if (make_folders(&box, err) < 0 || write_spec(&box, args, err) < 0)
        return -1;
    verb_done(-1, NULL);
    return 0;
}
