/*
 * Building the automaton: a trie of sorted forms, then what nodes fail to, from the root down.
 *
 * A node fails to a depth of two or more only if its last two bytes begin a form or its parent
 * fails so deep, too. These few are all that is visited; the others are plain.
 */

#include "automaton.h"

#include <string.h>

#include "kndl/mem.h"
#include "secret.h"

/* Details on their way, in the order in which they are found. */
struct draft {
    struct detail detail;
    uint32_t node;
    uint32_t next; /* of the drafts of the same 32 nodes; 0: none */
};

/* A node that may fail deep. */
struct suspect {
    uint32_t node;
    uint32_t parent;
    uint32_t next; /* of the suspects of the same depth; 0: none */
};

/* The end of the path to the last form: nodes that it does not share with forms before. */
struct section {
    uint32_t first;
    uint32_t shared; /* the depth of the parent of the first one */
};

struct building {
    struct automaton automaton; /* until it is settled, marks[].before are the last draft's index */
    const struct forms *forms;
    uint32_t count;        /* of numbers: nodes and what stands behind leaves */
    uint32_t branch_count; /* branches[0] is none, as are drafts[0] and suspects[0] */
    struct draft *drafts;
    size_t draft_count;
    size_t draft_capacity;
    struct suspect *suspects;
    size_t suspect_count;
    size_t suspect_capacity;
    uint32_t *suspected; /* by depth: the last of the suspects */
    struct section *path;
    size_t path_size;
};

static struct detail *find_detail(const struct building *building, uint32_t node)
{
    struct marks marks = building->automaton.marks[node / 32];
    struct draft *draft;

    if ((marks.bits >> node % 32 & 1) == 0)
        return NULL;
    for (draft = &building->drafts[marks.before]; draft->node != node;)
        draft = &building->drafts[draft->next];
    return &draft->detail;
}

/* The node's details, made if it had none. */
static struct detail *have_detail(struct building *building, struct state state)
{
    struct automaton *automaton = &building->automaton;
    struct marks *marks = &automaton->marks[state.node / 32];
    struct detail *detail = find_detail(building, state.node);

    if (detail != NULL)
        return detail;
    if (building->draft_count >= building->draft_capacity)
        building->drafts = secret_grow(building->drafts, building->draft_count,
                                       &building->draft_capacity, sizeof *building->drafts);

    struct state fail = automaton_fail(automaton, state, NULL);
    building->drafts[building->draft_count] = (struct draft){
        .detail = {.fail = fail.node, .fail_depth = (uint16_t)fail.depth},
        .node = state.node,
        .next = marks->before,
    };
    marks->bits |= UINT32_C(1) << state.node % 32;
    marks->before = (uint32_t)building->draft_count++;
    return &building->drafts[marks->before].detail;
}

static void add_suspect(struct building *building, struct state state, uint32_t parent)
{
    uint32_t *last = &building->suspected[state.depth];

    if (building->suspect_count >= building->suspect_capacity)
        building->suspects = secret_grow(building->suspects, building->suspect_count,
                                         &building->suspect_capacity, sizeof *building->suspects);
    building->suspects[building->suspect_count] = (struct suspect){state.node, parent, *last};
    *last = (uint32_t)building->suspect_count++;
}

/* Does the form go on in the leaf that the form before ends at? */
static bool goes_on(const struct forms *forms, size_t index)
{
    return index > 0 && forms->list[index].shared == forms->list[index - 1].size;
}

/* Numbers all nodes and tells where forms begin. */
static void number_nodes(struct building *building)
{
    struct automaton *automaton = &building->automaton;
    const struct forms *forms = building->forms;
    uint32_t number = 0;

    for (size_t i = 0; i < forms->count; i++) {
        const struct form *form = &forms->list[i];
        const uint8_t *bytes = form_bytes(forms, form);
        unsigned pair = (unsigned)bytes[0] << 8 | bytes[1];
        number += !goes_on(forms, i);
        if (form->shared == 0)
            automaton->first[bytes[0]] = number;
        number += form->size - form->shared;
        automaton->pairs[pair / 64] |= UINT64_C(1) << pair % 64;
        if (form->size > automaton->longest)
            automaton->longest = form->size;
    }
    building->count = number + 2;
}

