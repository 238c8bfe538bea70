/* Walking the elements of one or two views of the same shape, in row-major order.
 *
 * Dimensions that lie densely in every view are merged first, so that a contiguous tensor is one run. Large walks are
 * cut into pieces that threads share; a piece is a whole number of 64-bit words, whatever the element width. Pairs of
 * 4-bit elements are walked as bytes when every view keeps them together; when one does not, two pieces might share a
 * byte, and the walk stays on one thread. */
#ifndef CS_REF_WALK_H
#define CS_REF_WALK_H

#include "sim/device/device.h"

#include <string.h>

struct cs_ref_walk {
    int bits;       /* of an element, as walked */
    bool is_paired; /* elements of this walk are pairs of 4-bit ones */
    int n_views, ndim;
    int64_t numel, extent[CS_NDIM];
    int64_t start[2], stride[2][CS_NDIM];
};

/* n elements along the innermost dimension. Positions are elements of each view's storage. */
struct cs_ref_run {
    int64_t index, n; /* row-major index of the first */
    int64_t position[2], stride[2];
};

/* What a piece adds up. Sums do not care in which order pieces end. */
struct cs_ref_tally {
    int64_t n_differ, first; /* first: -1, or the smallest index */
    uint64_t sum;
    uint64_t word; /* of the digest, while `filled` bits of it are known: left over at the very end only */
    int filled;
};

typedef void cs_ref_visit(const struct cs_ref_run *run, const void *job, struct cs_ref_tally *tally);

/* `b` may be NULL. */
struct cs_ref_walk cs_ref_walk_of(const struct cs_view *a, const struct cs_view *b);
struct cs_ref_tally cs_ref_walk_visit(const struct cs_ref_walk *walk, cs_ref_visit *visit, const void *job);

/* One bit pattern for every element of view 0 (fill.c). */
struct cs_ref_set {
    unsigned char *base;
    int bits;
    uint64_t word; /* the pattern over and over */
    bool is_byte;  /* all bytes of it are the same */
    bool is_streamed;
};
struct cs_ref_set cs_ref_set_of(unsigned char *base, const struct cs_ref_walk *walk, uint64_t value);
void cs_ref_set_run(const struct cs_ref_run *run, const struct cs_ref_set *set);

static inline bool cs_ref_is_dense(const struct cs_ref_run *run, int n_views) {
    return run->stride[0] == 1 && (n_views == 1 || run->stride[1] == 1);
}

/* Inlined with a constant width, these are one move. Host bytes may be unaligned. */
static inline __attribute__((always_inline)) uint64_t cs_ref_load(const unsigned char *base, int bits,
                                                                  int64_t position) {
    uint64_t value = 0;
    if (bits == 4) return base[position / 2] >> (position % 2 * 4) & 0xF;
    memcpy(&value, base + position * (bits / 8), (size_t)bits / 8);
    return value;
}

static inline __attribute__((always_inline)) void cs_ref_store(unsigned char *base, int bits, int64_t position,
                                                               uint64_t value) {
    if (bits == 4) {
        int shift = (int)(position % 2 * 4);
        unsigned char *byte = base + position / 2;
        unsigned other = *byte & (0xF0u >> shift);
        *byte = (unsigned char)(other | (unsigned)(value & 0xF) << shift);
        return;
    }
    memcpy(base + position * (bits / 8), &value, (size_t)bits / 8);
}

/* Calls f(..., bits) with `bits` as a constant. */
#define CS_REF_BY_WIDTH(bits, f, ...)                                                                                  \
    do {                                                                                                               \
        switch (bits) {                                                                                                \
        case 4: f(__VA_ARGS__, 4); break;                                                                              \
        case 8: f(__VA_ARGS__, 8); break;                                                                              \
        case 16: f(__VA_ARGS__, 16); break;                                                                            \
        case 32: f(__VA_ARGS__, 32); break;                                                                            \
        default: f(__VA_ARGS__, 64); break;                                                                            \
        }                                                                                                              \
    } while (0)

#endif
