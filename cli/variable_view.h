#pragma once

/* Variables, as people or programs read them. */

#include "kndl/repo_access/v1/repo_access_service.pb-c.h"
#include "kndl/secrets/v1/secrets_service.pb-c.h"
#include "screen.h"

/* One line of it; with `json` protobuf's JSON. */
void variable_view(const struct screen *screen, const Kndl__Secrets__V1__Variable *variable,
                   bool json);

/* Under a Shared one: which Repos have it, by the names in `repos`. */
void variable_view_links(const struct screen *screen, const Kndl__Secrets__V1__Variable *variable,
                         const Kndl__RepoAccess__V1__ListReposResponse *repos);

/* How often the git tokens of a Repo's Sandboxes were masked; in JSON as the list's field. */
void variable_view_git_tokens(const struct screen *screen, Kndl__Secrets__V1__Masked *masked,
                              bool json);

/* On standard error: what is weak about values that were taken. */
void variable_view_warnings(Kndl__Secrets__V1__VariableWarning *const *warnings, size_t count);
