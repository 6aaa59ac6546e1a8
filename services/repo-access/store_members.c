/* The rows of Members, Invites and departures. */

#include "store_members.h"

#include <string.h>

#include "kndl/mem.h"
#include "kndl/permit.h"
#include "store_parts.h"

int store_list_members(struct store *store, struct kndl_arena *arena, struct member **ret_members,
                       size_t *ret_count, struct kndl_error *err)
{
    struct kndl_rows rows;

    if (kndl_db_exec(store->db, "list_members", arena, &rows, err) < 0)
        return -1;
    *ret_members = kndl_arena_alloc(arena, (rows.count + 1) * sizeof **ret_members);
    for (size_t i = 0; i < rows.count; i++)
        (*ret_members)[i] = (struct member){store_person_of(&rows, i), kndl_row_ms(&rows, i, 6)};
    *ret_count = rows.count;
    return 0;
}

/* Holds the Owner's row until the transaction ends. */
static int check_owner(struct store *store, const char *actor_id, struct kndl_arena *arena,
                       struct kndl_error *err)
{
    struct kndl_rows rows;

    if (kndl_db_exec(store->db, "lock_owner", arena, &rows, err) < 0)
        return -1;
    if (rows.count == 0 || strcmp(kndl_row_text(&rows, 0, 0), actor_id) != 0)
        return kndl_public_deny(KNDL_WHO_OWNER, err);
    return 0;
}

int store_was_done(struct store *store, const char *person_id, const char *request_id,
                   struct kndl_arena *arena, bool *ret_was_done, struct kndl_error *err)
{
    const struct kndl_done *done;

    if (kndl_done_find(store->db, person_id, request_id, arena, &done, err) < 0)
        return -1;
    *ret_was_done = done != NULL;
    return 0;
}

static struct invite invite_of(const struct kndl_rows *rows, size_t row)
{
    return (struct invite){
        .id = kndl_row_text(rows, row, 0),
        .login = kndl_row_text(rows, row, 1),
        .created_at_ms = kndl_row_ms(rows, row, 2),
        .ends_at_ms = kndl_row_ms(rows, row, 3),
    };
}

int store_list_invites(struct store *store, const char *actor_id, int64_t now_ms,
                       struct kndl_arena *arena, struct invite **ret_invites, size_t *ret_count,
                       struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_tx_done) struct kndl_tx tx;
    struct kndl_rows rows;

    if (kndl_tx_begin(store->db, &tx, err) < 0 || check_owner(store, actor_id, arena, err) < 0 ||
        kndl_db_exec(store->db, "list_invites", arena, &rows, err, kndl_db_i64(now_ms)) < 0)
        return -1;
    *ret_invites = kndl_arena_alloc(arena, (rows.count + 1) * sizeof **ret_invites);
    for (size_t i = 0; i < rows.count; i++)
        (*ret_invites)[i] = invite_of(&rows, i);
    *ret_count = rows.count;
    return kndl_tx_commit(&tx, err);
}

int store_invite(struct store *store, const struct kndl_asked *asked, const char *new_id,
                 const char *login, const uint8_t hash[KNDL_HASH_BYTES], int64_t ends_at_ms,
                 struct kndl_arena *arena, struct invite *ret_invite, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_tx_done) struct kndl_tx tx;
    const struct kndl_done *done;
    struct kndl_rows rows;

    /* A repeat goes on: it gets the same Invite with another secret. */
    if (kndl_tx_begin(store->db, &tx, err) < 0 ||
        check_owner(store, asked->person_id, arena, err) < 0 ||
        kndl_done_keep(store->db, asked, "", arena, &done, err) < 0 ||
        kndl_db_exec(store->db, "find_member_by_login", arena, &rows, err, kndl_db_text(login)) < 0)
        return -1;
    if (rows.count > 0)
        return kndl_fail(err, KNDL_ALREADY_EXISTS, "there is a Member %s already", login);
    if (kndl_db_exec(store->db, "revoke_invites_of_login", NULL, NULL, err, kndl_db_text(login),
                     kndl_db_i64(asked->now_ms), kndl_db_text(asked->request_id)) < 0 ||
        kndl_db_exec(store->db, "keep_invite", arena, &rows, err, kndl_db_text(new_id),
                     store_hash(hash), kndl_db_text(login), kndl_db_text(asked->person_id),
                     kndl_db_text(asked->request_id), kndl_db_i64(asked->now_ms),
                     kndl_db_i64(ends_at_ms)) < 0)
        return -1;
    if (rows.count == 0)
        return kndl_fail(err, KNDL_ABORTED, "that Invite was used or revoked; make another one");
    *ret_invite = invite_of(&rows, 0);
    return kndl_tx_commit(&tx, err);
}

