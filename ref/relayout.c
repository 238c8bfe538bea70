/* Relayout on the CPU: every destination element fetches its source element, once, in the order of the destination.
 *
 * A plan's inner digits become a table of source offsets, so that the bulk of the work is "for each entry, copy a run";
 * the outer digits, times the matrices, are blocks that threads share. A run is the innermost digit when it is
 * contiguous in the source too: a whole row, when only rows move. Nibbles move as bytes wherever pairs stay together.
 */
#include "ref/ref.h"

#include <assert.h>
#include <string.h>

enum {
    TABLE = 1024,        /* runs in a block */
    BLOCK = 64 << 10,    /* bytes in a block: enough to hide its set-up */
    PARALLEL = 256 << 10 /* bytes from which threads pay */
};

struct job {
    struct cs_plan plan; /* as given, or nibbles paired into bytes, and digits split: outer ones, inner ones, the run */
    int64_t size, source_size; /* elements of a matrix */
    int n_outer, n_inner;
    bool has_run;                                        /* the last digit is the run */
    int64_t run, n_runs;                                 /* elements; runs of a block */
    int64_t n_outer_blocks;                              /* of a matrix */
    int64_t least[CS_PLAN_GUARDS], most[CS_PLAN_GUARDS]; /* what inner digits and run add to each guard */
    int64_t offset[TABLE];                               /* source of each run: bytes, or nibbles */
    unsigned char *destination;
    const unsigned char *source;
};

/* ---- plan → job ---- */

static bool is_even(int64_t x) { return x % 2 == 0; }

/* A guard never parts a pair of the innermost digit. */
static bool keeps_pairs(const struct cs_guard *guard, int last) {
    if (guard->coefficient[last] == 0) return true;
    bool keeps = guard->coefficient[last] == 1 && is_even(guard->constant) && is_even(guard->limit);
    for (int d = 0; d < last; d++) keeps = keeps && is_even(guard->coefficient[d]);
    return keeps;
}

/* Makes a job of nibbles one of bytes, if it never takes a pair of them apart. */
static void pair_nibbles(struct job *job) {
    struct cs_plan *plan = &job->plan;
    int last = plan->n_digits - 1;
    bool pairs = plan->digit[last].source == 1 && is_even(plan->digit[last].extent) && is_even(plan->source_start) &&
                 is_even(job->source_size);
    for (int d = 0; d < last; d++) pairs = pairs && is_even(plan->digit[d].source);
    for (int g = 0; g < plan->n_guards; g++) pairs = pairs && keeps_pairs(&plan->guard[g], last);
    if (!pairs) return;

    plan->bits = 8;
    job->size /= 2;
    job->source_size /= 2;
    plan->source_start /= 2;
    plan->digit[last].extent /= 2;
    for (int d = 0; d < last; d++) plan->digit[d].source /= 2;
    for (int g = 0; g < plan->n_guards; g++) {
        struct cs_guard *guard = &plan->guard[g];
        if (guard->coefficient[last] == 0) continue;
        guard->constant /= 2;
        guard->limit /= 2;
        for (int d = 0; d < last; d++) guard->coefficient[d] /= 2;
    }
}

/* Digit d becomes two, the inner one of `extent`. Destination strides are of no use here: the order says it all. */
static void split(struct cs_plan *plan, int d, int64_t extent) {
    for (int i = plan->n_digits++; i > d; i--) {
        plan->digit[i] = plan->digit[i - 1];
        for (int g = 0; g < plan->n_guards; g++) plan->guard[g].coefficient[i] = plan->guard[g].coefficient[i - 1];
    }
    plan->digit[d].extent /= extent;
    plan->digit[d].source *= extent;
    plan->digit[d + 1].extent = extent;
    for (int g = 0; g < plan->n_guards; g++) plan->guard[g].coefficient[d] *= extent;
}

static int64_t largest_divisor(int64_t x, int64_t limit) {
    int64_t divisor = limit;
    while (x % divisor != 0) divisor--;
    return divisor;
}

static void choose_run(struct job *job) {
    struct cs_plan *plan = &job->plan;
    int last = plan->n_digits - 1;
    job->run = 1;
    job->has_run = plan->bits >= 8 && plan->digit[last].source == 1;
    if (!job->has_run) return;
    job->run = plan->digit[last].extent;
    while (job->run > BLOCK && is_even(job->run)) job->run /= 2; /* leaves work for other threads */
    if (job->run == plan->digit[last].extent) return;
    if (plan->n_digits < CS_PLAN_DIGITS)
        split(plan, last, job->run);
    else
        job->run = plan->digit[last].extent;
}

