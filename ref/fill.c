#include "ref/ref.h"
#include "ref/walk.h"

static inline __attribute__((always_inline)) void set_strided(const struct cs_ref_run *run, unsigned char *base,
                                                              uint64_t value, int bits) {
    int64_t to = run->position[0];
    for (int64_t i = 0; i < run->n; i++, to += run->stride[0]) cs_ref_store(base, bits, to, value);
}

/* Are all bytes of the pattern the same? */
static bool is_one_byte(uint64_t value, int bits) {
    uint64_t all = (value & 0xFF) * UINT64_C(0x0101010101010101);
    return bits >= 8 && ((value ^ all) << (64 - bits)) == 0;
}

void cs_ref_set_run(const struct cs_ref_run *run, unsigned char *base, int bits, uint64_t value) {
    if (run->stride[0] == 1 && is_one_byte(value, bits))
        memset(base + run->position[0] * (bits / 8), (int)(value & 0xFF), (size_t)(run->n * (bits / 8)));
    else
        CS_REF_BY_WIDTH(bits, set_strided, run, base, value);
}

struct job {
    unsigned char *base;
    uint64_t value;
    int bits;
};

static void fill_run(const struct cs_ref_run *run, const void *context, struct cs_ref_tally *tally) {
    const struct job *job = context;
    (void)tally;
    cs_ref_set_run(run, job->base, job->bits, job->value);
}

/* One region after the other: regions of a batch may overlap, and then the last one wins. */
enum cs_status cs_ref_fill(const struct cs_device *device, const struct cs_fill *fills, size_t n) {
    (void)device;
    for (size_t i = 0; i < n; i++) {
        struct cs_ref_walk walk = cs_ref_walk_of(&fills[i].view, NULL);
        uint64_t value = walk.is_paired ? (fills[i].bits & 0xF) * 0x11 : fills[i].bits;
        struct job job = {fills[i].view.storage->data, value, walk.bits};
        cs_ref_walk_visit(&walk, fill_run, &job);
    }
    return CS_OK;
}
