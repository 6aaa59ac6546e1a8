#pragma once

/*
 * What the mod is to do. An order stays until its *result* arrived, never only until it was
 * fetched: a Claude Code that is killed between the two would lose it. The mod asks for the first
 * one over the number it took last, and a mod that starts anew asks from 0.
 *
 * Belongs to the loop's thread.
 */

#include <stdbool.h>
#include <stdint.h>

#include "claude.h"
#include "kndl/buf.h"

struct orders;

struct orders *orders_new(void);
void orders_free(struct orders *orders);

enum order_op { ORDER_PROMPT, ORDER_FILL, ORDER_STOP };

/* What came of it. The order is gone when this is called. */
typedef void (*order_fn)(void *data, const char *id, const struct claude_result *result);

struct order {
    int64_t n; /* 0: the next one. Rising over all processes: wall-clock milliseconds */
    const char *id;
    enum order_op op;
    const char *text;    /* of a prompt or a fill */
    const char *turn_id; /* of a stop, "": whichever runs */
    order_fn fn;
    void *data;
};

/* A number for an order that is added later, so that it can be written down before. */
int64_t orders_reserve(struct orders *orders);

/* Copies all. Returns its number. */
int64_t orders_add(struct orders *orders, const struct order *order);

/* Forgets it without a result. */
void orders_remove(struct orders *orders, int64_t n);

/* Appends the first order over `after` as JSON and notes that it was fetched; 0 if there is none,
 * else its number. `ret_id` (may be NULL) is valid until the order is gone. */
int64_t orders_fetch(struct orders *orders, int64_t after, struct kndl_buf *out,
                     const char **ret_id);

bool orders_was_fetched(const struct orders *orders, int64_t n);

/* Claude Code is gone: every order that is left has failed, for that reason. */
void orders_settle(struct orders *orders, const char *reason);

/* A result came; one of an order that is gone is ignored. */
void orders_result(struct orders *orders, const struct claude_result *result);
