/* Bytes of entries in memory, and copies of checkpoints with one element changed. */
#include "sim/checkpoint/internal.h"

#include <string.h>

static void write_element(unsigned char *bytes, enum cs_dtype dtype, size_t index, uint64_t bits) {
    size_t width = (size_t)cs_dtype_bits(dtype);
    if (width >= 8) {
        memcpy(bytes + index * width / 8, &bits, width / 8); /* little-endian, as the file formats */
        return;
    }
    unsigned shift = (unsigned)(index % 2 * 4);
    bytes[index / 2] = (unsigned char)((bytes[index / 2] & ~(15u << shift)) | (unsigned)(bits & 15) << shift);
}

enum cs_status cs_checkpoint_bytes(const struct cs_checkpoint *checkpoint, const struct cs_checkpoint_entry *entry,
                                   struct cs_arena *arena, unsigned char **bytes) {
    *bytes = CS_NEW_ARRAY(arena, unsigned char, entry->bytes + 1);
    CS_REQUIRE(*bytes, CS_NO_MEMORY, "out of memory for %zu bytes of %s", entry->bytes, entry->name);
    if (entry->mapped) {
        memcpy(*bytes, entry->mapped, entry->bytes);
        if (checkpoint->version) cs_flip_low_bytes(*bytes, entry->bytes, entry->dtype, checkpoint->version);
        return CS_OK;
    }
    size_t n = entry->bytes * 8 / (size_t)cs_dtype_bits(entry->dtype);
    for (size_t i = 0; i < n; i++)
        write_element(*bytes, entry->dtype, i, cs_content_element(&entry->content, entry->dtype, i));
    return CS_OK;
}

static enum cs_status change(struct cs_checkpoint *copy, const struct cs_checkpoint *original, const char *tensor,
                             const int64_t *at, double number) {
    const struct cs_checkpoint_entry *found = cs_checkpoint_find(copy, tensor);
    CS_REQUIRE(found, CS_BAD_VALUE, "checkpoint %s: it has no tensor \"%s\" to change", original->label, tensor);
    struct cs_checkpoint_entry *entry = &copy->entries[found - copy->entries];
    int64_t index = 0;
    for (int d = 0; d < entry->ndim; d++) {
        CS_REQUIRE(at[d] < entry->shape[d], CS_BAD_INDEX,
                   "checkpoint %s: element %" PRId64 " of dimension %d of %s, which has %" PRId64, copy->label, at[d],
                   d, tensor, entry->shape[d]);
        index = index * entry->shape[d] + at[d];
    }
    uint64_t bits;
    unsigned char *bytes;
    CS_TRY(cs_dtype_encode(entry->dtype, number, &bits));
    CS_TRY(cs_checkpoint_bytes(original, entry, &copy->arena, &bytes));
    write_element(bytes, entry->dtype, (size_t)index, bits);
    entry->mapped = bytes;
    return CS_OK;
}

enum cs_status cs_checkpoint_patch(struct cs_checkpoint *copy, const char *label, const struct cs_checkpoint *original,
                                   const char *tensor, const int64_t *at, double number) {
    cs_checkpoint_init(copy, label);
    enum cs_status status = CS_OK;
    for (size_t i = 0; i < original->n_entries && status == CS_OK; i++) {
        bool is_flipped = original->version && original->entries[i].mapped;
        status = is_flipped ? cs_fail(CS_UNSUPPORTED, "checkpoint %s is a perturbed copy of files: change the original",
                                      original->label)
                            : cs_checkpoint_append(copy, &original->entries[i]);
    }
    if (status == CS_OK && tensor) status = change(copy, original, tensor, at, number);
    if (status != CS_OK) cs_checkpoint_close(copy);
    return status;
}
