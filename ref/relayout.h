/* A relayout, prepared: loops, tables of offsets, and how the elements of one run move. Inside ref/ only.
 *
 * The digits of a plan become three nests, slowest first:
 *   far    tiles, which threads share
 *   near   blocks of a tile: digits that stay within a few cache lines of the source, so that those are read once
 *   inner  runs of a block, contiguous in the destination
 * and the run itself, contiguous in the source too. Near and inner digits are counted through once, into tables.
 *
 * Where runs are shorter than a line, what a tile reads is `n_windows` windows of the source, each contiguous. They are
 * packed into a buffer first, and the tables tell places in it: rows whose distance is a large power of two would throw
 * each other out of the cache. */
#ifndef CS_REF_RELAYOUT_H
#define CS_REF_RELAYOUT_H

#include "sim/device/device.h"

enum {
    CS_REF_NEAR = 64,        /* blocks of a tile */
    CS_REF_RUNS = 1024,      /* runs of a block */
    CS_REF_WINDOWS = 128,    /* of a tile */
    CS_REF_PACK = 16 << 10,  /* bytes of a tile's windows: half a first-level cache */
    CS_REF_STAGE = 16 << 10, /* bytes of a block that is put together in the cache, then streamed */
    CS_REF_LONG_RUN = 512,   /* bytes of a run that is streamed from where it is */
    CS_REF_AHEAD = 8         /* runs that are fetched before they are needed */
};

/* A block of a tile. */
struct cs_ref_near {
    int64_t destination, source;   /* elements */
    int64_t guard[CS_PLAN_GUARDS]; /* what it adds to each */
};

struct cs_ref_relayout {
    struct cs_plan plan;       /* as given, or nibbles paired into bytes; digits split, and in the order of the nests */
    int64_t size, source_size; /* elements of a matrix */
    int n_far, n_near, n_inner;
    bool has_run;                           /* the last digit is the run */
    int64_t run, n_runs, n_blocks, n_tiles; /* elements; runs of a block; blocks of a tile; tiles of a matrix */
    int64_t least[CS_PLAN_GUARDS], most[CS_PLAN_GUARDS]; /* what inner digits and run add to each guard */
    int64_t most_near[CS_PLAN_GUARDS];                   /* what near digits add at most */
    struct cs_ref_near near[CS_REF_NEAR];
    int64_t offset[CS_REF_RUNS + CS_REF_AHEAD]; /* source of each run: bytes, or nibbles; then the last one again */

    bool is_packed; /* tiles without padding are moved through a buffer of their windows */
    int64_t n_windows, window_bytes;
    int64_t window[CS_REF_WINDOWS];   /* where they begin in the source: bytes */
    int64_t near_packed[CS_REF_NEAR]; /* first byte of a block in the buffer */
    uint16_t packed[CS_REF_RUNS];     /* byte of each run in the buffer; makes_words: of each byte of a word in turn */
    bool makes_words;       /* of packed blocks, each destination word is a sum of four bytes' values in `moved` */
    uint32_t moved[4][256]; /* bits of a byte value, by its place in the word */
};

/* Everything that depends on the plan alone. */
void cs_ref_relayout_prepare(struct cs_ref_relayout *relayout, const struct cs_plan *plan);

#endif
