#pragma once

/*
 * All that runner-agent knows of Claude Code: what it is started with, what its mod posts, what
 * its transcript says. Another version is tried here first.
 *
 * What comes from a Sandbox is foreign: JSON is parsed with limits (kndl/json.h), every string is
 * cut before it becomes part of an Event, and nothing but the shapes below is believed.
 *
 * Pure: no file, no socket. Belongs to the loop's thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kndl/arena.h"
#include "kndl/buf.h"
#include "kndl/error.h"
#include "kndl/event/v1/event.pb-c.h"
#include "kndl/json.h"
#include "kndl/slice.h"

/* ------------------------------------------------------------------------------- a start */

#define CLAUDE_CONFIG_DIR "/var/lib/kndl/claude"
#define CLAUDE_BINARY_DIR "/opt/kndl/claude-code"
#define CLAUDE_LAUNCHER "/opt/kndl/run-claude"
#define CLAUDE_MOD_DIR "/opt/kndl/mod"
#define CLAUDE_ENV_FILE "/run/kndl/env"

enum { CLAUDE_CONFIG_BYTES_MAX = 8 * 1024 * 1024 };

/*
 * The two files that keep dialogs away (CC-02), with our keys merged into what is there: a person
 * may have taken the trust back. `existing` that is no JSON object is replaced.
 */
void claude_merge_config(struct kndl_slice existing, struct kndl_buf *out);   /* .claude.json */
void claude_merge_settings(struct kndl_slice existing, struct kndl_buf *out); /* settings.json */

struct claude_start {
    const char *session_id; /* ours */
    const char *claude_session_id;
    bool resume;
    const char *model;    /* "" or given as --model */
    const char *effort;   /* "" or given as --effort */
    const char *mod_copy; /* the name of this start's copy under CLAUDE_MOD_DIR */
    const char *time_zone;
    int relay_port;
    struct kndl_slice session_token; /* secret */
    struct kndl_slice variables;     /* secret: "NAME=value", each followed by a NUL */
};

/* The window's command: words for tmux, quoted, the launcher first (CC-03). Fails with
 * KNDL_INVALID_ARGUMENT if model or effort are no plain words. */
int claude_command(const struct claude_start *start, struct kndl_buf *out, struct kndl_error *err);

/*
 * The environment but the setup token (CC-05), "NAME=value" each followed by a NUL, as the
 * launcher reads it: of two of one name the last wins. Variables win over what a login gives and
 * over the time zone; what kndl and Claude Code need wins over Variables. Holds the Session token
 * and Variables: wipe it. The launcher drops what CC-06 names.
 */
void claude_environment(const struct claude_start *start, struct kndl_buf *out);

/* The value of a variable in what /proc/<pid>/environ holds; empty if it is not there. */
struct kndl_slice claude_variable(struct kndl_slice environ, const char *name);

/* The transcript's path beneath the config directory. */
void claude_transcript_path(const char *claude_session_id, struct kndl_buf *out);

bool claude_is_uuid(const char *text);

/* --------------------------------------------------------------------- what the mod posts */

enum claude_block { CLAUDE_TEXT, CLAUDE_THINKING, CLAUDE_TOOL };

/* What a reader asks of its Session. Never NULL; answers "" for none. */
struct claude_links {
    /* The id of the prompt in Claude Code's hands, if this row is it. */
    const char *(*match_prompt)(void *data, const char *text, bool was_typed);
    /* The id of the prompt whose text began this Turn; its row may still come. */
    const char *(*match_turn)(void *data, const char *text);
    /* The block whose text streamed and is now whole: the oldest of that thread and kind. */
    const char *(*match_block)(void *data, const char *subagent_id, enum claude_block kind,
                               const char *tool_use_id);
    /* Who answered this question through kndl. */
    const char *(*answered_by)(void *data, const char *question_id);
    void *data;
};

struct claude_reader;

struct claude_reader *claude_reader_new(const struct claude_links *links);
void claude_reader_free(struct claude_reader *reader);

