#pragma once

/*
 * A PostgreSQL that a test of libs/db may kill. (Others use kndl_test_database of libs/testing.)
 * One per process; the folder and the server go when the process ends.
 */

/* Starts it where it does not run; returns a URL, valid until the process ends. */
const char *cluster_start(void);

/* kill -9, and waits until it is gone. */
void cluster_kill(void);
