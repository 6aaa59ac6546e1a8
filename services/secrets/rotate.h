#pragma once

/*
 * `secrets --rotate`: after a new key became the first of HUB_SECRETS_KEY_FILE and secrets was
 * started again with both, seals every value anew under it. May be killed and run again.
 */

struct kndl_env;

/* Prints how many values were sealed anew. 0: all are under the current key; 1: it failed, some
 * cannot be read (the log names them), or are left because others held them all the time. */
int rotate(const struct kndl_env *env);
