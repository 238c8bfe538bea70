/* Tensors: dtypes, views, storages with identity, and the allocator that decides what uninitialised memory holds.
 *
 * A view names elements of a storage: `offset` and `stride` count elements of the view's dtype, as torch does; the
 * first element sits at bit offset * bits(dtype) of the storage. Sub-byte elements are little-endian (low nibble
 * first). Views own nothing. Two views have the same address when storage id and byte offset are equal; a storage id is
 * never used twice in one allocator, so memory that is freed and handed out again counts as moved.
 *
 * A storage is one of four kinds. Only MEMORY has bytes that anyone may write:
 *   MEMORY     device memory
 *   META       no bytes: shapes and strides only (torch's meta device); writing it does nothing
 *   SYNTHETIC  no bytes either: element i is a function of (content, i), computed where it is read
 *   HOST       read-only host bytes, such as a mapped checkpoint file */
#ifndef CS_TENSOR_H
#define CS_TENSOR_H

#include "sim/base/base.h"

/* clang-format off */
/* ---- dtypes ----
 *    id     name     safetensors  bits  floating */
#define CS_DTYPES(X)                                                                                                   \
    X(U8,   "u8",   "U8",      8,  false)                                                                              \
    X(I8,   "i8",   "I8",      8,  false)                                                                              \
    X(BOOL, "bool", "BOOL",    8,  false)                                                                              \
    X(E2M1, "e2m1", "F4",      4,  true)  /* fp4, two in a byte */                                                     \
    X(E4M3, "e4m3", "F8_E4M3", 8,  true)  /* torch float8_e4m3fn */                                                    \
    X(E5M2, "e5m2", "F8_E5M2", 8,  true)                                                                               \
    X(E8M0, "e8m0", "F8_E8M0", 8,  true)  /* power-of-two scale, 2^(b-127) */                                          \
    X(I16,  "i16",  "I16",     16, false)                                                                              \
    X(U16,  "u16",  "U16",     16, false)                                                                              \
    X(BF16, "bf16", "BF16",    16, true)                                                                               \
    X(F16,  "f16",  "F16",     16, true)                                                                               \
    X(I32,  "i32",  "I32",     32, false)                                                                              \
    X(U32,  "u32",  "U32",     32, false)                                                                              \
    X(F32,  "f32",  "F32",     32, true)                                                                               \
    X(I64,  "i64",  "I64",     64, false)                                                                              \
    X(U64,  "u64",  "U64",     64, false)                                                                              \
    X(F64,  "f64",  "F64",     64, true)
/* clang-format on */

enum cs_dtype {
#define X(id, name, safetensors, bits, floating) CS_##id,
    CS_DTYPES(X)
#undef X
        CS_N_DTYPES
};

const char *cs_dtype_name(enum cs_dtype dtype);        /* "bf16" */
const char *cs_dtype_safetensors(enum cs_dtype dtype); /* "BF16" */
const char *cs_dtype_torch(enum cs_dtype dtype);       /* "bfloat16", "float8_e4m3fn", "uint8" … */
int cs_dtype_bits(enum cs_dtype dtype);
bool cs_dtype_is_floating(enum cs_dtype dtype);
/* A floating dtype whose elements stand for themselves, without a scale beside them: 16 bits or more. */
bool cs_dtype_is_number(enum cs_dtype dtype);
/* Finds a dtype by any of its three names. CS_BAD_TYPE names the word and the nearest dtype. */
enum cs_status cs_dtype_parse(const char *name, enum cs_dtype *dtype);
/* Bit pattern of `value` in `dtype`: round to nearest even, e4m3 saturates, integers truncate toward zero.
 * CS_BAD_VALUE when an integer dtype cannot hold the value. e8m0: 1.0 → 127; not a power of two → CS_BAD_VALUE. */
enum cs_status cs_dtype_encode(enum cs_dtype dtype, double value, uint64_t *bits);
/* The number that a bit pattern means (NaN for NaN). */
double cs_dtype_decode(enum cs_dtype dtype, uint64_t bits);

/* clang-format off */
/* ---- content: bytes as a function of an index ----
 *    id        what element i holds */
