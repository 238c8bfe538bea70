/* A device does byte work. `ref/` and `gpu/` each fill this table on their own and share only declarations and plans,
 * never arithmetic: agreement between them then means something.
 *
 * Callers use the cs_device_* functions, which check what every device may rely on (shapes match, dtypes match where
 * they must, views stay inside their storages, destinations are MEMORY) and answer "not supported by DEVICE" for an
 * empty slot. Work on META destinations is a successful no-op. Results are identical for any number of threads. */
#ifndef CS_DEVICE_H
#define CS_DEVICE_H

#include "sim/tensor/tensor.h"

enum { CS_INVERTED = 32 }; /* added to a bit's place in a layout's word */

/* ---- layouts are data: see layout.c for the notation's grammar ----
 *
 * A tensor is one matrix [M rows, K elements] per expert. `pad` rounds M and K up (new elements are zero); `view` lists
 * the extents of the source dimensions, slowest first, in M and K after padding; `flip` lists view dimensions that are
 * reversed; output dimension j is view dimension order[j] (absent: identity); `word` permutes the bits of each
 * little-endian 32-bit word afterwards, padding's too: output bit word[s] = bit s, inverted where CS_INVERTED was added.
 * Requirements R5.4, design "Layouts are data". */
struct cs_layout {
    const char *name;
    int bits;          /* element width: 4, 8, 16, 32; 0: any, whole rows move and K counts in any unit */
    const char *pad;   /* "" or "128 4" */
    const char *view;  /* "M/128 4 32 K/4 4" */
    const char *flip;  /* "" or "0" */
    const char *order; /* "" or "0 3 2 1 4" */
    const uint8_t *word;
    const char *golden; /* captured operations that prove the row */
};

/* A plan is a composed chain of layouts for one shape: destination element index and source element index are both sums
 * over digits. Elements outside a guard (padding) are zero. One pass, whatever the chain. */
enum { CS_PLAN_DIGITS = 24, CS_PLAN_GUARDS = 8 };

struct cs_digit {
    int64_t extent;
    int64_t source; /* may be negative: a flipped dimension */
    int64_t destination;
};

/* Σ coefficient[d] * digit[d] + constant < limit, or the element is zero. */
struct cs_guard {
    int64_t coefficient[CS_PLAN_DIGITS];
    int64_t constant, limit;
};

struct cs_plan {
    int bits; /* of one element that moves */
    int n_digits, n_guards;
    struct cs_digit digit[CS_PLAN_DIGITS]; /* slowest destination first */
    struct cs_guard guard[CS_PLAN_GUARDS];
    int64_t source_start; /* added to every source index (flips) */
    int64_t source_rows, source_columns;
    int64_t rows, columns; /* of the result matrix: padded M and K, exchanged by a transposing row */
    const uint8_t *word;
};

/* Whether the words of a layout are well-formed, whatever it is applied to: CS_BAD_VALUE names the first that is not.
 */
enum cs_status cs_layout_check(const struct cs_layout *layout);
/* Composes `n` layouts over a matrix [rows, columns] of elements `bits` wide into one plan. CS_BAD_SHAPE names the
 * layout, the extent and the divisor when a view does not divide; CS_BAD_VALUE the malformed word of a layout;
 * CS_UNSUPPORTED when two layouts do not compose (extents that cross, such as halves of 192 rows and tiles of 128): run
 * them one by one then. Each layout sees the padded matrix of the one before it; `word` is allowed in the last one
 * only. */
enum cs_status cs_plan_compose(struct cs_plan *plan, const struct cs_layout *const *chain, size_t n, int bits,
                               int64_t rows, int64_t columns);
/* Source element (row-major in the source matrix) of destination element `index`, or -1 for a padding element. With
 * `word` set this is the element before the bits of its word are permuted. */
int64_t cs_plan_source(const struct cs_plan *plan, int64_t index);

