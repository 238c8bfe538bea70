/* Jobs: what a kernel needs to know, as plain data that C writes and kernels read. */
#ifndef CS_GPU_JOBS_H
#define CS_GPU_JOBS_H

#include "gpu/gpu.h"
#include "gpu/known.h"

/* Division by a constant, as a multiplication: exact for n < 2^31 in 32 bits, and for n < 2^63 in 64 bits. */
struct cs_gpu_divisor {
    uint64_t extent, wide_multiplier;
    uint32_t multiplier, shift;
};

/* Elements of one or two views in row-major order, grouped into units of up to 16 bytes that lie together in both.
 * Positions are units from a view's base; in a view that was not grouped they are elements. */
struct cs_gpu_walk {
    int bits;  /* of a unit: 4 (a nibble that has no neighbour), 8, 16, 32, 64, 128 */
    int group; /* elements in a unit */
    int ndim;  /* at least 1 */
    int64_t n; /* units */
    struct cs_gpu_divisor extent[CS_NDIM]; /* innermost first */
    int64_t start[2], stride[2][CS_NDIM];
};

struct cs_gpu_copy {
    struct cs_gpu_walk walk;
    unsigned char *to;
    const unsigned char *from;
};

struct cs_gpu_convert {
    struct cs_gpu_walk walk; /* units are elements, of two widths */
    enum cs_dtype to_dtype, from_dtype;
    unsigned char *to;
    const unsigned char *from;
};

struct cs_gpu_generate {
    struct cs_gpu_walk walk; /* view 1: the element's number in its synthetic storage */
    struct cs_content content; /* HASH, PATTERN, DIGIT or GARBAGE; `as` is never e2m1: pairs of those are u8 */
    int element_bits;
    unsigned char *to;
};

/* One region of a batch. Blocks take tiles of CS_GPU_TILE units; a tile lies in one region. */
struct cs_gpu_region {
    struct cs_gpu_walk walk;
    unsigned char *to;
    uint64_t pattern; /* the element's bits, repeated to 64 */
    bool is_wide;
};

enum { CS_GPU_FEW_REGIONS = 12 };

struct cs_gpu_fill {
    const struct cs_gpu_region *regions; /* in device memory, as is first_tile; up to CS_GPU_FEW_REGIONS on the host */
    const int64_t *first_tile;           /* of each region, and their number at the end */
    int64_t n_regions, n_tiles, n_bytes;
};

enum { CS_GPU_THREADS = 256, CS_GPU_UNROLL = 4, CS_GPU_GROUP = 8, CS_GPU_TILE = CS_GPU_THREADS * CS_GPU_UNROLL };

/* What reductions add up, in device memory; zero to begin with, and identical for any order of addition. */
struct cs_gpu_tally {
    uint64_t n;    /* elements that differ */
    uint64_t last; /* the largest ~index among them: the complement of the first */
    uint64_t sum;  /* of mixed words */
};

struct cs_gpu_compare {
    struct cs_gpu_walk walk;
    const unsigned char *a, *b;
    int element_bits;
    struct cs_gpu_tally *tally;
};

struct cs_gpu_digest {
    struct cs_gpu_walk walk;
    const unsigned char *from;
    int64_t n_words;
    uint64_t n_bytes;
    struct cs_gpu_tally *tally;
};

/* Where the bits of a 32-bit word go: those that rotate left together, under a mask of where they arrive. */
struct cs_gpu_word {
    int n;
    uint32_t mask[32], rotation[32], inverted;
};

/* ---- relayout: see relayout.c ----
 *
 * The destination is written in units, in order; a unit consists of pieces that lie together in the source. */
enum { CS_GPU_DIGITS = CS_PLAN_DIGITS + 4, CS_GPU_PIECES = 32 };

/* Linear forms of the digits: a piece for which one reaches `left` is zero. */
struct cs_gpu_guards {
    int n, n_pieces; /* of a unit */
    struct {
        int64_t left, most; /* where all digits are 0; what a piece adds at most */
        int64_t piece[CS_GPU_PIECES];
    } guard[CS_PLAN_GUARDS];
};

struct cs_gpu_digits {
    int n;
    struct cs_gpu_divisor extent[CS_GPU_DIGITS]; /* innermost first */
    int64_t source[CS_GPU_DIGITS];               /* pieces */
    int64_t guard[CS_PLAN_GUARDS][CS_GPU_DIGITS];
};

struct cs_gpu_relayout {
    unsigned char *to;
    const unsigned char *from;
    int unit_bits, piece_bits; /* unit 4: a nibble that has no neighbour */
    int64_t n_units, start;    /* pieces */
    struct cs_gpu_digits digits;
    int64_t piece[CS_GPU_PIECES]; /* from the first piece of the unit */
    struct cs_gpu_guards guards;
    bool has_word;
    struct cs_gpu_word word;
};

