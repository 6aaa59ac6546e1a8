/* The rows of those who come in. */

#include "store_doors.h"

#include <string.h>

#include "kndl/id.h"
#include "kndl/mem.h"
#include "store_parts.h"

enum {
    SIGN_INS_MAX = 10000, /* at once; each is there for ten minutes at most */
    DEVICES_MAX = 1000,
};

int store_offer_setup_link(struct store *store, const uint8_t hash[KNDL_HASH_BYTES], int64_t now_ms,
                           int64_t ends_at_ms, bool anew, struct kndl_arena *arena,
                           bool *ret_is_kept, struct kndl_error *err)
{
    struct kndl_rows rows;

    if (kndl_db_exec(store->db, "offer_setup_link", arena, &rows, err, store_hash(hash),
                     kndl_db_i64(now_ms), kndl_db_i64(ends_at_ms), kndl_db_bool(anew)) < 0)
        return -1;
    *ret_is_kept = rows.count > 0;
    return 0;
}

static int refuse(struct kndl_error *err)
{
    return kndl_fail(err, KNDL_NOT_FOUND, "nothing lets this account in");
}

/* Uses up what they brought. */
static int use(struct store *store, const struct person *who, const struct admission *admission,
               int64_t now_ms, struct kndl_arena *arena, struct kndl_error *err)
{
    struct kndl_rows rows;
    int result = 0;

    switch (admission->kind) {
    case ADMISSION_NONE:
        return refuse(err);
    case ADMISSION_SETUP_LINK:
        result = kndl_db_exec(store->db, "use_setup_link", arena, &rows, err,
                              store_hash(admission->hash), kndl_db_i64(now_ms));
        break;
    case ADMISSION_INVITE:
        result =
            kndl_db_exec(store->db, "use_invite", arena, &rows, err, store_hash(admission->hash),
                         kndl_db_text(who->login), kndl_db_i64(now_ms));
        break;
    }
    if (result < 0)
        return -1;
    if (rows.count == 0 || !store_is_hash(&rows, 0, admission->hash))
        return refuse(err);
    return 0;
}

static int keep_name(struct store *store, const struct person *who, const struct person *known,
                     struct person *ret_person, struct kndl_error *err)
{
    *ret_person = *known;
    ret_person->login = who->login;
    ret_person->name = who->name;
    return kndl_db_exec(store->db, "rename_person", NULL, NULL, err, kndl_db_text(known->id),
                        kndl_db_text(who->login), kndl_db_text(who->name));
}

int store_let_in(struct store *store, const struct person *who, const struct admission *admission,
                 int64_t now_ms, struct kndl_arena *arena, struct person *ret_person,
                 struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_tx_done) struct kndl_tx tx;
    struct kndl_rows rows;

    if (kndl_tx_begin(store->db, &tx, err) < 0 ||
        kndl_db_exec(store->db, "lock_account", arena, &rows, err, kndl_db_i64(who->github_id)) < 0)
        return -1;
    if (rows.count > 0 && store_person_of(&rows, 0).is_member) {
        struct person known = store_person_of(&rows, 0);

        return keep_name(store, who, &known, ret_person, err) < 0 ? -1 : kndl_tx_commit(&tx, err);
    }
    if (use(store, who, admission, now_ms, arena, err) < 0 ||
        kndl_db_exec(store->db, "let_in", arena, &rows, err, kndl_db_text(who->id),
                     kndl_db_i64(who->github_id), kndl_db_text(who->login), kndl_db_text(who->name),
                     kndl_db_i64(now_ms),
                     kndl_db_bool(admission->kind == ADMISSION_SETUP_LINK)) < 0)
        return -1;
    *ret_person = store_person_of(&rows, 0);
    if (kndl_db_exec(store->db, "forget_second_departures", NULL, NULL, err,
                     kndl_db_text(ret_person->id)) < 0)
        return -1;
    return kndl_tx_commit(&tx, err);
}

int store_begin_sign_in(struct store *store, const uint8_t browser[KNDL_HASH_BYTES],
                        const char *return_to, int64_t ends_at_ms, struct kndl_arena *arena,
                        struct kndl_error *err)
{
    struct kndl_rows rows;

    if (kndl_db_exec(store->db, "begin_sign_in", arena, &rows, err, store_hash(browser),
                     kndl_db_text(return_to), kndl_db_i64(ends_at_ms),
                     kndl_db_i64(SIGN_INS_MAX)) < 0)
        return -1;
    if (rows.count == 0)
        return kndl_fail(err, KNDL_RESOURCE_EXHAUSTED, "too many sign in; try again in a minute");
    return 0;
}

int store_take_sign_in(struct store *store, const uint8_t browser[KNDL_HASH_BYTES], int64_t now_ms,
                       struct kndl_arena *arena, const char **ret_return_to, struct kndl_error *err)
{
    struct kndl_rows rows;

