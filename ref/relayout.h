/* A relayout, prepared: loops, tables of offsets, and how the elements of one run move. Inside ref/ only.
 *
 * The digits of a plan become three nests, slowest first:
 *   far    tiles, which threads share
 *   near   blocks of a tile: digits that stay within a cache line of the source, so that a line is read once
 *   inner  runs of a block, contiguous in the destination
 * and the run itself, contiguous in the source too. Near and inner digits are counted through once, into tables. */
#ifndef CS_REF_RELAYOUT_H
#define CS_REF_RELAYOUT_H

#include "sim/device/device.h"

enum {
    CS_REF_NEAR = 64, /* blocks of a tile */
    CS_REF_RUNS = 1024, /* runs of a block */
    CS_REF_LINES = 256, /* lines of the source that a block touches, when its runs are shorter than lines: half a first-level cache */
    CS_REF_AHEAD = 8    /* runs that are fetched before they are needed */
};

/* A block of a tile. */
struct cs_ref_near {
    int64_t destination, source;   /* elements */
    int64_t guard[CS_PLAN_GUARDS]; /* what it adds to each */
};

struct cs_ref_relayout {
    struct cs_plan plan; /* as given, or nibbles paired into bytes; digits split, and in the order of the nests */
    int64_t size, source_size; /* elements of a matrix */
    int n_far, n_near, n_inner;
    bool has_run;                                        /* the last digit is the run */
    int64_t run, n_runs, n_blocks, n_tiles;              /* elements; runs of a block; blocks of a tile; tiles of a matrix */
    int64_t least[CS_PLAN_GUARDS], most[CS_PLAN_GUARDS]; /* what inner digits and run add to each guard */
    struct cs_ref_near near[CS_REF_NEAR];
    int64_t offset[CS_REF_RUNS + CS_REF_AHEAD]; /* source of each run: bytes, or nibbles; then the last one again */
    int64_t n_lines, line[CS_REF_LINES]; /* bytes of the source worth fetching before a tile; none when runs are long */
    bool makes_words;            /* each destination word is a sum of four bytes' values in `moved` */
    int64_t byte[CS_REF_RUNS];   /* their sources in a block, four to a word */
    uint32_t moved[4][256];      /* bits of a byte value, by its place in the word */
};

/* Everything that depends on the plan alone. */
void cs_ref_relayout_prepare(struct cs_ref_relayout *relayout, const struct cs_plan *plan);

#endif