static void choose_blocks(struct job *job) {
    struct cs_plan *plan = &job->plan;
    int64_t most = BLOCK / (job->run * plan->bits / 8 + 1);
    most = most < 1 ? 1 : most > TABLE ? TABLE : most;
    job->n_runs = 1;
    int d = plan->n_digits - job->has_run; /* the first inner digit */
    while (d > 0) {
        int64_t extent = plan->digit[d - 1].extent, room = most / job->n_runs;
        int64_t part = extent <= room ? extent : largest_divisor(extent, room);
        if (part < extent && (part == 1 || plan->n_digits == CS_PLAN_DIGITS)) break;
        job->n_runs *= part;
        if (part < extent) {
            split(plan, d - 1, part);
            break;
        }
        d--;
    }
    job->n_outer = d;
    job->n_inner = plan->n_digits - job->has_run - d;
    job->n_outer_blocks = job->size / (job->n_runs * job->run);
}

/* Fills the table, and what a block can add to each guard. */
static void tabulate(struct job *job) {
    const struct cs_plan *plan = &job->plan;
    int64_t unit = plan->bits >= 8 ? plan->bits / 8 : 1;
    for (int64_t i = 0; i < job->n_runs; i++) {
        int64_t rest = i, source = 0;
        for (int d = job->n_outer + job->n_inner - 1; d >= job->n_outer; d--) {
            source += rest % plan->digit[d].extent * plan->digit[d].source;
            rest /= plan->digit[d].extent;
        }
        job->offset[i] = source * unit;
    }
    for (int g = 0; g < plan->n_guards; g++) {
        for (int d = job->n_outer; d < plan->n_digits; d++) {
            int64_t reach = (plan->digit[d].extent - 1) * plan->guard[g].coefficient[d];
            *(reach < 0 ? &job->least[g] : &job->most[g]) += reach;
        }
    }
}

/* ---- one block ---- */

struct block {
    int64_t index;                 /* its first element is index * n_runs * run of the destination */
    int64_t source;                /* element */
    int64_t guard[CS_PLAN_GUARDS]; /* value at its first element */
    bool is_inside, is_outside;    /* all of it, of all guards; of one guard */
};

static struct block find_block(const struct job *job, int64_t index) {
    const struct cs_plan *plan = &job->plan;
    int64_t rest = index % job->n_outer_blocks;
    struct block block = {.index = index, .is_inside = true};
    block.source = index / job->n_outer_blocks * job->source_size + plan->source_start;
    for (int g = 0; g < plan->n_guards; g++) block.guard[g] = plan->guard[g].constant;
    for (int d = job->n_outer - 1; d >= 0; d--) {
        int64_t digit = rest % plan->digit[d].extent;
        rest /= plan->digit[d].extent;
        block.source += digit * plan->digit[d].source;
        for (int g = 0; g < plan->n_guards; g++) block.guard[g] += digit * plan->guard[g].coefficient[d];
    }
    for (int g = 0; g < plan->n_guards; g++) {
        if (block.guard[g] + job->most[g] >= plan->guard[g].limit) block.is_inside = false;
        if (block.guard[g] + job->least[g] >= plan->guard[g].limit) block.is_outside = true;
    }
    return block;
}

/* How many elements run i begins with before padding. Guards never fall along a run: both count source elements up. */
static int64_t elements_inside(const struct job *job, const struct block *block, int64_t i) {
    const struct cs_plan *plan = &job->plan;
    int64_t inside = job->run;
    for (int g = 0; g < plan->n_guards; g++) {
        const struct cs_guard *guard = &plan->guard[g];
        int64_t rest = i, left = guard->limit - block->guard[g];
        for (int d = job->n_outer + job->n_inner - 1; d >= job->n_outer; d--) {
            left -= rest % plan->digit[d].extent * guard->coefficient[d];
            rest /= plan->digit[d].extent;
        }
        int64_t step = job->has_run ? guard->coefficient[plan->n_digits - 1] : 0;
        assert(step >= 0);
        if (left <= 0) return 0;
        if (step > 0 && (left - 1) / step + 1 < inside) inside = (left - 1) / step + 1;
    }
    return inside;
}

/* Inlined with a constant size, a copy is one load and one store. */
static inline void copy_runs(unsigned char *restrict destination, const unsigned char *restrict source,
                             const int64_t *restrict offset, int64_t n, size_t size) {
    for (int64_t i = 0; i < n; i++) memcpy(destination + (size_t)i * size, source + offset[i], size);
}

static void copy_block(const struct job *job, unsigned char *destination, const unsigned char *source, size_t size) {
    switch (size) {
    case 1:
        copy_runs(destination, source, job->offset, job->n_runs, 1);
        break;
    case 2:
        copy_runs(destination, source, job->offset, job->n_runs, 2);
        break;
    case 4:
        copy_runs(destination, source, job->offset, job->n_runs, 4);
        break;
    case 8:
        copy_runs(destination, source, job->offset, job->n_runs, 8);
        break;
    case 16:
        copy_runs(destination, source, job->offset, job->n_runs, 16);
        break;
    default:
        copy_runs(destination, source, job->offset, job->n_runs, size);
        break;
    }
}

