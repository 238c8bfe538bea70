/* Relayout on the CPU: every destination element fetches its source element, once.
 *
 * The bulk of the work is "for each entry of a table, copy a run" (relayout.h says which tables, relayout_prepare.c
 * makes them). Nibbles move as bytes wherever pairs stay together, and words that are made of four bytes' bits, whether
 * by a layout's permutation or because nibbles are woven, are added up from tables of byte values. */
#include "ref/relayout.h"
#include "ref/ref.h"
#include "ref/stream.h"

#include <assert.h>
#include <string.h>

enum {
    PARALLEL = 256 << 10, /* bytes from which threads pay */
    SHARE = 128 << 10     /* bytes that a thread takes at a time, in whole tiles */
};

struct job {
    const struct cs_ref_relayout *r;
    bool is_streamed; /* large enough for stores past the caches */
    unsigned char *destination;
    const unsigned char *source;
};

/* ---- one block ---- */

struct block {
    int64_t destination, source;   /* elements */
    int64_t guard[CS_PLAN_GUARDS]; /* value at its first element */
    bool is_inside, is_outside;    /* all of it, of all guards; of one guard */
};

/* The first block of a tile. */
static struct block find_tile(const struct cs_ref_relayout *r, int64_t index) {
    const struct cs_plan *plan = &r->plan;
    int64_t matrix = index / r->n_tiles, rest = index % r->n_tiles;
    struct block tile = {.destination = matrix * r->size, .source = matrix * r->source_size + plan->source_start};
    for (int g = 0; g < plan->n_guards; g++) tile.guard[g] = plan->guard[g].constant;
    for (int d = r->n_far - 1; d >= 0; d--) {
        int64_t digit = rest % plan->digit[d].extent;
        rest /= plan->digit[d].extent;
        tile.destination += digit * plan->digit[d].destination;
        tile.source += digit * plan->digit[d].source;
        for (int g = 0; g < plan->n_guards; g++) tile.guard[g] += digit * plan->guard[g].coefficient[d];
    }
    return tile;
}

static struct block find_block(const struct cs_ref_relayout *r, const struct block *tile,
                               const struct cs_ref_near *near) {
    const struct cs_plan *plan = &r->plan;
    struct block block = *tile;
    block.destination += near->destination;
    block.source += near->source;
    block.is_inside = true;
    for (int g = 0; g < plan->n_guards; g++) {
        block.guard[g] += near->guard[g];
        if (block.guard[g] + r->most[g] >= plan->guard[g].limit) block.is_inside = false;
        if (block.guard[g] + r->least[g] >= plan->guard[g].limit) block.is_outside = true;
    }
    return block;
}

/* How many elements run i begins with before padding. Guards do not fall along one (relayout_prepare.c). */
static int64_t elements_inside(const struct cs_ref_relayout *r, const struct block *block, int64_t i) {
    const struct cs_plan *plan = &r->plan;
    int64_t inside = r->run;
    int first = r->n_far + r->n_near;
    for (int g = 0; g < plan->n_guards; g++) {
        const struct cs_guard *guard = &plan->guard[g];
        int64_t rest = i, left = guard->limit - block->guard[g];
        for (int d = first + r->n_inner - 1; d >= first; d--) {
            left -= rest % plan->digit[d].extent * guard->coefficient[d];
            rest /= plan->digit[d].extent;
        }
        int64_t step = r->has_run ? guard->coefficient[plan->n_digits - 1] : 0;
        assert(step >= 0);
        if (left <= 0) return 0;
        if (step > 0 && (left - 1) / step + 1 < inside) inside = (left - 1) / step + 1;
    }
    return inside;
}

/* ---- bytes ---- */

/* Inlined with a constant size, a copy is one load and one store. */
static inline __attribute__((always_inline)) void copy_sized(const struct cs_ref_relayout *r,
                                                             unsigned char *restrict destination,
                                                             const unsigned char *restrict source, size_t size) {
    for (int64_t i = 0; i < r->n_runs; i++) memcpy(destination + (size_t)i * size, source + r->offset[i], size);
}

static void copy_runs(const struct cs_ref_relayout *r, unsigned char *destination, const unsigned char *source,
                      size_t size) {
    switch (size) {
    case 1:
        copy_sized(r, destination, source, 1);
        return;
    case 2:
        copy_sized(r, destination, source, 2);
        return;
    case 4:
        copy_sized(r, destination, source, 4);
        return;
    case 8:
        copy_sized(r, destination, source, 8);
        return;
    default:
        break;
    }
    for (int64_t i = 0; i < r->n_runs; i++) {
        __builtin_prefetch(source + r->offset[i + CS_REF_AHEAD]);
        memcpy(destination + (size_t)i * size, source + r->offset[i], size);
    }
}

