/* The connection, its statements, and rows as structs. */

#include "store.h"

#include <stdlib.h>

#include "edit.h"
#include "kndl/arena.h"
#include "kndl/db.h"
#include "kndl/env.h"
#include "kndl/mem.h"

#include "0001_sessions.sql.h"
#include "0002_runners.sql.h"
#include "0003_waits.sql.h"
#include "0004_authors.sql.h"
#include "0005_updates.sql.h"
#include "0006_repos.sql.h"
#include "0007_done.sql.h"
#include "0008_removals.sql.h"
#include "events.sql.h"
#include "prompts.sql.h"
#include "runners.sql.h"
#include "runs.sql.h"
#include "sessions.sql.h"

static const char schema[] = "sessions";

static const struct kndl_migration migrations[] = {
    {1, "sessions", MIGRATION_0001_SESSIONS},
    {2, "runners", MIGRATION_0002_RUNNERS},
    {3, "waits", MIGRATION_0003_WAITS},
    {4, "authors", MIGRATION_0004_AUTHORS},
    {5, "updates", MIGRATION_0005_UPDATES},
    {6, "repos", MIGRATION_0006_REPOS},
    {7, "done", MIGRATION_0007_DONE},
    {8, "removals", MIGRATION_0008_REMOVALS},
    {0, NULL, NULL},
};

static const struct kndl_statement statements[] = {
    KNDL_DONE_STATEMENTS,
    {"pick_runner", SQL_PICK_RUNNER},
    {"find_created", SQL_FIND_CREATED},
    {"create_session", SQL_CREATE_SESSION},
    {"read_session", SQL_READ_SESSION},
    {"lock_session", SQL_LOCK_SESSION},
    {"update_session", SQL_UPDATE_SESSION},
    {"list_repos", SQL_LIST_REPOS},
    {"sessions_of_repo", SQL_SESSIONS_OF_REPO},
    {"list_sessions", SQL_LIST_SESSIONS},
    {"find_request", SQL_FIND_REQUEST},
    {"put_request", SQL_PUT_REQUEST},
    {"awake_of_person", SQL_AWAKE_OF_PERSON},
    {"awake_creators", SQL_AWAKE_CREATORS},
    {"count_removal", SQL_COUNT_REMOVAL},
    {"sessions_of_person", SQL_SESSIONS_OF_PERSON},
    {"find_setup_token", SQL_FIND_SETUP_TOKEN},
    {"put_setup_token", SQL_PUT_SETUP_TOKEN},
    {"overdue_session", SQL_OVERDUE_SESSION},
    {"append_event", SQL_APPEND_EVENT},
    {"page_before", SQL_PAGE_BEFORE},
    {"page_after", SQL_PAGE_AFTER},
    {"newest_sources", SQL_NEWEST_SOURCES},
    {"heads", SQL_HEADS},
    {"ask_question", SQL_ASK_QUESTION},
    {"find_question", SQL_FIND_QUESTION},
    {"set_question", SQL_SET_QUESTION},
    {"open_questions", SQL_OPEN_QUESTIONS},
    {"start_subagent", SQL_START_SUBAGENT},
    {"end_subagent", SQL_END_SUBAGENT},
    {"running_subagents", SQL_RUNNING_SUBAGENTS},
    {"append_prompt", SQL_APPEND_PROMPT},
    {"find_prompt", SQL_FIND_PROMPT},
    {"first_prompt", SQL_FIRST_PROMPT},
    {"waiting_prompts", SQL_WAITING_PROMPTS},
    {"set_prompt", SQL_SET_PROMPT},
    {"handed_prompts", SQL_HANDED_PROMPTS},
    {"queued_prompts", SQL_QUEUED_PROMPTS},
    {"others_prompts", SQL_OTHERS_PROMPTS},
    {"due_prompt", SQL_DUE_PROMPT},
    {"claim_prompt", SQL_CLAIM_PROMPT},
    {"prompt_taken", SQL_PROMPT_TAKEN},
    {"prompt_unsure", SQL_PROMPT_UNSURE},
    {"due_wake", SQL_DUE_WAKE},
    {"make_run", SQL_MAKE_RUN},
    {"lock_run", SQL_LOCK_RUN},
    {"set_run_n", SQL_SET_RUN_N},
    {"set_run_phase", SQL_SET_RUN_PHASE},
    {"set_run_ended", SQL_SET_RUN_ENDED},
    {"set_mod_token", SQL_SET_MOD_TOKEN},
    {"unsettled_runs", SQL_UNSETTLED_RUNS},
    {"put_step", SQL_PUT_STEP},
    {"count_steps", SQL_COUNT_STEPS},
    {"list_steps", SQL_LIST_STEPS},
    {"add_command", SQL_ADD_COMMAND},
    {"claim_command", SQL_CLAIM_COMMAND},
    {"take_command", SQL_TAKE_COMMAND},
    {"release_command", SQL_RELEASE_COMMAND},
    {"end_command", SQL_END_COMMAND},
    {"find_start", SQL_FIND_START},
    {"has_stop", SQL_HAS_STOP},
    {"drop_commands", SQL_DROP_COMMANDS},
    {"claim_assignment", SQL_CLAIM_ASSIGNMENT},
    {"put_assignment", SQL_PUT_ASSIGNMENT},
    {"release_assignment", SQL_RELEASE_ASSIGNMENT},
    {"read_runner", SQL_READ_RUNNER},
    {"list_runners", SQL_LIST_RUNNERS},
    {"register_runner", SQL_REGISTER_RUNNER},
    {"find_runner_name", SQL_FIND_RUNNER_NAME},
    {"rename_runner", SQL_RENAME_RUNNER},
    {"rotate_runner_token", SQL_ROTATE_RUNNER_TOKEN},
    {"remove_runner", SQL_REMOVE_RUNNER},
    {"find_runner_token", SQL_FIND_RUNNER_TOKEN},
    {"set_runner_problem", SQL_SET_RUNNER_PROBLEM},
    {"run_of_removed", SQL_RUN_OF_REMOVED},
    {"attend", SQL_ATTEND},
    {"runs_of_runner", SQL_RUNS_OF_RUNNER},
    {"unhold_sessions", SQL_UNHOLD_SESSIONS},
    {"frozen_without_run", SQL_FROZEN_WITHOUT_RUN},
    {"count_runners", SQL_COUNT_RUNNERS},
    {"silent_runners", SQL_SILENT_RUNNERS},
    {"session_to_freeze", SQL_SESSION_TO_FREEZE},
    {"pause_runner", SQL_PAUSE_RUNNER},
    {"unpause_runner", SQL_UNPAUSE_RUNNER},
    {NULL, NULL},
};

