#include "ref/ref.h"
#include "ref/walk.h"
#include "ref/wide.h"

static inline __attribute__((always_inline)) void set_strided(const struct cs_ref_run *run, unsigned char *base,
                                                              uint64_t value, int bits) {
    int64_t to = run->position[0];
    for (int64_t i = 0; i < run->n; i++, to += run->stride[0]) cs_ref_store(base, bits, to, value);
}

/* The bit pattern of an element over and over. */
static uint64_t repeated(uint64_t value, int bits) {
    for (; bits < 64; bits *= 2) value = (value & ((UINT64_C(1) << bits) - 1)) * ((UINT64_C(1) << bits) + 1);
    return value;
}

CS_REF_LOOP set_words_loop(cs_ref_word *words, size_t n, uint64_t value) {
#pragma omp simd
    for (size_t i = 0; i < n; i++) words[i] = value;
}
CS_REF_WIDE(set_words, (cs_ref_word * words, size_t n, uint64_t value), (words, n, value))

static void set_dense(unsigned char *to, size_t n, uint64_t word) {
    set_words((cs_ref_word *)(void *)to, n / 8, word);
    memcpy(to + n / 8 * 8, &word, n % 8);
}

void cs_ref_set_run(const struct cs_ref_run *run, unsigned char *base, int bits, uint64_t value) {
    uint64_t word = repeated(value, bits);
    size_t size = (size_t)bits / 8;
    unsigned char *to = base + run->position[0] * (int64_t)size;
    if (run->stride[0] != 1 || bits < 8) CS_REF_BY_WIDTH(bits, set_strided, run, base, value);
    else if (word == repeated(word & 0xFF, 8)) memset(to, (int)(word & 0xFF), (size_t)run->n * size);
    else set_dense(to, (size_t)run->n * size, word);
}

struct job {
    unsigned char *base;
    uint64_t value;
    int bits;
};

static void fill_run(const struct cs_ref_run *run, const void *context, struct cs_ref_tally *tally) {
    const struct job *job = context;
    (void)tally;
    cs_ref_set_run(run, job->base, job->bits, job->value);
}

/* One region after the other: regions of a batch may overlap, and then the last one wins. */
enum cs_status cs_ref_fill(const struct cs_device *device, const struct cs_fill *fills, size_t n) {
    (void)device;
    for (size_t i = 0; i < n; i++) {
        struct cs_ref_walk walk = cs_ref_walk_of(&fills[i].view, NULL);
        uint64_t value = walk.is_paired ? (fills[i].bits & 0xF) * 0x11 : fills[i].bits;
        struct job job = {fills[i].view.storage->data, value, walk.bits};
        cs_ref_walk_visit(&walk, fill_run, &job);
    }
    return CS_OK;
}
