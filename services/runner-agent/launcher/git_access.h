#pragma once

/*
 * git and gh inside a Sandbox: the token of the Session's Repo, in the tmpfs alone, for whoever
 * asks as root in there (ADR of the spec: that is the design). Each returns an exit status.
 */

/* stdin: the Repo's host as an origin, a line break, the token. Called again for each new one. */
int git_take_token(void);

/* git's credential helper: `verb` is get, store or erase. */
int git_give_credential(const char *verb);
