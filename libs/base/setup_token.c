/* Telling a setup token from an API key and from nonsense. */

#include "kndl/setup_token.h"

#include <string.h>

enum { CHARS_LEAST = 24, CHARS_MOST = 512 };

static const char blanks[] = " \t\r\n";
static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static bool starts_with(struct kndl_slice text, const char *prefix)
{
    size_t size = strlen(prefix);

    return text.size >= size && memcmp(text.data, prefix, size) == 0;
}

static struct kndl_slice trim(const char *text)
{
    size_t size;

    text += strspn(text, blanks);
    size = strlen(text);
    while (size > 0 && strchr(blanks, text[size - 1]) != NULL)
        size--;
    return kndl_slice(text, size);
}

/* Of whatever kind, however it was copied: in capitals, quoted, with its variable's name. */
static bool is_api_key(const char *text)
{
    return strcasestr(text, "sk-ant-api") != NULL || strcasestr(text, "sk-ant-admin") != NULL;
}

int kndl_setup_token_read(const char *text, struct kndl_slice *ret_token, struct kndl_error *err)
{
    struct kndl_slice token = trim(text);

    if (is_api_key(text))
        return kndl_fail(
            err, KNDL_INVALID_ARGUMENT,
            "this is an API key (sk-ant-api…), which kndl does not take: Sessions run on your "
            "Claude subscription; run \"claude setup-token\" and give what it prints "
            "(sk-ant-oat…)");
    if (!starts_with(token, "sk-ant-oat"))
        return kndl_fail(err, KNDL_INVALID_ARGUMENT,
                         "this is no setup token; run \"claude setup-token\" and give what it "
                         "prints (sk-ant-oat…)");
    if (token.size < CHARS_LEAST || token.size > CHARS_MOST ||
        strspn((const char *)token.data, alphabet) < token.size)
        return kndl_fail(err, KNDL_INVALID_ARGUMENT,
                         "this setup token is not whole; give all of what \"claude setup-token\" "
                         "prints, on one line");
    *ret_token = token;
    return 0;
}
