/*
 * Reads request heads by the letter of RFC 9112 and leaves out every leniency that it allows:
 * what a proxy in front might read otherwise (bare line feeds, folded lines, doubled fields,
 * spaces before the colon) is refused.
 */

#include "head.h"

#include <string.h>
#include <strings.h>

/* Fields that mean something to us and must not say two things. */
static const char *const single_fields[] = {
    "authorization",
    "content-length",
    "content-type",
    "cookie",
    "expect",
    "host",
    "if-none-match",
    "origin",
    "upgrade",
    "sec-websocket-key",
    "sec-websocket-version",
    NULL,
};

ssize_t head_find_end(const char *data, size_t size, size_t *scanned)
{
    while (*scanned < size) {
        const char *line_feed = memchr(data + *scanned, '\n', size - *scanned);

        if (line_feed == NULL) {
            *scanned = size;
            return 0;
        }
        size_t at = (size_t)(line_feed - data);
        if (at == 0 || data[at - 1] != '\r')
            return -1;
        *scanned = at + 1;
        if (at >= 3 && data[at - 2] == '\n')
            return (ssize_t)(at + 1);
    }
    return 0;
}

static bool is_token_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* Decodes in place. No control byte, encoded slash, backslash or dot segment comes out. */
static bool decode_path(char *path)
{
    char *out = path;

    for (const char *in = path; *in != '\0'; in++) {
        unsigned char c = (unsigned char)*in;

        if (c == '%') {
            int high = hex_value(in[1]);
            int low = high < 0 ? -1 : hex_value(in[2]);

            if (low < 0)
                return false;
            c = (unsigned char)(high << 4 | low);
            in += 2;
            if (c == '/')
                return false;
        }
        if (c < 0x20 || c == 0x7f || c == '\\')
            return false;
        *out++ = (char)c;
    }
    *out = '\0';

    for (const char *segment = path; segment != NULL; segment = strchr(segment, '/')) {
        size_t length = strcspn(++segment, "/");

        if ((length == 1 && segment[0] == '.') ||
            (length == 2 && segment[0] == '.' && segment[1] == '.'))
            return false;
    }
    return true;
}

/* "GET /path?query HTTP/1.1". Sets *ret_minor to the version's last digit. */
static int parse_request_line(char *line, struct head *head, int *ret_minor, const char **ret_why)
{
    char *target = strchr(line, ' ');
    char *version = target == NULL ? NULL : strchr(target + 1, ' ');

    *ret_why = "the request line is malformed";
    if (version == NULL || target == line || target - line > 16)
        return 400;
    *target++ = '\0';
    *version++ = '\0';
    for (const char *c = line; *c != '\0'; c++)
        if (*c < 'A' || *c > 'Z')
            return 400;
    if (strncmp(version, "HTTP/", 5) != 0)
        return 400;
    if (strcmp(version, "HTTP/1.1") != 0 && strcmp(version, "HTTP/1.0") != 0) {
        *ret_why = "only HTTP/1.1 is spoken here";
        return 505;
    }
    *ret_minor = version[7] - '0';
    if (target[0] != '/')
        return 400;
    for (const char *c = target; *c != '\0'; c++)
        if (*c <= 0x20 || *c >= 0x7f || *c == '#')
            return 400;
    head->method = line;
    head->path = target;
    head->query = "";
    char *query = strchr(target, '?');
    if (query != NULL) {
        *query = '\0';
        head->query = query + 1;
    }
    if (!decode_path(target)) {
        *ret_why = "the path is malformed";
        return 400;
    }
    return 0;
}

/* "Name: value". The line has no CR, LF or NUL. */
static bool parse_field(char *line, struct head_field *ret)
{
    char *colon = line;

    while (is_token_char(*colon)) {
        if (*colon >= 'A' && *colon <= 'Z')
            *colon = (char)(*colon - 'A' + 'a');
        colon++;
    }
    if (colon == line || *colon != ':')
        return false;
    *colon = '\0';
    char *value = colon + 1;
    value += strspn(value, " \t");
    char *end = value + strlen(value);
    while (end > value && (end[-1] == ' ' || end[-1] == '\t'))
        *--end = '\0';
    for (const char *c = value; *c != '\0'; c++)
        if (((unsigned char)*c < 0x20 && *c != '\t') || *c == 0x7f)
            return false;
    ret->name = line;
    ret->value = value;
    return true;
}

