/* NATS spoken by hand. */

#include "wire.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <nats/nats.h>

#include "kndl/buf.h"
#include "kndl/mem.h"
#include "kndl/testing.h"

enum { LINE_BYTES = 8192 };

struct wire {
    FILE *in;
    int out;
    unsigned last_sid;
    size_t received;
};

static void say(struct wire *wire, const char *text, size_t size)
{
    while (size > 0) {
        ssize_t written = write(wire->out, text, size);
        if (written <= 0)
            fail_msg("nats-server hung up");
        text += written;
        size -= (size_t)written;
    }
}

__attribute__((format(printf, 2, 3))) static void sayf(struct wire *wire, const char *format, ...)
{
    char line[LINE_BYTES];
    va_list args;

    va_start(args, format);
    int size = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    assert_in_range(size, 0, sizeof line - 1);
    say(wire, line, (size_t)size);
}

/* Reads to the next PONG; false if there was a refusal before it. */
static bool settle(struct wire *wire)
{
    char line[LINE_BYTES];
    bool is_allowed = true;

    say(wire, "PING\r\n", 6);
    while (fgets(line, sizeof line, wire->in) != NULL) {
        if (strncmp(line, "PONG", 4) == 0)
            return is_allowed;
        if (strncmp(line, "PING", 4) == 0)
            say(wire, "PONG\r\n", 6);
        if (strncmp(line, "-ERR 'Permissions Violation", 27) == 0)
            is_allowed = false;
        else if (strncmp(line, "-ERR", 4) == 0)
            fail_msg("%s", line);
        if (strncmp(line, "MSG ", 4) == 0 || strncmp(line, "HMSG ", 5) == 0)
            wire->received++;
    }
    fail_msg("nats-server hung up");
    return false;
}

/* The line behind the one that holds `mark`. */
static void read_creds(const char *path, const char *mark, char *text, size_t room)
{
    FILE *file = fopen(path, "r");
    char line[LINE_BYTES];

    if (file == NULL)
        fail_msg("%s is not there", path);
    while (fgets(line, sizeof line, file) != NULL && strstr(line, mark) == NULL)
        ;
    if (fgets(line, sizeof line, file) == NULL)
        fail_msg("%s is cut", path);
    line[strcspn(line, "\n")] = '\0';
    assert_in_range(strlen(line), 1, room - 1);
    memcpy(text, line, strlen(line) + 1);
    fclose(file);
}

static void append_base64url(struct kndl_buf *out, const unsigned char *data, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    unsigned bits = 0;
    unsigned count = 0;

    for (size_t i = 0; i < size; i++) {
        bits = (bits << 8 | data[i]) & 0xffff;
        for (count += 8; count >= 6; count -= 6)
            kndl_buf_append_char(out, digits[bits >> (count - 6) & 63]);
    }
    if (count > 0)
        kndl_buf_append_char(out, digits[bits << (6 - count) & 63]);
}

static void sign_in(struct wire *wire, const char *creds_file)
{
    KNDL_CLEANUP(kndl_buf_done) struct kndl_buf signature = {0};
    static char jwt[LINE_BYTES - 1024];
    char seed[128];
    char line[LINE_BYTES];
    char nonce[128] = "";
    unsigned char *signed_bytes = NULL;
    int size = 0;

    if (fgets(line, sizeof line, wire->in) == NULL)
        fail_msg("nats-server says nothing");
    const char *at = strstr(line, "\"nonce\":\"");
    if (at == NULL || sscanf(at, "\"nonce\":\"%127[^\"]", nonce) != 1)
        fail_msg("no nonce in %s", line);
    read_creds(creds_file, "BEGIN NATS USER JWT", jwt, sizeof jwt);
    read_creds(creds_file, "BEGIN USER NKEY SEED", seed, sizeof seed);
    assert_int_equal(nats_Sign(seed, nonce, &signed_bytes, &size), NATS_OK);
    append_base64url(&signature, signed_bytes, (size_t)size);
    free(signed_bytes);
    sayf(wire,
         "CONNECT {\"verbose\":false,\"pedantic\":false,\"headers\":true,\"protocol\":1,"
         "\"jwt\":\"%s\",\"sig\":\"%s\"}\r\n",
         jwt, kndl_buf_text(&signature));
}

static struct wire *dial(const char *url, const char *creds_file)
{
    assert_int_equal(nats_Open(-1), NATS_OK);
    struct wire *wire = kndl_new0(struct wire);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

    address.sin_port = htons((uint16_t)strtol(strrchr(url, ':') + 1, NULL, 10));
    wire->out = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(wire->out, (struct sockaddr *)&address, sizeof address), 0);
    const int yes = 1;
    assert_int_equal(setsockopt(wire->out, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes), 0);
    wire->in = fdopen(dup(wire->out), "r");
    sign_in(wire, creds_file);
    return wire;
}

struct wire *wire_open(const char *url, const char *creds_file)
{
    struct wire *wire = dial(url, creds_file);

    assert_true(settle(wire));
    return wire;
}

bool wire_is_refused(const char *url, const char *creds_file)
{
    struct wire *wire = dial(url, creds_file);
    char line[LINE_BYTES];

    say(wire, "PING\r\n", 6);
    bool is_refused = fgets(line, sizeof line, wire->in) != NULL &&
                      strncmp(line, "-ERR 'Authorization Violation'", 30) == 0;
    wire_close(wire);
    return is_refused;
}

void wire_close(struct wire *wire)
{
    fclose(wire->in);
    close(wire->out);
    free(wire);
}

bool wire_may_publish(struct wire *wire, const char *subject)
{
    sayf(wire, "PUB %s 0\r\n\r\n", subject);
    return settle(wire);
}

bool wire_subscribe(struct wire *wire, const char *subject)
{
    sayf(wire, "SUB %s %u\r\n", subject, ++wire->last_sid);
    return settle(wire);
}

bool wire_may_subscribe(struct wire *wire, const char *subject)
{
    bool is_allowed = wire_subscribe(wire, subject);

    sayf(wire, "UNSUB %u\r\n", wire->last_sid);
    return is_allowed;
}

void wire_publish(struct wire *wire, const char *subject, const char *reply, const char *payload)
{
    sayf(wire, "PUB %s %s %zu\r\n%s\r\n", subject, reply, strlen(payload), payload);
    assert_true(settle(wire));
}

size_t wire_received(struct wire *wire)
{
    settle(wire);
    return wire->received;
}
