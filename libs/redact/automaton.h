#pragma once

/*
 * Aho-Corasick over the sorted forms: for each byte of a text, the longest form that ends there
 * and the longest end of the text so far that begins a form. Linear in the text, whatever it
 * holds. Immutable once made.
 *
 * Nodes are numbered in preorder, so a first child is the next node; 0 is the root.
 */

#include <stddef.h>
#include <stdint.h>

#include "forms.h"

_Static_assert(KNDL_REDACT_VALUES_MAX <= UINT16_MAX, "a value's index fits a node");

struct node {
    uint32_t sibling; /* the next child of the same parent; 0: none */
    uint32_t fail;    /* the longest proper end of this node's text that is a node */
    uint16_t depth;
    uint16_t longest; /* bytes of the longest form that ends here; 0: none */
    uint16_t value;   /* whose form that is */
    uint8_t label;    /* the byte that leads here */
    uint8_t has_child;
};

struct automaton {
    uint32_t first[256];      /* the root's children by byte; 0: none */
    const struct node *nodes; /* nodes[0] is the root */
    size_t count;
    size_t longest; /* bytes of the longest form */
};

/* Nodes that these forms need at most, and the bytes of memory that automaton_make() fills. */
size_t automaton_bytes(const struct forms *forms);

/* Makes it of sorted forms, in memory of automaton_bytes() that the caller owns. */
void automaton_make(struct automaton *automaton, const struct forms *forms, void *memory);

/* The node after one more byte. */
static inline uint32_t automaton_step(const struct automaton *automaton, uint32_t at, uint8_t byte)
{
    const struct node *nodes = automaton->nodes;

    while (at != 0) {
        if (nodes[at].has_child) {
            uint32_t child = at + 1;
            do {
                if (nodes[child].label == byte)
                    return child;
                child = nodes[child].sibling;
            } while (child != 0);
        }
        at = nodes[at].fail;
    }
    return automaton->first[byte];
}

/* How many bytes at the end of the text, at this node, could still grow into a form. */
static inline uint32_t automaton_open(const struct automaton *automaton, uint32_t at)
{
    while (at != 0 && !automaton->nodes[at].has_child)
        at = automaton->nodes[at].fail;
    return automaton->nodes[at].depth;
}
