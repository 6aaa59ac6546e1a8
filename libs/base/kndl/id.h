#pragma once

/*
 * Ids: 128 random bits, written as 26 lower-case base32 characters (RFC 4648 alphabet, no
 * padding). Never a dot, a star or a blank, so that an id is always one token of a subject.
 */

#include <stdbool.h>

enum { KNDL_ID_CHARS = 26, KNDL_ID_SIZE = KNDL_ID_CHARS + 1, KNDL_UUID_SIZE = 37 };

/* A new id from the kernel's generator (getrandom). */
void kndl_id_new(char ret_id[KNDL_ID_SIZE]);

/* Is this text exactly an id? */
bool kndl_id_is_valid(const char *text);

/* The same 128 bits as a UUID, which is a Session's first Claude id. The id must be valid. */
void kndl_id_to_uuid(const char *id, char ret_uuid[KNDL_UUID_SIZE]);
