/* Streams: what may leave leaves at once, what may begin a value waits. */

#include "stream.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "kndl/mem.h"
#include "scan.h"
#include "secret.h"
#include "utf8.h"

enum {
    SHORT_CHARACTERS = 4, /* fewer wait for the shorter time (D4) */
    SHORT_WAIT_US = 10 * 1000,
    LONG_WAIT_US = 100 * 1000,
    REMEMBERED_BYTES = 8 * 1024, /* and eight longest forms, of what has left */
    RARE_APART_BYTES = 256,      /* sequences that are rarer than this are */
    RARE_BYTES_MAX = 1024,       /* taken byte by byte at a time */
};

struct kndl_redact_stream *kndl_redact_stream_new(struct kndl_redact_set *set,
                                                  enum kndl_redact_kind kind)
{
    struct kndl_redact_stream *stream = kndl_new0(struct kndl_redact_stream);

    stream->set = kndl_redact_set_ref(set);
    stream->kind = (uint8_t)kind;
    stream->held = stream->inline_held;
    stream->capacity = STREAM_INLINE_COUNT;
    return stream;
}

void kndl_redact_stream_uncount(struct kndl_redact_stream *stream)
{
    stream->is_uncounted = true;
}

static void free_held(struct kndl_redact_stream *stream)
{
    if (stream->held != stream->inline_held)
        secret_free(stream->held, stream->capacity * sizeof *stream->held);
    stream->held = stream->inline_held;
    stream->capacity = STREAM_INLINE_COUNT;
}

void kndl_redact_stream_free(struct kndl_redact_stream *stream)
{
    if (stream == NULL)
        return;
    free_held(stream);
    kndl_redact_set_unref(stream->set);
    secret_free(stream, sizeof *stream);
}

void stream_reserve(struct kndl_redact_stream *stream, size_t more)
{
    size_t wanted = stream->count + more;
    struct held *grown;

    if (wanted <= stream->capacity)
        return;
    if (wanted < stream->capacity * (size_t)2)
        wanted = stream->capacity * (size_t)2;
    grown = kndl_new_array(struct held, wanted);
    memcpy(grown, stream->held, stream->count * sizeof *grown);
    free_held(stream);
    stream->held = grown;
    stream->capacity = (uint32_t)wanted;
}

void stream_shrink(struct kndl_redact_stream *stream)
{
    struct held *old = stream->held;
    size_t capacity = stream->capacity;

    if (old == stream->inline_held || stream->count > STREAM_INLINE_COUNT)
        return;
    memcpy(stream->inline_held, old, stream->count * sizeof *old);
    stream->held = stream->inline_held;
    stream->capacity = STREAM_INLINE_COUNT;
    secret_free(old, capacity * sizeof *old);
}

enum { GATHERED_HERE = 512, LONG_TEXT_BYTES = 64 /* worth the filters */ };

/* One of the two texts in held, gathered for a scan; a short one is on the stack. */
struct gathered {
    struct scan scan;
    uint8_t *text;
    uint32_t *where; /* index in held of each byte */
    size_t capacity;
    uint32_t where_here[GATHERED_HERE];
    uint8_t text_here[GATHERED_HERE];
    uint64_t mask_here[MASK_WORDS(GATHERED_HERE)];
};

static void gather_done(struct gathered *gathered)
{
    if (gathered->text == gathered->text_here) {
        explicit_bzero(gathered->text_here, gathered->scan.size);
    } else if (gathered->text != NULL) {
        secret_free(gathered->text, gathered->capacity);
        secret_free(gathered->scan.mask,
                    MASK_WORDS(gathered->capacity) * sizeof *gathered->scan.mask);
        secret_free(gathered->where, gathered->capacity * sizeof *gathered->where);
    }
}

