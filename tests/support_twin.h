/* The same tensor on the reference and on another device, and random views of it: what one operation leaves on both must
 * be equal, byte for byte, around the view too. */
#ifndef TESTS_SUPPORT_TWIN_H
#define TESTS_SUPPORT_TWIN_H

#include "sim/device/device.h"

struct random { uint64_t key, n; };
int64_t random_below(struct random *random, int64_t limit);
/* Up to four dimensions; empty ones are rare. */
int random_shape(struct random *random, int64_t *shape);
/* Strides for the shape in a random order of dimensions, with random gaps: elements never overlap. */
struct cs_view random_layout(struct random *random, struct cs_storage *storage, enum cs_dtype dtype, int ndim, const int64_t *shape);

/* Every device that can run here, `ref` excepted, into `list`, which ends in NULL: `emu` at least. The environment may name
 * a single one in COLDSTART_TEST_DEVICE. */
enum { MOST_DEVICES = 4 };
const struct cs_device **tested_devices(const struct cs_device *list[MOST_DEVICES]);
#define FOR_DEVICES(device)                                                                                            \
    for (const struct cs_device *list_[MOST_DEVICES], **next_ = tested_devices(list_), *device; (device = *next_) != NULL; next_++)

/* How many of n random cases to try: one in COLDSTART_TEST_PART, for tools under which all of them would take hours. */
uint64_t tested_part(uint64_t n);

struct twin {
    const struct cs_device *device;
    struct cs_storage ref, other;
};
/* `bytes` random bytes of the stream `key`, the same on both. */
void twin_begin(struct twin *twin, const struct cs_device *device, size_t bytes, uint64_t key);
/* Both hold the same bytes; names `what` and the first byte that differs if not. */
void twin_assert_equal(struct twin *twin, const char *what, uint64_t seed);
void twin_end(struct twin *twin);
/* The view on the other device. */
struct cs_view twin_view(const struct twin *twin, const struct cs_view *ref_view);

enum { PAIR_BYTES = 1 << 15 };

/* Two random views of one shape, on the reference (a, b) and on the device (x, y). */
struct pair {
    struct random random;
    struct twin to, from;
    struct cs_view a, b, x, y;
    uint64_t seed;
};
/* Of a shape, and at places, that `seed` chooses. */
void pair_begin(struct pair *pair, const struct cs_device *device, uint64_t seed, enum cs_dtype dtype);
/* Both devices must hold the same. */
void pair_end(struct pair *pair, const char *what);

#define ASSERT_OK(call)                                                                                                \
    do {                                                                                                               \
        if ((call) != CS_OK) fail_msg("%s", cs_error_text());                                                          \
    } while (0)

#endif
