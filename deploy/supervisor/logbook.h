#pragma once

/*
 * What one program writes, by a pipe, in a file of a bounded size: NAME.log, and NAME.log.1 with
 * what came before. The pipe outlives the program, so that the next process of it, and whatever the
 * first one left behind, go on writing into it. Lines are never lost nor cut at a change of files.
 *
 * A program whose log nobody takes for a while waits in its write(). Belongs to one thread.
 */

#include "kndl/error.h"

enum { LOGBOOK_FILE_BYTES_MAX = 16 * 1024 * 1024 }; /* then a new one is begun */

struct logbook;

/* Fails with KNDL_INTERNAL, naming the file. */
int logbook_open(const char *folder, const char *name, struct logbook **ret_book,
                 struct kndl_error *err);
/* Takes what is there yet. NULL is allowed. */
void logbook_close(struct logbook *book);

/* Where the program writes, and what becomes readable when it did. Both stay the logbook's. */
int logbook_writer(const struct logbook *book);
int logbook_reader(const struct logbook *book);

/* Writes down what came, a bounded part of it; never blocks on the pipe. What the disk does not
 * take is lost, for the program must go on. */
void logbook_take(struct logbook *book);
