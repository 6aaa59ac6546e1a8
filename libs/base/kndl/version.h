#pragma once

/* The release, as --version, $SRV.INFO and the socket's Welcome say it. */
#define KNDL_VERSION "0.1.0"
