#include "sim/conform/internal.h"

#include <string.h>

enum cs_status cs_bytes_of_view(struct cs_arena *arena, const struct cs_device *device, const struct cs_view *view,
                                struct cs_bytes *bytes) {
    bytes->size = (size_t)cs_view_numel(view) * (size_t)cs_dtype_bits(view->dtype) / 8;
    unsigned char *data = cs_arena_alloc(arena, bytes->size ? bytes->size : 1, 1);
    CS_REQUIRE(data, CS_NO_MEMORY, "no memory for %zu bytes of a tensor", bytes->size);
    bytes->data = data;
    return cs_device_read(device, view, data, bytes->size);
}

enum cs_status cs_bytes_of_entry(const struct cs_checkpoint *file, const char *name, struct cs_bytes *bytes) {
    const struct cs_checkpoint_entry *entry = cs_checkpoint_find(file, name);
    CS_REQUIRE(entry, CS_BAD_FILE, "%s has no tensor \"%s\"", file->label, name);
    *bytes = (struct cs_bytes){entry->bytes, entry->mapped};
    return CS_OK;
}

enum cs_status cs_bytes_equal(const char *what, const struct cs_bytes *expected, const struct cs_bytes *actual) {
    CS_REQUIRE(expected->size == actual->size, CS_BAD_SHAPE, "%s: expected %zu bytes, got %zu", what, expected->size,
               actual->size);
    if (expected->size == 0 || memcmp(expected->data, actual->data, expected->size) == 0) return CS_OK;
    size_t n = 0, first = 0;
    for (size_t i = 0; i < expected->size; i++) {
        if (expected->data[i] == actual->data[i]) continue;
        if (n++ == 0) first = i;
    }
    return cs_fail(CS_BAD_VALUE, "%s: %zu of %zu bytes differ, the first is byte %zu: expected 0x%02x, got 0x%02x",
                   what, n, expected->size, first, expected->data[first], actual->data[first]);
}