/* The node at this depth on the path to the last form, from which another form goes on. */
static uint32_t leave_path(struct building *building, uint32_t depth)
{
    const struct section *section;

    while (building->path_size > 0 && building->path[building->path_size - 1].shared >= depth)
        building->path_size--;
    if (building->path_size == 0)
        return 0;
    section = &building->path[building->path_size - 1];
    return section->first + (depth - section->shared) - 1;
}

static void add_branch(struct building *building, struct state parent, uint32_t child)
{
    struct detail *detail = have_detail(building, parent);

    building->automaton.branches[building->branch_count] = (struct branch){child, detail->branch};
    detail->branch = building->branch_count++;
}

static void add_form(struct building *building, const struct form *form, uint32_t first)
{
    const struct automaton *automaton = &building->automaton;
    const uint8_t *bytes = form_bytes(building->forms, form);
    uint32_t parent = leave_path(building, form->shared);
    struct state end = {first + (form->size - form->shared) - 1, form->size};
    struct detail *detail;

    building->path[building->path_size++] = (struct section){first, form->shared};
    memcpy(automaton->labels + first, bytes + form->shared, form->size - form->shared);
    if (form->shared > 0 && first != parent + 1)
        add_branch(building, (struct state){parent, form->shared}, first);
    for (uint32_t depth = form->shared < 2 ? 3 : form->shared + 1; depth <= form->size; depth++) {
        if (__builtin_expect(automaton_has_pair(automaton, bytes[depth - 2], bytes[depth - 1]),
                             0)) {
            struct state state = {first + (depth - form->shared) - 1, depth};
            add_suspect(building, state, state.node == first ? parent : state.node - 1);
        }
    }
    detail = have_detail(building, end);
    detail->longest = (uint16_t)form->size;
    detail->value = (uint16_t)form->value;
}

static void add_forms(struct building *building)
{
    const struct forms *forms = building->forms;
    uint32_t number = 0;

    for (size_t i = 0; i < forms->count; i++) {
        number += !goes_on(forms, i);
        add_form(building, &forms->list[i], number);
        number += forms->list[i].size - forms->list[i].shared;
    }
}

/* As automaton_step(), from a node that is less deep than all that have no details yet. */
static struct state step(const struct building *building, struct state state, uint8_t byte)
{
    const struct automaton *automaton = &building->automaton;

    while (state.depth > 0) {
        const struct detail *detail = find_detail(building, state.node);
        uint32_t child = automaton->labels[state.node + 1] == byte ? state.node + 1
                         : detail != NULL ? automaton_branch(automaton, detail, byte)
                                          : 0;
        if (child != 0)
            return (struct state){child, state.depth + 1};
        state = automaton_fail(automaton, state, detail);
    }
    return automaton_start(automaton, byte);
}

/* A child of a node that fails deep, unless it is suspected by its last two bytes already. */
static void suspect_child(struct building *building, struct state parent, uint32_t child)
{
    const struct automaton *automaton = &building->automaton;

    if (!automaton_has_pair(automaton, automaton->labels[parent.node], automaton->labels[child]))
        add_suspect(building, (struct state){child, parent.depth + 1}, parent.node);
}

static void suspect_children(struct building *building, struct state state)
{
    const struct automaton *automaton = &building->automaton;
    const struct detail *detail = find_detail(building, state.node);

    if (!automaton_is_leaf(automaton, state.node))
        suspect_child(building, state, state.node + 1);
    for (uint32_t i = detail->branch; i != 0; i = automaton->branches[i].next)
        suspect_child(building, state, automaton->branches[i].child);
}

/* What this node fails to, its parent and all that is less deep being known. */
static void link_fail(struct building *building, struct state state, uint32_t parent)
{
    const struct automaton *automaton = &building->automaton;
    struct state before = automaton_fail(automaton, (struct state){parent, state.depth - 1},
                                         find_detail(building, parent));
    struct state fail = step(building, before, automaton->labels[state.node]);

    if (fail.depth < 2)
        return;

    struct detail *detail = have_detail(building, state);
    const struct detail *end = find_detail(building, fail.node);
    detail->fail = fail.node;
    detail->fail_depth = (uint16_t)fail.depth;
    if (detail->longest == 0 && end != NULL) {
        detail->longest = end->longest;
        detail->value = end->value;
    }
    suspect_children(building, state);
}

