#pragma once

/*
 * The one prompt that is in Claude Code's hands (EV-02).
 *
 * It is on the disk, still sealed, before "taken" is answered, and stays until sessions knows what
 * became of it. It is started when the mod said so or when its row came, whichever is first; after
 * a crash the transcript decides, and what it does not show "may have been sent" and is never
 * typed again. Dropped because the person had stopped Claude in the terminal: typed into the box
 * by `fill` and Enter, the Enter only if the box took it.
 *
 * Belongs to the loop's thread.
 */

#include <stdbool.h>
#include <stdint.h>

#include "claude.h"
#include "kndl/error.h"
#include "kndl/runner/v1/runner_service.pb-c.h"
#include "kndl/sessions/v1/sessions_runner_service.pb-c.h"

struct disk;
struct kndl_loop;
struct kndl_secret;
struct orders;
struct prompts;

typedef Kndl__Sessions__V1__ReportPromptRequest__Outcome prompt_outcome;

struct prompts_options {
    struct kndl_loop *loop;
    struct disk *disk;
    struct orders *orders;
    const struct kndl_secret *seal_pair; /* borrowed */
    const char *path;                    /* the file that keeps it */
    /* Tells sessions, again and again until it knows; then prompts_reported(). */
    void (*on_outcome)(void *data, const char *prompt_id, prompt_outcome outcome,
                       const char *reason);
    /* The box holds the prompt: press Enter. */
    void (*on_enter)(void *data);
    /* There is an order for the mod. */
    void (*on_order)(void *data);
    void *data;
};

/* Reads the file, if there is one: what was in hand is offered again under its old number, or its
 * outcome told again. */
struct prompts *prompts_new(const struct prompts_options *options);
void prompts_free(struct prompts *prompts);

/* On the loop, once; err.code KNDL_OK: taken. */
typedef void (*prompts_fn)(void *data, const struct kndl_error *err);

/*
 * Takes one; fn is called when it is on the disk. The same again is taken again; ABORTED while
 * another is in hand. What cannot be opened is taken and refused: send it again.
 */
void prompts_hand(struct prompts *prompts, const Kndl__Runner__V1__HandPromptRequest *request,
                  prompts_fn fn, void *data);

/* Is this row the prompt in hand? Its id, and it is started; else "". */
const char *prompts_match(struct prompts *prompts, const char *text, bool was_typed);

/* Is this the text of the Turn that starts? As prompts_match(), but the row is still expected. */
const char *prompts_of_turn(struct prompts *prompts, const char *text);

/* sessions knows what became of it. */
void prompts_reported(struct prompts *prompts, const char *prompt_id);

/* Claude Code is gone and its transcript was read. */
void prompts_settle(struct prompts *prompts);
