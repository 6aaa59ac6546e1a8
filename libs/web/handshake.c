/*
 * SHA-1 and base64 for the one use that WebSocket makes of them, where nothing depends on SHA-1
 * being strong. OpenSSL stays behind libs/crypt.
 */

#include "handshake.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static uint32_t rotate(uint32_t word, int bits)
{
    return word << bits | word >> (32 - bits);
}

static void hash_block(uint32_t state[5], const uint8_t block[64])
{
    uint32_t w[80];
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];

    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
               (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    for (int i = 16; i < 80; i++)
        w[i] = rotate(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    for (int i = 0; i < 80; i++) {
        uint32_t f = i < 20   ? ((b & c) | (~b & d))
                     : i < 40 ? (b ^ c ^ d)
                     : i < 60 ? ((b & c) | (b & d) | (c & d))
                              : (b ^ c ^ d);
        uint32_t k = i < 20 ? 0x5a827999 : i < 40 ? 0x6ed9eba1 : i < 60 ? 0x8f1bbcdc : 0xca62c1d6;
        uint32_t next = rotate(a, 5) + f + e + k + w[i];

        e = d;
        d = c;
        c = rotate(b, 30);
        b = a;
        a = next;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
}

/* Of exactly 60 bytes: a key and the RFC's GUID. They and their padding are two blocks. */
static void hash_60(const uint8_t text[60], uint8_t ret_hash[20])
{
    uint32_t state[5] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
    uint8_t blocks[128] = {0};

    memcpy(blocks, text, 60);
    blocks[60] = 0x80;
    blocks[126] = (60 * 8) >> 8;
    blocks[127] = (60 * 8) & 0xff;
    hash_block(state, blocks);
    hash_block(state, blocks + 64);
    for (int i = 0; i < 20; i++)
        ret_hash[i] = (uint8_t)(state[i / 4] >> (24 - 8 * (i % 4)));
}

void handshake_accept(const char *key, char ret_accept[HANDSHAKE_ACCEPT_SIZE])
{
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char text[61];
    uint8_t hash[21] = {0}; /* one more, so that it is seven times three */

    snprintf(text, sizeof text, "%.24s258EAFA5-E914-47DA-95CA-C5AB0DC85B11", key);
    hash_60((const uint8_t *)text, hash);
    for (int i = 0; i < 7; i++) {
        uint32_t bits =
            (uint32_t)hash[3 * i] << 16 | (uint32_t)hash[3 * i + 1] << 8 | hash[3 * i + 2];

        for (int j = 0; j < 4; j++)
            ret_accept[4 * i + j] = alphabet[bits >> (18 - 6 * j) & 63];
    }
    ret_accept[27] = '=';
    ret_accept[28] = '\0';
}