static void link_fails(struct building *building)
{
    for (uint32_t depth = 3; depth <= building->automaton.longest; depth++) {
        for (uint32_t i = building->suspected[depth]; i != 0; i = building->suspects[i].next) {
            struct suspect suspect = building->suspects[i];
            link_fail(building, (struct state){suspect.node, depth}, suspect.parent);
        }
    }
}

static size_t count_marks(const struct building *building)
{
    return building->count / 32 + 1;
}

struct building *automaton_build(const struct forms *forms)
{
    struct building *building = kndl_new0(struct building);
    struct automaton *automaton = &building->automaton;

    building->forms = forms;
    building->draft_count = 1;
    building->branch_count = 1;
    building->suspect_count = 1;
    automaton->pairs = kndl_alloc(PAIRS_BYTES, 1);
    number_nodes(building);
    automaton->labels = kndl_alloc(building->count, 1);
    automaton->marks = kndl_new_array(struct marks, count_marks(building));
    automaton->branches = kndl_new_array(struct branch, forms->count + 1);
    building->suspected = kndl_new_array(uint32_t, automaton->longest + 2);
    building->path = kndl_new_array(struct section, forms->count + 1);
    add_forms(building);
    link_fails(building);
    return building;
}

size_t automaton_bytes(const struct building *building)
{
    return PAIRS_BYTES + count_marks(building) * sizeof(struct marks) +
           (building->draft_count - 1) * sizeof(struct detail) +
           building->branch_count * sizeof(struct branch) + building->count;
}

/* The details in the order of their nodes. */
static void settle_details(const struct building *building, struct automaton *automaton)
{
    uint32_t before = 0;

    for (size_t i = 0; i < count_marks(building); i++) {
        struct marks *marks = &automaton->marks[i];
        uint32_t next = marks->before;
        marks->before = before;
        for (; next != 0; next = building->drafts[next].next) {
            const struct draft *draft = &building->drafts[next];
            uint32_t lower = marks->bits & ((UINT32_C(1) << draft->node % 32) - 1);
            automaton->details[marks->before + (uint32_t)__builtin_popcount(lower)] = draft->detail;
            before++;
        }
    }
}

static void *move(void *to, const void *from, size_t size)
{
    memcpy(to, from, size);
    return (uint8_t *)to + size;
}

static void free_building(struct building *building)
{
    const struct forms *forms = building->forms;
    struct automaton *automaton = &building->automaton;

    secret_free(automaton->pairs, PAIRS_BYTES);
    secret_free(automaton->labels, building->count);
    secret_free(automaton->marks, count_marks(building) * sizeof *automaton->marks);
    secret_free(automaton->branches, (forms->count + 1) * sizeof *automaton->branches);
    secret_free(building->drafts, building->draft_capacity * sizeof *building->drafts);
    secret_free(building->suspects, building->suspect_capacity * sizeof *building->suspects);
    secret_free(building->suspected, (automaton->longest + 2) * sizeof *building->suspected);
    secret_free(building->path, (forms->count + 1) * sizeof *building->path);
    secret_free(building, sizeof *building);
}

void automaton_settle(struct building *building, struct automaton *ret_automaton, void *memory)
{
    const struct automaton *built = &building->automaton;

    *ret_automaton = *built;
    ret_automaton->pairs = memory;
    ret_automaton->marks = move(memory, built->pairs, PAIRS_BYTES);
    ret_automaton->details =
        move(ret_automaton->marks, built->marks, count_marks(building) * sizeof *built->marks);
    settle_details(building, ret_automaton);
    ret_automaton->branches = (void *)(ret_automaton->details + building->draft_count - 1);
    ret_automaton->labels = move(ret_automaton->branches, built->branches,
                                 building->branch_count * sizeof *built->branches);
    memcpy(ret_automaton->labels, built->labels, building->count);
    free_building(building);
}
