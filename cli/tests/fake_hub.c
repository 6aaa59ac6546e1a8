#include "fake_hub.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kndl/buf.h"
#include "kndl/testing.h"
#include "verb.h"

static void read_request(struct hub *hub, int client, struct kndl_buf *request)
{
    size_t at = hub->asked;
    ssize_t got;

    while ((got = read(client, kndl_buf_reserve(request, 4096), 4096)) > 0) {
        request->size += (size_t)got;
        request->data[request->size] = '\0';
        const char *end = strstr(request->data, "\r\n\r\n");
        const char *length = strstr(request->data, "Content-Length: ");
        if (end == NULL)
            continue;
        size_t head = (size_t)(end - request->data) + 4;
        size_t body = length == NULL ? 0 : strtoul(length + 16, NULL, 10);
        if (request->size < head + body)
            continue;
        if (at < HUB_ANSWERS_MAX && body <= sizeof hub->bodies[at] &&
            head < sizeof hub->heads[at]) {
            memcpy(hub->heads[at], request->data, head);
            memcpy(hub->bodies[at], request->data + head, body);
            hub->body_sizes[at] = body;
        }
        return;
    }
}

static void answer(struct hub *hub, int client)
{
    struct kndl_buf out = {0}, body = {0};
    struct hub_answer wanted = {.method = "nothing", .status = 500, .json = "{}"};

    if (hub->asked < hub->count)
        wanted = hub->answers[hub->asked];
    const char *end = strstr(hub->heads[hub->asked < hub->count ? hub->asked : 0], " HTTP/");
    size_t length = strlen(wanted.method);
    if (end == NULL || (size_t)(end - hub->heads[hub->asked]) < length ||
        strncmp(end - length, wanted.method, length) != 0) {
        fprintf(stderr, "%s was to be asked, not %.80s\n", wanted.method, hub->heads[hub->asked]);
        hub->mistakes++;
    }
    if (wanted.message != NULL) {
        size_t size = protobuf_c_message_get_packed_size(wanted.message);
        protobuf_c_message_pack(wanted.message, (uint8_t *)kndl_buf_reserve(&body, size));
        body.size = size;
    } else {
        kndl_buf_append_text(&body, wanted.json);
    }
    kndl_buf_printf(&out, "HTTP/1.1 %d X\r\nContent-Length: %zu\r\nConnection: close\r\n",
                    wanted.status, body.size);
    if (wanted.retry_s > 0)
        kndl_buf_printf(&out, "Retry-After: %d\r\n", wanted.retry_s);
    kndl_buf_append_text(&out, "\r\n");
    kndl_buf_append(&out, body.data, body.size);
    if (send(client, out.data, out.size, MSG_NOSIGNAL) < 0)
        hub->mistakes++;
    hub->asked++;
    kndl_buf_done(&out);
    kndl_buf_done(&body);
}

static void *serve(void *data)
{
    struct hub *hub = data;
    int client;

    while ((client = accept(hub->listener, NULL, NULL)) >= 0) {
        struct kndl_buf request = {0};

        read_request(hub, client, &request);
        if (request.size > 0)
            answer(hub, client);
        kndl_buf_done(&request);
        close(client);
    }
    return NULL;
}

void hub_start(struct hub *hub)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;

    hub->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(hub->listener, (struct sockaddr *)&address, size) < 0 ||
        listen(hub->listener, 8) < 0 ||
        getsockname(hub->listener, (struct sockaddr *)&address, &size) < 0)
        abort();
    snprintf(hub->url, sizeof hub->url, "http://127.0.0.1:%d", ntohs(address.sin_port));
    pthread_create(&hub->thread, NULL, serve, hub);
}

void hub_stop(struct hub *hub)
{
    shutdown(hub->listener, SHUT_RDWR);
    pthread_join(hub->thread, NULL);
    close(hub->listener);
}

void hub_will_answer(struct hub *hub, const char *method, const ProtobufCMessage *message)
{
    hub->answers[hub->count++] =
        (struct hub_answer){.method = method, .status = 200, .message = message};
}

void hub_will_fail(struct hub *hub, const char *method, int status, const char *json)
{
    hub->answers[hub->count++] =
        (struct hub_answer){.method = method, .status = status, .json = json};
}

int hub_run(struct hub *hub, const struct verb *verb, char **words)
{
    struct kndl_error *err = &hub->err;
    struct cli cli = {.arena = kndl_arena_new(KNDL_ARENA_PLAIN)};
    struct args args;
    size_t size;
    int count = 0;

    while (words[count] != NULL)
        count++;
    free(hub->text);
    cli.screen = (struct screen){.out = open_memstream(&hub->text, &size), .columns = 80};
    hub_start(hub);
    assert_int_equal(config_set_url(&cli.config, hub->url, err), 0);
    kndl_secret_copy(&cli.config.token, kndl_slice_of("kndl_cli_x"));
    cli.client = client_new(&cli.config);
    assert_int_equal(args_read(verb->options, count, words, &args, err), 0);
    int result = verb->run(&cli, &args, err);
    args_done(&args);
    client_free(cli.client);
    config_done(&cli.config);
    kndl_arena_free(cli.arena);
    fclose(cli.screen.out);
    hub_stop(hub);
    assert_int_equal(hub->mistakes, 0);
    assert_int_equal(hub->asked, hub->count);
    return result;
}

void hub_forget(struct hub *hub)
{
    free(hub->text);
    *hub = (struct hub){0};
}

int hub_tear_down(void **state)
{
    hub_forget(*state);
    free(*state);
    return 0;
}

void *hub_asked(const struct hub *hub, size_t n, const ProtobufCMessageDescriptor *type)
{
    void *message =
        protobuf_c_message_unpack(type, NULL, hub->body_sizes[n], (const uint8_t *)hub->bodies[n]);

    assert_non_null(message);
    return message;
}