/* Digits that lead to two places at once. */
struct cs_gpu_steps {
    int n;
    struct cs_gpu_divisor extent[CS_GPU_DIGITS]; /* innermost first */
    int64_t from[CS_GPU_DIGITS], to[CS_GPU_DIGITS];
};

/* The same within a tile, where 32 bits reach: a third of the instructions. */
struct cs_gpu_short_steps {
    int n;
    struct cs_gpu_divisor extent[CS_GPU_DIGITS];
    int32_t from[CS_GPU_DIGITS], to[CS_GPU_DIGITS];
};

/* Sixteen bytes of four words, in another order: byte selectors for each word of the result (weave.c). */
struct cs_gpu_shuffle {
    bool is_needed;
    uint32_t selector[4][3];
};

/* A unit of short pieces from wide loads (weave.c). */
enum { CS_GPU_WEAVE_ROWS = 4 };
struct cs_gpu_weave {
    int field_bits; /* 0: pieces are gathered one by one */
    struct cs_gpu_shuffle chunk, shuffle;
    int32_t field[16]; /* bytes from a unit's first */
    bool parts_nibbles, has_rows;
    int n_rows[4];
    struct {
        uint32_t mask[4], rotation[4]; /* of each register; the mask is of what was rotated */
    } row[4][CS_GPU_WEAVE_ROWS];
    bool has_nibbles; /* instead of shuffle and rows: nibble k of all words, from the fields of its pair */
    uint32_t selector[8];
};

/* The same through shared memory: a block loads rows of the source that are long runs, then assembles units whose pieces
 * come from them. Digits of the tile are counted by `rows` (which source run) and by `units` (which destination unit);
 * `outer` counts tiles. Steps are bytes, but for `from` of units and of pieces: these count pieces in the tile. */
struct cs_gpu_tile {
    unsigned char *to;
    const unsigned char *from;
    int unit_bits, piece_bits;
    int64_t n_tiles;
    struct cs_gpu_steps outer;
    struct cs_gpu_short_steps rows, units;
    int32_t piece[CS_GPU_PIECES];
    struct cs_gpu_guards guards;
    int64_t outer_guard[CS_PLAN_GUARDS][CS_GPU_DIGITS], units_guard[CS_PLAN_GUARDS][CS_GPU_DIGITS];
    bool has_word;
    struct cs_gpu_word word;
    int64_t from_bytes, start_bytes; /* of all matrices; of the first run */
    int32_t local_start;             /* pieces */
    int load_bits;
    uint32_t n_loads, n_units;       /* of one tile */
    struct cs_gpu_divisor row_loads; /* loads of a row */
    uint32_t row_pitch, tile_bytes;  /* shared memory */
    struct cs_gpu_weave weave;       /* if any, without has_nibbles: local_start and `from` of units are bytes */
};

/* In place, one 32-bit word of unaligned bytes each. */
struct cs_gpu_permute {
    unsigned char *bytes;
    int64_t n_words;
    struct cs_gpu_word word;
};

/* What bench holds operations against (sim/device/device.h). */
struct cs_gpu_probe {
    enum cs_probe kind;
    unsigned char *data;
    int unit_bits; /* 128, except of runs that are no multiple of 16 bytes */
    int64_t n;     /* units */
    struct cs_gpu_divisor run; /* units; they lie `pitch` units apart */
    uint64_t pitch;            /* 0: all units */
    struct cs_gpu_tally *tally;
};

/* ---- programs ---- */

/* A view over a program's index: dimension d steps once in `block` indices. Dimensions that it lacks have extent 1. */
struct cs_gpu_place {
    unsigned char *data;
    enum cs_dtype dtype;
    int bits;
    bool has_blocks;
    int first; /* dimensions before this one have one element */
    int64_t start, stride[CS_NDIM];
    struct cs_gpu_divisor block[CS_NDIM];
};

struct cs_gpu_program {
    int n_instructions;
    struct cs_gpu_place operand[CS_PROGRAM_OPERANDS];
    struct cs_instruction instruction[CS_PROGRAM_LENGTH];
};

struct cs_gpu_map {
    struct cs_gpu_program program;
    struct cs_gpu_place to;
    int64_t n_groups, columns;             /* groups of CS_GPU_GROUP elements or less, along rows of `columns` */
    struct cs_gpu_divisor groups[CS_NDIM]; /* outermost first, as in views: elements, innermost groups */
};

