#include "ref/ref.h"
#include "ref/walk.h"

struct job {
    unsigned char *destination;
    const unsigned char *source;
    int bits;
};

static inline __attribute__((always_inline)) void copy_strided(const struct cs_ref_run *run, const struct job *job,
                                                               int bits) {
    int64_t to = run->position[0], from = run->position[1];
    for (int64_t i = 0; i < run->n; i++, to += run->stride[0], from += run->stride[1])
        cs_ref_store(job->destination, bits, to, cs_ref_load(job->source, bits, from));
}

static void copy_run(const struct cs_ref_run *run, const void *context, struct cs_ref_tally *tally) {
    const struct job *job = context;
    (void)tally;
    if (job->bits >= 8 && cs_ref_is_dense(run, 2)) {
        int64_t size = job->bits / 8;
        memcpy(job->destination + run->position[0] * size, job->source + run->position[1] * size,
               (size_t)(run->n * size));
        return;
    }
    CS_REF_BY_WIDTH(job->bits, copy_strided, run, job);
}

enum cs_status cs_ref_copy(const struct cs_device *device, const struct cs_view *destination,
                           const struct cs_view *source) {
    (void)device;
    struct cs_ref_walk walk = cs_ref_walk_of(destination, source);
    struct job job = {destination->storage->data, source->storage->data, walk.bits};
    cs_ref_walk_visit(&walk, copy_run, &job);
    return CS_OK;
}