static void stream_runs(const struct cs_ref_relayout *r, unsigned char *destination, const unsigned char *source,
                        size_t size) {
    unsigned char stage[CS_REF_STAGE];
    size_t bytes = (size_t)r->n_runs * size;
    if (size < CS_REF_LONG_RUN && bytes <= CS_REF_STAGE) {
        copy_runs(r, stage, source, size);
        cs_ref_stream_copy(destination, stage, bytes, stage);
        return;
    }
    for (int64_t i = 0; i < r->n_runs; i++)
        cs_ref_stream_copy(destination + (size_t)i * size, source + r->offset[i], size, source + r->offset[i + 1]);
}

static void move_bytes(const struct job *job, const struct block *block) {
    const struct cs_ref_relayout *r = job->r;
    int64_t unit = r->plan.bits / 8;
    size_t size = (size_t)(r->run * unit);
    unsigned char *destination = job->destination + block->destination * unit;
    const unsigned char *source = job->source + block->source * unit;
    if (block->is_outside) {
        memset(destination, 0, (size_t)r->n_runs * size);
    } else if (block->is_inside) {
        if (job->is_streamed)
            stream_runs(r, destination, source, size);
        else
            copy_runs(r, destination, source, size);
    } else {
        for (int64_t i = 0; i < r->n_runs; i++, destination += size) {
            size_t inside = (size_t)(elements_inside(r, block, i) * unit);
            if (inside > 0) memcpy(destination, source + r->offset[i], inside);
            memset(destination + inside, 0, size - inside);
        }
    }
}

/* ---- nibbles ---- */

static bool is_even(int64_t x) { return x % 2 == 0; }

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
    const struct cs_ref_relayout *r = job->r;
    int64_t start = block->destination;
    if (block->is_inside && is_even(r->n_runs)) {
        copy_nibbles(job->destination + start / 2, job->source, block->source, r->offset, r->n_runs);
        return;
    }
    for (int64_t i = 0; i < r->n_runs; i++) {
        unsigned char *byte = &job->destination[(start + i) / 2];
        unsigned shift = is_even(start + i) ? 0 : 4, nibble = 0;
        if (!block->is_outside && elements_inside(r, block, i) > 0)
            nibble = get_nibble(job->source, block->source + r->offset[i]);
        *byte = (unsigned char)((*byte & ~(15u << shift)) | nibble << shift);
    }
}

/* ---- packed tiles ---- */

/* Inlined with a constant size, a copy is one load and one store. */
static inline __attribute__((always_inline)) void gather_runs(unsigned char *restrict destination,
                                                              const unsigned char *restrict source,
                                                              const uint16_t *restrict packed, int64_t n, size_t size) {
    for (int64_t i = 0; i < n; i++) memcpy(destination + (size_t)i * size, source + packed[i], size);
}

/* Eight bytes are one store. */
static void gather_bytes(unsigned char *restrict destination, const unsigned char *restrict source,
                         const uint16_t *restrict p, int64_t n) {
    int64_t i = 0;
    for (; i + 8 <= n; i += 8, p += 8) {
        const unsigned char bytes[8] = {source[p[0]], source[p[1]], source[p[2]], source[p[3]],
                                        source[p[4]], source[p[5]], source[p[6]], source[p[7]]};
        memcpy(destination + i, bytes, 8);
    }
    gather_runs(destination + i, source, p, n - i, 1);
}

/* So are two words. */
static void gather_pairs(unsigned char *restrict destination, const unsigned char *restrict source,
                         const uint16_t *restrict p, int64_t n) {
    int64_t i = 0;
    for (; i + 2 <= n; i += 2) {
        uint32_t words[2];
        memcpy(&words[0], source + p[i], 4);
        memcpy(&words[1], source + p[i + 1], 4);
        memcpy(destination + 4 * i, words, 8);
    }
    gather_runs(destination + 4 * i, source, p + i, n - i, 4);
}

static void store_word(unsigned char *to, uint32_t word) {
    const unsigned char bytes[4] = {(unsigned char)word, (unsigned char)(word >> 8), (unsigned char)(word >> 16),
                                    (unsigned char)(word >> 24)};
    memcpy(to, bytes, 4);
}

