#include "ref/ref.h"
#include "ref/walk.h"
#include "ref/wide.h"

struct job {
    const unsigned char *base;
    int bits;
};

static inline uint64_t word_digest(uint64_t word, int64_t index) {
    return cs_mix64(word + (uint64_t)index * CS_DIGEST_STEP);
}

/* The first n elements of what is left of a run, packed into words. Pieces begin at a word: none is shared. */
static void pack_elements(struct cs_ref_run *run, int64_t n, const struct job *job, struct cs_ref_tally *tally) {
    int64_t in_word = 64 / job->bits;
    for (int64_t i = 0; i < n; i++, run->index++, run->position[0] += run->stride[0]) {
        tally->word |= cs_ref_load(job->base, job->bits, run->position[0]) << tally->filled;
        tally->filled += job->bits;
        if (tally->filled < 64) continue;
        tally->sum += word_digest(tally->word, run->index / in_word);
        tally->word = 0;
        tally->filled = 0;
    }
    run->n -= n;
}

/* Sum of the digests of n words, the first of which is word `first` of the view. */
CS_REF_LOOP sum_words_loop(const cs_ref_word *words, int64_t n, int64_t first, uint64_t *result) {
    uint64_t sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t w = 0; w < n; w++) sum += word_digest(words[w], first + w);
    *result = sum;
}
CS_REF_WIDE(sum_words, (const cs_ref_word *words, int64_t n, int64_t first, uint64_t *result),
            (words, n, first, result))

/* The same for n whole words of a dense run, when no word is begun. */
static void add_words(struct cs_ref_run *run, int64_t n, const struct job *job, struct cs_ref_tally *tally) {
    const unsigned char *bytes = job->base + run->position[0] * (job->bits / 8);
    int64_t in_word = 64 / job->bits, first = run->index / in_word;
    uint64_t sum;
    sum_words((const cs_ref_word *)(const void *)bytes, n, first, &sum);
    tally->sum += sum;
    run->index += n * in_word;
    run->position[0] += n * in_word;
    run->n -= n * in_word;
}

static void digest_run(const struct cs_ref_run *run, const void *context, struct cs_ref_tally *tally) {
    const struct job *job = context;
    struct cs_ref_run rest = *run;
    if (job->bits >= 8 && cs_ref_is_dense(run, 1)) {
        int64_t to_word = tally->filled ? (64 - tally->filled) / job->bits : 0;
        pack_elements(&rest, to_word < rest.n ? to_word : rest.n, job, tally);
        add_words(&rest, rest.n / (64 / job->bits), job, tally);
    }
    pack_elements(&rest, rest.n, job, tally);
}

enum cs_status cs_ref_digest(const struct cs_device *device, const struct cs_view *view, uint64_t *digest) {
    (void)device;
    struct cs_ref_walk walk = cs_ref_walk_of(view, NULL);
    struct job job = {view->storage->data, walk.bits};
    struct cs_ref_tally tally = cs_ref_walk_visit(&walk, digest_run, &job);
    if (tally.filled) tally.sum += word_digest(tally.word, walk.numel / (64 / walk.bits));
    uint64_t numel = (uint64_t)walk.numel;
    uint64_t n_bytes = walk.bits == 4 ? (numel + 1) / 2 : numel * (uint64_t)(walk.bits / 8);
    *digest = tally.sum + cs_mix64(n_bytes);
    return CS_OK;
}
