#include "sim/checkpoint/internal.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

/* ---- name index ----
 * Open addressing with linear probes, never more than half full, so that a probe always ends at an empty slot. */

static uint32_t *slot_of(const struct cs_checkpoint *checkpoint, const char *name) {
    size_t mask = checkpoint->n_slots - 1;
    size_t at = cs_fnv1a32(name) & mask;
    while (checkpoint->slots[at] && !cs_text_equal(checkpoint->entries[checkpoint->slots[at] - 1].name, name))
        at = (at + 1) & mask;
    return &checkpoint->slots[at];
}

static enum cs_status make_room_in_index(struct cs_checkpoint *checkpoint) {
    if ((checkpoint->n_entries + 1) * 2 <= checkpoint->n_slots) return CS_OK;
    size_t wider = checkpoint->n_slots ? checkpoint->n_slots * 2 : 16;
    uint32_t *slots = CS_NEW_ARRAY(&checkpoint->arena, uint32_t, wider);
    CS_REQUIRE(slots, CS_NO_MEMORY, "checkpoint \"%s\": no memory for an index of %zu names", checkpoint->label, wider);
    checkpoint->slots = slots;
    checkpoint->n_slots = wider;
    for (size_t i = 0; i < checkpoint->n_entries; i++)
        *slot_of(checkpoint, checkpoint->entries[i].name) = (uint32_t)i + 1;
    return CS_OK;
}

const struct cs_checkpoint_entry *cs_checkpoint_find(const struct cs_checkpoint *checkpoint, const char *name) {
    uint32_t slot = checkpoint->n_slots ? *slot_of(checkpoint, name) : 0;
    return slot ? &checkpoint->entries[slot - 1] : NULL;
}

/* ---- entries ---- */

enum cs_status cs_tensor_bits(enum cs_dtype dtype, int ndim, const int64_t *shape, int64_t *bits) {
    struct cs_view view;
    CS_TRY(cs_view_make(&view, NULL, dtype, ndim, shape));
    int64_t numel = cs_view_numel(&view);
    CS_REQUIRE(cs_multiply(numel, cs_dtype_bits(dtype), bits), CS_BAD_SHAPE,
               "%" PRId64 " elements of %s exceed 2^63 bits", numel, cs_dtype_name(dtype));
    return CS_OK;
}

enum cs_status cs_checkpoint_append(struct cs_checkpoint *checkpoint, const struct cs_checkpoint_entry *entry) {
    CS_REQUIRE(checkpoint->n_entries < UINT32_MAX - 1, CS_BAD_VALUE, "checkpoint \"%s\": more than %" PRIu32 " tensors",
               checkpoint->label, UINT32_MAX - 1);
    CS_TRY(make_room_in_index(checkpoint));
    void *items = checkpoint->entries;
    struct cs_checkpoint_entry *fresh =
        cs_arena_grow(&checkpoint->arena, &items, checkpoint->n_entries, &checkpoint->capacity, sizeof *fresh);
    char *name = cs_arena_text(&checkpoint->arena, entry->name);
    CS_REQUIRE(fresh && name, CS_NO_MEMORY, "checkpoint \"%s\": no memory for entry %zu", checkpoint->label,
               checkpoint->n_entries);
    checkpoint->entries = items;
    *fresh = *entry;
    fresh->name = name;
    *slot_of(checkpoint, name) = (uint32_t)++checkpoint->n_entries;
    return CS_OK;
}

void cs_checkpoint_init(struct cs_checkpoint *checkpoint, const char *label) {
    *checkpoint = (struct cs_checkpoint){0};
    char *copy = cs_arena_text(&checkpoint->arena, label);
    checkpoint->label = copy ? copy : "(out of memory)"; /* the first entry will say so */
}

enum cs_status cs_checkpoint_add(struct cs_checkpoint *checkpoint, const char *name, enum cs_dtype dtype, int ndim,
                                 const int64_t *shape, const struct cs_content *content) {
    CS_REQUIRE(!cs_checkpoint_find(checkpoint, name), CS_BAD_VALUE, "checkpoint \"%s\" has a tensor \"%s\" already",
               checkpoint->label, name);
    CS_REQUIRE(content->kind == CS_CONTENT_GARBAGE || cs_dtype_bits(content->as) == cs_dtype_bits(dtype), CS_BAD_TYPE,
               "tensor \"%s\" of %s cannot hold numbers made as %s: the widths differ", name, cs_dtype_name(dtype),
               cs_dtype_name(content->as));
    int64_t bits;
    CS_TRY(cs_tensor_bits(dtype, ndim, shape, &bits));
    struct cs_checkpoint_entry entry = {.name = name, .dtype = dtype, .ndim = ndim, .content = *content};
    for (int d = 0; d < ndim; d++) entry.shape[d] = shape[d];
    entry.bytes = (size_t)bits / 8 + (bits % 8 != 0);
    return cs_checkpoint_append(checkpoint, &entry);
}

struct cs_content cs_checkpoint_hash_content(uint64_t seed, const char *name, enum cs_dtype as) {
    return (struct cs_content){.kind = CS_CONTENT_HASH, .as = as, .key = cs_stream_key(seed, name, 0)};
}

struct cs_content cs_checkpoint_pattern_content(const char *name, enum cs_dtype as, unsigned version) {
    uint64_t key = cs_fnv1a32(name) + UINT64_C(1000003) * version;
    return (struct cs_content){.kind = CS_CONTENT_PATTERN, .as = as, .key = key};
}

/* ---- files ---- */

static enum cs_status read_path(struct cs_checkpoint *checkpoint, const char *path) {
    struct stat info;
    CS_REQUIRE(stat(path, &info) == 0, CS_BAD_FILE,
               "%s: %s: give a .safetensors file, or a folder that holds a checkpoint", path, strerror(errno));
    return S_ISDIR(info.st_mode) ? cs_folder_read(checkpoint, path) : cs_safetensors_read(checkpoint, path);
}

enum cs_status cs_checkpoint_open(struct cs_checkpoint *checkpoint, const char *label, const char *path) {
    cs_checkpoint_init(checkpoint, label ? label : path);
    enum cs_status status = read_path(checkpoint, path);
    if (status != CS_OK) cs_checkpoint_close(checkpoint);
    return status;
}

void cs_checkpoint_close(struct cs_checkpoint *checkpoint) {
    for (struct cs_checkpoint_file *file = checkpoint->files; file; file = file->next) cs_mapping_close(&file->mapping);
    cs_arena_release(&checkpoint->arena);
    *checkpoint = (struct cs_checkpoint){0};
}
