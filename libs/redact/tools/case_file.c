/* Reading cases: strictly, so that none is thought to hold because it was not understood. */

#include "case_file.h"

#include <string.h>

#include "json.h"
#include "kndl/mem.h"

enum kind { TEXT, TEXTS, BASE64, BASE64S, WORD, WORDS };

/* A member's name, what it holds and where it goes. */
struct member {
    const char *name;
    enum kind kind;
    bool is_needed;
    size_t offset;
};

#define MEMBER(name, kind, is_needed)                                                              \
    {                                                                                              \
#name, kind, is_needed, offsetof(struct redact_case, name)                                 \
    }

static const struct member members[] = {
    MEMBER(id, TEXT, true),
    MEMBER(values, TEXTS, true),
    MEMBER(chunks, BASE64S, true),
    MEMBER(expect, BASE64, false),
    MEMBER(must_not_contain, TEXTS, false),
    MEMBER(after_each, TEXTS, false),
    MEMBER(pauses_ms, WORDS, false),
    MEMBER(with_base64, WORD, false),
    MEMBER(source, TEXT, false),
    MEMBER(note, TEXT, false),
};

static struct texts *member_texts(struct redact_case *one, const struct member *member)
{
    return (struct texts *)((char *)one + member->offset);
}

static bool is_list(enum kind kind)
{
    return kind == TEXTS || kind == BASE64S || kind == WORDS;
}

struct reader {
    struct kndl_slice line;
    struct kndl_arena *arena;
    size_t at;
    enum json_token kind; /* of the token that was read last */
    struct kndl_slice token;
};

static void next(struct reader *reader)
{
    reader->kind = json_next(reader->line, &reader->at, &reader->token);
}

static bool is_mark(const struct reader *reader, char mark)
{
    return reader->kind == JSON_MARK && reader->token.data[0] == (uint8_t)mark;
}

static bool is_null(const struct reader *reader)
{
    return reader->kind == JSON_WORD && kndl_slice_equal(reader->token, kndl_slice_of("null"));
}

/* A copy with a NUL behind it. */
static struct kndl_slice keep(struct kndl_arena *arena, struct kndl_slice bytes)
{
    char *copy = kndl_arena_alloc(arena, bytes.size + 1);

    if (bytes.size > 0)
        memcpy(copy, bytes.data, bytes.size);
    return kndl_slice(copy, bytes.size);
}

static void add(struct kndl_arena *arena, struct texts *texts, struct kndl_slice bytes)
{
    if (texts->count == texts->capacity) {
        size_t capacity = texts->capacity * 2 + 16;
        struct kndl_slice *grown = kndl_arena_alloc(arena, capacity * sizeof *grown);
        if (texts->count > 0)
            memcpy(grown, texts->list, texts->count * sizeof *grown);
        texts->list = grown;
        texts->capacity = capacity;
    }
    texts->list[texts->count++] = keep(arena, bytes);
}

static int base64_value(uint8_t c)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *found = c == '\0' ? NULL : strchr(letters, c);

    return found == NULL ? -1 : (int)(found - letters);
}

/* False: it is no base64. */
static bool decode_base64(struct kndl_slice text, struct spell *ret_bytes)
{
    unsigned bits = 0;
    unsigned held = 0;

    while (text.size > 0 && text.data[text.size - 1] == '=')
        text.size--;
    for (size_t i = 0; i < text.size; i++) {
        int value = base64_value(text.data[i]);
        if (value < 0)
            return false;
        held = held << 6 | (unsigned)value;
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            spell_byte(ret_bytes, (uint8_t)(held >> bits));
        }
    }
    return text.size % 4 != 1;
}

/* The token that was read last, as one text of a member. */
static int read_text(struct reader *reader, const struct member *member, struct texts *texts,
                     struct kndl_error *err)
{
    KNDL_CLEANUP(spell_done) struct spell text = {0};
    KNDL_CLEANUP(spell_done) struct spell bytes = {0};
    bool is_word = member->kind == WORD || member->kind == WORDS;

    if (reader->kind != (is_word ? JSON_WORD : JSON_STRING))
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "%s has something that is no %s", member->name,
                         is_word ? "number or word" : "string");
    if (is_word) {
        add(reader->arena, texts, reader->token);
        return 0;
    }
    if (!json_decode(reader->token, &text))
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "%s has a string with a wrong escape",
                         member->name);
    if (member->kind == TEXT || member->kind == TEXTS) {
        add(reader->arena, texts, spell_slice(&text));
        return 0;
    }
    if (!decode_base64(spell_slice(&text), &bytes))
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "%s is not in base64", member->name);
    add(reader->arena, texts, spell_slice(&bytes));
    return 0;
}

