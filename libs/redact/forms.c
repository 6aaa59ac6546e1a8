/* Which literal patterns stand for a value. */

#include "forms.h"

#include <endian.h>
#include <string.h>

#include "escape.h"
#include "kndl/mem.h"
#include "lane.h"
#include "secret.h"
#include "spell.h"
#include "utf8.h"

static bool is_blank(uint8_t byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

static struct kndl_slice trim(struct kndl_slice text)
{
    while (text.size > 0 && is_blank(text.data[0]))
        text = kndl_slice(text.data + 1, text.size - 1);
    while (text.size > 0 && is_blank(text.data[text.size - 1]))
        text.size--;
    return text;
}

/* Line breaks at the ends of a value are in no form. */
static struct kndl_slice trim_breaks(struct kndl_slice text)
{
    while (text.size > 0 && (text.data[0] == '\n' || text.data[0] == '\r'))
        text = kndl_slice(text.data + 1, text.size - 1);
    while (text.size > 0 && (text.data[text.size - 1] == '\n' || text.data[text.size - 1] == '\r'))
        text.size--;
    return text;
}

/* The next line; false at the end. */
static bool next_line(struct kndl_slice *rest, struct kndl_slice *ret_line)
{
    size_t size = 0;

    if (rest->size == 0)
        return false;
    while (size < rest->size && rest->data[size] != '\n' && rest->data[size] != '\r')
        size++;
    *ret_line = kndl_slice(rest->data, size);
    size += size < rest->size;
    *rest = kndl_slice(rest->data + size, rest->size - size);
    return true;
}

/* `-----BEGIN X-----` says nothing, unless the key goes on behind it. */
static bool is_armour(struct kndl_slice line)
{
    const uint8_t *dashes;

    if (line.size < 10 ||
        (memcmp(line.data, "-----BEGIN", 10) != 0 && memcmp(line.data, "-----END", 8) != 0))
        return false;
    dashes = memmem(line.data + 5, line.size - 5, "-----", 5);
    return dashes == NULL || dashes + 5 == line.data + line.size;
}

/* The text without what escape.h skips. */
static void normalise(struct spell *out, struct kndl_slice text)
{
    enum escape_state state = ESCAPE_GROUND;

    for (size_t i = 0; i < text.size; i++) {
        enum escape_class waited = ESCAPE_SKIP;
        enum escape_class class = escape_step(&state, text.data[i], &waited);
        if (waited != ESCAPE_SKIP)
            spell_byte(out, 0xc2);
        if (class == ESCAPE_TEXT || class == ESCAPE_PAYLOAD)
            spell_byte(out, text.data[i]);
    }
    if (state == ESCAPE_C2 || state == ESCAPE_STRING_C2)
        spell_byte(out, 0xc2);
}

/* Printable ASCII: what is not skipped, one byte a character. */
static bool is_simple(struct kndl_slice text)
{
    unsigned other = 0;

    for (size_t i = 0; i < text.size; i++)
        other |= (uint8_t)(text.data[i] - 0x20) >= 0x7f - 0x20;
    return other == 0;
}

/* The text itself if nothing of it is skipped, else what is left of it in the scratch. */
static struct kndl_slice normalised(struct spell *scratch, struct kndl_slice text)
{
    if (is_simple(text))
        return text;
    normalise(scratch, text);
    return spell_slice(scratch);
}

/* Is it among the forms of the same text? Many spellings of it are the same. */
static bool is_repeated_form(const struct forms *forms, struct kndl_slice plain)
{
    for (size_t i = forms->text_first; i < forms->count; i++) {
        const struct form *form = &forms->list[i];
        if (form->size == plain.size &&
            memcmp(form_bytes(forms, form), plain.data, plain.size) == 0)
            return true;
    }
    return false;
}

/* Its first bytes as a number, by which most forms are told apart. */
static uint64_t head_of(struct kndl_slice plain)
{
    uint64_t head = 0;

    memcpy(&head, plain.data, plain.size < sizeof head ? plain.size : sizeof head);
    return be64toh(head);
}

static void keep_form(struct forms *forms, struct kndl_slice plain, uint32_t value)
{
    if (is_repeated_form(forms, plain))
        return;
    while (forms->size + plain.size > forms->capacity)
        forms->bytes = secret_grow(forms->bytes, forms->size, &forms->capacity, 1);
    if (forms->count == forms->list_capacity)
        forms->list =
            secret_grow(forms->list, forms->count, &forms->list_capacity, sizeof *forms->list);
    memcpy(forms->bytes + forms->size, plain.data, plain.size);
    forms->list[forms->count++] = (struct form){.head = head_of(plain),
                                                .at = (uint32_t)forms->size,
                                                .size = (uint32_t)plain.size,
                                                .value = value};
    forms->size += plain.size;
}

static void add_form(struct forms *forms, struct kndl_slice text, uint32_t value)
{
    KNDL_CLEANUP(spell_done) struct spell scratch = {0};
    struct kndl_slice rest = normalised(&scratch, text);

    if (utf8_count(rest.data, rest.size) < KNDL_REDACT_CHARACTERS_MIN)
        return;
    while (rest.size > FORM_BYTES_MAX) {
        size_t size = rest.size / 2;
        keep_form(forms, kndl_slice(rest.data, size), value);
        rest = kndl_slice(rest.data + size, rest.size - size);
    }
    keep_form(forms, rest, value);
}

/* What of a text is spelled in more than one way, so that not all sixteen ways are tried. */
static unsigned find_json_flags(struct kndl_slice text)
{
    unsigned flags = 0;

    for (size_t i = 0; i < text.size; i++) {
        uint8_t byte = text.data[i];
        if (byte == '/')
            flags |= SPELL_JSON_SLASH;
        if (byte == '<' || byte == '>' || byte == '&' || byte == 0xe2)
            flags |= SPELL_JSON_HTML | SPELL_UPPER;
        if (byte >= 0x7f)
            flags |= SPELL_JSON_ASCII | SPELL_UPPER;
        if (byte < 0x20)
            flags |= SPELL_UPPER;
    }
    return flags;
}

static void add_json(struct forms *forms, struct kndl_slice text, uint32_t value)
{
    KNDL_CLEANUP(spell_done) struct spell once = {0};
    KNDL_CLEANUP(spell_done) struct spell twice = {0};
    unsigned differing = find_json_flags(text);

    if (spell_json_keeps(text))
        return;
    for (unsigned flags = 0; flags < SPELL_JSON_COUNT; flags++) {
        if (flags & ~differing)
            continue;
        spell_clear(&once);
        spell_clear(&twice);
        spell_json(&once, text, flags);
        if (kndl_slice_equal(spell_slice(&once), text))
            continue;
        add_form(forms, spell_slice(&once), value);
        spell_json(&twice, spell_slice(&once), flags);
        add_form(forms, spell_slice(&twice), value);
    }
}

/* Does every encoder of URLs leave this text as it is? */
static bool is_plain_in_url(struct kndl_slice text)
{
    for (size_t i = 0; i < text.size; i++) {
        uint8_t byte = text.data[i] | 0x20;
        if (!((byte >= 'a' && byte <= 'z') || (text.data[i] >= '0' && text.data[i] <= '9') ||
              text.data[i] == '-' || text.data[i] == '.' || text.data[i] == '_'))
            return false;
    }
    return true;
}

static void add_url(struct forms *forms, struct kndl_slice text, uint32_t value)
{
    KNDL_CLEANUP(spell_done) struct spell url = {0};

    if (is_plain_in_url(text))
        return;
    for (unsigned kind = 0; kind < SPELL_URL_COUNT; kind++) {
        for (unsigned flags = 0; flags <= SPELL_UPPER; flags += SPELL_UPPER) {
            spell_clear(&url);
            spell_url(&url, text, kind, flags);
            if (!kndl_slice_equal(spell_slice(&url), text))
                add_form(forms, spell_slice(&url), value);
        }
    }
}

/* With `+` for blanks: what is left of a form's spelling once its percent signs are decoded. */
static void add_plus(struct forms *forms, struct kndl_slice text, uint32_t value)
{
    KNDL_CLEANUP(spell_done) struct spell plus = {0};

    if (text.size == 0 || memchr(text.data, ' ', text.size) == NULL)
        return;
    spell_bytes(&plus, text);
    for (size_t i = 0; i < plus.size; i++) {
        if (plus.bytes[i] == ' ')
            plus.bytes[i] = '+';
    }
    add_form(forms, spell_slice(&plus), value);
}

/* The text as it is, and as JSON and URLs spell it. */
static void add_spellings(struct forms *forms, struct kndl_slice text, uint32_t value)
{
    forms->text_first = forms->count;
    add_form(forms, text, value);
    add_plus(forms, text, value);
    if (text.size > forms->base_bytes)
        return;
    add_json(forms, text, value);
    add_url(forms, text, value);
}

/* Each line break as a blank, as `tr` writes it. */
static void join_by_blanks(struct spell *out, struct kndl_slice text)
{
    for (size_t i = 0; i < text.size; i++) {
        bool is_break = text.data[i] == '\n' || text.data[i] == '\r';

        if (text.data[i] == '\r' && i + 1 < text.size && text.data[i + 1] == '\n')
            continue;
        spell_byte(out, is_break ? ' ' : text.data[i]);
    }
}

/* Of a value of several lines: each long line, and all of them joined, as they are and trimmed. */
static void add_lines(struct forms *forms, struct kndl_slice text, uint32_t value)
{
    KNDL_CLEANUP(spell_done) struct spell joined = {0};
    KNDL_CLEANUP(spell_done) struct spell spaced = {0};
    KNDL_CLEANUP(spell_done) struct spell spaced_raw = {0};
    struct kndl_slice rest = text;
    struct kndl_slice raw;

    while (next_line(&rest, &raw)) {
        KNDL_CLEANUP(spell_done) struct spell scratch = {0};
        struct kndl_slice line = trim(normalised(&scratch, raw));
        if (line.size == 0)
            continue;
        if (spaced.size > 0)
            spell_byte(&spaced, ' ');
        spell_bytes(&spaced, line);
        spell_bytes(&joined, line);
        if (utf8_count(line.data, line.size) < FORM_LINE_CHARACTERS_MIN || is_armour(line))
            continue;
        add_spellings(forms, line, value);
        if (line.size < trim(raw).size)
            add_spellings(forms, trim(raw), value);
    }
    add_spellings(forms, spell_slice(&joined), value);
    add_spellings(forms, spell_slice(&spaced), value);
    join_by_blanks(&spaced_raw, text);
    if (!kndl_slice_equal(spell_slice(&spaced_raw), spell_slice(&spaced)))
        add_spellings(forms, spell_slice(&spaced_raw), value);
}

/* What JSON's escapes in the text stand for. */
static void decode_json(struct spell *out, struct kndl_slice text)
{
    struct lane_unit unit;
    size_t from = 0;

    for (size_t at = 0; lane_read(LANE_JSON, text.data, text.size, &at, &unit); from = at)
        spell_bytes(out, kndl_slice(unit.bytes, unit.size));
    spell_bytes(out, kndl_slice(text.data + from, text.size - from));
}

/* A key is often kept in one line, with `\n` for its line breaks, and printed in many. */
static void add_written_lines(struct forms *forms, struct kndl_slice text, uint32_t value)
{
    KNDL_CLEANUP(spell_done) struct spell decoded = {0};

    if (memmem(text.data, text.size, "\\n", 2) == NULL)
        return;
    decode_json(&decoded, text);
    add_lines(forms, spell_slice(&decoded), value);
}

static void add_base64(struct forms *forms, struct kndl_slice text, uint32_t value)
{
    KNDL_CLEANUP(spell_done) struct spell code = {0};

    for (unsigned shift = 0; shift < 3; shift++) {
        for (int for_url = 0; for_url < 2; for_url++) {
            spell_clear(&code);
            spell_base64(&code, text, shift, for_url);
            add_form(forms, spell_slice(&code), value);
        }
    }
}

/* Adds all forms of a value. */
static void add_value(struct forms *forms, const struct kndl_redact_value *value, uint32_t index)
{
    struct kndl_slice whole = trim_breaks(value->value);
    struct kndl_slice trimmed = trim(whole);
    KNDL_CLEANUP(spell_done) struct spell scratch = {0};
    struct kndl_slice plain = normalised(&scratch, trimmed);

    add_spellings(forms, whole, index);
    if (plain.size < trimmed.size)
        add_spellings(forms, trim(plain), index);
    if (trimmed.size < whole.size)
        add_spellings(forms, trimmed, index);
    if (memchr(trimmed.data, '\n', trimmed.size) != NULL ||
        memchr(trimmed.data, '\r', trimmed.size) != NULL)
        add_lines(forms, trimmed, index);
    add_written_lines(forms, trimmed, index);
    if (value->with_base64) {
        add_base64(forms, value->value, index);
        add_base64(forms, trimmed, index);
    }
}

static bool is_before(const struct forms *forms, const struct form *a, const struct form *b)
{
    uint32_t shorter = a->size < b->size ? a->size : b->size;
    int order;

    if (a->head != b->head)
        return a->head < b->head;
    order = memcmp(form_bytes(forms, a), form_bytes(forms, b), shorter);
    if (order != 0)
        return order < 0;
    return a->size != b->size ? a->size < b->size : a->value < b->value;
}

/* Merges halves that are sorted; qsort() would leave heads of secrets in memory of its own. */
static void sort(const struct forms *forms, struct form *list, struct form *scratch, size_t count)
{
    size_t half = count / 2;
    const struct form *right = list + half;
    const struct form *end = list + count;

    if (count < 2)
        return;
    sort(forms, list, scratch, half);
    sort(forms, list + half, scratch, count - half);
    memcpy(scratch, list, half * sizeof *list);
    for (const struct form *left = scratch; left < scratch + half; list++) {
        if (right < end && is_before(forms, right, left))
            *list = *right++;
        else
            *list = *left++;
    }
}

static uint32_t count_shared(const struct forms *forms, const struct form *a, const struct form *b)
{
    uint32_t shorter = a->size < b->size ? a->size : b->size;
    uint32_t shared = 0;

    while (shared < shorter && form_bytes(forms, a)[shared] == form_bytes(forms, b)[shared])
        shared++;
    return shared;
}

static void sort_all(struct forms *forms)
{
    struct form *last = forms->list;

    if (forms->count == 0)
        return;
    struct form *scratch = kndl_alloc(forms->count, sizeof *scratch);
    sort(forms, forms->list, scratch, forms->count);
    secret_free(scratch, forms->count * sizeof *scratch);
    for (size_t i = 1; i < forms->count; i++) {
        struct form form = forms->list[i];
        form.shared = count_shared(forms, last, &form);
        if (form.shared < form.size)
            *++last = form;
    }
    forms->count = (size_t)(last - forms->list) + 1;
}

/* False: they are too many, and not all there. */
static bool add_values(struct forms *forms, const struct kndl_redact_value *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        add_value(forms, &values[i], (uint32_t)i);
        if (forms->size > FORMS_BYTES_MAX && forms->base_bytes > 0)
            return false;
    }
    return true;
}