struct cs_gpu_maximum {
    struct cs_gpu_program program;
    struct cs_gpu_place to;
    int64_t n, n_groups, columns;                         /* elements of the result; behind one of them, as in a map */
    struct cs_gpu_divisor extent[CS_NDIM], groups[CS_NDIM]; /* of the result; of a box */
    int64_t block[CS_NDIM], shape[CS_NDIM];               /* boxes begin at multiples of block, and end with the shape */
    bool has_sizes;                                       /* results have no sign */
    uint32_t lanes;                                       /* threads that share a box: a power of two */
};

/* A view over groups of a known program's elements, innermost dimension first: there an index counts groups, and a block
 * is one of whole groups. Dimensions that the program lacks have one element. */
struct cs_gpu_known_place {
    unsigned char *data;
    int64_t start, stride[CS_GPU_KNOWN_DIMS]; /* elements */
    struct cs_gpu_divisor block[CS_GPU_KNOWN_DIMS];
};

struct cs_gpu_known {
    int ndim;
    struct cs_gpu_known_place operand[CS_GPU_KNOWN_OPERANDS];
    uint32_t number[CS_GPU_KNOWN_LENGTH]; /* of each instruction that has one */
};

struct cs_gpu_known_map {
    enum cs_gpu_known_map_id id;
    struct cs_gpu_known program;
    struct cs_gpu_known_place to;
    uint32_t n_groups;
    struct cs_gpu_divisor extent[CS_GPU_KNOWN_DIMS];
};

/* Boxes are counted by `extent`, groups of one by `groups`; they begin at multiples of block, and end with the shape. */
struct cs_gpu_known_maximum {
    enum cs_gpu_known_maximum_id id;
    struct cs_gpu_known program;
    unsigned char *to;
    enum cs_dtype to_dtype;
    int64_t start, stride[CS_GPU_KNOWN_DIMS]; /* of the results */
    uint32_t n, n_groups;                     /* boxes; groups of one */
    struct cs_gpu_divisor extent[CS_GPU_KNOWN_DIMS], groups[CS_GPU_KNOWN_DIMS];
    uint32_t block[CS_GPU_KNOWN_DIMS], shape[CS_GPU_KNOWN_DIMS];
    uint32_t lanes; /* threads that share a box: a power of two */
};

/* ---- graph ---- */

struct cs_gpu_graph {
    size_t n;
    struct cs_gpu_digest *digests;
    struct cs_gpu_tally *tallies; /* device memory, as all below */
    uint64_t *n_bytes, *results;
    void *executable; /* of the backend */
};

struct cs_gpu_finish {
    const struct cs_gpu_tally *tallies;
    const uint64_t *n_bytes;
    uint64_t *results;
    int64_t n;
};

/* ---- backends ---- */

struct cs_gpu_backend {
    const char *name;
    const char *(*unavailable)(void);
    enum cs_status (*allocate)(size_t bytes, void **data);
    void (*release)(void *data);
    enum cs_status (*upload)(void *data, const void *host, size_t bytes);
    enum cs_status (*download)(void *host, const void *data, size_t bytes); /* waits */
    enum cs_status (*move)(void *to, const void *from, size_t bytes);
    enum cs_status (*set)(void *data, int byte, size_t bytes);
    enum cs_status (*copy)(const struct cs_gpu_copy *job);
    enum cs_status (*convert)(const struct cs_gpu_convert *job);
    enum cs_status (*generate)(const struct cs_gpu_generate *job);
    enum cs_status (*fill)(const struct cs_gpu_fill *job);
    enum cs_status (*relayout)(const struct cs_gpu_relayout *job);
    enum cs_status (*relayout_tiled)(const struct cs_gpu_tile *job);
    enum cs_status (*permute)(const struct cs_gpu_permute *job);
    enum cs_status (*compare)(const struct cs_gpu_compare *job);
    enum cs_status (*digest)(const struct cs_gpu_digest *jobs, size_t n); /* no words: nothing is done */
    enum cs_status (*map)(const struct cs_gpu_map *job);
    enum cs_status (*maximum)(const struct cs_gpu_maximum *job);
    enum cs_status (*known_map)(const struct cs_gpu_known_map *job);
    enum cs_status (*known_maximum)(const struct cs_gpu_known_maximum *job);
    enum cs_status (*probe)(const struct cs_gpu_probe *job);
    enum cs_status (*record)(struct cs_gpu_graph *graph); /* makes `executable` */
    enum cs_status (*play)(const struct cs_gpu_graph *graph);
    void (*forget)(struct cs_gpu_graph *graph);
};

extern const struct cs_gpu_backend cs_gpu_backend_cuda, cs_gpu_backend_emu;

/* ---- planning, in C ---- */

