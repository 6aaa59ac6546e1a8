#pragma once

/* The setup token of the scene's person. */

#include "scene.h"

#define TOKEN_A "sk-ant-oat01-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define TOKEN_B "sk-ant-oat01-bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

/* A worker of another process, or the same after a restart: nothing but the rows is left. */
void restart(struct fixture *f);

bool set_token(struct fixture *f, const char *request_id, const char *token);
bool remove_token(struct fixture *f, const char *request_id);
/* Its version goes into f->version. */
bool token_exists(struct fixture *f);
/* As that Runner, into f->text. */
bool fetch_token(struct fixture *f, const char *by, int64_t run);