/* ---- arithmetic is data too ----
 *
 * A program computes each element of a tensor from the elements of others, in one pass: a 32-bit accumulator goes
 * through its instructions in order. Numbers are f32; every operation rounds once, to nearest even, and nothing is
 * fused or reordered. An operand of a floating dtype is read as its f32 value, one of an integer dtype as its bits
 * (signed ones extended). The result is rounded to the destination's dtype, or its low bits are kept when that is no
 * floating one.
 *
 * In text, words from left to right: "w13_weight as f16 * old as f16 / new min 448 max -448". The first word is loaded.
 */
/* clang-format off */
#define CS_CODES(X)                                                                                                    \
    X(LOAD,     "load",       VALUE)   /* x := v */                                                                    \
    X(ADD,      "+",          VALUE)                                                                                   \
    X(MULTIPLY, "*",          VALUE)                                                                                   \
    X(DIVIDE,   "/",          VALUE)                                                                                   \
    X(INTO,     "into",       VALUE)   /* v / x */                                                                     \
    X(MAXIMUM,  "max",        VALUE)   /* NaN when either is, as torch.clamp and amax */                               \
    X(MINIMUM,  "min",        VALUE)                                                                                   \
    X(FMAX,     "fmax",       VALUE)   /* the number when one is NaN, as C and CUDA */                                 \
    X(FMIN,     "fmin",       VALUE)                                                                                   \
    X(IF_ZERO,  "if_zero",    VALUE)   /* v for zero */                                                                \
    X(ZERO_LOW, "zero_below", VALUE)   /* 0 for x < v */                                                               \
    X(ABSOLUTE, "abs",        NOTHING)                                                                                 \
    X(LOG2,     "log2",       NOTHING) /* to the nearest f32 */                                                        \
    X(EXP2,     "exp2",       NOTHING) /* of a whole number: exact */                                                  \
    X(CEIL,     "ceil",       NOTHING)                                                                                 \
    X(FLOOR,    "floor",      NOTHING)                                                                                 \
    X(NEAREST,  "nearest",    NOTHING) /* whole number, ties to even */                                                \
    X(ROUND,    "as",         DTYPE)   /* to a floating dtype and back */                                              \
    X(ENCODE,   "bits",       DTYPE)   /* the bits of a floating dtype's number, as an unsigned integer */              \
    X(FLOAT,    "float",      NOTHING) /* the bits as an unsigned integer, by value */                                 \
    X(INTEGER,  "int",        NOTHING) /* truncated to an i32 */                                                       \
    X(XOR,      "xor",        BITS)                                                                                    \
    X(AND,      "and",        BITS)                                                                                    \
    X(OR,       "or",         BITS)                                                                                    \
    X(LEFT,     "left",       BITS)                                                                                    \
    X(RIGHT,    "right",      BITS)                                                                                    \
    X(PLUS,     "plus",       BITS)                                                                                    \
    X(LEAST,    "least",      BITS)    /* the smaller one, unsigned */                                                 \
    X(MOST,     "most",       BITS)                                                                                    \
    X(DROP,     "drop",       BITS)    /* 0 for these bits */
/* clang-format on */

enum cs_code {
#define X(id, word, argument) CS_CODE_##id,
    CS_CODES(X)
#undef X
};

enum { CS_PROGRAM_OPERANDS = 6, CS_PROGRAM_LENGTH = 24 };

/* Index i of the program's shape reads element i / block of the view, in each dimension. */
struct cs_operand {
    struct cs_view view; /* as many dimensions as the program */
    int64_t block[CS_NDIM];
};

struct cs_instruction {
    enum cs_code code;
    int operand; /* -1: the number, or the bits */
    float number;
    uint32_t bits;
    enum cs_dtype dtype;
};

struct cs_program {
    int ndim;
    int64_t shape[CS_NDIM];
    size_t n_operands, n_instructions;
    struct cs_operand operand[CS_PROGRAM_OPERANDS];
    struct cs_instruction instruction[CS_PROGRAM_LENGTH];
};