/* The order of sessions.session's columns, and what read_session puts behind them. */
enum session_column {
    ID,
    REQUEST_ID,
    REQUEST_CONTENT,
    CREATOR_ID,
    CREATOR_LOGIN,
    CREATOR_NAME,
    CREATOR_EMAIL,
    REPO_ID,
    REPO_NAME,
    RUNNER_ID,
    MODEL,
    EFFORT,
    CREATED_AT_MS,
    CLAUDE_SESSION_ID,
    TITLE,
    STATE,
    REASON_CODE,
    REASON,
    FROZEN_FROM,
    SLEEP_CODE,
    SLEEP_REASON,
    RUN,
    CONVERSATION_EXISTS,
    WAS_ACTIVE,
    WAKE_HELD,
    QUEUE_PAUSED,
    TURN_OPEN,
    TURN_ID,
    TURN_EXPECTED_UNTIL_MS,
    OPEN_QUESTIONS,
    RUNNING_SUBAGENTS,
    LAST_SEQ,
    VIEW_VERSION,
    CHANGED_AT_MS,
    DEADLINE_MS,
    WAITS_CODE,
    REPO_PROBLEM,
    CREATOR_REMOVALS,
    QUEUED_COUNT,
    NOW_MS,
    SEAL_KEY,
    RUNNER_AWAY,
    RUNNER_LAST_SEEN_MS,
    RUNNER_NAME,
    RUNNER_REMOVED,
};

int store_migrate(struct kndl_error *err)
{
    return kndl_db_migrate(kndl_env_get("HUB_DATABASE_URL"), schema, migrations, err);
}

int store_open(struct store **ret_store, struct kndl_error *err)
{
    struct kndl_db *db;

    if (kndl_db_open(kndl_env_get("HUB_DATABASE_URL"), schema, statements, &db, err) < 0)
        return -1;
    *ret_store = kndl_new0(struct store);
    (*ret_store)->db = db;
    return 0;
}

void store_close(struct store *store)
{
    if (store == NULL)
        return;
    kndl_db_close(store->db);
    free(store);
}

