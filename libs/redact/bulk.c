/* A stream's common case: a block of text, control characters and colours at once. */

#include <string.h>

#include "scan.h"
#include "stream.h"
#include "utf8.h"

enum { FEW_BYTES = 4, WORD_BYTES = 64 /* what the normaliser reads and copies at once */ };

/* A block on its way. Its text is that of the terminal, or of the string that is open, and numbered
 * from the first held byte of it on. */
struct bulk {
    struct kndl_redact_stream *stream;
    const uint8_t *raw;
    enum held_kind kind;  /* of the text; of another text nothing is held */
    uint32_t *known;      /* the stream's, of this text */
    struct kndl_buf *out; /* has room for all; ends without a NUL until the block is done */
    size_t copied;        /* from here on in out, and behind its size, is raw[0..) already */
    size_t held;          /* bytes of text in held */
    size_t leave;         /* text before this leaves now */
    uint32_t few;         /* of the held bytes; the first one is the lowest */
    bool few_are_all;     /* that is held, and text */
    bool more; /* comes at once: what is only remembered waits, so that no escape is cut */
    struct scan scan;
    struct block block;
    uint64_t mask[MASK_WORDS(BLOCK_HEAD_BYTES + BLOCK_BYTES)];
};

/* Of the terminal's text; inside a string it is seldom held. */
static bool holds_no_text(const struct kndl_redact_stream *stream)
{
    for (size_t i = 0; i < stream->count; i++) {
        if (stream->held[i].kind == HELD_TEXT)
            return false;
    }
    return true;
}

static bool can_take(const struct kndl_redact_stream *stream)
{
    return stream->set->normalise != NULL && stream->count < BLOCK_HEAD_BYTES &&
           (stream->escape == ESCAPE_GROUND || stream->escape == ESCAPE_ESC ||
            stream->escape == ESCAPE_CSI || stream->escape == ESCAPE_STRING_ESC ||
            (stream->escape == ESCAPE_STRING && holds_no_text(stream)));
}

/* The first few held bytes, whatever they are. No branch: how many they are is as good as random.
 */
static void pack_few(struct bulk *bulk)
{
    const struct kndl_redact_stream *stream = bulk->stream;
    uint32_t bytes = 0;
    uint32_t other = stream->count > FEW_BYTES;

    for (uint32_t i = 0; i < FEW_BYTES; i++) {
        uint32_t is_held = i < stream->count ? UINT32_MAX : 0;
        bytes |= ((uint32_t)stream->held[i].byte & is_held) << (8 * i);
        other |= (stream->held[i].kind ^ (uint32_t)bulk->kind) & is_held;
    }
    bulk->few = bytes;
    bulk->few_are_all = other == 0;
}

/* What waits leaves first, mostly; behind it the normaliser copies what it reads, and most of that
 * leaves as it is. */
static void begin_out(struct bulk *bulk, size_t raw_size)
{
    const struct kndl_redact_stream *stream = bulk->stream;
    size_t waits = stream->count - stream->sent;
    size_t most = raw_size < BLOCK_BYTES ? raw_size : BLOCK_BYTES;
    char *out = kndl_buf_reserve(bulk->out, waits + FEW_BYTES + most + WORD_BYTES);
    uint32_t few = (uint32_t)((uint64_t)bulk->few >> (8 * stream->sent % 64));

    memcpy(out, &few, sizeof few);
    bulk->copied = bulk->out->size + waits;
    bulk->block.out = (uint8_t *)out + waits;
}

/* What was copied and has not left may be secret. */
static void end_out(struct bulk *bulk)
{
    struct kndl_buf *out = bulk->out;
    size_t end = bulk->copied + bulk->block.copied;

    memset(out->data + out->size, 0, end - out->size + 1);
}

/* raw[from..to) as it is. */
static void emit_raw(struct bulk *bulk, size_t from, size_t to)
{
    struct kndl_buf *out = bulk->out;

    if (out->size != bulk->copied + from)
        memcpy(out->data + out->size, bulk->raw + from, to - from);
    out->size += to - from;
}

/* Puts the held text before the block's. */
static void gather_held(struct bulk *bulk)
{
    const struct kndl_redact_stream *stream = bulk->stream;
    uint8_t *text = bulk->block.text;

    if (bulk->few_are_all) {
        uint64_t before = (uint64_t)bulk->few << 32 << (8 * (FEW_BYTES - stream->count));
        memcpy(text - sizeof before, &before, sizeof before);
        bulk->held = stream->count;
        return;
    }
    for (size_t i = stream->count; i > 0; i--) {
        if (stream->held[i - 1].kind == bulk->kind)
            *--text = stream->held[i - 1].byte;
    }
    bulk->held = (size_t)(bulk->block.text - text);
}

