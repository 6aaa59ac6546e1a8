/* A value set: made whole of all its values' forms, in one piece of secret memory. */

#include "set.h"

#include "kndl/mem.h"
#include "secret.h"

static int check_values(const struct kndl_redact_value *values, size_t count,
                        struct kndl_error *err)
{
    size_t bytes = 0;

    if (count > KNDL_REDACT_VALUES_MAX)
        return kndl_fail(err, KNDL_RESOURCE_EXHAUSTED,
                         "there are %zu values to mask; the most is %d", count,
                         KNDL_REDACT_VALUES_MAX);
    for (size_t i = 0; i < count; i++) {
        if (kndl_redact_check(values[i].name, values[i].value, NULL, err) < 0)
            return -1;
        bytes += values[i].value.size;
    }
    if (bytes > KNDL_REDACT_SET_BYTES_MAX)
        return kndl_fail(err, KNDL_RESOURCE_EXHAUSTED,
                         "the values to mask have %zu bytes together; the most is %d", bytes,
                         KNDL_REDACT_SET_BYTES_MAX);
    return 0;
}

int kndl_redact_set_new(const struct kndl_redact_value *values, size_t count,
                        struct kndl_redact_set **ret_set, struct kndl_error *err)
{
    KNDL_CLEANUP(forms_done) struct forms forms = {0};
    struct kndl_redact_set *set;

    if (check_values(values, count, err) < 0)
        return -1;
    forms_make(&forms, values, count);

    struct building *building = automaton_build(&forms);
    size_t head = (sizeof *set + count * sizeof set->hits[0] + 63) / 64 * 64;
    size_t filters = filters_bytes(&forms);
    size_t mapped = head + filters + automaton_bytes(building);
    set = secret_map(mapped);
    set->references = 1;
    set->mapped = mapped;
    set->count = count;
    set->probe = probe_best();
    set->sift = sift_best();
    set->normalise = normalise_best();
    set->take_short = take_short_avx512();
    automaton_settle(building, &set->automaton, (char *)set + head + filters);
    filters_make(&set->filters, &forms, set->automaton.pairs, (char *)set + head);
    *ret_set = set;
    return 0;
}

struct kndl_redact_set *kndl_redact_set_ref(struct kndl_redact_set *set)
{
    atomic_fetch_add_explicit(&set->references, 1, memory_order_relaxed);
    return set;
}

void kndl_redact_set_unref(struct kndl_redact_set *set)
{
    if (set != NULL && atomic_fetch_sub_explicit(&set->references, 1, memory_order_acq_rel) == 1)
        secret_unmap(set, set->mapped);
}

uint64_t kndl_redact_set_hits(const struct kndl_redact_set *set, size_t index)
{
    return index < set->count ? atomic_load_explicit(&set->hits[index], memory_order_relaxed) : 0;
}

size_t kndl_redact_set_count(const struct kndl_redact_set *set)
{
    return set->count;
}

size_t kndl_redact_set_bytes(const struct kndl_redact_set *set)
{
    return set->mapped;
}
