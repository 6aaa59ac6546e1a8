/* A whole string (a title, a link) at once. */

#include "set.h"
#include "stream.h"

static bool begins_string(struct kndl_slice piece)
{
    return piece.size > 3 && piece.data[0] == 0x1b &&
           (piece.data[1] == ']' || piece.data[1] == 'P' || piece.data[1] == 'X' ||
            piece.data[1] == '^' || piece.data[1] == '_');
}

size_t bulk_take_string(struct kndl_redact_stream *stream, struct kndl_slice piece,
                        struct kndl_buf *out)
{
    enum { FRAME_BYTES = 2 };
    const struct automaton *automaton = &stream->set->automaton;
    size_t most = piece.size < BLOCK_BYTES ? piece.size : BLOCK_BYTES;
    size_t size = FRAME_BYTES;
    struct state state = {0};

    if (stream->set->normalise == NULL || stream->count > 0 || stream->escape != ESCAPE_GROUND ||
        !begins_string(piece))
        return 0;
    for (; size < most && piece.data[size] >= 0x20 && piece.data[size] < 0x7f; size++) {
        state = automaton_step(automaton, state, piece.data[size]);
        if (automaton_longest(automaton, state) != 0 || piece.data[size] == '%' ||
            piece.data[size] == '\\')
            return 0;
    }
    if (automaton_open(automaton, state) > STREAM_SHOWN_CHARACTERS || size + 1 >= most)
        return 0;
    if (size > FRAME_BYTES)
        stream->missing = 0;
    if (piece.data[size] == 0x1b && piece.data[size + 1] == '\\')
        size++;
    else if (piece.data[size] != 0x07)
        return 0;
    kndl_buf_append(out, piece.data, size + 1);
    return size + 1;
}