static void gather_begin(struct gathered *gathered, size_t capacity)
{
    gathered->capacity = capacity;
    gathered->scan = (struct scan){.mask = gathered->mask_here};
    gathered->text = gathered->text_here;
    gathered->where = gathered->where_here;
    if (capacity > GATHERED_HERE) {
        gathered->text = kndl_alloc(capacity, 1);
        gathered->where = kndl_alloc(capacity, sizeof *gathered->where);
        gathered->scan.mask = kndl_alloc(MASK_WORDS(capacity), sizeof *gathered->scan.mask);
    }
}

/* Scans the text of this kind in held[from..) and puts its masks there. */
static void scan_held(struct kndl_redact_stream *stream, enum held_kind kind, size_t from,
                      uint32_t *known, struct gathered *gathered)
{
    gather_begin(gathered, stream->count - from + 1 + BLOCK_SLACK_BYTES);
    for (size_t i = from; i < stream->count; i++) {
        if (stream->held[i].kind != kind)
            continue;
        gathered->where[gathered->scan.size] = (uint32_t)i;
        gathered->text[gathered->scan.size++] = stream->held[i].byte;
    }
    gathered->scan.set = stream->set;
    gathered->scan.text = gathered->text;
    gathered->scan.known = stream->is_uncounted ? SIZE_MAX : *known;
    if (stream->set->normalise != NULL && gathered->scan.size >= LONG_TEXT_BYTES)
        scan_long_text(&gathered->scan);
    else
        scan_text(&gathered->scan);
    for (size_t i = 0; gathered->scan.found && i < gathered->scan.size; i++)
        stream->held[gathered->where[i]].masked |= mask_has(gathered->scan.mask, i);
    gathered->where[gathered->scan.size] = stream->count;
    *known = (uint32_t)gathered->scan.size;
}

/* A beginning that has to leave before it is complete is shown if it is short. */
static void mask_long_beginning(struct kndl_redact_stream *stream, const struct gathered *gathered)
{
    const struct scan *scan = &gathered->scan;

    for (size_t i = scan->secret; i < scan->size; i++)
        stream->held[gathered->where[i]].masked = 1;
}

/* The string has ended, and with it its text. */
static void close_payload(struct kndl_redact_stream *stream)
{
    KNDL_CLEANUP(gather_done) struct gathered gathered __attribute__((uninitialized));

    gathered.text = NULL;
    if (stream->payload == stream->count)
        return;
    scan_held(stream, HELD_PAYLOAD, stream->payload, &stream->payload_known, &gathered);
    mask_long_beginning(stream, &gathered);
    for (size_t i = 0; i < gathered.scan.size; i++)
        stream->held[gathered.where[i]].kind = HELD_PAST;
}

static enum held_kind held_kind_of(enum escape_class class)
{
    switch (class) {
    case ESCAPE_SKIP:
        return HELD_SKIP;
    case ESCAPE_TEXT:
        return HELD_TEXT;
    case ESCAPE_PAYLOAD:
        return HELD_PAYLOAD;
    case ESCAPE_WAIT:
        return HELD_UNKNOWN;
    }
    __builtin_unreachable();
}

static inline void append_held(struct kndl_redact_stream *stream, uint8_t byte, enum held_kind kind)
{
    stream->held[stream->count++] =
        (struct held){.at_us = (uint32_t)stream->now_us, .byte = byte, .kind = (uint8_t)kind};
}

static void take_byte(struct kndl_redact_stream *stream, uint8_t byte)
{
    enum escape_state state = stream->escape;
    enum escape_class waited = ESCAPE_WAIT;
    bool was_in_string = escape_in_string(state);
    enum escape_class class = escape_step(&state, byte, &waited);
    bool is_in_string = escape_in_string(state);

    stream->escape = (uint8_t)state;
    if (waited != ESCAPE_WAIT)
        stream->held[stream->count - 1].kind = (uint8_t)held_kind_of(waited);
    if (was_in_string && !is_in_string)
        close_payload(stream);
    append_held(stream, byte, held_kind_of(class));
    if (!was_in_string && is_in_string) {
        stream->payload = stream->count;
        stream->payload_known = 0;
    }
}

