/* Bytes of entries in memory, and copies of checkpoints with one element changed. */
#include "sim/checkpoint/internal.h"

#include <math.h>
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

static enum cs_status index_of(const struct cs_checkpoint_entry *entry, const char *label,
                               const struct cs_checkpoint_change *change, int64_t *index) {
    bool is_number = entry->ndim == 0 && change->n_at == 1;
    CS_REQUIRE(change->n_at == entry->ndim || is_number, CS_BAD_INDEX,
               "checkpoint %s: tensor \"%s\" has %d dimension%s, and its element is named by %d ind%s: give %s", label,
               entry->name, entry->ndim, entry->ndim == 1 ? "" : "s", change->n_at, change->n_at == 1 ? "ex" : "ices",
               entry->ndim ? "one for each dimension" : "0");
    for (int d = 0; d < change->n_at; d++) {
        int64_t extent = is_number ? 1 : entry->shape[d];
        CS_REQUIRE(change->at[d] >= 0 && change->at[d] < extent, CS_BAD_INDEX,
                   "checkpoint %s: element %" PRId64 " of dimension %d of tensor \"%s\", which has %" PRId64, label,
                   change->at[d], d, entry->name, extent);
        *index = *index * extent + change->at[d];
    }
    return CS_OK;
}

/* The element that stands for the number. One that the dtype has no room for is refused, and so is a fraction among whole
 * numbers: nobody means the value that would be there instead. */
static enum cs_status encode(enum cs_dtype dtype, double number, uint64_t *bits) {
    CS_TRY(cs_dtype_encode(dtype, number, bits));
    double held = cs_dtype_decode(dtype, *bits);
    bool is_held = isfinite(number) ? isfinite(held) : isnan(number) == isnan(held);
    if (cs_dtype_is_floating(dtype)) {
        CS_REQUIRE(is_held, CS_BAD_VALUE, "%s has no number near %g: choose one that it holds", cs_dtype_name(dtype), number);
        return CS_OK;
    }
    CS_REQUIRE(held == number, CS_BAD_VALUE, "%s holds whole numbers, not %g", cs_dtype_name(dtype), number);
    return CS_OK;
}

static enum cs_status make_change(struct cs_checkpoint *copy, const struct cs_checkpoint *original,
                                  const struct cs_checkpoint_change *change) {
    const struct cs_checkpoint_entry *found = cs_checkpoint_find(original, change->tensor);
    CS_REQUIRE(found, CS_BAD_VALUE, "checkpoint %s: its original %s has no tensor \"%s\" to change", copy->label,
               original->label, change->tensor);
    int64_t index = 0;
    uint64_t bits;
    unsigned char *bytes;
    CS_TRY(index_of(found, copy->label, change, &index));
    enum cs_status status = encode(found->dtype, change->number, &bits);
    CS_REQUIRE(status == CS_OK, status, "checkpoint %s: tensor \"%s\": %s", copy->label, change->tensor,
               cs_error_text());
    CS_TRY(cs_checkpoint_bytes(original, found, &copy->arena, &bytes));
    write_element(bytes, found->dtype, (size_t)index, bits);
    copy->entries[found - original->entries].mapped = bytes;
    return CS_OK;
}

static bool reads_files(const struct cs_checkpoint *checkpoint) {
    while (checkpoint && !checkpoint->files) checkpoint = checkpoint->original;
    return checkpoint != NULL;
}

/* The copy is of no version: perturbed bytes become its own. Those of a file may be more than memory holds. */
static enum cs_status copy_entry(struct cs_checkpoint *copy, const struct cs_checkpoint *original, size_t i) {
    struct cs_checkpoint_entry entry = original->entries[i];
    if (original->version && entry.mapped) {
        unsigned char *bytes;
        CS_REQUIRE(!reads_files(original), CS_UNSUPPORTED,
                   "checkpoint %s: its original %s is a perturbed copy of files: change those, and perturb that copy",
                   copy->label, original->label);
        CS_TRY(cs_checkpoint_bytes(original, &entry, &copy->arena, &bytes));
        entry.mapped = bytes;
    }
    return cs_checkpoint_append(copy, &entry);
}

enum cs_status cs_checkpoint_patch(struct cs_checkpoint *copy, const char *label, const struct cs_checkpoint *original,
                                   const struct cs_checkpoint_change *change) {
    cs_checkpoint_init(copy, label);
    copy->original = original;
    enum cs_status status = CS_OK;
    for (size_t i = 0; i < original->n_entries && status == CS_OK; i++) status = copy_entry(copy, original, i);
    if (status == CS_OK && change) status = make_change(copy, original, change);
    if (status != CS_OK) cs_checkpoint_close(copy);
    return status;
}
