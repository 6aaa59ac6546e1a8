/* kndl-init: reads the command line and has everything minted. README.md says what. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "kndl/secret.h"
#include "mint.h"

static const char usage[] =
    "kndl-init DIR [--listen HOST:PORT] [--owner USER=UID]... [--runner-creds ID]...\n"
    "Makes NATS's operator, accounts and users for kndl in DIR. May be repeated.\n";

static int add_owner(struct plan *plan, char *text, struct kndl_error *err)
{
    char *uid = strchr(text, '=');
    char *end = NULL;

    if (uid == NULL || plan->owner_count == OWNERS_MAX)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "--owner takes USER=UID, at most %d times",
                         OWNERS_MAX);
    *uid++ = '\0';
    errno = 0;
    unsigned long number = strtoul(uid, &end, 10);
    if (errno != 0 || end == uid || *end != '\0' || number >= UINT32_MAX)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "%s is not a uid", uid);
    plan->owners[plan->owner_count++] = (struct owner){text, (uid_t)number};
    return 0;
}

static int add_runner(struct plan *plan, const char *id, struct kndl_error *err)
{
    size_t size = strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789-_");

    if (size == 0 || size > 64 || id[size] != '\0' || plan->runner_count == RUNNERS_MAX)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT,
                         "--runner-creds takes an id of lower-case letters and digits, at most %d "
                         "times",
                         RUNNERS_MAX);
    plan->runners[plan->runner_count++] = id;
    return 0;
}

static int set_dir(struct plan *plan, const char *path, struct kndl_error *err)
{
    char *absolute;

    if (mkdir(path, 0755) < 0 && errno != EEXIST)
        return kndl_fail(err, KNDL_FAILED_PRECONDITION, "%s: %s", path, strerror(errno));
    absolute = realpath(path, NULL);
    if (absolute == NULL || strlen(absolute) >= sizeof plan->dir ||
        strpbrk(absolute, "\"\\\n") != NULL) {
        free(absolute);
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "%s cannot be used", path);
    }
    memcpy(plan->dir, absolute, strlen(absolute) + 1);
    free(absolute);
    return 0;
}

static int read_arguments(struct plan *plan, int argc, char **argv, struct kndl_error *err)
{
    for (int i = 2; i < argc; i += 2) {
        const char *option = argv[i];

        if (i + 1 == argc)
            return kndl_fail(err, KNDL_INVALID_ARGUMENT, "%s lacks its value", option);
        if (strcmp(option, "--listen") == 0)
            plan->listen = argv[i + 1];
        else if (strcmp(option, "--owner") != 0 && strcmp(option, "--runner-creds") != 0)
            return kndl_fail(err, KNDL_INVALID_ARGUMENT, "%s is no option", option);
        if (strcmp(option, "--owner") == 0 && add_owner(plan, argv[i + 1], err) < 0)
            return -1;
        if (strcmp(option, "--runner-creds") == 0 && add_runner(plan, argv[i + 1], err) < 0)
            return -1;
    }
    if (strpbrk(plan->listen, "\"\\\n") != NULL)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "--listen takes HOST:PORT");
    return set_dir(plan, argv[1], err);
}

int main(int argc, char **argv)
{
    static struct plan plan = {.listen = "127.0.0.1:4222"};
    struct kndl_error err = {0};

    if (argc < 2 || argv[1][0] == '-') {
        fputs(usage, argc < 2 ? stderr : stdout);
        return argc < 2 ? 2 : 0;
    }
    umask(022);
    if (kndl_crypt_init(&err) < 0 || read_arguments(&plan, argc, argv, &err) < 0 ||
        mint_all(&plan, &err) < 0) {
        fprintf(stderr, "kndl-init: %s\n", err.message);
        return 1;
    }
    return 0;
}