const char *head_get(const struct head *head, const char *name)
{
    for (size_t i = 0; i < head->count; i++)
        if (strcmp(head->fields[i].name, name) == 0)
            return head->fields[i].value;
    return NULL;
}

static bool has_doubled_field(const struct head *head)
{
    for (const char *const *name = single_fields; *name != NULL; name++) {
        int seen = 0;

        for (size_t i = 0; i < head->count; i++)
            seen += strcmp(head->fields[i].name, *name) == 0;
        if (seen > 1)
            return true;
    }
    return false;
}

/* Is the token in this comma-separated list? */
static bool list_has(const char *list, const char *token)
{
    size_t length = strlen(token);

    while (list != NULL && *list != '\0') {
        list += strspn(list, ", \t");
        if (strncasecmp(list, token, length) == 0 && strchr(", \t", list[length]) != NULL)
            return true;
        list += strcspn(list, ",");
    }
    return false;
}

static int parse_length(struct head *head, const char **ret_why)
{
    const char *text = head_get(head, "content-length");
    bool has_body = strcmp(head->method, "POST") == 0 || strcmp(head->method, "PUT") == 0 ||
                    strcmp(head->method, "PATCH") == 0;

    if (head_get(head, "transfer-encoding") != NULL) {
        *ret_why = "a body needs a Content-Length; chunked ones are not taken";
        return 411;
    }
    if (text == NULL) {
        *ret_why = "the Content-Length is missing";
        return has_body ? 411 : 0;
    }
    *ret_why = "the Content-Length is malformed";
    if (text[0] == '\0' || strspn(text, "0123456789") != strlen(text) || strlen(text) > 18)
        return 400;
    head->length = 0;
    for (; *text != '\0'; text++)
        head->length = head->length * 10 + (uint64_t)(*text - '0');
    return 0;
}

static int parse_upgrade(struct head *head, const char **ret_why)
{
    const char *upgrade = head_get(head, "upgrade");
    const char *version = head_get(head, "sec-websocket-version");
    const char *key = head_get(head, "sec-websocket-key");

    if (upgrade == NULL || strcasecmp(upgrade, "websocket") != 0 ||
        !list_has(head_get(head, "connection"), "upgrade"))
        return 0;
    *ret_why = "the WebSocket handshake is malformed";
    if (strcmp(head->method, "GET") != 0 || head->length != 0 || key == NULL || strlen(key) != 24)
        return 400;
    *ret_why = "only version 13 of WebSocket is spoken here";
    if (version == NULL || strcmp(version, "13") != 0)
        return 426;
    head->socket_key = key;
    return 0;
}

/* Cuts the next line off, without its CRLF. NULL at the empty one. */
static char *next_line(char **text)
{
    char *line = *text;
    char *end = strstr(line, "\r\n");

    if (end == NULL || end == line)
        return NULL;
    *end = '\0';
    *text = end + 2;
    return line;
}

int head_parse(char *text, size_t size, struct head *ret, const char **ret_why)
{
    int minor = 1;
    int status;
    char *line;

    memset(ret, 0, offsetof(struct head, fields));
    memset(&ret->count, 0, sizeof *ret - offsetof(struct head, count));
    *ret_why = "the head has a byte that does not belong there";
    if (size < 4 || memchr(text, '\0', size) != NULL)
        return 400;

    if ((line = next_line(&text)) == NULL)
        return 400;
    if ((status = parse_request_line(line, ret, &minor, ret_why)) != 0)
        return status;
    while ((line = next_line(&text)) != NULL) {
        if (ret->count == HEAD_FIELDS_MAX) {
            *ret_why = "the head has too many fields";
            return 431;
        }
        if (strchr(line, '\r') != NULL || !parse_field(line, &ret->fields[ret->count])) {
            *ret_why = "a header field is malformed";
            return 400;
        }
        ret->count++;
    }

    *ret_why = "a header field is there twice";
    if (has_doubled_field(ret))
        return 400;
    *ret_why = "the Host is missing";
    if (minor == 1 && head_get(ret, "host") == NULL)
        return 400;
    if ((status = parse_length(ret, ret_why)) != 0)
        return status;

    const char *expect = head_get(ret, "expect");
    *ret_why = "what the request expects is not known here";
    if (expect != NULL && strcasecmp(expect, "100-continue") != 0)
        return 417;
    ret->expects_continue = expect != NULL;
    ret->keep_alive = minor == 1 && !list_has(head_get(ret, "connection"), "close");
    return parse_upgrade(ret, ret_why);
}
