#pragma once

/* What the ways to sign in share: a request on its way, its body, its cookies. */

#include "answer.h"
#include "ask.h"
#include "auth.h"
#include "kndl/buf.h"
#include "kndl/json.h"
#include "kndl/repo_access/v1/repo_access_service.pb-c.h"
#include "kndl/secret.h"
#include "people.h"
#include "request_data.h"

enum {
    AUTH_ASK_MS = 10000,
    AUTH_SLOW_ASK_MS = 25000, /* GitHub is asked, twice */
    AUTH_MACHINE_BYTES_MAX = 100,
    /* The most that a sign-in can last; that it ends after 30 days without use is the row's. */
    AUTH_COOKIE_SECONDS = 90 * 24 * 3600,
    AUTH_SIGN_IN_SECONDS = 10 * 60, /* at GitHub */
};

struct auth {
    struct request_data base;
    struct gateway *gateway;
    struct kndl_web_request *request;
    char trace[KNDL_ID_SIZE];
    struct ask *ask;
    bool is_cli;
    struct principal principal;   /* who signs out */
    struct kndl_secret admission; /* what a browser brings besides its GitHub account */
};

/* Each route: takes over the auth, and answers and ends it. */
void auth_dev_login(struct auth *auth);       /* auth_dev.c */
void auth_github_begin(struct auth *auth);    /* auth_github.c */
void auth_github_return(struct auth *auth);   /* auth_github.c */
void auth_device_begin(struct auth *auth);    /* auth_device.c */
void auth_device_poll(struct auth *auth);     /* auth_device.c */
bool auth_may_dev_login(const struct auth *); /* auth_dev.c */

/* After the answer. */
void auth_end(struct auth *auth);

/* Answers with the error, and ends it. */
void auth_fail(struct auth *auth, const struct kndl_error *err);

/* 200 with a JSON body, and up to two cookies (NULL: none); ends it. */
void auth_answer(struct auth *auth, struct kndl_slice body, const char *cookie, const char *other);

/* Asks repo-access as the gateway itself. */
void auth_ask(struct auth *auth, const char *method, const ProtobufCMessage *request,
              uint32_t timeout_ms, ask_fn fn);

/* Unpacks its answer into the gateway's arena; NULL: it failed, and *err says how. */
const void *auth_unpack(struct auth *auth, const struct kndl_reply *reply,
                        const ProtobufCMessageDescriptor *type, struct kndl_error *err);

/*
 * The body: a JSON object with no other fields than `known`, which ends with NULL. The caller frees
 * it. Refused unless its Content-Type says so.
 */
int auth_read_body(struct auth *auth, const char *const *known, struct kndl_json **ret_json,
                   struct kndl_error *err);
void auth_free_json(struct kndl_json **json);

/* A text in it. */
int auth_read_text(const struct kndl_value *root, const char *name, size_t most, bool is_needed,
                   const char **ret_text, struct kndl_error *err);

/* Appends a Set-Cookie. An empty value with 0 seconds takes it away. */
void auth_write_cookie(const struct settings *settings, const char *name, const char *value,
                       int seconds, struct kndl_buf *out);

/* "person":{…} */
void auth_write_person(const Kndl__RepoAccess__V1__Person *person, struct kndl_buf *out);

/* What a browser is, in a few words: "Firefox on Linux". */
void auth_browser_name(const struct kndl_web_request *request,
                       char ret_name[AUTH_MACHINE_BYTES_MAX + 1]);

void auth_log_signed_in(const struct auth *auth, const char *person, const char *by);
