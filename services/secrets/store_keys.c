/* Which keys are needed, and sealing anew under the current one. */

#include <string.h>

#include "kndl/log.h"
#include "kndl/mem.h"
#include "store_parts.h"

enum { STALE_MAX = 100, PASSES_MAX = 6, KEY_ID_BYTES = 4 };

/* A row that holds a sealed value: by its table's key, and what its place is made of. */
struct kept {
    const char *first;
    const char *second;
    int64_t version;
    struct kndl_slice sealed;
    int64_t repo_id;
    bool is_sensitive;
};

static struct kndl_place place_of_token(const struct kept *kept, char owner[OWNER_SIZE])
{
    return token_place(kept->first, kept->version, owner);
}

static struct kndl_place place_of_mask(const struct kept *kept, char owner[OWNER_SIZE])
{
    return mask_place(kept->first, kept->second, kept->version, owner);
}

static struct kndl_place place_of_variable(const struct kept *kept, char owner[OWNER_SIZE])
{
    const struct variable variable = {
        .id = kept->first,
        .name = kept->second,
        .version = kept->version,
        .repo_id = kept->repo_id,
        .is_sensitive = kept->is_sensitive,
    };

    return variable_place(&variable, owner);
}

/* Every table with sealed values. */
static const struct table {
    const char *some;
    const char *stale;
    const char *reseal;
    const char *await;
    struct kndl_place (*place_of)(const struct kept *kept, char owner[OWNER_SIZE]);
} tables[] = {
    {"some_tokens", "stale_tokens", "reseal_tokens", "await_tokens", place_of_token},
    {"some_masks", "stale_masks", "reseal_masks", "await_masks", place_of_mask},
    {"some_variables", "stale_variables", "reseal_variables", "await_variables", place_of_variable},
};

/* The current key's id as it stands in sealed values. */
static void write_current(const struct store *store, uint8_t key[KEY_ID_BYTES])
{
    uint32_t id = kndl_keyring_current(store->ring);

    for (int i = 0; i < KEY_ID_BYTES; i++)
        key[i] = (uint8_t)(id >> (24 - 8 * i));
}

static struct kept kept_of(const struct kndl_rows *rows, size_t row)
{
    return (struct kept){
        .first = kndl_row_text(rows, row, 0),
        .second = kndl_row_text(rows, row, 1),
        .version = kndl_row_i64(rows, row, 2),
        .sealed = kndl_row_bytes(rows, row, 3),
        .repo_id = kndl_row_i64(rows, row, 4),
        .is_sensitive = kndl_row_bool(rows, row, 5),
    };
}

static bool opens(const struct store *store, const struct table *table, const struct kept *kept)
{
    KNDL_CLEANUP(kndl_secret_done) struct kndl_secret plain = {0};
    char owner[OWNER_SIZE];
    struct kndl_place place = table->place_of(kept, owner);

    return kndl_column_open(store->ring, &place, kept->sealed, &plain, NULL) == 0;
}

/* Is the current key the one that is meant? What is set from here on is sealed with it. One value
 * may be damaged; if all of some are, it is another key of the same id. */
static int check_current(struct store *store, struct kndl_arena *arena, struct kndl_error *err)
{
    uint8_t key[KEY_ID_BYTES];
    size_t tried = 0;

    write_current(store, key);
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        struct kndl_rows rows;

        if (kndl_db_exec(store->db, tables[i].some, arena, &rows, err,
                         kndl_db_bytes(kndl_slice(key, sizeof key))) < 0)
            return -1;
        for (size_t row = 0; row < rows.count; row++, tried++) {
            const struct kept kept = kept_of(&rows, row);

            if (opens(store, &tables[i], &kept))
                return 0;
        }
    }
    if (tried < 2)
        return 0;
    return kndl_fail(err, KNDL_FAILED_PRECONDITION,
                     "key %u of HUB_SECRETS_KEY_FILE is not the one that kept values were sealed "
                     "with: it opens none of %zu that were tried; put the right key back",
                     kndl_keyring_current(store->ring), tried);
}

int store_check_keys(struct store *store, struct kndl_error *err)
{
    struct kndl_arena *arena = kndl_arena_new(KNDL_ARENA_PLAIN);
    struct kndl_rows rows;
    int result = kndl_db_exec_params(store->db, "list_keys", NULL, 0, arena, &rows, err);

    for (size_t i = 0; result == 0 && i < rows.count; i++) {
        int64_t key = kndl_row_i64(&rows, i, 0);

        if (key > UINT32_MAX || !kndl_keyring_has(store->ring, (uint32_t)key))
            result = kndl_fail(err, KNDL_FAILED_PRECONDITION,
                               "%lld kept values need key %lld, which HUB_SECRETS_KEY_FILE lacks; "
                               "add it as a line of its own",
                               (long long)kndl_row_i64(&rows, i, 1), (long long)key);
    }
    if (result == 0)
        result = check_current(store, arena, err);
    kndl_arena_free(arena);
    return result;
}