static void gather_words(unsigned char *restrict destination, const unsigned char *restrict source,
                         const struct cs_ref_relayout *r, int64_t n_words) {
    const uint16_t *p = r->packed;
    for (int64_t w = 0; w < n_words; w++, p += 4) {
        uint32_t word = r->moved[0][source[p[0]]] | r->moved[1][source[p[1]]];
        store_word(destination + 4 * w, word | r->moved[2][source[p[2]]] | r->moved[3][source[p[3]]]);
    }
}

/* ---- units of 16 bytes that are put together in registers and streamed ---- */

static inline __attribute__((always_inline)) uint32_t word_at(const unsigned char *source, int64_t at) {
    uint32_t word;
    memcpy(&word, source + at, 4);
    return word;
}

static void stream_pairs(unsigned char *destination, const unsigned char *source, const uint16_t *p, int64_t n) {
    for (int64_t i = 0; i < n; i += 4) {
        const uint32_t words[4] = {word_at(source, p[i]), word_at(source, p[i + 1]), word_at(source, p[i + 2]),
                                   word_at(source, p[i + 3])};
        cs_ref_stream_unit(destination + 4 * i, words);
    }
}

static void stream_words(unsigned char *destination, const unsigned char *source, const struct cs_ref_relayout *r,
                         int64_t n_words) {
    const uint16_t *p = r->packed;
    for (int64_t w = 0; w < n_words; w += 4, p += 16) {
        uint32_t words[4];
        for (int k = 0; k < 4; k++) {
            words[k] = r->moved[0][source[p[4 * k]]] | r->moved[1][source[p[4 * k + 1]]] |
                       r->moved[2][source[p[4 * k + 2]]] | r->moved[3][source[p[4 * k + 3]]];
        }
        cs_ref_stream_unit(destination + 4 * w, words);
    }
}

/* False when the block is none of such units. */
static bool stream_units(const struct cs_ref_relayout *r, unsigned char *destination, const unsigned char *source,
                         size_t bytes) {
    bool is_word_run = r->run * r->plan.bits == 32;
    if ((uintptr_t)destination % CS_REF_STREAM_UNIT || bytes % CS_REF_STREAM_UNIT) return false;
    if (!r->makes_words && !is_word_run) return false;
    if (r->makes_words)
        stream_words(destination, source, r, (int64_t)bytes / 4);
    else
        stream_pairs(destination, source, r->packed, r->n_runs);
    return true;
}

static void gather(const struct cs_ref_relayout *r, unsigned char *destination, const unsigned char *source) {
    size_t size = (size_t)(r->run * r->plan.bits / 8);
    if (r->makes_words) {
        gather_words(destination, source, r, r->n_runs * r->run * r->plan.bits / 32);
        return;
    }
    switch (size) {
    case 1:
        gather_bytes(destination, source, r->packed, r->n_runs);
        break;
    case 2:
        gather_runs(destination, source, r->packed, r->n_runs, 2);
        break;
    case 4:
        gather_pairs(destination, source, r->packed, r->n_runs);
        break;
    case 8:
        gather_runs(destination, source, r->packed, r->n_runs, 8);
        break;
    case 16:
        gather_runs(destination, source, r->packed, r->n_runs, 16);
        break;
    default:
        gather_runs(destination, source, r->packed, r->n_runs, size);
        break;
    }
}

static void pack_tile(const struct cs_ref_relayout *r, const unsigned char *source, unsigned char *pack) {
    for (int64_t w = 0; w < r->n_windows; w++, pack += r->window_bytes)
        memcpy(pack, source + r->window[w], (size_t)r->window_bytes);
}

/* The windows of the next tile are fetched into the cache while this tile's blocks are at work: some of them with block
 * b, or a part of each when they are few. */
static void fetch_share(const struct cs_ref_relayout *r, const unsigned char *next, int64_t b) {
    int64_t first = 0, end = r->n_windows, from = 0, to = r->window_bytes;
    if (end >= r->n_blocks) {
        first = r->n_windows * b / r->n_blocks;
        end = r->n_windows * (b + 1) / r->n_blocks;
    } else {
        from = r->window_bytes * b / r->n_blocks;
        to = r->window_bytes * (b + 1) / r->n_blocks;
    }
    for (int64_t w = first; w < end; w++)
        for (int64_t byte = from; byte < to; byte += 64) __builtin_prefetch(next + r->window[w] + byte);
}

