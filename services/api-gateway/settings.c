/* Reads HUB_LISTEN and HUB_PUBLIC_URL, and holds dev login to loopback. */

#include "settings.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct kndl_env settings_env[] = {
    {"HUB_LISTEN", "127.0.0.1:8080", "address:port to listen on; TLS is the proxy's in front"},
    {"HUB_PUBLIC_URL", NULL, "where people reach the Hub, such as https://kndl.example.com"},
    {"HUB_DEV_LOGIN", "", "1: sign in by login alone, on a loopback Hub only"},
    {"HUB_PROXY", "", "address of the proxy in front, whose X-Forwarded-For says who asks"},
    {"HUB_WEB_DIR", "", "the built page, kept in memory"},
    {"HUB_RUNNER_DIR", "",
     "runner-agent, run-claude and mod/ of this release, which Runners update themselves to"},
    {NULL, NULL, NULL},
};

bool settings_is_loopback_address(const char *address)
{
    struct in_addr four;

    if (inet_pton(AF_INET, address, &four) == 1)
        return ntohl(four.s_addr) >> 24 == 127;
    return strcmp(address, "::1") == 0 || strncmp(address, "::ffff:127.", 11) == 0;
}

bool settings_is_loopback_host(const char *host)
{
    static const char *const names[] = {"localhost", "127.0.0.1", "[::1]"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t length = strlen(names[i]);

        if (strncmp(host, names[i], length) == 0 && (host[length] == '\0' || host[length] == ':'))
            return true;
    }
    return false;
}

static bool is_address(const char *text)
{
    struct in6_addr any;

    return inet_pton(AF_INET, text, &any) == 1 || inet_pton(AF_INET6, text, &any) == 1;
}

static int parse_listen(const char *text, struct settings *ret, struct kndl_error *err)
{
    const char *colon = strrchr(text, ':');
    char *end = NULL;
    long port = colon == NULL ? -1 : strtol(colon + 1, &end, 10);
    size_t length = colon == NULL ? 0 : (size_t)(colon - text);

    if (length == 0 || length >= sizeof ret->address || port < 0 || port > 65535 || *end != '\0' ||
        end == colon + 1)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "HUB_LISTEN is %s; it is address:port", text);
    memcpy(ret->address, text, length);
    ret->address[length] = '\0';
    ret->port = (int)port;
    return 0;
}

/* An origin is compared byte by byte with what browsers send: no path, no default port. */
static int parse_public_url(const char *url, struct settings *ret, struct kndl_error *err)
{
    const char *default_port;
    const char *host;

    if (strncmp(url, "https://", 8) == 0) {
        ret->is_https = true;
        host = url + 8;
        default_port = ":443";
    } else if (strncmp(url, "http://", 7) == 0) {
        ret->is_https = false;
        host = url + 7;
        default_port = ":80";
    } else {
        return kndl_fail(err, KNDL_INVALID_ARGUMENT,
                         "HUB_PUBLIC_URL is %s; it begins with https://, or http:// on loopback",
                         url);
    }
    size_t length = strcspn(host, "/?#");
    if (length == 0 || length >= sizeof ret->host - 16 ||
        strspn(host + length, "/") != strlen(host + length) || memchr(host, '@', length) != NULL)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "HUB_PUBLIC_URL is %s; it has no path", url);
    for (size_t i = 0; i < length; i++)
        ret->host[i] = host[i] >= 'A' && host[i] <= 'Z' ? (char)(host[i] - 'A' + 'a') : host[i];
    size_t port_length = strlen(default_port);
    if (length > port_length &&
        memcmp(ret->host + length - port_length, default_port, port_length) == 0)
        length -= port_length;
    ret->host[length] = '\0';
    snprintf(ret->origin, sizeof ret->origin, "%s://%.240s", ret->is_https ? "https" : "http",
             ret->host);
    if (!ret->is_https && !settings_is_loopback_host(ret->host))
        return kndl_fail(err, KNDL_INVALID_ARGUMENT,
                         "HUB_PUBLIC_URL is %s; without https it is a loopback address", url);
    return 0;
}

void settings_name_cookies(struct settings *settings)
{
    const char *colon = strrchr(settings->host, ':');
    size_t digits = colon == NULL ? 0 : strspn(colon + 1, "0123456789");
    const char *port = digits >= 1 && digits <= 5 && colon[1 + digits] == '\0' ? colon + 1 : "80";

    if (settings->is_https) {
        strcpy(settings->cookie, "__Host-kndl");
        strcpy(settings->sign_in_cookie, "__Host-kndl-signin");
        return;
    }
    snprintf(settings->cookie, sizeof settings->cookie, "kndl_dev_%s", port);
    snprintf(settings->sign_in_cookie, sizeof settings->sign_in_cookie, "kndl_dev_%s_signin", port);
}

int settings_parse(const struct settings_texts *texts, struct settings *ret, struct kndl_error *err)
{
    *ret = (struct settings){0};
    if (parse_listen(texts->listen, ret, err) < 0 ||
        parse_public_url(texts->public_url, ret, err) < 0)
        return -1;
    if (texts->proxy[0] != '\0' && !is_address(texts->proxy))
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "HUB_PROXY is %s; it is an address",
                         texts->proxy);
    snprintf(ret->proxy, sizeof ret->proxy, "%s", texts->proxy);
    settings_name_cookies(ret);
    ret->web_dir = texts->web_dir;
    ret->runner_dir = texts->runner_dir;
    ret->dev_login = texts->dev_login[0] != '\0' && strcmp(texts->dev_login, "0") != 0;
    if (ret->dev_login && (ret->is_https || !settings_is_loopback_host(ret->host) ||
                           !settings_is_loopback_address(ret->address)))
        return kndl_fail(err, KNDL_FAILED_PRECONDITION,
                         "HUB_DEV_LOGIN is set, but the Hub is not on loopback alone (HUB_LISTEN, "
                         "HUB_PUBLIC_URL): anybody could sign in as anybody");
    return 0;
}

int settings_read(struct settings *ret, struct kndl_error *err)
{
    const struct settings_texts texts = {
        .listen = kndl_env_get("HUB_LISTEN"),
        .public_url = kndl_env_get("HUB_PUBLIC_URL"),
        .dev_login = kndl_env_get("HUB_DEV_LOGIN"),
        .web_dir = kndl_env_get("HUB_WEB_DIR"),
        .runner_dir = kndl_env_get("HUB_RUNNER_DIR"),
        .proxy = kndl_env_get("HUB_PROXY"),
    };

    return settings_parse(&texts, ret, err);
}
