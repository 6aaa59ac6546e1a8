#pragma once

/*
 * Signing this machine in by a code: the Hub makes one, somebody who is signed in says yes to it in
 * their browser, and the token is fetched, once. What is secret never leaves memory.
 */

#include "verb.h"

struct kndl_buf;

/* Shows the code and waits, ten minutes at most. `answer` gets the Hub's JSON with the token. */
int machine_sign_in(struct cli *cli, struct kndl_buf *answer, struct kndl_error *err);

/* What this machine calls itself. */
void machine_name(char ret_name[65]);
