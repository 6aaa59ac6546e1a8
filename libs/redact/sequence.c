/* Sequences that are no CSI, in a block: two-character ones, charsets, whole strings. */

#include "normalise_loop.h"

enum { ESC = 0x1b, DEL = 0x7f, C2 = 0xc2 };

/* What a string's text may have in it here; the rest is read byte by byte. */
static int is_payload(uint8_t byte)
{
    return (byte >= 0x20 && byte != DEL && byte != C2) || byte == '\t';
}

/* Where the sequence whose ESC is before raw[at] ends: a string before what ends it, which is no
 * text either. 0 if it isn't whole, or odd. */
static size_t find_end(const struct normalising *n, size_t at)
{
    const uint8_t *raw = n->raw;

    if (escape_begins_string(raw[at])) {
        do
            at++;
        while (at < n->size && is_payload(raw[at]));
        return at < n->size && escape_ends_string(raw[at]) ? at : 0;
    }
    if (raw[at] == ESC)
        return at;
    while (at < n->size && raw[at] >= 0x20 && raw[at] <= 0x2f)
        at++;
    return at < n->size && raw[at] >= 0x30 && raw[at] < DEL ? at + 1 : 0;
}

/* Is the last character before this word's text whole? Only ASCII is looked at. */
static bool is_whole(const struct normalising *n, size_t at, uint64_t text)
{
    const struct block *block = n->block;

    for (; text == 0 && at > 0; at -= 64)
        text = block->keep[at / 64 - 1];
    if (text == 0)
        return block->is_whole;
    return n->raw[at + 63 - (size_t)__builtin_clzll(text)] < 0x80;
}

/* Notes what is in the string; false if there is no room, or a character is cut by it. `before` is
 * the text before it in the word at `at`. */
static bool note_payload(struct normalising *n, size_t from, size_t to, size_t at, uint64_t before)
{
    struct block *block = n->block;

    if (from == to)
        return true;
    if (block->payload_count == BLOCK_PAYLOADS || n->raw[to - 1] >= 0x80 ||
        !is_whole(n, at, before))
        return false;
    block->payloads[block->payload_count++] =
        (struct payload){.from = (uint16_t)from, .to = (uint16_t)to};
    return true;
}

/* Takes the sequence whose ESC is before raw[at] and whose word is at `word`. */
static bool skip_sequence(struct normalising *n, size_t at, size_t word, uint64_t before)
{
    size_t end = find_end(n, at);

    if (end == 0 ||
        (escape_begins_string(n->raw[at]) && !note_payload(n, at + 1, end, word, before)))
        return false;
    n->behind = end;
    return true;
}

uint64_t skip_sequences(struct normalising *n, size_t at, uint64_t begins, uint64_t text)
{
    for (; begins != 0; begins &= begins - 1) {
        uint64_t before = (begins & -begins) - 1;
        size_t begin = at + (size_t)lowest_bit(begins);
        if (begin >= n->cut)
            break;
        if (!skip_sequence(n, begin + 1, at, text & before)) {
            n->cut = begin;
            break;
        }
        text &= before | (n->behind - at < 64 ? ~UINT64_C(0) << (n->behind - at) : 0);
    }
    return text;
}

bool skip_first_sequence(struct normalising *n)
{
    return skip_sequence(n, 0, 0, 0);
}