void store_session_of(const struct kndl_rows *rows, size_t row, struct session *ret_session)
{
    *ret_session = (struct session){
        .id = kndl_row_text(rows, row, ID),
        .request_content = kndl_row_text(rows, row, REQUEST_CONTENT),
        .creator_id = kndl_row_text(rows, row, CREATOR_ID),
        .creator_login = kndl_row_text(rows, row, CREATOR_LOGIN),
        .creator_name = kndl_row_text(rows, row, CREATOR_NAME),
        .creator_email = kndl_row_text(rows, row, CREATOR_EMAIL),
        .repo_id = kndl_row_i64(rows, row, REPO_ID),
        .repo_name = kndl_row_text(rows, row, REPO_NAME),
        .runner_id = kndl_row_text(rows, row, RUNNER_ID),
        .model = kndl_row_text(rows, row, MODEL),
        .effort = kndl_row_text(rows, row, EFFORT),
        .created_at_ms = kndl_row_i64(rows, row, CREATED_AT_MS),
        .claude_session_id = kndl_row_text(rows, row, CLAUDE_SESSION_ID),
        .title = kndl_row_text(rows, row, TITLE),
        .state = (life_state)kndl_row_i64(rows, row, STATE),
        .reason_code = kndl_row_text(rows, row, REASON_CODE),
        .reason = kndl_row_text(rows, row, REASON),
        .frozen_from = (life_state)kndl_row_i64(rows, row, FROZEN_FROM),
        .sleep_code = kndl_row_text(rows, row, SLEEP_CODE),
        .sleep_reason = kndl_row_text(rows, row, SLEEP_REASON),
        .run = kndl_row_i64(rows, row, RUN),
        .conversation_exists = kndl_row_bool(rows, row, CONVERSATION_EXISTS),
        .was_active = kndl_row_bool(rows, row, WAS_ACTIVE),
        .wake_held = kndl_row_bool(rows, row, WAKE_HELD),
        .queue_paused = kndl_row_bool(rows, row, QUEUE_PAUSED),
        .turn_open = kndl_row_bool(rows, row, TURN_OPEN),
        .turn_id = kndl_row_text(rows, row, TURN_ID),
        .turn_expected_until_ms = kndl_row_i64(rows, row, TURN_EXPECTED_UNTIL_MS),
        .open_questions = kndl_row_i64(rows, row, OPEN_QUESTIONS),
        .running_subagents = kndl_row_i64(rows, row, RUNNING_SUBAGENTS),
        .last_seq = kndl_row_i64(rows, row, LAST_SEQ),
        .view_version = kndl_row_i64(rows, row, VIEW_VERSION),
        .changed_at_ms = kndl_row_i64(rows, row, CHANGED_AT_MS),
        .deadline_ms = kndl_row_i64(rows, row, DEADLINE_MS),
        .waits_code = kndl_row_text(rows, row, WAITS_CODE),
        .repo_problem = kndl_row_text(rows, row, REPO_PROBLEM),
        .creator_removals = kndl_row_i64(rows, row, CREATOR_REMOVALS),
        .queued_count = kndl_row_i64(rows, row, QUEUED_COUNT),
        .now_ms = kndl_row_i64(rows, row, NOW_MS),
        .seal_key = kndl_row_bytes(rows, row, SEAL_KEY),
        .runner_away = kndl_row_bool(rows, row, RUNNER_AWAY),
        .runner_last_seen_ms = kndl_row_i64(rows, row, RUNNER_LAST_SEEN_MS),
        .runner_name = kndl_row_text(rows, row, RUNNER_NAME),
        .runner_removed = kndl_row_bool(rows, row, RUNNER_REMOVED),
    };
}

Kndl__Sessions__V1__QueuedPrompt *store_prompt_of(const struct kndl_rows *rows, size_t row,
                                                  struct kndl_arena *arena)
{
    Kndl__Sessions__V1__QueuedPrompt *prompt = kndl_arena_alloc(arena, sizeof *prompt);

    kndl__sessions__v1__queued_prompt__init(prompt);
    prompt->id = (char *)kndl_row_text(rows, row, 0);
    prompt->place = kndl_row_i64(rows, row, 1);
    prompt->text = (char *)kndl_row_text(rows, row, 2);
    prompt->state = (Kndl__Sessions__V1__QueuedPrompt__State)kndl_row_i64(rows, row, 3);
    prompt->reason = (char *)kndl_row_text(rows, row, 4);
    prompt->queued_at_ms = kndl_row_i64(rows, row, 5);
    return prompt;
}
