/* Checkpoints: named tensors whose bytes are on disk, or computed where they are read.
 *
 * A checkpoint is a list of entries in arrival order plus a name index. Entries never hold bytes of their own:
 *   - of a file: a window into a mapped safetensors file, checked against header and file size when opened;
 *   - synthetic: a `cs_content`, so that any slice can be computed alone from seed, tensor name and index.
 * A perturbed copy (version 1 … 7 of a checkpoint, version 0 being the original) differs from every other version in
 * every element of every tensor (R8.2): synthetic entries by a shift (constants by XOR of the value with the version;
 * tensors that are computed from one name stay equal),
 * file entries by XOR of each element's low byte with the version; two e2m1 share a byte, and both change.
 *
 * Files: one .safetensors file, or a folder with `model.safetensors.index.json` and the shards that it names, or a
 * folder with exactly one *.safetensors file. Bad files give CS_BAD_FILE with the path, the tensor, the value and the
 * limit.
 * Arrival order: a file's header order; of a folder, shard after shard in the order (strcmp) of their names.
 *
 * Lifetimes: a checkpoint outlives the storages that stand for its entries (they borrow names and mapped bytes); a
 * pointer to an entry holds until the next entry is added. */
#ifndef CS_CHECKPOINT_H
#define CS_CHECKPOINT_H

#include "sim/tensor/tensor.h"

enum { CS_CHECKPOINT_VERSIONS = 8 };

struct cs_checkpoint_entry {
    const char *name;
    enum cs_dtype dtype;
    int ndim;
    int64_t shape[CS_NDIM];
    size_t bytes;
    const void *mapped;        /* of a file, at any alignment; else NULL */
    struct cs_content content; /* synthetic */
    const char *contents_of;   /* synthetic: the name that its numbers are computed from, borrowed; NULL: its own */
};

struct cs_checkpoint {
    const char *label; /* "A", or the path */
    size_t n_entries, capacity;
    struct cs_checkpoint_entry *entries;
    unsigned version;
    const struct cs_checkpoint *original; /* of a copy, which reads from it; must outlive it */
    struct cs_checkpoint_file *files;     /* mapped, newest first; unmapped by close */
    uint32_t *slots;                      /* name index: open addressing, entry + 1 */
    size_t n_slots;
    struct cs_arena arena;
};

/* Opens what is at `path`; `label` NULL: the path. Header limits: header ≤ 100 MB and inside the file; offsets rising,
 * inside the file, equal to dtype × shape, without overlap and without holes; no duplicate names, in a file or between
 * shards; at most CS_NDIM dimensions; every tensor of the index is in the shard that it names, and every shard tensor
 * is in the index. A failure leaves nothing to close. Source: the safetensors format description. */
enum cs_status cs_checkpoint_open(struct cs_checkpoint *checkpoint, const char *label, const char *path);

/* An empty one, to add synthetic entries to. */
void cs_checkpoint_init(struct cs_checkpoint *checkpoint, const char *label);
/* Appends a synthetic entry; `name` is copied. CS_BAD_VALUE when the name is there already, CS_BAD_TYPE when
 * content->as has another width than `dtype`, CS_BAD_SHAPE as cs_view_make. */
enum cs_status cs_checkpoint_add(struct cs_checkpoint *checkpoint, const char *name, enum cs_dtype dtype, int ndim,
                                 const int64_t *shape, const struct cs_content *content);
/* The usual synthetic contents. `as` is the dtype whose formula makes the numbers (u8 scales: CS_E8M0). */
struct cs_content cs_checkpoint_hash_content(uint64_t seed, const char *name, enum cs_dtype as);
/* The formula of captured reload scenarios: PATTERN with key fnv1a32(name) + 1000003 * version. */
struct cs_content cs_checkpoint_pattern_content(const char *name, enum cs_dtype as, unsigned version);

/* Makes `copy` version `version` (1 … 7) of `original`, which must be of version 0 and outlive it; CS_BAD_VALUE
 * otherwise. CS_UNSUPPORTED for garbage and digits, which have no such versions. A failure leaves nothing to close. */
enum cs_status cs_checkpoint_perturb(struct cs_checkpoint *copy, const char *label,
                                     const struct cs_checkpoint *original, unsigned version, uint64_t seed);

/* One element of a tensor and its new number. `at`: an index per dimension; of a tensor without any, one 0. */
struct cs_checkpoint_change {
    const char *tensor;
    int n_at;
    int64_t at[CS_NDIM];
    double number;
};

/* Makes `copy` the same as `original`, which must outlive it, but for one element; `change` NULL: for none.
 * CS_BAD_VALUE: no such tensor, or its dtype has no such number; CS_BAD_INDEX: no such element, too many or too few
 * indices; CS_UNSUPPORTED: `original` perturbs a file's bytes. Messages name copy and tensor. A failure leaves nothing
 * to close. */
enum cs_status cs_checkpoint_patch(struct cs_checkpoint *copy, const char *label, const struct cs_checkpoint *original,
                                   const struct cs_checkpoint_change *change);
/* The entry's bytes, packed row-major, in memory of `arena`. */
enum cs_status cs_checkpoint_bytes(const struct cs_checkpoint *checkpoint, const struct cs_checkpoint_entry *entry,
                                   struct cs_arena *arena, unsigned char **bytes);

/* NULL when there is no such entry. */
const struct cs_checkpoint_entry *cs_checkpoint_find(const struct cs_checkpoint *checkpoint, const char *name);

/* A contiguous view over a new storage of `allocator` that stands for the entry as it arrives on the wire: SYNTHETIC,
 * or HOST. Perturbed file entries become a HOST storage with bytes of its own (`owns_data`), freed with the storage. */
enum cs_status cs_checkpoint_source(const struct cs_checkpoint *checkpoint, const struct cs_checkpoint_entry *entry,
                                    struct cs_allocator *allocator, struct cs_view *view);

void cs_checkpoint_close(struct cs_checkpoint *checkpoint);

/* Writes one safetensors file: entries in the given order, `bytes[i]` being entries[i].bytes packed row-major. Written
 * to a temporary name in the same folder and renamed, so a failure leaves no half file, and what was at `path` as it
 * was. */
enum cs_status cs_safetensors_write(const char *path, const struct cs_checkpoint_entry *entries,
                                    const void *const *bytes, size_t n);

/* Where a writer gets bytes from: those at [first, first + size) of an entry packed row-major; `first` is a multiple of
 * CS_CHUNK_BYTES. Entries come one after the other, chunk after chunk. */
enum { CS_CHUNK_BYTES = 16 << 20 };
struct cs_byte_source {
    void *context;
    enum cs_status (*read)(void *context, const struct cs_checkpoint_entry *entry, size_t first, size_t size,
                           void *bytes);
};

struct cs_folder_written {
    size_t n_shards;
    uint64_t bytes; /* of tensors */
};

/* Writes a folder as Hugging Face publishes them: shards of at most `max_shard_bytes` (a larger tensor has one alone),
 * in the order of the entries, named model-00001-of-00003.safetensors …, and model.safetensors.index.json; a single
 * shard is model.safetensors, without an index. Never more than a chunk is in memory. Written to a temporary folder
 * beside `path` and renamed, so a failure leaves nothing. CS_BAD_USAGE when `path` is there and not an empty folder. */
enum cs_status cs_folder_write(const char *path, const struct cs_checkpoint_entry *entries, size_t n,
                               uint64_t max_shard_bytes, const struct cs_byte_source *source,
                               struct cs_folder_written *written);

#endif