static void scan_bulk(struct bulk *bulk)
{
    struct scan *scan = &bulk->scan;

    *scan = (struct scan){
        .set = bulk->stream->set,
        .text = bulk->block.text - bulk->held,
        .mask = bulk->mask,
        .size = bulk->held + bulk->block.text_size,
        .known = bulk->stream->is_uncounted ? SIZE_MAX : *bulk->known,
    };
    scan_block(scan, bulk->block.signs, bulk->block.sign_count, bulk->held);
}

/* Bytes of a character that end text[..end) without being all of it; 0 if it is whole. */
static size_t count_cut(const uint8_t *text, size_t end)
{
    size_t most = end < 3 ? end : 3;

    for (size_t seen = 1; seen <= most; seen++) {
        uint8_t byte = text[end - seen];
        if ((byte & 0xc0) != 0x80)
            return utf8_length(byte) > seen ? seen : 0;
    }
    return 0;
}

/* Where in the block the text of this number, which is not held, stands. */
static size_t raw_at(const struct bulk *bulk, size_t text_at)
{
    return block_raw_at(&bulk->block, text_at - bulk->held);
}

/* One byte of the text, masked or not. */
static void emit_text(struct bulk *bulk, size_t at)
{
    const struct scan *scan = &bulk->scan;
    size_t missing;
    size_t length = utf8_measure(scan->text + at, scan->size - at, &missing);

    emit_text_byte(bulk->stream, scan->text[at], scan->found && mask_has(scan->mask, at),
                   missing + length - 1, bulk->out);
}

/* Held bytes may have been masked before, when a form was complete and a longer one was not. */
static void mask_head(struct bulk *bulk)
{
    struct kndl_redact_stream *stream = bulk->stream;
    size_t at = 0;

    for (size_t i = 0; i < stream->count; i++) {
        struct held *held = &stream->held[i];
        if (held->kind != bulk->kind)
            continue;
        if (held->masked)
            scan_mask_byte(&bulk->scan, at);
        if (bulk->scan.found)
            held->masked = mask_has(bulk->mask, at);
        at++;
    }
}

/* Lets go of what was held as far as it may leave; returns whether that is all of it. */
static bool emit_head(struct bulk *bulk)
{
    struct kndl_redact_stream *stream = bulk->stream;
    size_t at = 0;

    for (size_t i = 0; i < stream->count; i++) {
        bool is_text = stream->held[i].kind == bulk->kind;
        if (i < stream->sent) {
            at += is_text;
            continue;
        }
        if (at > bulk->leave || (is_text && at == bulk->leave))
            return false;
        if (is_text)
            emit_text(bulk, at++);
        else
            emit_held_byte(stream, i, bulk->out);
        stream->sent = (uint32_t)(i + 1);
    }
    return true;
}

/* Byte by byte: raw[from..to), whose first byte of text is text[at]. */
static void emit_slowly(struct bulk *bulk, size_t from, size_t to, size_t at)
{
    for (size_t i = from; i < to; i++) {
        if (mask_has(bulk->block.keep, i))
            emit_text(bulk, at++);
        else
            emit_raw(bulk, i, i + 1);
    }
}

/* Is raw[from..) nothing but ASCII text, of this many bytes? */
static bool is_simple(const struct bulk *bulk, size_t from, size_t count)
{
    uint8_t all = 0;

    for (size_t i = from; i < from + count; i++)
        all |= bulk->raw[i];
    return all < 0x80 && mask_find(bulk->block.keep, false, from, from + count) == from + count;
}

static void emit_stars(struct bulk *bulk, size_t count)
{
    memset(bulk->out->data + bulk->out->size, '*', count);
    bulk->out->size += count;
}

/* As it is: raw[from..to), the text of which is text[at..behind). */
static void emit_plain(struct bulk *bulk, size_t from, size_t to, size_t at, size_t behind)
{
    size_t cut;

    emit_raw(bulk, from, to);
    if (behind == at)
        return;
    cut = count_cut(bulk->scan.text, behind);
    bulk->stream->missing =
        cut == 0 ? 0 : (uint8_t)(utf8_length(bulk->scan.text[behind - cut]) - cut);
    bulk->stream->missing_stars = 0;
}