static void move_bytes(const struct job *job, const struct block *block) {
    int64_t unit = job->plan.bits / 8;
    size_t size = (size_t)(job->run * unit);
    unsigned char *destination = job->destination + (size_t)block->index * (size_t)job->n_runs * size;
    if (block->is_outside) {
        memset(destination, 0, (size_t)job->n_runs * size);
    } else if (block->is_inside) {
        copy_block(job, destination, job->source + block->source * unit, size);
    } else {
        for (int64_t i = 0; i < job->n_runs; i++, destination += size) {
            size_t inside = (size_t)(elements_inside(job, block, i) * unit);
            if (inside > 0) memcpy(destination, job->source + (block->source * unit + job->offset[i]), inside);
            memset(destination + inside, 0, size - inside);
        }
    }
}

static unsigned get_nibble(const unsigned char *bytes, int64_t i) {
    unsigned pair = bytes[i >> 1];
    return i & 1 ? pair >> 4 : pair & 15;
}

static void copy_nibbles(unsigned char *restrict destination, const unsigned char *restrict source, int64_t start,
                         const int64_t *restrict offset, int64_t n) {
    for (int64_t i = 0; i < n; i += 2) {
        unsigned low = get_nibble(source, start + offset[i]), high = get_nibble(source, start + offset[i + 1]);
        destination[i / 2] = (unsigned char)(low | high << 4);
    }
}

static void move_nibbles(const struct job *job, const struct block *block) {
    int64_t start = block->index * job->n_runs;
    if (block->is_inside && is_even(job->n_runs)) {
        copy_nibbles(job->destination + start / 2, job->source, block->source, job->offset, job->n_runs);
        return;
    }
    for (int64_t i = 0; i < job->n_runs; i++) {
        unsigned char *byte = &job->destination[(start + i) / 2];
        unsigned shift = is_even(start + i) ? 0 : 4, nibble = 0;
        if (!block->is_outside && elements_inside(job, block, i) > 0)
            nibble = get_nibble(job->source, block->source + job->offset[i]);
        *byte = (unsigned char)((*byte & ~(15u << shift)) | nibble << shift);
    }
}

/* ---- words ---- */

static void permute_words(const uint8_t *word, unsigned char *bytes, int64_t n_words) {
    uint32_t moved[4][256] = {{0}}; /* where the bits of a byte value go, by its position in the word */
    for (unsigned bit = 0; bit < 32; bit++) {
        for (unsigned value = 0; value < 256; value++) {
            if (value >> bit % 8 & 1) moved[bit / 8][value] |= UINT32_C(1) << word[bit];
        }
    }
#pragma omp parallel for schedule(static) if (n_words > PARALLEL / 4)
    for (int64_t w = 0; w < n_words; w++) {
        unsigned char *b = bytes + 4 * w;
        uint32_t result = moved[0][b[0]] | moved[1][b[1]] | moved[2][b[2]] | moved[3][b[3]];
        for (unsigned i = 0; i < 4; i++) b[i] = (unsigned char)(result >> 8 * i);
    }
}

enum cs_status cs_ref_relayout(const struct cs_device *device, const struct cs_plan *plan, int64_t n_matrices,
                               const struct cs_view *destination, const struct cs_view *source) {
    (void)device;
    struct job job = {.plan = *plan, .size = plan->rows * plan->columns};
    job.source_size = plan->source_rows * plan->source_columns;
    job.destination = (unsigned char *)destination->storage->data + cs_view_byte_offset(destination);
    job.source = (const unsigned char *)source->storage->data + cs_view_byte_offset(source);
    if (plan->bits == 4) pair_nibbles(&job);
    choose_run(&job);
    choose_blocks(&job);
    tabulate(&job);

    int64_t n_blocks = n_matrices * job.n_outer_blocks;
    int64_t n_bytes = n_matrices * plan->rows * plan->columns * plan->bits / 8;
    bool is_nibbles = job.plan.bits == 4;
    bool shares_bytes = is_nibbles && !is_even(job.n_runs); /* neighbouring blocks write the same byte */
#pragma omp parallel for schedule(static) if (n_bytes > PARALLEL && !shares_bytes)
    for (int64_t index = 0; index < n_blocks; index++) {
        struct block block = find_block(&job, index);
        if (is_nibbles)
            move_nibbles(&job, &block);
        else
            move_bytes(&job, &block);
    }
    if (plan->word) permute_words(plan->word, job.destination, n_bytes / 4);
    return CS_OK;
}
