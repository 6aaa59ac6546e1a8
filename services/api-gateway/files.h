#pragma once

/*
 * The page's files: read once at the start, kept in memory, answered with what the browser can
 * unpack (.br and .gz siblings). A path that is no file is a route of the page's own: index.html.
 */

#include "gateway.h"

/* Fails with KNDL_INVALID_ARGUMENT if the folder cannot be read or has more than 64 MiB. */
int files_open(struct gateway *gateway, struct kndl_error *err);
void files_close(struct gateway *gateway);

/* Names the page that is served: another one than a tab's means that it is old. "" without one. */
const char *files_version(const struct gateway *gateway);

/* The request is a GET or HEAD. */
void files_answer(struct gateway *gateway, struct kndl_web_request *request, const char *trace);