#define CS_CONTENTS(X)                                                                                                 \
    X(ZERO)    /* zero bits */                                                                                         \
    X(VALUE)   /* the bit pattern `key` */                                                                             \
    X(GARBAGE) /* all bits random: byte j of the storage = byte j%8 (little-endian) of mix64(key + j/8) */             \
    X(HASH)    /* byte b(i) = byte i%8 of mix64(key + i/8), shifted by `shift`, made a sane number (below) */          \
    X(PATTERN) /* byte b(i) = ((i + key) * 2654435761 mod 2^32) >> 24, made a sane number: golden/README.md */         \
    X(DIGIT)   /* base-256 digit number `shift` of (i + key), as a byte value: 0 … 255; see conform */
/* clang-format on */
/* Made a sane number, b being the byte after `(b + shift) mod 256`:
 *   u8 i8 bool e2m1 (per byte)  b            bf16 f16 f32 f64  (b - 128) / 64, exact
 *   e8m0                        120 + b % 8  e4m3              b, but 0x7F → 0x77 and 0xFF → 0xF7 (no NaN)
 *   i16 … u64                   b            e5m2              b, less bit 6 when b & 0x7C is 0x7C (no NaN, no
 * infinity) A shift that is no multiple of 8 changes every element, so a perturbed copy differs everywhere (R8.2).
 * DIGIT and VALUE take no shift; DIGIT of a floating dtype of 16 bits or more is the number itself (exact in bf16), of
 * others the byte. The index of e2m1 numbers is that of their byte. */

enum cs_content_kind {
#define X(id) CS_CONTENT_##id,
    CS_CONTENTS(X)
#undef X
};

struct cs_content {
    enum cs_content_kind kind;
    enum cs_dtype as; /* whose formula makes the number: u8 scale tensors hold e8m0 numbers */
    uint64_t key;
    unsigned shift;
};

/* Bits of element `index` of a synthetic storage whose dtype is `dtype` (equal in width to content->as, CS_GARBAGE
 * excepted). The definition of every device's `generate`. */
uint64_t cs_content_element(const struct cs_content *content, enum cs_dtype dtype, uint64_t index);

/* ---- storages ---- */

enum cs_storage_kind { CS_STORAGE_MEMORY, CS_STORAGE_META, CS_STORAGE_SYNTHETIC, CS_STORAGE_HOST };

/* What a MEMORY storage held before anyone wrote it: a pattern, garbage of others, or its block's own last bytes. */
enum cs_origin { CS_ORIGIN_FRESH, CS_ORIGIN_RECYCLED, CS_ORIGIN_STALE };

struct cs_storage {
    enum cs_storage_kind kind;
    enum cs_origin origin;
    uint64_t id; /* unique in its allocator, from 1 */
    size_t bytes;
    void *data;                /* device memory (MEMORY) or host bytes (HOST, never written); else NULL */
    struct cs_content content; /* SYNTHETIC */
    const char *label;         /* what it was allocated for, for messages; outlives the storage */
    struct cs_storage *next;   /* of its allocator */
    size_t block_bytes;        /* size of the memory block behind it, ≥ bytes */
    bool owns_data;            /* HOST: `data` came from malloc and is freed with the storage */
    bool is_reachable;         /* mark of cs_allocator_sweep */
    bool is_captured;          /* a graph reads it: freed, it stays mapped, and holds the garbage of who got it next */
    bool is_abandoned;         /* freed all the same */
    bool is_result;            /* whoever asked for it writes all of its bytes before anybody reads one */
    unsigned n_holders;        /* buffered loader calls that will still read it */
};

/* ---- views ---- */

enum { CS_NDIM = 6 };

struct cs_view {
    struct cs_storage *storage;
    int64_t offset; /* elements */
    enum cs_dtype dtype;
    int ndim;
    int64_t shape[CS_NDIM], stride[CS_NDIM]; /* elements */
};

/* Row-major strides for a shape. CS_BAD_SHAPE for a negative extent, more than CS_NDIM dimensions, or more elements
 * than fit an int64_t (0 counting as 1). `storage` may be NULL and filled in later. */
enum cs_status cs_view_make(struct cs_view *view, struct cs_storage *storage, enum cs_dtype dtype, int ndim,
                            const int64_t *shape);
