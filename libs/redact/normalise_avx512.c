/* The normaliser for processors with AVX-512 and VBMI2, which compress 64 bytes at once. */

#include "word_avx512.h"

/* Compressing into a register and storing all of it is faster than compressing into memory. */
AVX512 void store(__m512i bytes, uint64_t keep, uint8_t *to)
{
    _mm512_storeu_si512(to, _mm512_maskz_compress_epi8(keep, bytes));
}

AVX512 void copy_bytes(__m512i bytes, uint8_t *to)
{
    _mm512_storeu_si512(to, bytes);
}

/* As note_signs(). */
AVX512 size_t note_signs_at_once(uint16_t *places, uint64_t keep, uint64_t signs, size_t start)
{
    return store_places(_pext_u64(signs, keep), start, places);
}

TARGET static void normalise(struct block *block, const uint8_t *raw, size_t size,
                             enum escape_state *state){
    NORMALISE_LOOP(__m512i, load, classify, find_sequences, store, copy_bytes, note_signs_at_once)}

normalise_fn normalise_avx512(void)
{
    return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
                   __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2") &&
                   __builtin_cpu_supports("bmi2")
               ? normalise
               : NULL;
}
