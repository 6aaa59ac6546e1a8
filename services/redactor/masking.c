/* Texts, Events and deltas through the engine. */

#include "masking.h"

#include "kndl/arena.h"
#include "kndl/buf.h"
#include "kndl/mem.h"
#include "kndl/redact.h"
#include "kndl/redact_message.h"
#include "masks.h"

void masking_texts(struct masks *masks, char *const *texts, size_t count, bool are_screens,
                   struct kndl_arena *arena, char **ret_texts)
{
    for (size_t i = 0; i < count; i++) {
        KNDL_CLEANUP(kndl_buf_done) struct kndl_buf out = {0};

        if (are_screens)
            kndl_redact_screen(masks_set(masks), kndl_slice_of(texts[i]), &out);
        else
            kndl_redact_text(masks_set(masks), kndl_slice_of(texts[i]), &out);
        ret_texts[i] = kndl_arena_copy(arena, kndl_buf_text(&out));
    }
}

void masking_events(struct masks *masks, Kndl__Event__V1__Event **events, size_t count,
                    struct kndl_arena *arena)
{
    for (size_t i = 0; i < count; i++)
        kndl_redact_message(masks_set(masks), &events[i]->base, arena);
}

void masking_deltas(struct blocks *blocks, const char *session_id, struct masks *masks,
                    Kndl__Event__V1__Delta **deltas, size_t count, struct kndl_arena *arena,
                    blocks_fn fn, void *data)
{
    static char empty[] = "";

    /* Whatever else a delta says is masked as whole texts; its text is a piece of its block. */
    for (size_t i = 0; i < count; i++) {
        char *text = deltas[i]->text;

        deltas[i]->text = empty;
        kndl_redact_message(masks_set(masks), &deltas[i]->base, arena);
        deltas[i]->text = text;
    }
    blocks_feed(blocks, session_id, masks, deltas, count, arena, fn, data);
}