void stream_remember(struct kndl_redact_stream *stream, const uint8_t *text, size_t size)
{
    size_t kept = stream->past_size;
    uint8_t *end = stream->past + STREAM_PAST_BYTES;

    if (size >= STREAM_PAST_BYTES) {
        text += size - STREAM_PAST_BYTES;
        size = STREAM_PAST_BYTES;
    }
    memmove(stream->past, stream->past + size, STREAM_PAST_BYTES - size);
    memcpy(end - size, text, size);
    stream->past_size =
        (uint8_t)(kept + size < STREAM_PAST_BYTES ? kept + size : STREAM_PAST_BYTES);
}

void stream_forget(struct kndl_redact_stream *stream, size_t text, size_t payload)
{
    size_t kept = 0;
    size_t kept_sent = 0;
    size_t kept_payload = stream->payload;

    for (size_t i = 0; i < stream->count; i++) {
        const struct held held = stream->held[i];
        bool stays = i >= stream->sent || held.kind == HELD_UNKNOWN ||
                     (held.kind == HELD_TEXT && i >= text) ||
                     (held.kind == HELD_PAYLOAD && i >= payload);
        if (i == stream->payload)
            kept_payload = kept;
        if (held.kind == HELD_TEXT && !stays) {
            stream_remember(stream, &held.byte, 1);
            stream->text_known--;
        }
        if (held.kind == HELD_PAYLOAD && !stays)
            stream->payload_known--;
        if (!stays)
            continue;
        kept_sent += i < stream->sent;
        stream->held[kept++] = held;
    }
    if (stream->payload >= stream->count)
        kept_payload = kept;
    stream->payload = (uint32_t)kept_payload;
    explicit_bzero(stream->held + kept, (stream->count - kept) * sizeof *stream->held);
    stream->count = (uint32_t)kept;
    stream->sent = (uint32_t)kept_sent;
    stream_shrink(stream);
}

/* Where the character that `end` cuts in two begins; `end` if it cuts none. */
static size_t find_cut(const struct kndl_redact_stream *stream, size_t end)
{
    size_t seen = 0;

    for (size_t i = end; i > stream->sent && seen < 3; i--) {
        const struct held *held = &stream->held[i - 1];
        if (held->kind == HELD_SKIP)
            return end;
        seen++;
        if ((held->byte & 0xc0) == 0x80)
            continue;
        return utf8_length(held->byte) > seen ? i - 1 : end;
    }
    return end;
}

/* Behind a beginning that has left, what is no text leaves at once. */
static size_t pass_skipped(const struct kndl_redact_stream *stream)
{
    size_t at = stream->sent;

    while (at < stream->count &&
           (stream->held[at].kind == HELD_SKIP || stream->held[at].kind == HELD_PAST))
        at++;
    return at;
}

/* More than this doesn't wait: the longest form, with as much again between its characters. */
static size_t held_most(const struct kndl_redact_stream *stream)
{
    return STREAM_HELD_BYTES + 4 * stream->set->automaton.longest;
}

/* What has left is not remembered without end: of a beginning behind which nothing but encoded line
 * breaks and colours comes, the older half is given up. */
static void forget_old(struct kndl_redact_stream *stream)
{
    size_t half = REMEMBERED_BYTES / 2 + 4 * stream->set->automaton.longest;

    if (stream->sent > 2 * half)
        stream_forget(stream, stream->sent - half, stream->sent - half);
}

enum ending {
    MORE_COMES, /* at once: what is only remembered waits, too, so that no escape is cut */
    GOES_ON,
    EXPIRES,
    ENDS
};