    if (kndl_db_exec(store->db, "take_sign_in", arena, &rows, err, store_hash(browser),
                     kndl_db_i64(now_ms)) < 0)
        return -1;
    if (rows.count == 0 || !store_is_hash(&rows, 0, browser) || !kndl_row_bool(&rows, 0, 2))
        return kndl_fail(err, KNDL_NOT_FOUND, "no such sign-in was begun");
    *ret_return_to = kndl_row_text(&rows, 0, 1);
    return 0;
}

int store_begin_device(struct store *store, const uint8_t device_hash[KNDL_HASH_BYTES],
                       const uint8_t code_hash[KNDL_HASH_BYTES], const struct device *device,
                       struct kndl_arena *arena, struct kndl_error *err)
{
    struct kndl_rows rows;

    if (kndl_db_exec(store->db, "begin_device", arena, &rows, err, store_hash(device_hash),
                     store_hash(code_hash), kndl_db_text(device->machine),
                     kndl_db_i64(device->begun_at_ms), kndl_db_i64(device->ends_at_ms),
                     kndl_db_i64(DEVICES_MAX), kndl_db_text(device->cli_id),
                     kndl_db_text(device->purpose)) < 0)
        return -1;
    if (rows.count == 0)
        return kndl_fail(err, KNDL_RESOURCE_EXHAUSTED,
                         "too many machines wait for a yes; try again in a minute");
    return 0;
}

static int refuse_code(struct kndl_error *err)
{
    return kndl_fail(err, KNDL_NOT_FOUND, "no machine waits with this code; run its command again");
}

int store_find_device(struct store *store, const uint8_t code_hash[KNDL_HASH_BYTES],
                      const char *person_id, int64_t now_ms, struct kndl_arena *arena,
                      struct device *ret_device, struct kndl_error *err)
{
    struct kndl_rows rows;

    if (kndl_db_exec(store->db, "find_device", arena, &rows, err, store_hash(code_hash),
                     kndl_db_i64(now_ms), kndl_db_text(person_id)) < 0)
        return -1;
    if (rows.count == 0 || !store_is_hash(&rows, 3, code_hash))
        return refuse_code(err);
    *ret_device = (struct device){
        .machine = kndl_row_text(&rows, 0, 0),
        .begun_at_ms = kndl_row_ms(&rows, 0, 1),
        .ends_at_ms = kndl_row_ms(&rows, 0, 2),
        .cli_id = "",
        .purpose = kndl_row_text(&rows, 0, 4),
    };
    return 0;
}

int store_decide_device(struct store *store, const struct kndl_asked *asked,
                        const uint8_t code_hash[KNDL_HASH_BYTES], bool is_approved,
                        struct kndl_arena *arena, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_tx_done) struct kndl_tx tx;
    const struct kndl_done *done;
    struct kndl_rows rows;

    if (kndl_tx_begin(store->db, &tx, err) < 0 ||
        kndl_done_keep(store->db, asked, "", arena, &done, err) < 0)
        return -1;
    if (done != NULL)
        return 0;
    if (kndl_db_exec(store->db, is_approved ? "approve_device" : "refuse_device", arena, &rows, err,
                     store_hash(code_hash), kndl_db_i64(asked->now_ms),
                     kndl_db_text(asked->person_id)) < 0)
        return -1;
    return rows.changed == 0 ? refuse_code(err) : kndl_tx_commit(&tx, err);
}

int store_take_device(struct store *store, const uint8_t device_hash[KNDL_HASH_BYTES],
                      const char *cli_id, int64_t now_ms, struct kndl_arena *arena,
                      struct decision *ret_decision, struct kndl_error *err)
{
    struct kndl_rows rows;

    if (kndl_db_exec(store->db, "peek_device", arena, &rows, err, store_hash(device_hash),
                     kndl_db_i64(now_ms), kndl_db_text(cli_id)) < 0)
        return -1;
    if (rows.count == 0 || !store_is_hash(&rows, 1, device_hash))
        return kndl_fail(err, KNDL_NOT_FOUND, "no such device");
    if (!kndl_row_bool(&rows, 0, 0)) {
        *ret_decision = (struct decision){.is_made = false};
        return 0;
    }
    if (kndl_db_exec(store->db, "take_device", arena, &rows, err, store_hash(device_hash),
                     kndl_db_i64(now_ms)) < 0)
        return -1;
    if (rows.count == 0)
        return kndl_fail(err, KNDL_NOT_FOUND, "no such device");
    *ret_decision = (struct decision){
        .is_made = true,
        .person = store_person_of(&rows, 0),
        .machine = kndl_row_text(&rows, 0, 6),
        .purpose = kndl_row_text(&rows, 0, 7),
    };
    return 0;
}

int store_tidy(struct store *store, int64_t now_ms, struct kndl_error *err)
{
    if (kndl_db_exec(store->db, "tidy_sign_ins", NULL, NULL, err, kndl_db_i64(now_ms)) < 0 ||
        kndl_db_exec(store->db, "tidy_devices", NULL, NULL, err, kndl_db_i64(now_ms)) < 0)
        return -1;
    return kndl_db_exec(store->db, "tidy_confirmations", NULL, NULL, err, kndl_db_i64(now_ms));
}
