#pragma once

/* A root filesystem: folders of the host that lie over each other, "top:…:base". What is in them
 * may come from anybody. In verb children only. */

#include "kndl/buf.h"
#include "kndl/error.h"

/* NOT_FOUND, reason no_image, where one of its folders is missing. */
int image_check(const char *lowers, struct kndl_error *err);

/* Appends the file as the topmost folder that has it says; nothing where none has. At most 64
 * KiB, regular files only. */
void image_read(const char *lowers, const char *path, struct kndl_buf *out);
