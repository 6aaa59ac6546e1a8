/* Any bytes as the head of a request, whole and in pieces. */

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "head.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t scanned = 0;
    size_t scanned_bytewise = 0;
    ssize_t end = head_find_end((const char *)data, size, &scanned);
    ssize_t bytewise = 0;
    struct head head;
    const char *why;

    for (size_t i = 1; i <= size && bytewise == 0; i++)
        bytewise = head_find_end((const char *)data, i, &scanned_bytewise);
    assert(bytewise == end);
    if (end <= 0)
        return 0;

    char *text = malloc((size_t)end + 1);
    assert(text != NULL);
    memcpy(text, data, (size_t)end);
    text[end] = '\0';
    if (head_parse(text, (size_t)end, &head, &why) == 0) {
        assert(head.path[0] == '/' && strstr(head.path, "/../") == NULL);
        assert(head_get(&head, "transfer-encoding") == NULL);
        for (size_t i = 0; i < head.count; i++)
            assert(strpbrk(head.fields[i].value, "\r\n") == NULL);
    } else {
        assert(why[0] != '\0');
    }
    free(text);
    return 0;
}
