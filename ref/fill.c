#include "ref/ref.h"
#include "ref/stream.h"
#include "ref/walk.h"
#include "ref/wide.h"

/* The bit pattern of an element over and over. */
static uint64_t repeated(uint64_t value, int bits) {
    for (; bits < 64; bits *= 2) value = (value & ((UINT64_C(1) << bits) - 1)) * ((UINT64_C(1) << bits) + 1);
    return value;
}

static inline __attribute__((always_inline)) void set_strided(const struct cs_ref_run *run,
                                                              const struct cs_ref_set *set, int bits) {
    int64_t to = run->position[0];
    for (int64_t i = 0; i < run->n; i++, to += run->stride[0]) cs_ref_store(set->base, bits, to, set->word);
}

CS_REF_LOOP set_words_loop(cs_ref_word *words, size_t n, uint64_t value) {
#pragma omp simd
    for (size_t i = 0; i < n; i++) words[i] = value;
}
CS_REF_WIDE(set_words, (cs_ref_word * words, size_t n, uint64_t value), (words, n, value))

static void set_dense(unsigned char *to, size_t n, const struct cs_ref_set *set) {
    size_t i = 0;
    if (n >= CS_REF_STREAM_RUN && set->is_streamed) {
        cs_ref_stream_set(to, n, set->word);
        return;
    }
    if (n >= CS_REF_STREAM_RUN) {
        set_words((cs_ref_word *)(void *)to, n / 8, set->word);
        i = n / 8 * 8;
    }
    for (; i + 8 <= n; i += 8) memcpy(to + i, &set->word, 8);
    if (i < n) memcpy(to + i, &set->word, n - i);
}

struct cs_ref_set cs_ref_set_of(unsigned char *base, const struct cs_ref_walk *walk, uint64_t value) {
    struct cs_ref_set set = {.base = base, .bits = walk->bits, .word = repeated(value, walk->bits)};
    set.is_byte = walk->bits >= 8 && set.word == repeated(set.word & 0xFF, 8);
    set.is_streamed = walk->numel >= (int64_t)CS_REF_STREAM_FROM * 8 / walk->bits;
    return set;
}

void cs_ref_set_run(const struct cs_ref_run *run, const struct cs_ref_set *set) {
    int64_t size = set->bits / 8;
    if (run->stride[0] != 1 || set->bits < 8)
        CS_REF_BY_WIDTH(set->bits, set_strided, run, set);
    else if (set->is_byte && run->n * size >= CS_REF_STREAM_FROM / 256) /* the library knows best */
        memset(set->base + run->position[0] * size, (int)(set->word & 0xFF), (size_t)(run->n * size));
    else
        set_dense(set->base + run->position[0] * size, (size_t)(run->n * size), set);
}

static void fill_run(const struct cs_ref_run *run, const void *set, struct cs_ref_tally *tally) {
    (void)tally;
    cs_ref_set_run(run, set);
}

/* One region after the other: regions of a batch may overlap, and then the last one wins. */
enum cs_status cs_ref_fill(const struct cs_device *device, const struct cs_fill *fills, size_t n) {
    (void)device;
    for (size_t i = 0; i < n; i++) {
        struct cs_ref_walk walk = cs_ref_walk_of(&fills[i].view, NULL);
        uint64_t value = walk.is_paired ? (fills[i].bits & 0xF) * 0x11 : fills[i].bits;
        struct cs_ref_set set = cs_ref_set_of(fills[i].view.storage->data, &walk, value);
        cs_ref_walk_visit(&walk, fill_run, &set);
    }
    return CS_OK;
}
