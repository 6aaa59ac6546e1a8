#pragma once

/* The verbs of `runner-agent <verb>`: one table, ends with a NULL name. */

#include "verb.h"

extern const struct verb verbs[];

int clone_run(const char *const *args, struct kndl_error *err);
int clone_clear_run(const char *const *args, struct kndl_error *err);
int download_run(const char *const *args, struct kndl_error *err);
int guest_read_run(const char *const *args, struct kndl_error *err);
int guest_write_run(const char *const *args, struct kndl_error *err);
int guest_list_run(const char *const *args, struct kndl_error *err);
int tree_remove_run(const char *const *args, struct kndl_error *err);
int hold_run(const char *const *args, struct kndl_error *err);
int namespace_probe_run(const char *const *args, struct kndl_error *err);
int namespace_create_run(const char *const *args, struct kndl_error *err);
int namespace_start_run(const char *const *args, struct kndl_error *err);
int namespace_stop_run(const char *const *args, struct kndl_error *err);
int namespace_remove_run(const char *const *args, struct kndl_error *err);
int namespace_list_run(const char *const *args, struct kndl_error *err);
int namespace_dial_run(const char *const *args, struct kndl_error *err);
int namespace_listeners_run(const char *const *args, struct kndl_error *err);
int namespace_stats_run(const char *const *args, struct kndl_error *err);
