#pragma once

/*
 * What sessions asks of other services. Ask before a transaction, never inside one.
 *
 * Requests carry the call's actor, deadline and trace; a task's get five seconds. All fail into
 * call->err: with KNDL_UNAVAILABLE if the other service does not answer, with
 * KNDL_RESOURCE_EXHAUSTED at once if half of the workers wait for it already, else with its own
 * code. Results live in the call's arena.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kndl_bus;
struct kndl_call;
struct kndl_error;

/* repo-access: what these Repos are like at GitHub; any number of them. Those that it never saw are
 * left out. */
struct repo_state;
int peers_get_repos(struct kndl_bus *bus, struct kndl_call *call, const int64_t *repo_ids,
                    size_t count, struct repo_state **ret_repos, size_t *ret_count);

/* repo-access: who the person of this call is; `email` is GitHub's noreply one. */
struct person {
    const char *login;
    const char *name;
    const char *email;
    bool is_owner;
};
int peers_get_person(struct kndl_bus *bus, struct kndl_call *call, struct person *ret_person);

/* repo-access: a git token for one Repo. */
struct git_token {
    const char *token; /* secret */
    int64_t expires_at_ms;
    const char *clone_url;
};
int peers_mint_git_token(struct kndl_bus *bus, struct kndl_call *call, int64_t repo_id, bool write,
                         struct git_token *ret_token);

/* secrets: has this person a setup token? */
int peers_check_setup_token(struct kndl_bus *bus, struct kndl_call *call, const char *person_id,
                            bool *ret_exists);

/* secrets: which Runner runs what, for whom, in which PutAssignmentRequest.Phase. */
struct assignment {
    const char *session_id;
    int64_t run;
    const char *runner_id;
    const char *creator_id;
    int64_t repo_id;
    int phase;
};
int peers_put_assignment(struct kndl_bus *bus, struct kndl_call *call,
                         const struct assignment *assignment);

/* secrets: masks a value in a Session from here on. */
int peers_put_mask(struct kndl_bus *bus, struct kndl_call *call, const char *session_id,
                   const char *name, const char *value, int64_t *ret_version);

/* redactor: these texts masked, one for one. */
struct masking {
    const char *session_id; /* or, before there is one, the two below */
    const char *creator_id;
    int64_t repo_id;
    bool are_screens; /* of a terminal */
};
int peers_mask(struct kndl_bus *bus, struct kndl_call *call, const struct masking *masking,
               const char *const *texts, size_t count, const char **ret_texts);

/* Does redactor answer anything at all? Leaves call->err as it was. */
bool peers_redactor_answers(struct kndl_bus *bus, struct kndl_call *call);
