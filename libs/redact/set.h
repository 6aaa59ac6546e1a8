#pragma once

/* A value set from the inside. */

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "automaton.h"
#include "filter.h"
#include "kndl/redact.h"
#include "normalise.h"
#include "probe.h"
#include "short.h"
#include "sign.h"

struct kndl_redact_set {
    atomic_size_t references;
    size_t mapped; /* bytes of this whole thing */
    size_t count;  /* of values */
    struct automaton automaton;
    struct filters filters;
    probe_fn probe; /* of this processor */
    sift_fn sift;
    take_short_fn take_short;    /* NULL: as longer ones */
    normalise_fn normalise;      /* of this processor; NULL: byte by byte, for tests */
    atomic_uint_fast64_t hits[]; /* by value; behind them filters and nodes */
};

/* A form that ends in this state was found. */
static inline void set_hit(struct kndl_redact_set *set, struct state state)
{
    atomic_fetch_add_explicit(&set->hits[automaton_detail(&set->automaton, state.node)->value], 1,
                              memory_order_relaxed);
}
