/* From what the store keeps to what people see. */

#include "handlers.h"

Kndl__Secrets__V1__Variable *present_variable(const struct variable *variable,
                                              struct kndl_arena *arena)
{
    Kndl__Secrets__V1__Variable *out = kndl_arena_alloc(arena, sizeof *out);

    *out = (Kndl__Secrets__V1__Variable)KNDL__SECRETS__V1__VARIABLE__INIT;
    out->name = (char *)variable->name;
    out->sensitive = variable->is_sensitive;
    out->at_build = variable->at_build;
    /* Whatever the caller has in its hands: a Sensitive value never leaves this way. */
    out->value = (char *)(variable->is_sensitive ? "" : variable->value);
    out->changed_at_ms = variable->changed_at_ms;
    out->changed_by = (char *)variable->changed_by;
    out->version = variable->version;
    out->unreadable = variable->is_unreadable;
    out->shared_id = (char *)(variable->repo_id == 0 ? variable->id : "");
    if (variable->is_sensitive)
        out->masked = present_masked(&variable->masked, arena);
    return out;
}

Kndl__Secrets__V1__Masked *present_masked(const struct masked *masked, struct kndl_arena *arena)
{
    Kndl__Secrets__V1__Masked *out = kndl_arena_alloc(arena, sizeof *out);

    *out = (Kndl__Secrets__V1__Masked)KNDL__SECRETS__V1__MASKED__INIT;
    out->count = masked->count;
    out->last_at_ms = masked->last_at_ms;
    return out;
}

Kndl__Secrets__V1__VariableWarning *present_warning(const char *name, const char *text,
                                                    struct kndl_arena *arena)
{
    Kndl__Secrets__V1__VariableWarning *out = kndl_arena_alloc(arena, sizeof *out);

    *out = (Kndl__Secrets__V1__VariableWarning)KNDL__SECRETS__V1__VARIABLE_WARNING__INIT;
    out->name = (char *)name;
    out->text = (char *)text;
    return out;
}

Kndl__Secrets__V1__VariableChange *present_change(const struct variable_change *change,
                                                  struct kndl_arena *arena)
{
    Kndl__Secrets__V1__VariableChange *out = kndl_arena_alloc(arena, sizeof *out);

    *out = (Kndl__Secrets__V1__VariableChange)KNDL__SECRETS__V1__VARIABLE_CHANGE__INIT;
    out->name = (char *)change->name;
    out->how = (Kndl__Secrets__V1__VariableChange__How)change->how;
    return out;
}
