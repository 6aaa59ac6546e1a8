/* Building the automaton: a trie of sorted forms, then the fail links from the root down. */

#include "automaton.h"

#include <assert.h>
#include <string.h>

#include "kndl/mem.h"
#include "secret.h"

static size_t shared_bytes(const struct forms *forms, const struct form *a, const struct form *b)
{
    size_t shorter = a->size < b->size ? a->size : b->size;
    size_t shared = 0;

    while (shared < shorter && form_bytes(forms, a)[shared] == form_bytes(forms, b)[shared])
        shared++;
    return shared;
}

static size_t count_nodes(const struct forms *forms)
{
    size_t count = 1;

    for (size_t i = 0; i < forms->count; i++) {
        size_t shared = i == 0 ? 0 : shared_bytes(forms, &forms->list[i - 1], &forms->list[i]);
        count += forms->list[i].size - shared;
    }
    return count;
}

static size_t longest_form(const struct forms *forms)
{
    size_t longest = 0;

    for (size_t i = 0; i < forms->count; i++) {
        if (forms->list[i].size > longest)
            longest = forms->list[i].size;
    }
    return longest;
}

size_t automaton_bytes(const struct forms *forms)
{
    return count_nodes(forms) * sizeof(struct node);
}

/* What is only needed while building; secret like the rest. */
struct building {
    struct node *nodes;
    uint32_t *parents;
    uint32_t *path; /* the nodes of the last form, by depth */
};

/* Sorted forms make preorder: what a form shares with the last one is on its path already. */
static size_t add_forms(struct automaton *automaton, struct building *building,
                        const struct forms *forms)
{
    struct node *nodes = building->nodes;
    size_t count = 1;

    for (size_t i = 0; i < forms->count; i++) {
        const struct form *form = &forms->list[i];
        const uint8_t *bytes = form_bytes(forms, form);
        size_t shared = i == 0 ? 0 : shared_bytes(forms, form - 1, form);
        for (size_t depth = shared; depth < form->size; depth++) {
            uint32_t node = (uint32_t)count++;
            uint32_t parent = building->path[depth];
            if (depth == shared && nodes[parent].has_child)
                nodes[building->path[depth + 1]].sibling = node;
            nodes[parent].has_child = 1;
            nodes[node].label = bytes[depth];
            nodes[node].depth = (uint16_t)(depth + 1);
            building->parents[node] = parent;
            building->path[depth + 1] = node;
            if (depth == 0)
                automaton->first[bytes[0]] = node;
        }
        nodes[building->path[form->size]].longest = (uint16_t)form->size;
        nodes[building->path[form->size]].value = (uint16_t)form->value;
    }
    return count;
}

/* A fail link leads to a shallower node, so nodes are visited by depth (a counting sort). */
static void link_fails(struct automaton *automaton, struct building *building, size_t count,
                       size_t longest)
{
    struct node *nodes = building->nodes;
    uint32_t *order = kndl_alloc(count, sizeof *order);
    uint32_t *starts = kndl_alloc(longest + 2, sizeof *starts);

    for (size_t i = 0; i < count; i++)
        starts[nodes[i].depth + 1]++;
    for (size_t i = 1; i < longest + 2; i++)
        starts[i] += starts[i - 1];
    for (size_t i = 0; i < count; i++)
        order[starts[nodes[i].depth]++] = (uint32_t)i;
    for (size_t i = 1; i < count; i++) {
        struct node *node = &nodes[order[i]];
        uint32_t parent = building->parents[order[i]];
        if (parent != 0)
            node->fail = automaton_step(automaton, nodes[parent].fail, node->label);
        if (node->longest == 0 && nodes[node->fail].longest != 0) {
            node->longest = nodes[node->fail].longest;
            node->value = nodes[node->fail].value;
        }
    }
    secret_free(order, count * sizeof *order);
    secret_free(starts, (longest + 2) * sizeof *starts);
}

void automaton_make(struct automaton *automaton, const struct forms *forms, void *memory)
{
    size_t most = count_nodes(forms);
    size_t longest = longest_form(forms);
    struct building building = {
        .nodes = memory,
        .parents = kndl_alloc(most, sizeof *building.parents),
        .path = kndl_alloc(longest + 1, sizeof *building.path),
    };

    memset(automaton->first, 0, sizeof automaton->first);
    automaton->nodes = building.nodes;
    automaton->longest = longest;
    automaton->count = add_forms(automaton, &building, forms);
    assert(automaton->count == most);
    link_fails(automaton, &building, most, longest);
    secret_free(building.parents, most * sizeof *building.parents);
    secret_free(building.path, (longest + 1) * sizeof *building.path);
}
