/* Perturbed copies, and entries as they arrive on the wire. */
#include "sim/checkpoint/internal.h"

#include <stdlib.h>
#include <string.h>

/* Shifts of the versions are multiples of 17: two versions then differ by 17 k, 1 ≤ k ≤ 7, modulo 256, which changes
 *   - both nibbles of every byte (e2m1), with or without a carry from the low one;
 *   - every e8m0 number, which only sees the shift modulo 8;
 *   - every e4m3 number, where a difference of 8 would meet the NaNs that are moved down by 8. */
enum { SHIFT_STEP = 17 };

/* Which multiple a version gets depends on seed and tensor: an odd factor permutes 1 … 7. */
static unsigned shift_of(uint64_t seed, const char *name, unsigned version) {
    unsigned odd = (unsigned)cs_stream_key(seed, name, 1) | 1u;
    return SHIFT_STEP * (odd * version % CS_CHECKPOINT_VERSIONS);
}

static enum cs_status perturb_content(struct cs_checkpoint_entry *entry, unsigned version, uint64_t seed) {
    struct cs_content *content = &entry->content;
    switch (content->kind) {
    case CS_CONTENT_HASH:
    case CS_CONTENT_PATTERN:
        content->shift += shift_of(seed, entry->contents_of ? entry->contents_of : entry->name, version);
        return CS_OK;
    case CS_CONTENT_ZERO:
        *content = (struct cs_content){.kind = CS_CONTENT_VALUE, .as = entry->dtype};
        /* fall through */
    case CS_CONTENT_VALUE:
        content->key ^= version; /* 3 bits: the narrowest dtype has 4 */
        return CS_OK;
    default: /* random bits agree by chance, digits are no checkpoint of a session */
        return cs_fail(CS_UNSUPPORTED, "tensor \"%s\" is garbage or digits: no version of it differs everywhere",
                       entry->name);
    }
}

static enum cs_status copy_entries(struct cs_checkpoint *copy, uint64_t seed) {
    for (size_t i = 0; i < copy->original->n_entries; i++) {
        struct cs_checkpoint_entry entry = copy->original->entries[i];
        if (!entry.mapped) CS_TRY(perturb_content(&entry, copy->version, seed));
        CS_TRY(cs_checkpoint_append(copy, &entry));
    }
    return CS_OK;
}

enum cs_status cs_checkpoint_perturb(struct cs_checkpoint *copy, const char *label,
                                     const struct cs_checkpoint *original, unsigned version, uint64_t seed) {
    cs_checkpoint_init(copy, label);
    copy->original = original;
    copy->version = version;
    enum cs_status status = CS_OK;
    if (original->version != 0)
        status = cs_fail(CS_BAD_VALUE, "checkpoint \"%s\" is version %u of another: perturb the original instead",
                         original->label, original->version);
    else if (version == 0 || version >= CS_CHECKPOINT_VERSIONS)
        status = cs_fail(CS_BAD_VALUE, "checkpoint \"%s\": version %u, must be 1 to %d", label, version,
                         CS_CHECKPOINT_VERSIONS - 1);
    else
        status = copy_entries(copy, seed);
    if (status != CS_OK) cs_checkpoint_close(copy);
    return status;
}

/* ---- sources ---- */

/* Little-endian: the low byte of an element comes first. Two e2m1 share a byte, so both nibbles change. */
void cs_flip_low_bytes(unsigned char *bytes, size_t size, enum cs_dtype dtype, unsigned version) {
    int bits = cs_dtype_bits(dtype);
    size_t width = bits < 8 ? 1 : (size_t)bits / 8;
    unsigned char mask = (unsigned char)(bits < 8 ? version * 0x11u : version);
    for (size_t i = 0; i < size; i += width) bytes[i] ^= mask;
}

static enum cs_status allocate_flipped(const struct cs_checkpoint *checkpoint, const struct cs_checkpoint_entry *entry,
                                       struct cs_allocator *allocator, struct cs_storage **storage) {
    unsigned char *bytes = malloc(entry->bytes ? entry->bytes : 1);
    CS_REQUIRE(bytes, CS_NO_MEMORY, "checkpoint \"%s\": no memory for %zu bytes of tensor \"%s\"", checkpoint->label,
               entry->bytes, entry->name);
    memcpy(bytes, entry->mapped, entry->bytes);
    cs_flip_low_bytes(bytes, entry->bytes, entry->dtype, checkpoint->version);
    enum cs_status status =
        cs_allocate_kind(allocator, CS_STORAGE_HOST, entry->bytes, NULL, bytes, entry->name, storage);
    if (status == CS_OK)
        (*storage)->owns_data = true;
    else
        free(bytes);
    return status;
}

enum cs_status cs_checkpoint_source(const struct cs_checkpoint *checkpoint, const struct cs_checkpoint_entry *entry,
                                    struct cs_allocator *allocator, struct cs_view *view) {
    struct cs_storage *storage = NULL;
    CS_TRY(cs_view_make(view, NULL, entry->dtype, entry->ndim, entry->shape)); /* first: it leaves no storage behind */
    if (!entry->mapped)
        CS_TRY(cs_allocate_kind(allocator, CS_STORAGE_SYNTHETIC, entry->bytes, &entry->content, NULL, entry->name,
                                &storage));
    else if (checkpoint->version == 0)
        CS_TRY(cs_allocate_kind(allocator, CS_STORAGE_HOST, entry->bytes, NULL, entry->mapped, entry->name, &storage));
    else
        CS_TRY(allocate_flipped(checkpoint, entry, allocator, &storage));
    view->storage = storage;
    return CS_OK;
}