/* raw[0..to), the text of which is text[held..leave). */
static void emit_body(struct bulk *bulk, size_t to)
{
    const struct scan *scan = &bulk->scan;
    size_t from = 0;
    size_t at = bulk->held;

    while (at < bulk->leave && (scan->found || bulk->stream->missing > 0)) {
        if (bulk->stream->missing > 0) { /* the rest of a character whose beginning has left */
            size_t rest = at + 3 < bulk->leave ? at + 3 : bulk->leave;
            size_t until = rest < bulk->leave ? raw_at(bulk, rest) : to;
            emit_slowly(bulk, from, until, at);
            at = rest;
            from = until;
            continue;
        }
        size_t first = mask_find(scan->mask, true, at, bulk->leave);
        if (first == bulk->leave)
            break;
        size_t behind = mask_find(scan->mask, false, first, bulk->leave);
        size_t start = raw_at(bulk, first);
        emit_plain(bulk, from, start, at, first);
        if (bulk->stream->missing == 0 && is_simple(bulk, start, behind - first)) {
            emit_stars(bulk, behind - first);
            from = start + (behind - first);
        } else {
            from = raw_at(bulk, behind - 1) + 1;
            emit_slowly(bulk, start, from, first);
        }
        at = behind;
    }
    if (from < to)
        emit_plain(bulk, from, to, at, bulk->leave);
}

/* Puts raw[from..] behind what is held; up to raw[sent] it has left. */
static void hold_rest(struct bulk *bulk, size_t from, size_t sent)
{
    struct kndl_redact_stream *stream = bulk->stream;

    stream_reserve(stream, bulk->block.raw_size - from);
    if (from == bulk->block.raw_size && stream->count == 0)
        return;
    for (size_t i = from; i < bulk->block.raw_size; i++) {
        bool is_text = mask_has(bulk->block.keep, i);
        stream->held[stream->count++] = (struct held){
            .at_us = (uint32_t)stream->now_us,
            .byte = bulk->raw[i],
            .kind = is_text ? (uint8_t)bulk->kind : HELD_SKIP,
        };
        *bulk->known += is_text;
    }
    if (sent > from)
        stream->sent = (uint32_t)(stream->count - (bulk->block.raw_size - sent));
}

/* Masks of held bytes that stay, for text that is not in `held` yet when it was scanned. */
static void mask_rest(struct bulk *bulk, size_t first)
{
    struct kndl_redact_stream *stream = bulk->stream;
    size_t at = first;

    for (size_t i = 0; i < stream->count; i++) {
        if (stream->held[i].kind == bulk->kind)
            stream->held[i].masked |= mask_has(bulk->mask, at++);
    }
}

/* Appends what was held and has not left, and raw[0..to), all of it as it is. */
static void emit_as_is(struct bulk *bulk, size_t to)
{
    struct kndl_redact_stream *stream = bulk->stream;
    struct kndl_buf *out = bulk->out;

    for (size_t i = stream->sent; stream->count > FEW_BYTES && i < stream->count; i++)
        out->data[out->size + i - stream->sent] = (char)stream->held[i].byte;
    out->size = bulk->copied + to;
}

/* What raw[at] is once it is held; nothing behind the end. */
static inline struct held held_of(const struct bulk *bulk, size_t at)
{
    const struct block *block = &bulk->block;
    bool is_there = at < block->raw_size;
    size_t safe = is_there ? at : 0;
    bool is_text = mask_has(block->keep, safe);
    struct held held = {.at_us = (uint32_t)bulk->stream->now_us,
                        .byte = bulk->raw[safe],
                        .kind = is_text ? (uint8_t)bulk->kind : HELD_SKIP};

    return is_there ? held : (struct held){0};
}

/* Holds raw[from..), of which raw[from..sent) has left, instead of what was held. */
static void hold_tail(struct bulk *bulk, size_t from, size_t sent, size_t text)
{
    struct kndl_redact_stream *stream = bulk->stream;
    size_t count = bulk->block.raw_size - from;
    size_t written = stream->count > count ? stream->count : count;

    if (count > stream->count)
        stream_reserve(stream, count - stream->count);
    for (size_t i = 0; i < FEW_BYTES; i++)
        stream->held[i] = held_of(bulk, from + i);
    for (size_t i = FEW_BYTES; i < written; i++)
        stream->held[i] = held_of(bulk, from + i);
    stream->payload = 0;
    *bulk->known = (uint32_t)text;
    stream->sent = (uint32_t)(sent - from);
    stream->count = (uint32_t)count;
    stream_shrink(stream);
}

static bool is_head_masked(const struct kndl_redact_stream *stream)
{
    unsigned masked = 0;

    for (size_t i = 0; i < stream->count; i++)
        masked |= stream->held[i].masked;
    return masked != 0;
}

/* What has left of the terminal's text. */
static void remember(struct bulk *bulk, size_t end)
{
    if (bulk->kind == HELD_TEXT)
        stream_remember(bulk->stream, bulk->scan.text, end);
}

/*
 * The same as settle_bulk() for nearly all that comes: nothing is masked, and all that was held
 * leaves and is not remembered. False if it isn't so.
 */
