#pragma once

/* The libuv loop inside a kndl_loop, for the files of this folder. */

#include <uv.h>

#include "kndl/loop.h"

uv_loop_t *loop_uv(struct kndl_loop *loop);