int64_t cs_view_numel(const struct cs_view *view);
/* Whether the view is of torch's meta device: a shape without data. False when it has no storage. */
bool cs_view_is_meta(const struct cs_view *view);
/* What messages call it: its storage's label, or "a tensor". */
const char *cs_view_label(const struct cs_view *view);
/* CS_BAD_INDEX unless every element lies inside the storage; no offset or stride may be negative. For views made by
 * hand: CS_BAD_SHAPE when extents are malformed. */
enum cs_status cs_view_check(const struct cs_view *view);
/* Bytes from the first element's to the end of the last one's, gaps included; 0 for an empty view. Saturates. */
size_t cs_view_span_bytes(const struct cs_view *view);
/* Byte position of the first element in its storage. */
size_t cs_view_byte_offset(const struct cs_view *view);
bool cs_view_is_contiguous(const struct cs_view *view);
/* Same shape, stride and dtype (R2.4: the layout that a record belongs to). */
bool cs_view_same_layout(const struct cs_view *a, const struct cs_view *b);
bool cs_view_same_shape(const struct cs_view *a, const struct cs_view *b);
/* Same storage, byte offset, shape, stride and dtype. */
bool cs_view_same_place(const struct cs_view *a, const struct cs_view *b);

/* torch's narrow, in place: keeps [start, start + length) of `dim`. CS_BAD_INDEX names the range and the extent. */
enum cs_status cs_view_narrow(struct cs_view *view, int dim, int64_t start, int64_t length);
/* torch's select: drops `dim`, keeping index `index`. */
enum cs_status cs_view_select(struct cs_view *view, int dim, int64_t index);
/* torch's view(shape): contiguous views only, same number of elements; one extent may be -1. CS_BAD_SHAPE otherwise. */
enum cs_status cs_view_reshape(struct cs_view *view, int ndim, const int64_t *shape);
/* torch's view(dtype) to a dtype of the same width. CS_BAD_TYPE otherwise. */
enum cs_status cs_view_as(struct cs_view *view, enum cs_dtype dtype);
/* Coordinates of the index-th element in row-major order. */
void cs_view_unravel(const struct cs_view *view, int64_t index, int64_t *coordinates);
/* Position in the storage, in elements, of the index-th element in row-major order. */
int64_t cs_view_element(const struct cs_view *view, int64_t index);
/* Row-major index of the view's element that sits at storage element `position` (of the view's dtype), or -1 when the
 * view does not own it. For views whose elements do not overlap. */
int64_t cs_view_find(const struct cs_view *view, int64_t position);
/* "u8[32, 6144, 1536]" into a buffer of CS_VIEW_TEXT bytes; returns the buffer. */
enum { CS_VIEW_TEXT = 192 };
char *cs_view_text(const struct cs_view *view, char *buffer);

/* ---- allocator ----
 *
 * One per rank (R4). It decides what uninitialised memory holds; where memory comes from, and who writes the pattern,
 * is its `cs_memory`. Storages are freed by sweeping: whoever can name what is alive marks it, the rest goes. */

enum cs_pattern_kind { CS_PATTERN_BYTE, CS_PATTERN_RANDOM, CS_PATTERN_NAN }; /* NaN of the dtype; integers: all ones */
struct cs_pattern {
    enum cs_pattern_kind kind;
    uint8_t byte;
};
/* "zero", "0xAA" (any byte), "nan", "random". CS_BAD_VALUE otherwise. */
enum cs_status cs_pattern_parse(const char *text, struct cs_pattern *pattern);

enum { CS_SIZE_CLASSES = 8 };

struct cs_allocator_rule {
    struct cs_pattern fresh_cold, fresh_reload; /* what fresh pages hold */
    uint64_t recycle_up_to;                     /* blocks of a reload up to this size are recycled; 0: none */
    bool recycled_keeps_bytes;             /* false: seeded garbage, the pool served others; true: own last bytes */
    size_t n_classes;                      /* blocks up to class_limit[i] share a class; above the last: exact size */
    uint64_t class_limit[CS_SIZE_CLASSES]; /* rising */
    unsigned fresh_first;                  /* blocks of each class that are still fresh before recycling begins */
};