void forms_make(struct forms *forms, const struct kndl_redact_value *values, size_t count)
{
    size_t base_bytes = FORM_ENCODED_BASE_BYTES;

    for (;;) {
        forms->base_bytes = base_bytes;
        if (add_values(forms, values, count))
            break;
        forms_done(forms);
        base_bytes /= 4;
    }
    sort_all(forms);
}

void forms_done(struct forms *forms)
{
    secret_free(forms->bytes, forms->capacity);
    secret_free(forms->list, forms->list_capacity * sizeof *forms->list);
    *forms = (struct forms){0};
}

/* Words that no one should have to see masked everywhere. */
static bool is_word(struct kndl_slice text)
{
    static const char *const words[] = {
        "admin",    "administrator", "changeme",    "code",       "data",   "database", "debug",
        "default",  "demo",          "development", "docker",     "error",  "example",  "false",
        "file",     "github",        "guest",       "hello",      "home",   "http",     "https",
        "info",     "latest",        "letmein",     "localhost",  "login",  "main",     "master",
        "mysql",    "name",          "node",        "none",       "null",   "password", "passwd",
        "postgres", "private",       "prod",        "production", "public", "qwerty",   "redis",
        "root",     "secret",        "server",      "staging",    "string", "system",   "test",
        "testing",  "token",         "true",        "undefined",  "user",   "username", "value",
        "welcome",  "workspace",
    };

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (text.size == strlen(words[i]) &&
            strncasecmp((const char *)text.data, words[i], text.size) == 0)
            return true;
    }
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return false;
    }
    return text.size < FORM_LINE_CHARACTERS_MIN;
}

