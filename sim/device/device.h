/* A device does byte work. `ref/` and `gpu/` each fill this table on their own and share only declarations and plans,
 * never arithmetic: agreement between them then means something.
 *
 * Callers use the cs_device_* functions, which check what every device may rely on (shapes match, dtypes match where
 * they must, views stay inside their storages, destinations are MEMORY) and answer "not supported by DEVICE" for an
 * empty slot. Work on META destinations is a successful no-op. Results are identical for any number of threads. */
#ifndef CS_DEVICE_H
#define CS_DEVICE_H

#include "sim/tensor/tensor.h"

/* ---- layouts are data: see layout.c for the notation's grammar ----
 *
 * A tensor is one matrix [M rows, K elements] per expert. `pad` rounds M and K up (new elements are zero); `view` lists
 * the extents of the source dimensions, slowest first, in M and K after padding; `flip` lists view dimensions that are
 * reversed; output dimension j is view dimension order[j] (absent: identity); `word` permutes the bits of each
 * little-endian 32-bit word afterwards: output bit word[s] = bit s. Requirements R5.4, design "Layouts are data". */
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

/* Composes `n` layouts over a matrix [rows, columns] of elements `bits` wide into one plan. CS_BAD_SHAPE names the layout,
 * the extent and the divisor when a view does not divide; CS_BAD_VALUE the malformed word of a layout; CS_UNSUPPORTED when
 * two layouts do not compose (extents that cross, such as halves of 192 rows and tiles of 128): run them one by one then.
 * Each layout sees the padded matrix of the one before it; `word` is allowed in the last one only. */
enum cs_status cs_plan_compose(struct cs_plan *plan, const struct cs_layout *const *chain, size_t n, int bits,
                               int64_t rows, int64_t columns);
/* Source element (row-major in the source matrix) of destination element `index`, or -1 for a padding element. With
 * `word` set this is the element before the bits of its word are permuted. */
int64_t cs_plan_source(const struct cs_plan *plan, int64_t index);

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
     * saturates; integers truncate to 64 bits and wrap; e8m0 takes the rounded exponent. NaN: f32 → bf16 0xFFFF, other →
     * bf16 0x7FC0; bf16 → f32 is a shift; e4m3 → f32 0x7FF00000 with its sign, e8m0 → f32 0x7F800001. No e2m1. */
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
    /* Sum over w of mix64(word w + w * CS_DIGEST_STEP), modulo 2^64: word w = bytes 8w … 8w+7 of the elements in row-major order,
     * gaps left out, zeros after the end; plus mix64 of the number of bytes. */
    enum cs_status (*digest)(const struct cs_device *device, const struct cs_view *view, uint64_t *digest);
    /* A graph: remembers the addresses of n MEMORY views, and reads them again later, whatever lies there by then. A replay
     * gives one digest for each view; results are poisoned first. The memory must not have gone back to the device. */
    enum cs_status (*capture)(const struct cs_device *device, const struct cs_view *views, size_t n, void **graph);
    enum cs_status (*replay)(const struct cs_device *device, void *graph, uint64_t *digests);
    void (*forget)(const struct cs_device *device, void *graph);
};

/* A HOST or SYNTHETIC source is read where it is; a dtype that differs is converted by value, u8 and e8m0 included. Same
 * shape, else CS_BAD_SHAPE. Views of one storage must be the same or not overlap. Reading META is CS_UNSUPPORTED, as torch
 * says NotImplementedError; so is writing an expanded view (stride 0). */
enum cs_status cs_device_copy(const struct cs_device *device, const struct cs_view *destination,
                              const struct cs_view *source);
enum cs_status cs_device_fill(const struct cs_device *device, const struct cs_fill *fills, size_t n);
/* destination has n_matrices × plan->rows × plan->columns elements of plan->bits, source likewise; only the sum of bits
 * is compared, so that a u8 view may stand for pairs of 4-bit elements. */
enum cs_status cs_device_relayout(const struct cs_device *device, const struct cs_plan *plan, int64_t n_matrices,
                                  const struct cs_view *destination, const struct cs_view *source);
enum cs_status cs_device_compare(const struct cs_device *device, const struct cs_view *a, const struct cs_view *b,
                                 struct cs_difference *difference);
enum cs_status cs_device_digest(const struct cs_device *device, const struct cs_view *view, uint64_t *digest);
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
