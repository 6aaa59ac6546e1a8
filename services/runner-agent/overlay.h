#pragma once

/*
 * Mounts of a Sandbox, made in the host's mount namespace: an overlay whose layers are idmapped,
 * so that every layer on disk holds plain uids from 0 and each Sandbox sees them through its own
 * range, and bound folders and files alike. Kernel 5.19 or later. In verb children only.
 */

#include <stdbool.h>
#include <stdint.h>

#include "kndl/error.h"

enum { SANDBOX_UIDS = 65536 };

/* A user namespace that maps uids and gids 0… to `base`…, `count` of them; the caller's fd. */
int overlay_userns(uint32_t base, uint32_t count, int *ret_fd, struct kndl_error *err);

/* A detached clone of what is at `path`, the fd the caller's. userns < 0: uids as they are.
 * Read-only is set here, so that a guest's root cannot take it back. */
int overlay_clone(const char *path, int userns, bool read_only, int *ret_fd,
                  struct kndl_error *err);
int overlay_attach(int tree, const char *at, struct kndl_error *err);

/*
 * layer/upper and layer/work over `lowers` ("top:…:base"), at `target`. `scratch` is an empty
 * folder that is used meanwhile.
 */
int overlay_mount(uint32_t base, int userns, const char *layer, const char *scratch,
                  const char *lowers, const char *target, struct kndl_error *err);

/* Unmounts whatever is mounted there, however often; nothing there is fine. */
void overlay_unmount(const char *at);