static int seal_anew(struct store *store, const struct table *table, const struct kept *kept,
                     struct rotation *rotation, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf sealed = {0};
    KNDL_CLEANUP(kndl_secret_done) struct kndl_secret plain = {0};
    char owner[OWNER_SIZE];
    struct kndl_place place = table->place_of(kept, owner);

    if (kndl_column_open(store->ring, &place, kept->sealed, &plain, NULL) < 0) {
        kndl_log(KNDL_ERROR, "a sealed value cannot be opened", KNDL_STR("table", place.table),
                 KNDL_STR("owner", place.owner), KNDL_STR("name", place.name),
                 KNDL_I64("key", kndl_column_key(kept->sealed)));
        rotation->unreadable++;
        return 0;
    }
    kndl_column_seal(store->ring, &place, kndl_slice(plain.data, plain.size), &sealed);
    rotation->sealed_anew++;
    return kndl_db_exec(store->db, table->reseal, NULL, NULL, err, kndl_db_text(kept->first),
                        kndl_db_text(kept->second), kndl_db_i64(kept->version),
                        kndl_db_bytes(kndl_buf_slice(&sealed)));
}

/* One transaction. *last is where it ended; *ret_more is false when there was nothing beyond. */
static int rotate_batch(struct store *store, const struct table *table, struct kept *last,
                        struct kndl_arena *arena, struct rotation *rotation, bool *ret_more,
                        struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_tx_done) struct kndl_tx tx;
    uint8_t key[KEY_ID_BYTES];
    struct kndl_rows rows;

    write_current(store, key);
    if (kndl_tx_begin(store->db, &tx, err) < 0 ||
        kndl_db_exec(store->db, table->stale, arena, &rows, err,
                     kndl_db_bytes(kndl_slice(key, sizeof key)), kndl_db_text(last->first),
                     kndl_db_text(last->second), kndl_db_i64(last->version)) < 0)
        return -1;
    for (size_t i = 0; i < rows.count; i++) {
        *last = kept_of(&rows, i);
        if (seal_anew(store, table, last, rotation, err) < 0)
            return -1;
    }
    *ret_more = rows.count == STALE_MAX;
    return kndl_tx_commit(&tx, err);
}

/* Once through every table. */
static int rotate_pass(struct store *store, struct rotation *rotation, struct kndl_error *err)
{
    /* What a batch read is needed for the next one alone: it names where that begins. */
    struct kndl_arena *arenas[] = {kndl_arena_new(KNDL_ARENA_PLAIN),
                                   kndl_arena_new(KNDL_ARENA_PLAIN)};
    int result = 0;

    for (size_t i = 0; result == 0 && i < sizeof tables / sizeof tables[0]; i++) {
        struct kept last = {.first = "", .second = ""};
        bool more = true;

        for (unsigned turn = 0; result == 0 && more; turn++) {
            struct kndl_arena *arena = arenas[turn % 2];

            kndl_arena_reset(arena);
            result = rotate_batch(store, &tables[i], &last, arena, rotation, &more, err);
        }
    }
    kndl_arena_free(arenas[0]);
    kndl_arena_free(arenas[1]);
    return result;
}

/* How many values are not under the current key. */
static int count_stale(struct store *store, int64_t *ret_count, struct kndl_error *err)
{
    struct kndl_arena *arena = kndl_arena_new(KNDL_ARENA_PLAIN);
    struct kndl_rows rows;
    int64_t count = 0;
    int result = kndl_db_exec_params(store->db, "list_keys", NULL, 0, arena, &rows, err);

    for (size_t i = 0; result == 0 && i < rows.count; i++)
        if (kndl_row_i64(&rows, i, 0) != kndl_keyring_current(store->ring))
            count += kndl_row_i64(&rows, i, 1);
    kndl_arena_free(arena);
    *ret_count = count;
    return result;
}

/* Until whoever held a row at this moment has let go of it, seconds at most (KNDL_ABORTED). */
static int await_holders(struct store *store, struct kndl_error *err)
{
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        KNDL_CLEANUP(kndl_tx_done) struct kndl_tx tx;

        if (kndl_tx_begin(store->db, &tx, err) < 0 ||
            kndl_db_exec_params(store->db, tables[i].await, NULL, 0, NULL, NULL, err) < 0 ||
            kndl_tx_commit(&tx, err) < 0)
            return -1;
    }
    return 0;
}

int store_rotate(struct store *store, struct rotation *ret_rotation, struct kndl_error *err)
{
    struct rotation rotation = {0};
    int64_t stale;

    for (int pass = 0; pass < PASSES_MAX; pass++) {
        struct kndl_error cause = {0};

        if (pass > 0 && await_holders(store, &cause) < 0) {
            if (cause.code == KNDL_ABORTED)
                break; /* held too long: it is counted */
            return kndl_fail(err, cause.code, "%s", cause.message);
        }
        rotation.unreadable = 0;
        if (rotate_pass(store, &rotation, err) < 0 || count_stale(store, &stale, err) < 0)
            return -1;
        rotation.in_use = stale > rotation.unreadable ? stale - rotation.unreadable : 0;
        if (rotation.in_use == 0)
            break;
    }
    *ret_rotation = rotation;
    return 0;
}
