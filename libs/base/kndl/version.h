#pragma once

/* The release, as --version, $SRV.INFO and the socket's Welcome say it. */
#define KNDL_VERSION "0.1.0"

/* What Hub and Runner speak with each other: raised when an older one would be misunderstood. */
#define KNDL_RUNNER_PROTOCOL 1

/* Below, equal to or above 0 as release `a` is older than, the same as or newer than `b`: number by
 * number ("0.10" is newer than "0.9", "1" the same as "1.0"); what follows the numbers is ignored.
 */
int kndl_version_compare(const char *a, const char *b);