struct cs_gpu_divisor cs_gpu_divide_by(int64_t extent);
bool cs_gpu_is_wide(int64_t n);

/* Bytes that hold the view's elements, from the byte of the first one on: a nibble may lie in the middle of it. */
size_t cs_gpu_span_bytes(const struct cs_view *view);
/* `b` may be NULL. Units are elements yet. */
struct cs_gpu_walk cs_gpu_walk_of(const struct cs_view *a, const struct cs_view *b);
/* Groups elements while views lie densely and, unless its address is 0, aligned. An address of 0 keeps counting elements. */
void cs_gpu_walk_group(struct cs_gpu_walk *walk, uintptr_t a, uintptr_t b);
bool cs_gpu_walk_is_dense(const struct cs_gpu_walk *walk, int n_views);

/* Regions of a batch → jobs, given to `launch` in an order that lets the last region win. */
typedef enum cs_status cs_gpu_launch_fill(const struct cs_gpu_backend *backend, const struct cs_gpu_region *regions, size_t n);
enum cs_status cs_gpu_fill_plan(const struct cs_gpu_backend *backend, const struct cs_fill *fills, size_t n, cs_gpu_launch_fill *launch);
enum cs_status cs_gpu_fill_batch(const struct cs_gpu_backend *backend, const struct cs_gpu_region *regions, size_t n);

/* A plan's digits as relayout.c and tile.c work on them: in destination order, slowest first, the matrices in front. */
struct cs_gpu_form {
    int64_t extent, source, destination;
    int64_t guard[CS_PLAN_GUARDS];
    bool is_source_run, is_destination_run; /* tile.c: members of the tile; the latter stands for rows of any kind */
};
struct cs_gpu_forms {
    int bits; /* of a piece */
    int n, n_guards;
    struct cs_gpu_form digit[CS_GPU_DIGITS + 4];
    int64_t start, source_size; /* pieces; of all matrices */
    int64_t left[CS_PLAN_GUARDS];
};
/* Digit d becomes two, the inner one of `extent`. */
void cs_gpu_forms_split(struct cs_gpu_forms *forms, int d, int64_t extent);
int64_t cs_gpu_largest_divisor(int64_t x, int64_t limit);
/* False when the plan is better read directly: its source runs are long, or no tile would make them longer. */
bool cs_gpu_tile_plan(struct cs_gpu_tile *tile, const struct cs_gpu_relayout *direct, const struct cs_gpu_forms *forms);
/* How a tile's chunks of 16 bytes are permuted, so that what a unit needs of them lies together; `local` becomes what digits
 * of a chunk, some of them split, add to a place in it, in pieces. False, and nothing changes: they stay as they are. */
bool cs_gpu_weave_chunk(struct cs_gpu_weave *weave, struct cs_gpu_forms *forms, int64_t n_pieces, int64_t *local);
/* Of a tile whose units have 16 bytes, of pieces up to a byte, and no padding. False: they are gathered. */
bool cs_gpu_weave_plan(struct cs_gpu_tile *tile);
/* Digits [first, end) into `digits`, innermost first. */
void cs_gpu_digits_of(struct cs_gpu_digits *digits, const struct cs_gpu_forms *forms, int first, int end);
enum cs_status cs_gpu_relayout_run(const struct cs_gpu_backend *backend, const struct cs_plan *plan, int64_t n_matrices,
                                   unsigned char *to, const unsigned char *from);

enum cs_status cs_gpu_map_run(const struct cs_gpu_backend *backend, const struct cs_program *program, const struct cs_view *destination);
enum cs_status cs_gpu_maximum_run(const struct cs_gpu_backend *backend, const struct cs_program *program, const struct cs_operand *destination);

/* False when the program is not known, or lies otherwise than its kernel expects (known.h). Of `maximum`: the destination's
 * blocks are its boxes. */
bool cs_gpu_known_map_plan(struct cs_gpu_known_map *job, const struct cs_program *program, const struct cs_view *destination);
bool cs_gpu_known_maximum_plan(struct cs_gpu_known_maximum *job, const struct cs_program *program, const struct cs_operand *destination);

/* ---- host loops: OpenMP lives in C ---- */

void cs_gpu_host_copy(void *to, const void *from, size_t bytes);
/* Calls run(context, block, n_blocks, shared) for every block, in an order that `n_blocks` shuffles; each call may use
 * `shared_bytes` of memory that holds garbage. */
typedef void cs_gpu_block(const void *context, int64_t block, int64_t n_blocks, unsigned char *shared);
enum cs_status cs_gpu_host_blocks(cs_gpu_block *run, const void *context, int64_t n_blocks, size_t shared_bytes);

#endif
