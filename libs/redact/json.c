/* JSON text, masked string by string. */

#include "json.h"

#include <string.h>

#include "kndl/mem.h"
#include "kndl/redact.h"
#include "lane.h"
#include "utf8.h"

static bool is_space(uint8_t byte)
{
    return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

static bool is_word(uint8_t byte)
{
    return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') ||
           (byte >= 'A' && byte <= 'Z') || byte == '-' || byte == '+' || byte == '.';
}

/* Bytes of the string at `at`, both quotes counted; 0 if it doesn't end. */
static size_t measure_string(struct kndl_slice json, size_t at)
{
    for (size_t i = at + 1; i < json.size; i++) {
        if (json.data[i] == '"')
            return i + 1 - at;
        if (json.data[i] < 0x20)
            return 0;
        i += json.data[i] == '\\';
    }
    return 0;
}

/* Passes over digits; false if there is none. */
static bool pass_digits(struct kndl_slice word, size_t *at)
{
    size_t from = *at;

    while (*at < word.size && word.data[*at] >= '0' && word.data[*at] <= '9')
        ++*at;
    return *at > from;
}

/* Is it a number, true, false or null? */
static bool is_value(struct kndl_slice word)
{
    size_t at = 0;

    if (kndl_slice_equal(word, kndl_slice_of("true")) ||
        kndl_slice_equal(word, kndl_slice_of("false")) ||
        kndl_slice_equal(word, kndl_slice_of("null")))
        return true;
    at += word.size > 0 && word.data[0] == '-';
    if (!pass_digits(word, &at))
        return false;
    if (at < word.size && word.data[at] == '.') {
        at++;
        if (!pass_digits(word, &at))
            return false;
    }
    if (at < word.size && (word.data[at] | 0x20) == 'e') {
        at++;
        at += at < word.size && (word.data[at] == '+' || word.data[at] == '-');
        if (!pass_digits(word, &at))
            return false;
    }
    return at == word.size;
}

enum json_token json_next(struct kndl_slice json, size_t *at, struct kndl_slice *ret_token)
{
    size_t size = 0;
    size_t from = *at;

    while (from < json.size && is_space(json.data[from]))
        from++;
    *at = from;
    if (from == json.size)
        return JSON_END;
    if (strchr("{}[]:,", json.data[from]) != NULL && json.data[from] != '\0') {
        *ret_token = kndl_slice(json.data + from, 1);
        *at = from + 1;
        return JSON_MARK;
    }
    if (json.data[from] == '"') {
        size = measure_string(json, from);
        *ret_token = kndl_slice(json.data + from, size);
        *at = from + size;
        return size > 0 ? JSON_STRING : JSON_BAD;
    }
    while (from + size < json.size && is_word(json.data[from + size]))
        size++;
    *ret_token = kndl_slice(json.data + from, size);
    *at = from + size;
    return is_value(*ret_token) ? JSON_WORD : JSON_BAD;
}

bool json_decode(struct kndl_slice token, struct spell *ret_text)
{
    size_t at = 1;
    struct lane_unit unit;

    while (at + 1 < token.size) {
        size_t before = at;
        if (!lane_read(LANE_JSON, token.data, token.size - 1, &at, &unit))
            return false;
        if (token.data[before] == '\\' && at == before + 1)
            return false;
        spell_bytes(ret_text, kndl_slice(unit.bytes, unit.size));
    }
    return true;
}

void json_encode(struct kndl_slice text, struct kndl_buf *out)
{
    KNDL_CLEANUP(spell_done) struct spell spelled = {0};

    spell_json(&spelled, text, 0);
    kndl_buf_append_char(out, '"');
    kndl_buf_append(out, spelled.bytes, spelled.size);
    kndl_buf_append_char(out, '"');
}

/* Appends one string or word; as it was if nothing in it is masked. False: not JSON. */
static bool mask_token(struct kndl_redact_set *set, struct kndl_slice token, bool is_string,
                       struct kndl_buf *out)
{
    KNDL_CLEANUP(spell_done) struct spell text = {0};
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf masked = {0};

    if (!is_string)
        spell_bytes(&text, token);
    else if (!json_decode(token, &text))
        return false;
    kndl_redact_text(set, spell_slice(&text), &masked);
    if (kndl_slice_equal(kndl_buf_slice(&masked), spell_slice(&text)))
        kndl_buf_append(out, token.data, token.size);
    else
        json_encode(kndl_buf_slice(&masked), out);
    return true;
}

/* Appends the masked JSON; false at the first token that is none. */
static bool mask_json(struct kndl_redact_set *set, struct kndl_slice json, struct kndl_buf *out)
{
    struct kndl_slice token;
    size_t at = 0;

    for (;;) {
        size_t before = at;
        enum json_token kind = json_next(json, &at, &token);
        size_t blanks = (kind == JSON_END ? at : (size_t)(token.data - json.data)) - before;
        switch (kind) {
        case JSON_BAD:
            return false;
        case JSON_END:
            kndl_buf_append(out, json.data + before, blanks);
            return true;
        case JSON_MARK:
            kndl_buf_append(out, json.data + before, blanks + token.size);
            break;
        case JSON_STRING:
        case JSON_WORD:
            kndl_buf_append(out, json.data + before, blanks);
            if (!mask_token(set, token, kind == JSON_STRING, out))
                return false;
            break;
        }
    }
}

/* Is a mark or a quote of the JSON masked? The two have as many characters. */
static bool is_frame_masked(struct kndl_slice json, struct kndl_slice masked)
{
    bool in_string = false;
    bool is_escaped = false;
    size_t bytes;

    for (size_t i = 0, k = 0; i < json.size && k < masked.size; i += bytes) {
        uint8_t byte = json.data[i];
        bool is_quote = byte == '"' && !is_escaped;

        if ((is_quote || (!in_string && strchr("{}[]:,", byte) != NULL)) && byte != masked.data[k])
            return true;
        is_escaped = in_string && byte == '\\' && !is_escaped;
        in_string ^= is_quote;
        (void)utf8_read(masked.data + k, masked.size - k, &bytes);
        k += bytes;
        (void)utf8_read(json.data + i, json.size - i, &bytes);
    }
    return false;
}

/* Does a value go over several strings or members, as one that is JSON itself does? */
static bool is_over_tokens(struct kndl_redact_set *set, struct kndl_slice json)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf masked = {0};
    struct kndl_redact_stream *stream = kndl_redact_stream_new(set, KNDL_REDACT_BYTES);

    kndl_redact_stream_uncount(stream);
    kndl_redact_feed(stream, json, 0, &masked);
    kndl_redact_flush(stream, &masked);
    kndl_redact_stream_free(stream);
    return is_frame_masked(json, kndl_buf_slice(&masked));
}

void kndl_redact_json(struct kndl_redact_set *set, struct kndl_slice json, struct kndl_buf *out)
{
    size_t before = out->size;

    if (!is_over_tokens(set, json) && mask_json(set, json, out))
        return;
    out->size = before;
    kndl_redact_text(set, json, out);
}
