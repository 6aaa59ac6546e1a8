/* What verbs share: the options that several take, and a line of JSON. */

#include "verb.h"

#include "kndl/buf.h"
#include "kndl/json.h"
#include "kndl/mem.h"

const struct arg_option no_options[] = {{NULL, 0, NULL, NULL}};

const struct arg_option json_option[] = {
    {"json", 0, NULL, "for programs: protobuf's JSON, one message a line"},
    {NULL, 0, NULL, NULL},
};

int verb_misused(const struct verb *verb, const char *what, struct kndl_error *err)
{
    return kndl_fail(err, KNDL_INVALID_ARGUMENT,
                     "%s; it goes: kndl %s%s%s; kndl %s --help says more", what, verb->name,
                     verb->usage[0] == '\0' ? "" : " ", verb->usage, verb->name);
}

int verb_unknown_word(const struct verb *verb, const char *word, struct kndl_error *err)
{
    char what[80];

    snprintf(what, sizeof what, "%.40s is not understood there", word);
    return verb_misused(verb, what, err);
}

int verb_hint(enum kndl_code code, const char *hint, struct kndl_error *err)
{
    struct kndl_error cause = *err;

    if (cause.code != code)
        return -1;
    *err = (struct kndl_error){0};
    return kndl_fail(err, code, "%s; %s", cause.message, hint);
}

void print_json(const struct screen *screen, const ProtobufCMessage *message)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf line = {0};

    kndl_json_from_message(message, &line);
    kndl_buf_append_char(&line, '\n');
    fwrite(line.data, 1, line.size, screen->out);
    fflush(screen->out);
}
