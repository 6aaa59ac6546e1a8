/*
 * Testing redaction: a random value is masked by what masks all that Sessions say (masking.h), in
 * each sink and spelling. It is nobody's, so that nothing is at stake where it shows, and it goes
 * nowhere but into the answer.
 */

#include "kndl/access.h"
#include "kndl/buf.h"
#include "kndl/log.h"
#include "kndl/mem.h"
#include "kndl/permit.h"
#include "kndl/redact.h"
#include "kndl/redactor/v1/redactor_service.pb-c.h"
#include "kndl/service.h"
#include "masks.h"
#include "peers.h"
#include "rpc.h"
#include "sinks.h"
#include "spelling.h"

#define V1(name) Kndl__Redactor__V1__##name

/* Some of it is written in another way in JSON and URLs. */
static const char *new_canary(struct kndl_arena *arena)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf canary = {0};
    char random[KNDL_ID_SIZE];

    kndl_id_new(random);
    kndl_buf_printf(&canary, "canary/\"%s\"+&=", random);
    return kndl_arena_copy(arena, kndl_buf_text(&canary));
}

static V1(Trial) *try(const struct sinking *sinking, const struct sink *sink,
                      V1(Trial__Spelling) spelling, const char *canary)
{
    KNDL_CLEANUP(spelled_done) struct spelled spelled = {0};
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf first = {0};
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf second = {0};
    V1(Trial) *trial = kndl_arena_alloc(sinking->arena, sizeof *trial);

    spell(spelling, canary, &spelled);
    if (sink->is_json)
        spelled_put_into_json(&spelled);
    kndl_buf_printf(&first, "%s%s%s", sink->is_json ? "{\"text\":\"it is " : "it is ",
                    kndl_buf_text(&spelled.first), kndl_buf_text(&spelled.between));
    kndl_buf_printf(&second, "%s%s", kndl_buf_text(&spelled.second),
                    sink->is_json ? " here\"}" : " here");
    *trial = (V1(Trial))KNDL__REDACTOR__V1__TRIAL__INIT;
    trial->sink = sink->id;
    trial->spelling = spelling;
    trial->known_limit = spelling_is_limit(spelling);
    trial->text = sink->pass(sink, sinking, kndl_buf_text(&first), kndl_buf_text(&second));
    trial->masked = !spelled_shows(&spelled, trial->text);
    return trial;
}

/* Every spelling in every sink; answers how many show that should not. */
static size_t try_all(const struct sinking *sinking, const char *canary,
                      V1(TestRedactionResponse) *resp)
{
    size_t shown = 0;

    resp->trials =
        kndl_arena_alloc(sinking->arena, sink_count * spelling_count * sizeof *resp->trials);
    for (size_t i = 0; i < sink_count; i++)
        for (size_t j = 0; j < spelling_count; j++) {
            V1(Trial) *trial = try(sinking, &sinks[i], spellings[j], canary);

            shown += !trial->masked && !trial->known_limit;
            resp->trials[resp->n_trials++] = trial;
        }
    return shown;
}

/* The Repo that a request names, if the person sees it. */
struct named_repo {
    int64_t id;
    const char *name;
};

/* kndl_stand_fn. */
static int stand(struct kndl_call *call, const struct kndl_public *row,
                 const ProtobufCMessage *request, unsigned *ret_who)
{
    struct redactor *redactor = call->state;
    struct named_repo *repo = kndl_arena_alloc(call->arena, sizeof *repo);

    (void)row;
    *ret_who = KNDL_WHO_MEMBER; /* the gateway has asked repo-access, and so does what follows */
    call->found = repo;
    if (kndl_access_resolve_repo(redactor->bus, call, kndl_request_number(request, "repo_id"),
                                 kndl_request_text(request, "repo_name"), &repo->id,
                                 &repo->name) < 0)
        return kndl_stand_absent(call);
    *ret_who |= KNDL_WHO_PARTICIPANT;
    return 0;
}

static int test_redaction(struct kndl_call *call, const V1(TestRedactionRequest) *req,
                          V1(TestRedactionResponse) *resp)
{
    struct redactor *redactor = call->state;
    KNDL_CLEANUP(masks_drop) struct masks *masks = NULL;
    const char *canary = new_canary(call->arena);
    const struct named_repo *repo = call->found;
    const struct whose whose = {
        .creator_id = call->actor.id,
        .repo_id = repo->id,
        .canary = canary,
    };

    (void)req;
    if (peers_get_masks(redactor, call, &whose, 0, &masks) < 0)
        return -1;
    struct sinking sinking = {redactor->blocks, call->arena, masks, ""};
    kndl_id_new(sinking.session_id);
    resp->repo_id = repo->id;
    resp->repo_name = (char *)repo->name;
    resp->instance_id = (char *)kndl_service_instance();
    resp->value_count = (int64_t)kndl_redact_set_count(masks_set(masks)) - 1;

    size_t shown = try_all(&sinking, canary, resp);
    kndl_log(shown == 0 ? KNDL_INFO : KNDL_ERROR, "redaction was tested",
             KNDL_STR("person", call->actor.id), KNDL_I64("repo", repo->id),
             KNDL_U64("trials", resp->n_trials), KNDL_U64("shown", shown));
    return 0;
}

KNDL_PUBLIC(V1, RedactorService, TestRedaction, test_redaction, stand)

static V1(RedactorService_Service) service = KNDL__REDACTOR__V1__REDACTOR_SERVICE__INIT(rpc_);
ProtobufCService *const redactor_service = &service.base;
