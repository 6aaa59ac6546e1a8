/* Any bytes as a document: all of it is read, and what is dumped is read again alike. */

#include <stdlib.h>
#include <string.h>

#include "kndl/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void walk(const struct kndl_value *value)
{
    const char *key;

    (void)strlen(kndl_json_text(value, ""));
    (void)kndl_json_i64(value, 0);
    (void)kndl_json_bool(value, false);
    for (size_t i = 0; i < kndl_json_count(value); i++) {
        walk(kndl_json_at(value, i));
        if (kndl_json_member(value, i, &key) != NULL) {
            walk(kndl_json_member(value, i, NULL));
            if (kndl_json_get(value, key) != kndl_json_member(value, i, NULL))
                abort();
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct kndl_json *json, *again;
    struct kndl_error err = {0};
    struct kndl_buf first = {0}, second = {0};

    if (kndl_json_parse(kndl_slice(data, size), 1 << 20, &json, &err) < 0)
        return 0;
    walk(kndl_json_root(json));
    kndl_json_dump(kndl_json_root(json), &first);
    if (kndl_json_parse(kndl_buf_slice(&first), 1 << 24, &again, &err) < 0)
        abort();
    kndl_json_dump(kndl_json_root(again), &second);
    if (!kndl_slice_equal(kndl_buf_slice(&first), kndl_buf_slice(&second)))
        abort();
    kndl_json_free(again);
    kndl_json_free(json);
    kndl_buf_done(&first);
    kndl_buf_done(&second);
    return 0;
}