/* Fills the instructions; each name becomes the next operand, and `names` says which (slices of the text; one name
 * twice is one operand). The caller fills shape and operands. CS_BAD_VALUE names the word. */
struct cs_program_name {
    const char *start;
    size_t length;
};
enum cs_status cs_program_parse(const char *text, struct cs_program *program, struct cs_program_name *names);

/* ---- the table ---- */

struct cs_fill {
    struct cs_view view; /* MEMORY */
    uint64_t bits;       /* element's bit pattern */
};

struct cs_difference {
    int64_t n_elements; /* that differ */
    int64_t first;      /* row-major index of the first one; -1: none */
};

/* Odd, so that equal words at different places mix differently (the golden ratio's bits). */
#define CS_DIGEST_STEP UINT64_C(0x9e3779b97f4a7c15)

/* Plain loops of a device's own, which nothing could beat: what bench holds its operations against. */
enum cs_probe {
    CS_PROBE_READ,  /* every byte, once */
    CS_PROBE_WRITE, /* a run of bytes at each pitch; 0: every byte */
    CS_PROBE_HASH   /* cs_mix64 of a counter, everywhere */
};

enum { CS_DIGESTS = 64 }; /* views of one call */

struct cs_device; /* below */

struct cs_device {
    const char *name;
    bool is_emulated; /* stands for another device: never chosen by itself */
    /* "" or why this device cannot run here. */
    const char *(*unavailable)(void);

    enum cs_status (*allocate)(const struct cs_device *device, size_t bytes, void **data);
    void (*release)(const struct cs_device *device, void *data, size_t bytes);
    enum cs_status (*upload)(const struct cs_device *device, void *data, const void *host, size_t bytes);
    enum cs_status (*download)(const struct cs_device *device, void *host, const void *data, size_t bytes);

    /* destination := elements of a SYNTHETIC source view; same shape and width. */
    enum cs_status (*generate)(const struct cs_device *device, const struct cs_view *destination,
                               const struct cs_view *source);
    /* Strided copy; same shape, same element width. A HOST source may be unaligned. */
    enum cs_status (*copy)(const struct cs_device *device, const struct cs_view *destination,
                           const struct cs_view *source);
    /* Strided copy that changes the dtype by value, as torch's copy_ does on a CPU: through f32, to nearest even; e4m3
     * saturates; integers truncate to 64 bits and wrap; e8m0 takes the rounded exponent. NaN: f32 → bf16 0xFFFF, other
     * → bf16 0x7FC0; bf16 → f32 is a shift; e4m3 → f32 0x7FF00000 with its sign, e8m0 → f32 0x7F800001. No e2m1. */
    enum cs_status (*convert)(const struct cs_device *device, const struct cs_view *destination,
                              const struct cs_view *source);
    /* A batch of strided regions, in many tensors, in one call. */
    enum cs_status (*fill)(const struct cs_device *device, const struct cs_fill *fills, size_t n);
    /* n_matrices matrices, each by the plan; both views contiguous, no overlap. */
    enum cs_status (*relayout)(const struct cs_device *device, const struct cs_plan *plan, int64_t n_matrices,
                               const struct cs_view *destination, const struct cs_view *source);
    /* Bitwise; same shape, same width. */
    enum cs_status (*compare)(const struct cs_device *device, const struct cs_view *a, const struct cs_view *b,
                              struct cs_difference *difference);
    /* Sum over w of mix64(word w + w * CS_DIGEST_STEP), modulo 2^64: word w = bytes 8w … 8w+7 of the elements in
     * row-major order, gaps left out, zeros after the end; plus mix64 of the number of bytes. */
    enum cs_status (*digest)(const struct cs_device *device, const struct cs_view *view, uint64_t *digest);
    /* The same of n MEMORY views, n up to CS_DIGESTS; a device that works while its caller does not wait, waits once.
     * NULL: digest does. */
    enum cs_status (*digest_all)(const struct cs_device *device, const struct cs_view *const *views, size_t n,
                                 uint64_t *digests);
    /* A graph: remembers the addresses of n MEMORY views, and reads them again later, whatever lies there by then. A
     * replay gives one digest for each view; results are poisoned first. The memory must not have gone back to the
     * device. */
    enum cs_status (*capture)(const struct cs_device *device, const struct cs_view *views, size_t n, void **graph);
    enum cs_status (*replay)(const struct cs_device *device, void *graph, uint64_t *digests);
    void (*forget)(const struct cs_device *device, void *graph);
    /* destination := the program's result; of its shape. */
    enum cs_status (*map)(const struct cs_device *device, const struct cs_program *program,
                          const struct cs_view *destination);
    /* Element j of the destination := the largest result among the indices i with i / block == j; NaN (bf16: 0x7FC0)
     * when one is. */
    enum cs_status (*maximum)(const struct cs_device *device, const struct cs_program *program,
                              const struct cs_operand *destination);
    /* Reads or overwrites `bytes` of device memory, a multiple of 16; writes in units of the largest power of two, up to
     * 16 bytes, that divides the run and the pitch. NULL: the host's memory is the device's, and loops of the host can
     * tell. */
    enum cs_status (*probe)(const struct cs_device *device, enum cs_probe kind, void *data, size_t bytes,
                            size_t run_bytes, size_t pitch_bytes);
};

