#pragma once

/* Rows of the conversation, shared by the readers of the mod's events and of the transcript.
 * Only claude_*.c include it. */

#include "claude.h"

enum {
    CLAUDE_TEXT_BYTES_MAX = 256 * 1024,    /* the redactor masks that, then cuts to 64 KiB */
    CLAUDE_SENTENCE_BYTES_MAX = 16 * 1024, /* questions, options, descriptions */
    CLAUDE_WORD_BYTES_MAX = 256,           /* ids, names */
    CLAUDE_ASKED_MAX = 8,
    CLAUDE_OPTIONS_MAX = 16,
    CLAUDE_QUESTIONS_MAX = 16, /* open at once */
    CLAUDE_KNOWN_MAX = 16,     /* rows and Turns whose prompt is remembered */
    CLAUDE_STEERS_MAX = 8,     /* texts that wait in Claude Code's own queue */
};

#define CLAUDE_FULL_BYTES_MAX (INT64_C(1) << 40) /* what a Sandbox may say a text was long */

struct claude_question {
    char *id;
    struct kndl_buf texts; /* each followed by its NUL */
    size_t count;
};

/* A row or a Turn that was read, and which prompt it was. */
struct claude_known {
    char id[64];
    char prompt_id[64];
};

struct claude_reader {
    struct claude_links links;
    struct claude_question questions[CLAUDE_QUESTIONS_MAX];
    size_t question_at;
    char *queued[CLAUDE_STEERS_MAX];
    size_t queued_at;
    char *started_prompt; /* its row came; the Turn that it starts is next */
    struct claude_known known[CLAUDE_KNOWN_MAX];
    size_t known_at;
    char *api_error; /* what Claude Code said instead of an answer, in this Turn */
};

Kndl__Event__V1__Event *claude_add_event(struct claude_news *news, struct kndl_arena *arena);

void claude_add_note(struct claude_news *news, struct kndl_arena *arena, const char *code,
                     const char *text);

/* A copy of at most so many bytes, cut at a character's edge; *ret_full is 0 if it is whole. */
char *claude_cut(const char *text, size_t most, struct kndl_arena *arena, int64_t *ret_full);

/* How many bytes of this text the mod left out: `holder` says how long it was (fullBytes). */
int64_t claude_missing(const struct kndl_value *holder, const char *text);

/* A copy of at most CLAUDE_TEXT_BYTES_MAX of a text that had `missing` bytes more. *ret_full is how
 * long it was, or 0 if the copy is all of it. */
char *claude_cut_text(const char *text, int64_t missing, struct kndl_arena *arena,
                      int64_t *ret_full);

/* The prompt of a row's or Turn's id that was read before; NULL: it was not. */
const char *claude_known_prompt(const struct claude_reader *reader, const char *id);
/* Remembers it; "" is nothing to remember. */
void claude_know_prompt(struct claude_reader *reader, const char *id, const char *prompt_id);

/* A session.append event. */
void claude_read_row(struct claude_reader *reader, const struct kndl_value *row,
                     struct kndl_arena *arena, struct claude_news *news);
