/* What the mod is to do: kept until its result arrived. */

#include "orders.h"

#include <stdio.h>
#include <string.h>

#include "kndl/testing.h"

struct seen {
    int count;
    char last[32];
    enum claude_outcome outcome;
};

static void on_result(void *data, const char *id, const struct claude_result *result)
{
    struct seen *seen = data;

    seen->count++;
    seen->outcome = result->outcome;
    snprintf(seen->last, sizeof seen->last, "%s", id);
}

static int64_t add(struct orders *orders, const char *id, struct seen *seen)
{
    return orders_add(
        orders,
        &(struct order){
            .id = id, .op = ORDER_PROMPT, .text = "say \"x\"\n", .fn = on_result, .data = seen});
}

static int64_t fetch(struct orders *orders, int64_t after, const char *json)
{
    struct kndl_buf out = {0};
    int64_t n = orders_fetch(orders, after, &out, NULL);

    if (json != NULL)
        assert_non_null(strstr(kndl_buf_text(&out), json));
    kndl_buf_done(&out);
    return n;
}

static void done(struct orders *orders, int64_t n)
{
    orders_result(orders, &(struct claude_result){n, CLAUDE_STARTED, "", ""});
}

static void an_order_stays_until_its_result_however_often_it_is_fetched(void **unused)
{
    struct orders *orders = orders_new();
    struct seen seen = {0};
    int64_t n = add(orders, "a", &seen);

    (void)unused;
    assert_false(orders_was_fetched(orders, n));
    assert_int_equal(fetch(orders, 0, "\"text\":\"say \\\"x\\\"\\n\""), n);
    assert_true(orders_was_fetched(orders, n));
    assert_int_equal(fetch(orders, 0, NULL), n); /* a mod that starts anew */
    assert_int_equal(fetch(orders, n, NULL), 0); /* the one that took it */
    done(orders, n);
    assert_int_equal(seen.count, 1);
    assert_int_equal(fetch(orders, 0, NULL), 0);
    done(orders, n); /* told twice */
    assert_int_equal(seen.count, 1);
    orders_free(orders);
}

static void they_are_offered_in_their_order(void **unused)
{
    struct orders *orders = orders_new();
    struct seen seen = {0};
    int64_t a = add(orders, "a", &seen), b = add(orders, "b", &seen);

    (void)unused;
    assert_true(b > a);
    assert_int_equal(fetch(orders, 0, NULL), a);
    assert_int_equal(fetch(orders, a, NULL), b);
    done(orders, a);
    assert_int_equal(fetch(orders, 0, NULL), b);
    orders_free(orders);
}

static void a_reserved_number_is_the_orders(void **unused)
{
    struct orders *orders = orders_new();
    int64_t n = orders_reserve(orders);

    (void)unused;
    assert_true(orders_reserve(orders) > n);
    assert_int_equal(orders_add(orders, &(struct order){.n = n, .id = "a", .op = ORDER_STOP}), n);
    assert_int_equal(fetch(orders, 0, "\"op\":\"stop\""), n);
    orders_free(orders);
}

static void with_claude_code_gone_all_have_failed(void **unused)
{
    struct orders *orders = orders_new();
    struct seen seen = {0};

    (void)unused;
    add(orders, "a", &seen);
    add(orders, "b", &seen);
    orders_settle(orders, "Claude Code ended first");
    assert_int_equal(seen.count, 2);
    assert_string_equal(seen.last, "b");
    assert_int_equal(seen.outcome, CLAUDE_FAILED);
    assert_int_equal(fetch(orders, 0, NULL), 0);
    orders_free(orders);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_order_stays_until_its_result_however_often_it_is_fetched),
        cmocka_unit_test(they_are_offered_in_their_order),
        cmocka_unit_test(a_reserved_number_is_the_orders),
        cmocka_unit_test(with_claude_code_gone_all_have_failed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