/* A HOST or SYNTHETIC source is read where it is; a dtype that differs is converted by value, u8 and e8m0 included.
 * Same shape, else CS_BAD_SHAPE. Views of one storage must be the same or not overlap. Reading META is CS_REFUSED,
 * and so is a float4 of which another dtype comes, or the other way round: torch says NotImplementedError. Writing an
 * expanded view (stride 0) is CS_UNSUPPORTED. */
enum cs_status cs_device_copy(const struct cs_device *device, const struct cs_view *destination,
                              const struct cs_view *source);
enum cs_status cs_device_fill(const struct cs_device *device, const struct cs_fill *fills, size_t n);
/* destination has n_matrices × plan->rows × plan->columns elements of plan->bits, source likewise; only the sum of bits
 * is compared, so that a u8 view may stand for pairs of 4-bit elements. */
enum cs_status cs_device_relayout(const struct cs_device *device, const struct cs_plan *plan, int64_t n_matrices,
                                  const struct cs_view *destination, const struct cs_view *source);
/* Operands are MEMORY or HOST; the destination overlaps none of them, unless it is the same place, read at block 1. */
enum cs_status cs_device_map(const struct cs_device *device, const struct cs_program *program,
                             const struct cs_view *destination);
enum cs_status cs_device_maximum(const struct cs_device *device, const struct cs_program *program,
                                 const struct cs_operand *destination);
enum cs_status cs_device_compare(const struct cs_device *device, const struct cs_view *a, const struct cs_view *b,
                                 struct cs_difference *difference);
enum cs_status cs_device_digest(const struct cs_device *device, const struct cs_view *view, uint64_t *digest);
/* Of n views, any number of them. */
enum cs_status cs_device_digests(const struct cs_device *device, const struct cs_view *const *views, size_t n,
                                 uint64_t *digests);
/* The view's elements in row-major order, packed, into `host` (numel * bits / 8 bytes, rounded up). */
enum cs_status cs_device_read(const struct cs_device *device, const struct cs_view *view, void *host, size_t bytes);
enum cs_status cs_device_write(const struct cs_device *device, const struct cs_view *view, const void *host,
                               size_t bytes);

/* What an allocator needs, from a device. */
struct cs_memory cs_device_memory(const struct cs_device *device);

/* Devices, in order of preference; `ref` is always there. */
extern const struct cs_device *const cs_devices[];
extern const size_t cs_n_devices;
/* NULL when no device has that name. */
const struct cs_device *cs_device_by_name(const char *name);

#endif