/* A piece of a block as it streams. */
struct claude_delta {
    const char *turn_id;
    const char *subagent_id;
    int64_t step;  /* request of the Turn, from 0 */
    int64_t index; /* block of the response, from 0 */
    enum claude_block kind;
    bool is_first;    /* of its block */
    const char *text; /* "" at a tool call's beginning */
    const char *tool_use_id;
    const char *tool_name;
};

enum { CLAUDE_EVENTS_MAX = 64 };

/* What one event of the mod comes to. Lives in the arena. */
struct claude_news {
    Kndl__Event__V1__Event *events[CLAUDE_EVENTS_MAX];
    size_t count;
    bool is_delta;
    struct claude_delta delta;
    bool turn_started; /* of the main thread */
    bool turn_ended;   /* of the main thread */
    const char *turn_id;
    const char *ended_thread;  /* whose Turn ended: "" or a Subagent's id; NULL: none */
    const char *prompt_id;     /* of the prompt whose row this is, or "" */
    const char *question_id;   /* of the question that was closed, or "" */
    bool question_is_answered; /* with an answer, whoever gave it */
    bool conversation_ended;   /* session.end */
};

/* Reads one event. What it does not know leaves `ret_news` empty. */
void claude_read_event(struct claude_reader *reader, const struct kndl_value *event,
                       struct kndl_arena *arena, struct claude_news *ret_news);

/* ------------------------------------------------------------------------- the transcript */

/* Of a line that was made short; it is read in one turn of the loop. */
enum { CLAUDE_LINE_BYTES_MAX = 1024 * 1024, CLAUDE_LINE_VALUES_MAX = 20000 };

/*
 * Appends a line as the mod would have sent it: long texts cut, with `fullBytes` beside them for
 * how long they were, long strings of a tool's input replaced by their lengths, without what nobody
 * is shown, and with U+FFFD for what no text may hold. A short line stays as it is but for that;
 * what is no JSON stays none. At most twice CLAUDE_LINE_BYTES_MAX.
 */
void claude_shorten_line(struct kndl_slice line, struct kndl_buf *out);

/* A line as JSON, made short; -1: it is none, or has too much even so. */
int claude_parse_line(struct kndl_slice line, struct kndl_json **ret_json);

/* When a line was written, by the Sandbox's clock, which is its host's; 0: it does not say. */
int64_t claude_line_at_ms(const struct kndl_json *line);

/*
 * Reads one line of a transcript; torn and unknown ones leave `ret_news` empty. The Events' source
 * ids are the rows', as they are by the mod. `subagent_id`: "" for the main one.
 */
void claude_read_line(struct claude_reader *reader, struct kndl_slice line, const char *subagent_id,
                      struct kndl_arena *arena, struct claude_news *ret_news);

/* ---------------------------------------------------------------- the relay's small bodies */

struct claude_hello {
    const char *epoch;
    const char *claude_session_id; /* a UUID */
};

/* Borrowed from the document. Fails with KNDL_INVALID_ARGUMENT. */
int claude_read_hello(const struct kndl_json *json, struct claude_hello *ret_hello,
                      struct kndl_error *err);

struct claude_batch {
    const char *epoch;
    uint64_t first;
    const struct kndl_value *events; /* an array */
};
int claude_read_batch(const struct kndl_json *json, struct claude_batch *ret_batch,
                      struct kndl_error *err);

enum claude_outcome {
    CLAUDE_STARTED,
    CLAUDE_STOPPED,     /* dropped: the person pressed Escape and has sent nothing since */
    CLAUDE_UNQUEUED,    /* dropped: taken from Claude Code's queue before it ran */
    CLAUDE_REFUSED,     /* dropped for another reason, which `reason` says */
    CLAUDE_DONE,        /* of a stop */
    CLAUDE_FILLED,      /* of a fill */
    CLAUDE_DIALOG_OPEN, /* of a fill: the box would not take it */
    CLAUDE_FAILED,      /* the call threw; `reason` says how */
};

struct claude_result {
    int64_t command;
    enum claude_outcome outcome;
    const char *reason; /* "" or a sentence */
    const char *draft;  /* of a fill: what the person had been typing */
};
int claude_read_result(const struct kndl_json *json, struct claude_result *ret_result,
                       struct kndl_error *err);