static bool settle_as_is(struct bulk *bulk, size_t alive)
{
    struct kndl_redact_stream *stream = bulk->stream;
    const struct scan *scan = &bulk->scan;

    if (scan->found || alive <= bulk->held || stream->missing > 0 ||
        scan->text[bulk->leave - 1] >= 0x80 || is_head_masked(stream))
        return false;

    size_t from = raw_at(bulk, alive);
    size_t leave = bulk->leave == alive ? from : raw_at(bulk, bulk->leave);
    emit_as_is(bulk, leave);
    remember(bulk, alive);
    hold_tail(bulk, from, leave, scan->size - alive);
    return true;
}

static void settle_bulk(struct bulk *bulk)
{
    struct kndl_redact_stream *stream = bulk->stream;
    struct scan *scan = &bulk->scan;
    size_t raw_end = 0;
    size_t alive;

    bulk->leave = bulk->more ? scan->alive : scan->hold;
    stream->waits = scan->hold < scan->size;
    if (stream->kind == KNDL_REDACT_TEXT)
        bulk->leave -= count_cut(scan->text, bulk->leave);
    alive = scan->alive < bulk->leave ? scan->alive : bulk->leave;
    if (settle_as_is(bulk, alive))
        return;

    mask_head(bulk);
    if (emit_head(bulk)) {
        /* Behind a beginning that has left, what is no text leaves at once. */
        size_t end = bulk->leave < bulk->held ? bulk->held : bulk->leave;
        raw_end = end < scan->size ? raw_at(bulk, end) : bulk->block.raw_size;
        if (end > bulk->held)
            emit_body(bulk, raw_end);
        else
            emit_raw(bulk, 0, raw_end);
    }
    if (alive >= bulk->held) {
        size_t from = alive < scan->size ? raw_at(bulk, alive) : bulk->block.raw_size;
        remember(bulk, alive);
        hold_tail(bulk, from, raw_end > from ? raw_end : from, scan->size - alive);
        if (scan->found)
            mask_rest(bulk, alive);
        return;
    }
    size_t text = 0;
    for (size_t seen = 0; text < stream->count; text++) {
        if (stream->held[text].kind == bulk->kind && seen++ == alive)
            break;
    }
    hold_rest(bulk, 0, raw_end);
    *bulk->known = (uint32_t)scan->size;
    if (scan->found)
        mask_rest(bulk, 0);
    stream_forget(stream, text, text);
}

/* What is secret or may become so doesn't stay on the stack; what has left as it is may. */
static void wipe(struct bulk *bulk)
{
    const struct scan *scan = &bulk->scan;
    uint8_t *text = bulk->block.text - bulk->held;
    size_t at = 0;

    while (scan->found && (at = mask_find(scan->mask, true, at, scan->size)) < scan->size) {
        size_t behind = mask_find(scan->mask, false, at, scan->size);
        explicit_bzero(text + at, behind - at);
        at = behind;
    }
    explicit_bzero(text + scan->alive, scan->size - scan->alive);
}

/* A block that ends before the first string in which something is to be masked. */
static void normalise_bulk(struct bulk *bulk, size_t size, enum escape_state *state)
{
    const struct kndl_redact_stream *stream = bulk->stream;
    struct kndl_redact_set *set = stream->set;
    const struct held *last = stream->held + stream->count - 1;
    enum escape_state before = *state;

    bulk->block.is_whole = stream->missing == 0 && (stream->count == 0 || last->byte < 0x80) &&
                           (stream->count == 0 || last->kind == HELD_TEXT);
    set->normalise(&bulk->block, bulk->raw, size, state);

    size_t end = scan_payloads(set, &bulk->block, bulk->raw);
    if (end == bulk->block.raw_size)
        return;
    *state = before;
    set->normalise(&bulk->block, bulk->raw, end, state);
}

size_t bulk_take(struct kndl_redact_stream *stream, struct kndl_slice piece, struct kndl_buf *out)
{
    struct bulk bulk __attribute__((uninitialized));
    enum escape_state state = stream->escape;
    bool in_string = state == ESCAPE_STRING;

    if (!can_take(stream))
        return 0;
    bulk.stream = stream;
    bulk.kind = in_string ? HELD_PAYLOAD : HELD_TEXT;
    bulk.known = in_string ? &stream->payload_known : &stream->text_known;
    bulk.raw = piece.data;
    bulk.out = out;
    pack_few(&bulk);
    begin_out(&bulk, piece.size);
    normalise_bulk(&bulk, piece.size, &state);
    if (bulk.block.raw_size == 0) {
        end_out(&bulk);
        return 0;
    }
    bulk.more = bulk.block.raw_size < piece.size;
    gather_held(&bulk);
    scan_bulk(&bulk);
    stream->escape = (uint8_t)state;
    settle_bulk(&bulk);
    wipe(&bulk);
    end_out(&bulk);
    return bulk.block.raw_size;
}
