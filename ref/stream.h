/* Stores that go past the caches, for large results: nobody will find them in a cache later anyway, and a line that is
 * written whole need not be read first. That halves the traffic of long rows (measured: 9 → 17 GB/s for runs of 256
 * bytes with gaps). Elsewhere than on x86-64 they are ordinary stores. */
#ifndef CS_REF_STREAM_H
#define CS_REF_STREAM_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum {
    CS_REF_STREAM_FROM = 8 << 20, /* bytes of a whole operation */
    CS_REF_STREAM_RUN = 128,      /* bytes of one run: fewer are mostly parts of lines */
    CS_REF_STREAM_UNIT = 16
};

/* Bytes before the first address that a whole unit may go to. */
static inline size_t cs_ref_stream_head(const unsigned char *to, size_t n) {
    size_t head = (size_t)(-(uintptr_t)to % CS_REF_STREAM_UNIT);
    return head < n ? head : n;
}

/* `next`: where the next copy will read, as many bytes, so that they are on their way already; or `from` itself. */
static inline void cs_ref_stream_copy(unsigned char *to, const unsigned char *from, size_t n,
                                      const unsigned char *next) {
#ifdef __SSE2__
    size_t i = cs_ref_stream_head(to, n);
    memcpy(to, from, i);
    for (; i + 4 * CS_REF_STREAM_UNIT <= n; i += 4 * CS_REF_STREAM_UNIT) {
        _mm_prefetch((const char *)next + i, _MM_HINT_T0);
        for (size_t j = i; j < i + 4 * CS_REF_STREAM_UNIT; j += CS_REF_STREAM_UNIT)
            _mm_stream_si128((__m128i *)(void *)(to + j), _mm_loadu_si128((const __m128i *)(const void *)(from + j)));
    }
    for (; i + CS_REF_STREAM_UNIT <= n; i += CS_REF_STREAM_UNIT)
        _mm_stream_si128((__m128i *)(void *)(to + i), _mm_loadu_si128((const __m128i *)(const void *)(from + i)));
    memcpy(to + i, from + i, n - i);
#else
    (void)next;
    memcpy(to, from, n);
#endif
}

/* Four words to an aligned unit. */
static inline void cs_ref_stream_unit(unsigned char *to, const uint32_t *words) {
#ifdef __SSE2__
    _mm_stream_si128((__m128i *)(void *)to, _mm_set_epi32((int)words[3], (int)words[2], (int)words[1], (int)words[0]));
#else
    memcpy(to, words, CS_REF_STREAM_UNIT);
#endif
}

/* `word` over and over, from its first byte at to[0]. */
static inline void cs_ref_stream_set(unsigned char *to, size_t n, uint64_t word) {
    size_t i = 0;
    for (; i < n && (uintptr_t)(to + i) % CS_REF_STREAM_UNIT; i++, word = word >> 8 | word << 56)
        to[i] = (unsigned char)word;
#ifdef __SSE2__
    __m128i unit = _mm_set1_epi64x((long long)word);
    for (; i + CS_REF_STREAM_UNIT <= n; i += CS_REF_STREAM_UNIT) _mm_stream_si128((__m128i *)(void *)(to + i), unit);
#endif
    for (; i < n; i++, word = word >> 8 | word << 56) to[i] = (unsigned char)word;
}

/* Before another thread reads what this one streamed. */
static inline void cs_ref_stream_end(void) {
#ifdef __SSE2__
    _mm_sfence();
#endif
}

#endif
