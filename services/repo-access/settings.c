/* The environment of repo-access, and what is refused in it. */

#include "settings.h"

#include <stdbool.h>
#include <string.h>

#include "access.h"

const struct kndl_env settings[] = {
    {"HUB_DATABASE_URL", NULL, "PostgreSQL, as the role that owns schema repo_access"},
    {"HUB_PUBLIC_URL", NULL, "where people reach the Hub"},
    {"HUB_DEV_LOGIN", "", "1: sign in by login alone, on a Hub that only loopback reaches"},
    {"HUB_GITHUB_URL", "https://github.com", "GitHub, as git clones from it"},
    {"HUB_GITHUB_API_URL", "https://api.github.com", "GitHub's API, without a slash at its end"},
    {"GITHUB_APP_ID", "", "the GitHub App; without it nobody has access to any Repo"},
    {"GITHUB_APP_KEY_FILE", "", "its private key, PEM, readable by its owner alone"},
    {"GITHUB_CLIENT_ID", "", "the client that people sign in with; without it nobody can"},
    {"GITHUB_CLIENT_SECRET_FILE", "", "its secret, readable by its owner alone"},
    {"HUB_SETUP_LINK_FILE", "", "where the Setup link is written (0600); else to standard output"},
    {"HUB_REPO_ACCESS_TTL_MS", "300000", "how long what GitHub said of access is believed"},
    {NULL, NULL, NULL},
};

static bool is_loopback(const char *url)
{
    static const char *const hosts[] = {"http://127.0.0.1", "http://localhost", "http://[::1]"};

    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
        size_t size = strlen(hosts[i]);
        if (strncmp(url, hosts[i], size) == 0 && strchr(":/", url[size]) != NULL)
            return true;
    }
    return false;
}

int settings_check(struct kndl_error *err)
{
    const char *dev_login = kndl_env_get("HUB_DEV_LOGIN");
    int64_t ttl_ms;

    if (dev_login[0] != '\0' && strcmp(dev_login, "1") != 0 && strcmp(dev_login, "0") != 0)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "HUB_DEV_LOGIN is neither 0 nor 1");
    if (strcmp(dev_login, "1") == 0 && !is_loopback(kndl_env_get("HUB_PUBLIC_URL")))
        return kndl_fail(err, KNDL_INVALID_ARGUMENT,
                         "HUB_DEV_LOGIN is on but HUB_PUBLIC_URL is not on loopback over http");
    if (kndl_env_get("GITHUB_APP_ID")[0] != '\0' && kndl_env_get("GITHUB_APP_KEY_FILE")[0] == '\0')
        return kndl_fail(err, KNDL_INVALID_ARGUMENT,
                         "GITHUB_APP_ID is set but GITHUB_APP_KEY_FILE is not");
    if ((kndl_env_get("GITHUB_CLIENT_ID")[0] != '\0') !=
        (kndl_env_get("GITHUB_CLIENT_SECRET_FILE")[0] != '\0'))
        return kndl_fail(err, KNDL_INVALID_ARGUMENT,
                         "GITHUB_CLIENT_ID and GITHUB_CLIENT_SECRET_FILE go together");
    return kndl_env_get_i64("HUB_REPO_ACCESS_TTL_MS", ACCESS_TTL_MS_LEAST, ACCESS_TTL_MS_MOST,
                            &ttl_ms, err);
}