/* The harshest: everything random, cold start included. */
extern const struct cs_allocator_rule cs_allocator_harshest;

struct cs_memory {
    void *context;
    enum cs_status (*allocate)(void *context, size_t bytes, void **data);
    void (*release)(void *context, void *data, size_t bytes);
    /* Makes the storage hold `content` (CS_CONTENT_VALUE or CS_CONTENT_GARBAGE), as elements of content->as. */
    enum cs_status (*write)(void *context, struct cs_storage *storage, const struct cs_content *content);
};

/* ---- pool: blocks that one allocator freed serve the next one of the same size ----
 *
 * Sessions of one audit follow each other and allocate the same sizes: touching fresh pages anew would cost more than
 * the work. A block is handed out for its exact size only. When a size is not there, idle blocks beyond 1 GiB or an
 * eighth of the peak go back to the device first: that much a pool may add to the peak. Contents are whatever they
 * were: allocators write what undefined memory holds. */
struct cs_pool {
    struct cs_memory below;
    struct cs_pool_block *idle;  /* newest first */
    struct cs_pool_block *spare; /* records without a block */
    size_t idle_bytes, used_bytes, used_peak;
    size_t most_bytes; /* in use at one time: a device that is full refuses (CS_REFUSED); 0: no limit */
};

void cs_pool_init(struct cs_pool *pool, const struct cs_memory *below);
/* A memory whose allocations go through the pool, which must outlive its users. */
struct cs_memory cs_pool_memory(struct cs_pool *pool);
/* Gives every idle block back. */
void cs_pool_close(struct cs_pool *pool);

enum cs_phase { CS_PHASE_COLD, CS_PHASE_RELOAD };

struct cs_allocator {
    struct cs_allocator_rule rule;
    struct cs_memory memory;
    uint64_t key; /* stream of its garbage */
    enum cs_phase phase;
    struct cs_storage *storages;  /* alive, newest first */
    struct cs_storage *spare;     /* records of freed ones, for the next */
    struct cs_record_slab *slabs; /* what records are made of */
    struct cs_block *blocks;      /* free, for recycled_keeps_bytes */
    struct cs_size_class *classes;
    uint64_t next_id;
    size_t bytes_alive, bytes_peak;
};

void cs_allocator_init(struct cs_allocator *allocator, const struct cs_allocator_rule *rule,
                       const struct cs_memory *memory, uint64_t key);

/* A storage of `bytes` uninitialised bytes, as the rule and the phase decide. `dtype` only matters for the NaN pattern;
 * `label` must outlive the storage. Zero bytes are allowed. */
enum cs_status cs_allocate(struct cs_allocator *allocator, size_t bytes, enum cs_dtype dtype, const char *label,
                           struct cs_storage **storage);
/* The same for who writes every byte before anybody reads one: nobody can tell what they held, so that is not written,
 * unless a block that is recycled keeps its own bytes. */
enum cs_status cs_allocate_result(struct cs_allocator *allocator, size_t bytes, enum cs_dtype dtype, const char *label,
                                  struct cs_storage **storage);
/* Exchanges the memory behind two storages: each keeps its id, so its address, and holds what the other held. False
 * when that could be told from copying one into the other: they differ in size, a graph or a buffered call reads one of
 * them, or freed memory is handed out again as it is. */
bool cs_allocator_exchange(const struct cs_allocator *allocator, struct cs_storage *a, struct cs_storage *b);
/* A storage without memory: META, or SYNTHETIC with `content`, or HOST over `data`. It has an id all the same. */
enum cs_status cs_allocate_kind(struct cs_allocator *allocator, enum cs_storage_kind kind, size_t bytes,
                                const struct cs_content *content, const void *data, const char *label,
                                struct cs_storage **storage);
/* The pages of all memory are dropped and mapped again, at the same addresses: every storage holds what fresh memory
 * holds in this phase, and blocks that wait for their next use are gone. */
enum cs_status cs_allocator_discard(struct cs_allocator *allocator);
/* Frees every storage that nobody marked `is_reachable` since the last sweep, and clears the marks. */
void cs_allocator_sweep(struct cs_allocator *allocator);
/* Frees everything. */
void cs_allocator_close(struct cs_allocator *allocator);

#endif
