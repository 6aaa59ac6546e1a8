/* The list of what the mod is to do: short, so a list. */

#include "orders.h"

#include <stdlib.h>
#include <string.h>

#include "kndl/clock.h"
#include "kndl/mem.h"

struct entry {
    struct order order;
    char *id;
    char *text;
    char *turn_id;
    bool was_fetched;
    struct entry *next;
};

struct orders {
    struct entry *first;
    int64_t last_n;
};

struct orders *orders_new(void)
{
    return kndl_new0(struct orders);
}

static void free_entry(struct entry *entry)
{
    if (entry->text != NULL)
        explicit_bzero(entry->text, strlen(entry->text));
    free(entry->text);
    free(entry->id);
    free(entry->turn_id);
    free(entry);
}

void orders_free(struct orders *orders)
{
    if (orders == NULL)
        return;
    while (orders->first != NULL) {
        struct entry *entry = orders->first;

        orders->first = entry->next;
        free_entry(entry);
    }
    free(orders);
}

int64_t orders_reserve(struct orders *orders)
{
    int64_t now = kndl_clock_wall_ms();

    orders->last_n = now > orders->last_n ? now : orders->last_n + 1;
    return orders->last_n;
}

int64_t orders_add(struct orders *orders, const struct order *order)
{
    struct entry *entry = kndl_new0(struct entry);
    struct entry **at = &orders->first;

    entry->order = *order;
    entry->id = kndl_strdup(order->id);
    entry->text = kndl_strdup(order->text);
    entry->turn_id = kndl_strdup(order->turn_id);
    if (order->n == 0)
        entry->order.n = orders_reserve(orders);
    if (entry->order.n > orders->last_n)
        orders->last_n = entry->order.n;
    while (*at != NULL && (*at)->order.n < entry->order.n)
        at = &(*at)->next;
    entry->next = *at;
    *at = entry;
    return entry->order.n;
}

/* Takes it out of the list; NULL if it is not there. */
static struct entry *take(struct orders *orders, int64_t n)
{
    for (struct entry **at = &orders->first; *at != NULL; at = &(*at)->next) {
        struct entry *entry = *at;

        if (entry->order.n != n)
            continue;
        *at = entry->next;
        return entry;
    }
    return NULL;
}

void orders_remove(struct orders *orders, int64_t n)
{
    struct entry *entry = take(orders, n);

    if (entry != NULL)
        free_entry(entry);
}

static void append_order(const struct entry *entry, struct kndl_buf *out)
{
    static const char *const words[] = {"prompt", "fill", "stop"};

    kndl_buf_printf(out, "{\"n\":%lld,\"op\":\"%s\",\"id\":", (long long)entry->order.n,
                    words[entry->order.op]);
    kndl_json_append_string(out, entry->id);
    if (entry->text != NULL) {
        kndl_buf_append_text(out, ",\"text\":");
        kndl_json_append_string(out, entry->text);
    }
    if (entry->turn_id != NULL && entry->turn_id[0] != '\0') {
        kndl_buf_append_text(out, ",\"turnId\":");
        kndl_json_append_string(out, entry->turn_id);
    }
    kndl_buf_append_char(out, '}');
}

int64_t orders_fetch(struct orders *orders, int64_t after, struct kndl_buf *out,
                     const char **ret_id)
{
    for (struct entry *entry = orders->first; entry != NULL; entry = entry->next) {
        if (entry->order.n <= after)
            continue;
        append_order(entry, out);
        entry->was_fetched = true;
        if (ret_id != NULL)
            *ret_id = entry->id;
        return entry->order.n;
    }
    return 0;
}

bool orders_was_fetched(const struct orders *orders, int64_t n)
{
    for (const struct entry *entry = orders->first; entry != NULL; entry = entry->next)
        if (entry->order.n == n)
            return entry->was_fetched;
    return false;
}

void orders_result(struct orders *orders, const struct claude_result *result)
{
    struct entry *entry = take(orders, result->command);

    if (entry == NULL)
        return;
    if (entry->order.fn != NULL)
        entry->order.fn(entry->order.data, entry->id, result);
    free_entry(entry);
}

void orders_settle(struct orders *orders, const char *reason)
{
    while (orders->first != NULL) {
        struct claude_result result = {
            .command = orders->first->order.n,
            .outcome = CLAUDE_FAILED,
            .reason = reason,
            .draft = "",
        };

        orders_result(orders, &result);
    }
}