static bool is_repeated(struct kndl_slice text)
{
    for (size_t i = 1; i < text.size; i++) {
        if (text.data[i] != text.data[0])
            return false;
    }
    return true;
}

int kndl_redact_check(const char *name, struct kndl_slice value,
                      enum kndl_redact_weakness *ret_weakness, struct kndl_error *err)
{
    KNDL_CLEANUP(spell_done) struct spell scratch = {0};

    if (value.size > KNDL_REDACT_VALUE_BYTES_MAX)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT,
                         "the value of %.100s has %zu bytes; the most that can be masked is %d",
                         name, value.size, KNDL_REDACT_VALUE_BYTES_MAX);

    struct kndl_slice text = trim(normalised(&scratch, value));
    size_t characters = utf8_count(text.data, text.size);
    if (characters < KNDL_REDACT_CHARACTERS_MIN)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT,
                         "the value of %.100s is too short (%zu): a Sensitive value has at least "
                         "%d characters, blanks at its ends and line breaks not counted",
                         name, characters, KNDL_REDACT_CHARACTERS_MIN);
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): it has characters */
    if (is_repeated(text) && text.data[0] == '*')
        return kndl_fail(err, KNDL_INVALID_ARGUMENT,
                         "the value of %.100s has nothing but stars and cannot be masked", name);
    if (ret_weakness == NULL)
        return 0;
    *ret_weakness = is_word(text)       ? KNDL_REDACT_WORD
                    : is_repeated(text) ? KNDL_REDACT_REPEATED
                    : characters < 8    ? KNDL_REDACT_SHORT
                                        : KNDL_REDACT_STRONG;
    return 0;
}
