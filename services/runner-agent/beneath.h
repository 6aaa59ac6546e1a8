#pragma once

/* Opening what lies beneath a folder descriptor, whatever its path says: symbolic links are
 * resolved as if the folder were the root, magic links and other mounts are refused (ELOOP,
 * EXDEV). As openat(2) otherwise; always O_CLOEXEC. */

#include <sys/types.h>

int beneath_open(int folder, const char *path, int flags, mode_t mode);

/* The same without following any link at all. */
int beneath_open_plain(int folder, const char *path, int flags, mode_t mode);
