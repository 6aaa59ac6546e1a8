#pragma once

/*
 * Aho-Corasick over the sorted forms: for each byte of a text, the longest form that ends there
 * and the longest end of the text so far that begins a form. Linear in the text, whatever it
 * holds. Immutable once settled.
 *
 * Values are random, so nearly all nodes are plain: one child, no form that ends there, and if
 * another byte comes than that child's, at most this node's own byte begins something. Such a node
 * is one byte, the label that leads to it. What else there is to know of a node is in its
 * details, which are found by counting marks.
 *
 * Nodes are numbered in preorder, so a first child is the next node; 0 is the root. Behind a leaf
 * stands a number that is no node and has the label 0, which is no text.
 */

#include <stddef.h>
#include <stdint.h>

#include "forms.h"

_Static_assert(KNDL_REDACT_VALUES_MAX <= UINT16_MAX, "a value's index fits a detail");

/* Where in the automaton a text has led: a node, and how many of the text's last bytes it stands
 * for. `{0}` is the root. */
struct state {
    uint32_t node;
    uint32_t depth;
};

struct detail {
    uint32_t branch; /* the first of the node's children that are not the next node; 0: none */
    uint32_t fail;   /* the longest proper end of this node's text that is a node ... */
    uint16_t fail_depth;
    uint16_t longest; /* bytes of the longest form that ends here; 0: none */
    uint16_t value;   /* whose form that is */
};

struct branch {
    uint32_t child;
    uint32_t next; /* the next branch of the same parent; 0: none */
};

/* Which of 32 nodes have details. */
struct marks {
    uint32_t bits;
    uint32_t before; /* details of all nodes before them */
};

enum { PAIRS_BYTES = 65536 / 8 };

struct automaton {
    uint32_t first[256]; /* the root's children by byte; 0: none */
    uint64_t *pairs;     /* a bit for each two bytes, the first one higher: they begin a form */
    uint8_t *labels;     /* by node, as are the marks */
    struct marks *marks;
    struct detail *details;
    struct branch *branches; /* branches[0] is none */
    size_t longest;          /* bytes of the longest form */
};

/* An automaton that is being built; how much memory it takes is known in the end. */
struct building;

/* Builds it of sorted forms, which are borrowed until automaton_settle(). */
struct building *automaton_build(const struct forms *forms);

/* The bytes of memory that automaton_settle() fills. */
size_t automaton_bytes(const struct building *building);

/* Moves what was built to memory that the caller owns, and frees the rest. */
void automaton_settle(struct building *building, struct automaton *ret_automaton, void *memory);

/* How many bits are set; the compiler's own is a call where the processor is not known. */
static inline uint32_t automaton_count(uint32_t bits)
{
    bits -= bits >> 1 & 0x55555555;
    bits = (bits & 0x33333333) + (bits >> 2 & 0x33333333);
    return ((bits + (bits >> 4)) & 0x0f0f0f0f) * 0x01010101 >> 24;
}

/* NULL: the node is plain. */
static inline const struct detail *automaton_detail(const struct automaton *automaton,
                                                    uint32_t node)
{
    struct marks marks = automaton->marks[node / 32];
    uint32_t bit = UINT32_C(1) << node % 32;

    if ((marks.bits & bit) == 0)
        return NULL;
    return &automaton->details[marks.before + automaton_count(marks.bits & (bit - 1))];
}

/* Bytes of the longest form that ends at this state; 0: none. */
static inline uint32_t automaton_longest(const struct automaton *automaton, struct state state)
{
    const struct detail *detail;

    if (state.depth < KNDL_REDACT_CHARACTERS_MIN)
        return 0;
    detail = automaton_detail(automaton, state.node);

    return detail == NULL ? 0 : detail->longest;
}

static inline int automaton_is_leaf(const struct automaton *automaton, uint32_t node)
{
    return automaton->labels[node + 1] == 0;
}

/* The child that is not the next node; 0: none. */
static inline uint32_t automaton_branch(const struct automaton *automaton,
                                        const struct detail *detail, uint8_t byte)
{
    const struct branch *branch = &automaton->branches[detail->branch];

    while (branch != automaton->branches && automaton->labels[branch->child] != byte)
        branch = &automaton->branches[branch->next];
    return branch->child;
}

/* The node's child by this byte; 0: none. Not for the root. */
static inline uint32_t automaton_child(const struct automaton *automaton, uint32_t node,
                                       uint8_t byte)
{
    const struct detail *detail;

    if (automaton->labels[node + 1] == byte)
        return node + 1;
    detail = automaton_detail(automaton, node);
    return detail == NULL ? 0 : automaton_branch(automaton, detail, byte);
}

/* A first byte has many children; mostly none of them comes. */
static inline int automaton_has_pair(const struct automaton *automaton, uint8_t first,
                                     uint8_t second)
{
    unsigned pair = (unsigned)first << 8 | second;

    return automaton->pairs[pair / 64] >> (pair % 64) & 1;
}

static inline struct state automaton_start(const struct automaton *automaton, uint8_t byte)
{
    uint32_t node = automaton->first[byte];

    return (struct state){node, node != 0};
}

/* Where the text leads without its first bytes, as few as possible. Not for the root. */
static inline struct state automaton_fail(const struct automaton *automaton, struct state state,
                                          const struct detail *detail)
{
    if (detail != NULL)
        return (struct state){detail->fail, detail->fail_depth};
    if (state.depth == 1)
        return (struct state){0};
    return automaton_start(automaton, automaton->labels[state.node]);
}

/* The state after one more byte. */
static inline struct state automaton_step(const struct automaton *automaton, struct state state,
                                          uint8_t byte)
{
    while (state.depth > 0) {
        if (automaton->labels[state.node + 1] == byte)
            return (struct state){state.node + 1, state.depth + 1};
        if (state.depth == 1 && !automaton_has_pair(automaton, automaton->labels[state.node], byte))
            break;
        const struct detail *detail = automaton_detail(automaton, state.node);
        uint32_t child = detail == NULL ? 0 : automaton_branch(automaton, detail, byte);
        if (child != 0)
            return (struct state){child, state.depth + 1};
        state = automaton_fail(automaton, state, detail);
    }
    return automaton_start(automaton, byte);
}

/* How many bytes at the end of the text, at this state, could still grow into a form. */
static inline uint32_t automaton_open(const struct automaton *automaton, struct state state)
{
    while (state.depth > 0 && automaton_is_leaf(automaton, state.node))
        state = automaton_fail(automaton, state, automaton_detail(automaton, state.node));
    return state.depth;
}