/* Finds what is to be masked in held, lets go what may leave, and forgets what is dead. */
static void settle(struct kndl_redact_stream *stream, enum ending ending, struct kndl_buf *out)
{
    KNDL_CLEANUP(gather_done) struct gathered text __attribute__((uninitialized));
    KNDL_CLEANUP(gather_done) struct gathered payload __attribute__((uninitialized));
    bool in_string = escape_in_string(stream->escape);
    size_t payload_alive = stream->count;
    size_t hold;

    text.text = NULL;
    payload.text = NULL;
    if (ending == ENDS && stream->count > 0 && stream->held[stream->count - 1].kind == HELD_UNKNOWN)
        stream->held[stream->count - 1].kind = in_string ? HELD_PAYLOAD : HELD_TEXT;

    scan_held(stream, HELD_TEXT, 0, &stream->text_known, &text);
    hold = text.where[ending == MORE_COMES ? text.scan.alive : text.scan.hold];
    if (in_string) {
        scan_held(stream, HELD_PAYLOAD, stream->payload, &stream->payload_known, &payload);
        payload_alive = payload.where[payload.scan.alive];
        size_t start = ending == MORE_COMES ? payload.scan.alive : payload.scan.hold;
        if (payload.where[start] < hold)
            hold = payload.where[start];
    }
    if (hold == stream->count && hold > 0 && stream->held[hold - 1].kind == HELD_UNKNOWN &&
        stream->set->automaton.first[0xc2] != 0)
        hold--;
    if (hold < stream->sent)
        hold = pass_skipped(stream);

    if (ending >= EXPIRES || stream->count - hold > held_most(stream)) {
        mask_long_beginning(stream, &text);
        if (in_string)
            mask_long_beginning(stream, &payload);
        hold = stream->count;
    }
    stream->waits = hold < stream->count;
    if (ending != ENDS && stream->kind == KNDL_REDACT_TEXT)
        hold = find_cut(stream, hold);
    emit_held(stream, hold, out);
    stream_forget(stream, text.where[text.scan.alive], payload_alive);
    forget_old(stream);
}

/* Is it likely that bulk_take() goes on from here? */
static bool is_taken_at_once(const struct kndl_redact_stream *stream)
{
    return stream->escape == ESCAPE_GROUND || stream->escape == ESCAPE_STRING ||
           stream->escape == ESCAPE_STRING_ESC;
}

/* Byte by byte, through something rare: at least `least` bytes, and to its end. */
static size_t take_rare(struct kndl_redact_stream *stream, struct kndl_slice piece, size_t least,
                        struct kndl_buf *out)
{
    size_t most = piece.size < BLOCK_BYTES ? piece.size : BLOCK_BYTES;
    size_t taken = 0;

    if (least < stream->count / 2)
        least = stream->count / 2; /* a scan costs as much as is held */

    while (taken < most && (taken < least || !is_taken_at_once(stream))) {
        if (stream->count == stream->capacity)
            stream_reserve(stream, 1);
        if (stream->escape == ESCAPE_STRING && piece.data[taken] >= 0x20 &&
            piece.data[taken] < 0x7f)
            append_held(stream, piece.data[taken++], HELD_PAYLOAD);
        else
            take_byte(stream, piece.data[taken++]);
    }
    settle(stream, taken < piece.size ? MORE_COMES : GOES_ON, out);
    return taken;
}

static size_t take_at_once(struct kndl_redact_stream *stream, struct kndl_slice piece,
                           struct kndl_buf *out)
{
    take_short_fn take_short = stream->set->take_short;
    size_t taken = 0;

    if (piece.size <= SHORT_BYTES && take_short != NULL)
        taken = take_short(stream, piece, out);
    return taken > 0 ? taken : bulk_take(stream, piece, out);
}

void kndl_redact_feed(struct kndl_redact_stream *stream, struct kndl_slice piece, int64_t now_us,
                      struct kndl_buf *out)
{
    size_t least = 1; /* grows where rare things follow each other, for each costs a scan */

    stream->now_us = now_us;
    while (piece.size > 0) {
        size_t taken = take_at_once(stream, piece, out);
        if (taken > RARE_APART_BYTES && least > 1)
            least /= 2;
        if (taken == 0) {
            taken = take_rare(stream, piece, least, out);
            least = least < RARE_BYTES_MAX ? least * 2 : least;
        }
        piece = kndl_slice(piece.data + taken, piece.size - taken);
    }
}

