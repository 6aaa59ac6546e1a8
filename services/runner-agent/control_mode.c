/* The parser of tmux's control mode. */

#include "control_mode.h"

#include <string.h>

void control_mode_done(struct control_mode *control)
{
    kndl_buf_done(&control->line);
    kndl_buf_done(&control->block);
}

static bool starts_with(struct kndl_slice line, const char *word)
{
    size_t size = strlen(word);

    return line.size >= size && memcmp(line.data, word, size) == 0;
}

static struct kndl_slice behind(struct kndl_slice line, const char *word)
{
    return kndl_slice(line.data + strlen(word), line.size - strlen(word));
}

static void begin_block(struct control_mode *control, struct kndl_slice guard)
{
    if (guard.size == 0 || guard.size >= sizeof control->guard) {
        control->is_broken = true;
        return;
    }
    memcpy(control->guard, guard.data, guard.size);
    control->guard[guard.size] = '\0';
    control->is_ours = guard.size >= 2 && memcmp(guard.data + guard.size - 2, " 1", 2) == 0;
    kndl_buf_clear(&control->block);
}

static void end_block(struct control_mode *control, bool ok)
{
    control->guard[0] = '\0';
    if (control->is_ours)
        control->on_block(control->data, ok, kndl_buf_slice(&control->block));
}

static void take_line(struct control_mode *control, struct kndl_slice line)
{
    struct kndl_slice guard = kndl_slice_of(control->guard);

    if (guard.size == 0) {
        if (starts_with(line, "%begin "))
            begin_block(control, behind(line, "%begin "));
        else if (control->on_notice != NULL)
            control->on_notice(control->data, line);
        return;
    }
    if (starts_with(line, "%end ") && kndl_slice_equal(behind(line, "%end "), guard)) {
        end_block(control, true);
    } else if (starts_with(line, "%error ") && kndl_slice_equal(behind(line, "%error "), guard)) {
        end_block(control, false);
    } else if (control->block.size + line.size > CONTROL_BLOCK_BYTES_MAX) {
        control->is_broken = true;
    } else if (control->is_ours) {
        if (control->block.size > 0)
            kndl_buf_append_char(&control->block, '\n');
        kndl_buf_append(&control->block, line.data, line.size);
    }
}

void control_mode_feed(struct control_mode *control, struct kndl_slice bytes)
{
    while (bytes.size > 0 && !control->is_broken) {
        const uint8_t *end = memchr(bytes.data, '\n', bytes.size);
        size_t size = end == NULL ? bytes.size : (size_t)(end - bytes.data);

        if (control->line.size + size > CONTROL_LINE_BYTES_MAX) {
            control->is_broken = true;
            return;
        }
        if (end != NULL && control->line.size == 0) {
            take_line(control, kndl_slice(bytes.data, size));
        } else {
            kndl_buf_append(&control->line, bytes.data, size);
            if (end != NULL) {
                take_line(control, kndl_buf_slice(&control->line));
                kndl_buf_clear(&control->line);
            }
        }
        if (end != NULL)
            size++;
        bytes = kndl_slice(bytes.data + size, bytes.size - size);
    }
}