int store_revoke_invite(struct store *store, const struct kndl_asked *asked, const char *invite_id,
                        struct kndl_arena *arena, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_tx_done) struct kndl_tx tx;
    const struct kndl_done *done;

    if (kndl_tx_begin(store->db, &tx, err) < 0 ||
        check_owner(store, asked->person_id, arena, err) < 0 ||
        kndl_done_keep(store->db, asked, "", arena, &done, err) < 0)
        return -1;
    if (done == NULL && kndl_db_exec(store->db, "revoke_invite", NULL, NULL, err,
                                     kndl_db_text(invite_id), kndl_db_i64(asked->now_ms)) < 0)
        return -1;
    return kndl_tx_commit(&tx, err);
}

/* Why there was no Member to remove: there is no such person, it is the Owner, or it was done. */
static int explain(struct store *store, const struct kndl_asked *asked, const char *person_id,
                   struct kndl_arena *arena, struct kndl_error *err)
{
    struct person person;

    if (strcmp(asked->person_id, person_id) == 0)
        return kndl_fail(err, KNDL_ABORTED,
                         "you are the Owner: hand ownership over before you leave");
    return store_find_person(store, person_id, arena, &person, err);
}

int store_remove_member(struct store *store, const struct kndl_asked *asked, const char *person_id,
                        const char *removal_id, struct kndl_arena *arena, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_tx_done) struct kndl_tx tx;
    struct kndl_param person = kndl_db_text(person_id);
    struct kndl_param now = kndl_db_i64(asked->now_ms);
    struct kndl_rows rows;
    const struct kndl_done *done;

    if (kndl_tx_begin(store->db, &tx, err) < 0 ||
        check_owner(store, asked->person_id, arena, err) < 0 ||
        kndl_done_keep(store->db, asked, "", arena, &done, err) < 0)
        return -1;
    if (done != NULL)
        return 0;
    if (kndl_db_exec(store->db, "remove_member", arena, &rows, err, person, now) < 0)
        return -1;
    if (rows.count == 0)
        return explain(store, asked, person_id, arena, err);
    if (kndl_db_exec(store->db, "end_credentials", NULL, NULL, err, person, now) < 0 ||
        kndl_db_exec(store->db, "revoke_invites_of_login", NULL, NULL, err,
                     kndl_db_text(kndl_row_text(&rows, 0, 0)), now, kndl_db_text("")) < 0 ||
        kndl_db_exec(store->db, "refuse_devices_of", NULL, NULL, err, person) < 0 ||
        kndl_db_exec(store->db, "keep_departure", NULL, NULL, err, person, kndl_db_text(removal_id),
                     now) < 0)
        return -1;
    return kndl_tx_commit(&tx, err);
}

int store_hand_over(struct store *store, const struct kndl_asked *asked, const char *person_id,
                    struct kndl_arena *arena, struct kndl_error *err)
{
    KNDL_CLEANUP(kndl_tx_done) struct kndl_tx tx;
    struct kndl_rows rows;
    const struct kndl_done *done;

    /* A repeat comes from who is not the Owner any more. */
    if (kndl_tx_begin(store->db, &tx, err) < 0 ||
        kndl_done_keep(store->db, asked, "", arena, &done, err) < 0)
        return -1;
    if (done != NULL)
        return 0;
    if (check_owner(store, asked->person_id, arena, err) < 0 ||
        kndl_db_exec(store->db, "take_ownership", NULL, NULL, err, kndl_db_text(asked->person_id)) <
            0 ||
        kndl_db_exec(store->db, "give_ownership", arena, &rows, err, kndl_db_text(person_id)) < 0)
        return -1;
    if (rows.count == 0)
        return kndl_fail(err, KNDL_NOT_FOUND, "there is no such Member");
    return kndl_tx_commit(&tx, err);
}

int store_claim_departure(struct store *store, int64_t now_ms, struct kndl_arena *arena,
                          const struct departure **ret_departure, struct kndl_error *err)
{
    struct kndl_rows rows;

    if (kndl_db_exec(store->db, "claim_departure", arena, &rows, err, kndl_db_i64(now_ms)) < 0)
        return -1;
    *ret_departure = NULL;
    if (rows.count == 0)
        return 0;
    struct departure *departure = kndl_arena_alloc(arena, sizeof *departure);
    *departure = (struct departure){
        .person_id = kndl_row_text(&rows, 0, 0),
        .service = kndl_row_text(&rows, 0, 1),
        .removal_id = kndl_row_text(&rows, 0, 2),
        .is_second = kndl_row_bool(&rows, 0, 3),
    };
    *ret_departure = departure;
    return 0;
}

int store_finish_departure(struct store *store, const struct departure *departure,
                           int64_t again_at_ms, struct kndl_error *err)
{
    struct kndl_param person = kndl_db_text(departure->person_id);
    struct kndl_param service = kndl_db_text(departure->service);
    struct kndl_param removal = kndl_db_text(departure->removal_id);

    if (departure->is_second)
        return kndl_db_exec(store->db, "finish_departure", NULL, NULL, err, person, service,
                            removal);
    return kndl_db_exec(store->db, "repeat_departure", NULL, NULL, err, person, service, removal,
                        kndl_db_i64(again_at_ms));
}