int64_t kndl_redact_deadline(const struct kndl_redact_stream *stream)
{
    size_t characters = 0;
    int64_t came;

    if (!stream->waits || stream->sent == stream->count)
        return INT64_MAX;
    for (size_t i = stream->sent; i < stream->count && characters < SHORT_CHARACTERS; i++)
        characters += stream->held[i].kind != HELD_SKIP && stream->held[i].kind != HELD_PAST &&
                      (stream->held[i].byte & 0xc0) != 0x80;
    came = stream->now_us - (uint32_t)((uint32_t)stream->now_us - stream->held[stream->sent].at_us);
    return came + (characters < SHORT_CHARACTERS ? SHORT_WAIT_US : LONG_WAIT_US);
}

void kndl_redact_expire(struct kndl_redact_stream *stream, int64_t now_us, struct kndl_buf *out)
{
    if (kndl_redact_deadline(stream) <= now_us)
        settle(stream, EXPIRES, out);
}

void kndl_redact_flush(struct kndl_redact_stream *stream, struct kndl_buf *out)
{
    settle(stream, ENDS, out);
    explicit_bzero(stream->held, stream->count * sizeof *stream->held);
    stream->count = 0;
    stream->sent = 0;
    stream->payload = 0;
    stream->text_known = 0;
    stream->payload_known = 0;
    stream->escape = ESCAPE_GROUND;
    stream->missing = 0;
    stream->waits = 0;
    stream->past_size = 0;
    explicit_bzero(stream->past, sizeof stream->past);
    stream_shrink(stream);
}

void kndl_redact_stream_swap(struct kndl_redact_stream *stream, struct kndl_redact_set *set)
{
    uint32_t past = stream->past_size;
    const uint8_t *text = stream->past + STREAM_PAST_BYTES - past;

    kndl_redact_set_ref(set);
    kndl_redact_set_unref(stream->set);
    stream->set = set;

    /* What left before comes back as text that is only remembered; the next scan forgets it. */
    stream_reserve(stream, past);
    memmove(stream->held + past, stream->held, stream->count * sizeof *stream->held);
    for (size_t i = 0; i < past; i++)
        stream->held[i] = (struct held){.byte = text[i], .kind = HELD_TEXT};
    stream->count += past;
    stream->sent += past;
    stream->payload += past;
    stream->text_known += past;
    stream->past_size = 0;
    explicit_bzero(stream->past, sizeof stream->past);
}

void kndl_redact_screen(struct kndl_redact_set *set, struct kndl_slice text, struct kndl_buf *out)
{
    struct kndl_redact_stream *stream = kndl_redact_stream_new(set, KNDL_REDACT_BYTES);
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf masked = {0};
    const char *line;

    /* What is whole is masked and counted first: a line may be a part of it. */
    kndl_redact_text(set, text, &masked);
    kndl_redact_stream_uncount(stream);
    line = kndl_buf_text(&masked);
    for (const char *end = line + masked.size; line < end;) {
        const char *line_end = memchr(line, '\n', (size_t)(end - line));
        const char *rest = line_end == NULL ? end : line_end + 1;
        const char *blanks = rest;
        while (blanks > line && strchr(" \t\r\n", blanks[-1]) != NULL)
            blanks--;
        kndl_redact_feed(stream, kndl_slice(line, (size_t)(blanks - line)), 0, out);
        kndl_redact_expire(stream, INT64_MAX, out);
        kndl_buf_append(out, blanks, (size_t)(rest - blanks));
        line = rest;
    }
    kndl_redact_flush(stream, out);
    kndl_redact_stream_free(stream);
}

void kndl_redact_text(struct kndl_redact_set *set, struct kndl_slice text, struct kndl_buf *out)
{
    struct kndl_redact_stream *stream = kndl_redact_stream_new(set, KNDL_REDACT_BYTES);

    kndl_redact_feed(stream, text, 0, out);
    kndl_redact_flush(stream, out);
    kndl_redact_stream_free(stream);
}