static void move_packed(const struct job *job, const struct block *tile, const struct block *next) {
    const struct cs_ref_relayout *r = job->r;
    unsigned char pack[CS_REF_PACK], stage[CS_REF_STAGE];
    int bits = r->plan.bits;
    size_t bytes = (size_t)(r->n_runs * r->run * bits / 8);
    bool is_staged = job->is_streamed && bytes <= CS_REF_STAGE;
    pack_tile(r, job->source + tile->source * bits / 8, pack);
    for (int64_t b = 0; b < r->n_blocks; b++) {
        unsigned char *destination = job->destination + (tile->destination + r->near[b].destination) * bits / 8;
        fetch_share(r, job->source + next->source * bits / 8, b);
        if (is_staged && stream_units(r, destination, pack + r->near_packed[b], bytes)) continue;
        gather(r, is_staged ? stage : destination, pack + r->near_packed[b]);
        if (is_staged) cs_ref_stream_copy(destination, stage, bytes, stage);
    }
}

/* ---- words that were moved as they are ---- */

static void permute_words(const struct cs_ref_relayout *r, unsigned char *bytes, int64_t n_words) {
    for (unsigned char *b = bytes; b < bytes + 4 * n_words; b += 4)
        store_word(b, r->moved[0][b[0]] | r->moved[1][b[1]] | r->moved[2][b[2]] | r->moved[3][b[3]]);
}

/* ---- the operation ---- */

static bool is_inside(const struct cs_ref_relayout *r, const struct block *tile) {
    for (int g = 0; g < r->plan.n_guards; g++)
        if (tile->guard[g] + r->most_near[g] + r->most[g] >= r->plan.guard[g].limit) return false;
    return true;
}

static void move_tile(const struct job *job, const struct block *tile, const struct block *next) {
    const struct cs_ref_relayout *r = job->r;
    if (r->is_packed && is_inside(r, tile)) {
        move_packed(job, tile, next);
        return;
    }
    int64_t n_words = r->makes_words ? r->n_runs * r->run * r->plan.bits / 32 : 0;
    for (int64_t b = 0; b < r->n_blocks; b++) {
        struct block block = find_block(r, tile, &r->near[b]);
        if (r->plan.bits == 4)
            move_nibbles(job, &block);
        else
            move_bytes(job, &block);
        permute_words(r, job->destination + block.destination * r->plan.bits / 8, n_words);
    }
}

/* Tiles [first, end). */
static void move_tiles(const struct job *job, int64_t first, int64_t end) {
    if (first >= end) return;
    struct block next = find_tile(job->r, first);
    for (int64_t i = first; i < end; i++) {
        struct block tile = next;
        if (i + 1 < end) next = find_tile(job->r, i + 1);
        move_tile(job, &tile, &next);
    }
    cs_ref_stream_end();
}

enum cs_status cs_ref_relayout(const struct cs_device *device, const struct cs_plan *plan, int64_t n_matrices,
                               const struct cs_view *destination, const struct cs_view *source) {
    struct cs_ref_relayout r;
    struct job job = {.r = &r};
    (void)device;
    cs_ref_relayout_prepare(&r, plan);
    job.destination = (unsigned char *)destination->storage->data + cs_view_byte_offset(destination);
    job.source = (const unsigned char *)source->storage->data + cs_view_byte_offset(source);

    int64_t n_tiles = n_matrices * r.n_tiles, n_bytes = n_matrices * plan->rows * plan->columns * plan->bits / 8;
    int64_t tile_bytes = r.n_blocks * r.n_runs * r.run * r.plan.bits / 8,
            n_share = tile_bytes < SHARE ? SHARE / (tile_bytes + 1) + 1 : 1;
    bool shares_bytes = r.plan.bits == 4 && !is_even(r.n_runs); /* neighbouring blocks write the same byte */
    job.is_streamed = n_bytes >= CS_REF_STREAM_FROM;
#pragma omp parallel for schedule(dynamic) if (n_bytes > PARALLEL && !shares_bytes)
    for (int64_t first = 0; first < n_tiles; first += n_share)
        move_tiles(&job, first, n_tiles - first < n_share ? n_tiles : first + n_share);
    if (plan->word && !r.makes_words) {
        int64_t n_words = n_bytes / 4;
#pragma omp parallel for schedule(static) if (n_bytes > PARALLEL)
        for (int64_t w = 0; w < n_words; w++) permute_words(&r, job.destination + 4 * w, 1);
    }
    return CS_OK;
}
