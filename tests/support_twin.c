#include "tests/support_twin.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

int64_t random_below(struct random *random, int64_t limit) { return (int64_t)(cs_mix64(random->key + random->n++) % (uint64_t)limit); }

int random_shape(struct random *random, int64_t *shape) {
    int ndim = (int)random_below(random, 5);
    for (int d = 0; d < ndim; d++) shape[d] = random_below(random, 20) ? 1 + random_below(random, 4) : 0;
    if (ndim && random_below(random, 2)) shape[ndim - 1] *= random_below(random, 2) ? 7 : 16;
    return ndim;
}

struct cs_view random_layout(struct random *random, struct cs_storage *storage, enum cs_dtype dtype, int ndim, const int64_t *shape) {
    struct cs_view view;
    assert_int_equal(cs_view_make(&view, storage, dtype, ndim, shape), CS_OK);
    bool is_shuffled = random_below(random, 3) == 0, has_gaps = random_below(random, 2) == 0;
    int64_t multiple = INT64_C(1) << random_below(random, 6); /* of strides: short units to long ones */
    int order[CS_NDIM];
    for (int d = 0; d < ndim; d++) order[d] = d;
    for (int d = ndim - 1; d > 0 && is_shuffled; d--) {
        int other = (int)random_below(random, d + 1), kept = order[d];
        order[d] = order[other];
        order[other] = kept;
    }
    int64_t stride = has_gaps && random_below(random, 3) == 0 ? 2 : 1;
    for (int j = ndim - 1; j >= 0; j--) {
        view.stride[order[j]] = stride;
        stride = stride * (shape[order[j]] ? shape[order[j]] : 1) + (has_gaps ? random_below(random, 3) : 0);
        if (has_gaps) stride = (stride + multiple - 1) / multiple * multiple;
    }
    view.offset = random_below(random, 5) * multiple;
    return view;
}

const struct cs_device **tested_devices(const struct cs_device *list[MOST_DEVICES]) {
    const char *only = getenv("COLDSTART_TEST_DEVICE");
    size_t n = 0;
    for (size_t i = 0; i < cs_n_devices; i++) {
        if (cs_text_equal(cs_devices[i]->name, "ref") || *cs_devices[i]->unavailable()) continue;
        if (only && !cs_text_equal(cs_devices[i]->name, only)) continue;
        assert_true(n + 1 < MOST_DEVICES);
        list[n++] = cs_devices[i];
    }
    assert_true(n > 0);
    list[n] = NULL;
    return list;
}

uint64_t tested_part(uint64_t n) {
    const char *part = getenv("COLDSTART_TEST_PART");
    long divisor = part ? strtol(part, NULL, 10) : 1;
    return divisor > 1 ? n / (uint64_t)divisor + 1 : n;
}

void twin_begin(struct twin *twin, const struct cs_device *device, size_t bytes, uint64_t key) {
    twin->device = device;
    twin->ref = twin->other = (struct cs_storage){.kind = CS_STORAGE_MEMORY, .bytes = bytes, .label = "t"};
    ASSERT_OK(cs_device_by_name("ref")->allocate(cs_device_by_name("ref"), bytes, &twin->ref.data));
    ASSERT_OK(device->allocate(device, bytes, &twin->other.data));
    for (size_t i = 0; i < bytes; i += 8) {
        uint64_t word = cs_mix64(key + i / 8);
        memcpy((char *)twin->ref.data + i, &word, bytes - i < 8 ? bytes - i : 8);
    }
    ASSERT_OK(device->upload(device, twin->other.data, twin->ref.data, bytes));
}

void twin_assert_equal(struct twin *twin, const char *what, uint64_t seed) {
    uint8_t *got = malloc(twin->other.bytes + 1), *expected = twin->ref.data;
    assert_non_null(got);
    ASSERT_OK(twin->device->download(twin->device, got, twin->other.data, twin->other.bytes));
    for (size_t i = 0; i < twin->other.bytes && memcmp(got, expected, twin->other.bytes) != 0; i++)
        if (got[i] != expected[i])
            fail_msg("%s: %s, seed %" PRIu64 ": byte %zu is 0x%02X, expected 0x%02X", twin->device->name, what, seed, i, got[i], expected[i]);
    free(got);
}

void twin_end(struct twin *twin) {
    cs_device_by_name("ref")->release(cs_device_by_name("ref"), twin->ref.data, twin->ref.bytes);
    twin->device->release(twin->device, twin->other.data, twin->other.bytes);
}

struct cs_view twin_view(const struct twin *twin, const struct cs_view *ref_view) {
    struct cs_view view = *ref_view;
    assert_ptr_equal(view.storage, &twin->ref);
    view.storage = (struct cs_storage *)(uintptr_t)&twin->other;
    return view;
}

void pair_begin(struct pair *pair, const struct cs_device *device, uint64_t seed, enum cs_dtype dtype) {
    int64_t shape[CS_NDIM];
    pair->seed = seed;
    pair->random = (struct random){cs_mix64(seed), 0};
    int ndim = random_shape(&pair->random, shape);
    twin_begin(&pair->to, device, PAIR_BYTES, seed);
    twin_begin(&pair->from, device, PAIR_BYTES, seed + PAIR_BYTES);
    do pair->a = random_layout(&pair->random, &pair->to.ref, dtype, ndim, shape);
    while (cs_view_check(&pair->a) != CS_OK);
    do pair->b = random_layout(&pair->random, &pair->from.ref, dtype, ndim, shape);
    while (cs_view_check(&pair->b) != CS_OK);
    pair->x = twin_view(&pair->to, &pair->a);
    pair->y = twin_view(&pair->from, &pair->b);
}

void pair_end(struct pair *pair, const char *what) {
    twin_assert_equal(&pair->to, what, pair->seed);
    twin_end(&pair->to);
    twin_end(&pair->from);
}
