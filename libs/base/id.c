/* Random ids in base32. */

#include "kndl/id.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static const char alphabet[] = "abcdefghijklmnopqrstuvwxyz234567";

void kndl_id_new(char ret_id[KNDL_ID_SIZE])
{
    uint8_t bits[17] = {0};

    if (getrandom(bits, 16, 0) != 16)
        abort();
    for (unsigned i = 0; i < KNDL_ID_CHARS; i++) {
        unsigned at = i * 5;
        unsigned two = (unsigned)bits[at / 8] << 8 | bits[at / 8 + 1];
        ret_id[i] = alphabet[two >> (11 - at % 8) & 31];
    }
    ret_id[KNDL_ID_CHARS] = '\0';
}

bool kndl_id_is_valid(const char *text)
{
    return text != NULL && strlen(text) == KNDL_ID_CHARS &&
           strspn(text, alphabet) == KNDL_ID_CHARS &&
           /* 130 bits are written, 128 are there: the last character has two zero bits. */
           (strchr(alphabet, text[KNDL_ID_CHARS - 1]) - alphabet) % 4 == 0;
}

void kndl_id_to_uuid(const char *id, char ret_uuid[KNDL_UUID_SIZE])
{
    uint8_t bits[17] = {0};

    for (unsigned i = 0; i < KNDL_ID_CHARS; i++) {
        unsigned at = i * 5;
        unsigned value = (unsigned)(strchr(alphabet, id[i]) - alphabet) << (11 - at % 8);
        bits[at / 8] |= (uint8_t)(value >> 8);
        bits[at / 8 + 1] |= (uint8_t)value;
    }
    char *out = ret_uuid;
    for (unsigned i = 0; i < 16; i++)
        out +=
            snprintf(out, 4, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", bits[i]);
}
