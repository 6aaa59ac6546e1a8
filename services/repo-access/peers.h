#pragma once

/* What repo-access says to others: that a Member was removed, and that something changed. */

#include "kndl/error.h"

struct departure;
struct kndl_bus;
struct kndl_call;
struct peers;

int peers_open(struct kndl_bus *bus, struct peers **ret_peers, struct kndl_error *err);
void peers_close(struct peers *peers);

/* 0: the service has heard of it. Fails into call->err with the answer's code. */
int peers_tell_departure(struct peers *peers, struct kndl_call *call,
                         const struct departure *departure);

/* A fact (kndl.repo_access.v1.Changed), which may be lost: who keeps answers of ours asks again. */
enum peers_fact { FACT_PEOPLE, FACT_ACCESS };
void peers_publish(struct peers *peers, enum peers_fact fact, const char *person_id);