static int read_list(struct reader *reader, const struct member *member, struct texts *texts,
                     struct kndl_error *err)
{
    if (!is_mark(reader, '['))
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "%s is no list", member->name);
    next(reader);
    if (is_mark(reader, ']'))
        return 0;
    for (;;) {
        if (read_text(reader, member, texts, err) < 0)
            return -1;
        next(reader);
        if (is_mark(reader, ']'))
            return 0;
        if (!is_mark(reader, ','))
            return kndl_fail(err, KNDL_INVALID_ARGUMENT, "the list of %s does not end",
                             member->name);
        next(reader);
    }
}

/* Passes over a value of any kind. */
static int skip_value(struct reader *reader, struct kndl_error *err)
{
    size_t depth = 0;

    for (;;) {
        if (reader->kind == JSON_BAD || reader->kind == JSON_END)
            return kndl_fail(err, KNDL_INVALID_ARGUMENT, "it is not JSON");
        depth += is_mark(reader, '{') || is_mark(reader, '[');
        if (depth == 0 && reader->kind == JSON_MARK)
            return kndl_fail(err, KNDL_INVALID_ARGUMENT, "a member has no value");
        depth -= is_mark(reader, '}') || is_mark(reader, ']');
        if (depth == 0)
            return 0;
        next(reader);
    }
}

static const struct member *find_member(struct kndl_slice name)
{
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        if (kndl_slice_equal(name, kndl_slice_of(members[i].name)))
            return &members[i];
    }
    return NULL;
}

static int read_member(struct reader *reader, struct redact_case *one, struct kndl_error *err)
{
    KNDL_CLEANUP(spell_done) struct spell name = {0};

    if (reader->kind != JSON_STRING || !json_decode(reader->token, &name))
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "it is not a JSON object");
    next(reader);
    if (!is_mark(reader, ':'))
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "it is not a JSON object");
    next(reader);

    const struct member *member = find_member(spell_slice(&name));
    if (member == NULL) {
        add(reader->arena, &one->unknown, spell_slice(&name));
        return skip_value(reader, err);
    }
    struct texts *texts = member_texts(one, member);
    if (texts->is_given)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "%s is there twice", member->name);
    if (is_null(reader) && !member->is_needed)
        return 0;
    texts->is_given = true;
    return is_list(member->kind) ? read_list(reader, member, texts, err)
                                 : read_text(reader, member, texts, err);
}

static int read_object(struct reader *reader, struct redact_case *one, struct kndl_error *err)
{
    if (!is_mark(reader, '{'))
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "it is not a JSON object");
    do {
        next(reader);
        if (read_member(reader, one, err) < 0)
            return -1;
        next(reader);
    } while (is_mark(reader, ','));
    if (!is_mark(reader, '}'))
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "it is not a JSON object");
    next(reader);
    if (reader->kind != JSON_END)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT, "something follows the object");
    return 0;
}

static int check(struct redact_case *one, struct kndl_error *err)
{
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        if (members[i].is_needed && !member_texts(one, &members[i])->is_given)
            return kndl_fail(err, KNDL_INVALID_ARGUMENT, "%s is missing", members[i].name);
    }
    if (!one->expect.is_given && one->must_not_contain.count == 0 && one->after_each.count == 0)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT,
                         "it has none of expect, must_not_contain and after_each");
    if (one->after_each.count > one->chunks.count || one->pauses_ms.count > one->chunks.count)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT,
                         "after_each or pauses_ms has more than there are chunks");
    return 0;
}

int case_read(struct kndl_slice line, struct kndl_arena *arena, struct redact_case *ret_case,
              struct kndl_error *err)
{
    struct reader reader = {.line = line, .arena = arena};

    *ret_case = (struct redact_case){0};
    next(&reader);
    if (reader.kind == JSON_END)
        return 1;
    if (read_object(&reader, ret_case, err) < 0)
        return -1;
    return check(ret_case, err);
}

const char *case_text(const struct texts *texts)
{
    return texts->count > 0 ? (const char *)texts->list[0].data : "";
}
