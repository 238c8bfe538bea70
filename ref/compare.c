#include "ref/ref.h"
#include "ref/walk.h"

struct job {
    const unsigned char *a, *b;
    int bits;
    bool is_paired;
};

static void note(struct cs_ref_tally *tally, int64_t index) {
    if (tally->first < 0) tally->first = index; /* runs come in rising order */
    tally->n_differ++;
}

static inline __attribute__((always_inline)) void compare_strided(const struct cs_ref_run *run, const struct job *job,
                                                                  struct cs_ref_tally *tally, int bits) {
    int64_t a = run->position[0], b = run->position[1];
    for (int64_t i = 0; i < run->n; i++, a += run->stride[0], b += run->stride[1]) {
        uint64_t differ = cs_ref_load(job->a, bits, a) ^ cs_ref_load(job->b, bits, b);
        if (!differ) continue;
        int64_t index = run->index + i;
        if (!job->is_paired) {
            note(tally, index);
            continue;
        }
        if (differ & 0x0F) note(tally, 2 * index);
        if (differ & 0xF0) note(tally, 2 * index + 1);
    }
}

static void compare_run(const struct cs_ref_run *run, const void *context, struct cs_ref_tally *tally) {
    const struct job *job = context;
    if (job->bits >= 8 && cs_ref_is_dense(run, 2)) {
        int64_t size = job->bits / 8;
        const unsigned char *a = job->a + run->position[0] * size, *b = job->b + run->position[1] * size;
        if (memcmp(a, b, (size_t)(run->n * size)) == 0) return;
    }
    CS_REF_BY_WIDTH(job->bits, compare_strided, run, job, tally);
}

enum cs_status cs_ref_compare(const struct cs_device *device, const struct cs_view *a, const struct cs_view *b,
                              struct cs_difference *difference) {
    (void)device;
    struct cs_ref_walk walk = cs_ref_walk_of(a, b);
    struct job job = {a->storage->data, b->storage->data, walk.bits, walk.is_paired};
    struct cs_ref_tally tally = cs_ref_walk_visit(&walk, compare_run, &job);
    *difference = (struct cs_difference){.n_elements = tally.n_differ, .first = tally.first};
    return CS_OK;
}
