#pragma once

/* What the environment says, read and checked once. */

#include <stdbool.h>

#include "kndl/env.h"
#include "kndl/error.h"

extern const struct kndl_env settings_env[];

struct settings {
    char address[64]; /* to listen on */
    int port;
    char origin[256]; /* of HUB_PUBLIC_URL: scheme://host[:port], as browsers write it */
    char host[256];   /* host[:port] */
    bool is_https;
    char cookie[32];         /* the names of the cookies: of who is signed in, */
    char sign_in_cookie[32]; /* and of who is at GitHub to do so */
    bool dev_login;
    char proxy[64];         /* the address whose X-Forwarded-For is believed; "": none */
    const char *web_dir;    /* "": no page */
    const char *runner_dir; /* "": no Runner's release */
};

/* The environment's texts, "" where not set; the folders are kept by pointer. */
struct settings_texts {
    const char *listen;
    const char *public_url;
    const char *dev_login;
    const char *web_dir;
    const char *runner_dir;
    const char *proxy;
};

/*
 * Fails with KNDL_INVALID_ARGUMENT, naming the variable; with KNDL_FAILED_PRECONDITION if dev login
 * is on where it must not be.
 */
int settings_parse(const struct settings_texts *texts, struct settings *ret,
                   struct kndl_error *err);

/* The same from the environment. */
int settings_read(struct settings *ret, struct kndl_error *err);

/*
 * Names the cookies, by is_https and host. Browsers keep a host's cookies whatever its port: on
 * loopback the port is in the name, so that Hubs beside each other sign nobody out.
 */
void settings_name_cookies(struct settings *settings);

/* Is this a loopback address, or a Host (with or without a port) that names one? */
bool settings_is_loopback_address(const char *address);
bool settings_is_loopback_host(const char *host);
