#pragma once

/* What repo-access says to others: that a Member was removed, and that something changed. */

struct departure;
struct kndl_bus;
struct kndl_call;

/* 0: the service has heard of it. Fails into call->err with the answer's code. */
int peers_tell_departure(struct kndl_bus *bus, struct kndl_call *call,
                         const struct departure *departure);

/* A fact (kndl.repo_access.v1.Changed), which may be lost: who keeps answers of ours asks again. */
enum peers_fact { FACT_PEOPLE, FACT_ACCESS };
void peers_publish(struct kndl_bus *bus, enum peers_fact fact, const char *person_id);
