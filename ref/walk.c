#include "ref/stream.h"
#include "ref/walk.h"

enum { PIECE = 1 << 16, PARALLEL_FROM = 256 << 10 }; /* elements; bytes */

/* ---- the shape of a walk ---- */

static bool lies_densely(const struct cs_ref_walk *walk, int outer, int64_t extent, const int64_t *stride) {
    for (int v = 0; v < walk->n_views; v++)
        if (walk->stride[v][outer] != extent * stride[v]) return false;
    return true;
}

/* Adds an inner dimension, merging it with the one around it where both views allow. */
static void add_dimension(struct cs_ref_walk *walk, int64_t extent, const int64_t *stride) {
    int d = walk->ndim - 1;
    if (extent == 1) return;
    if (d >= 0 && lies_densely(walk, d, extent, stride)) {
        walk->extent[d] *= extent;
    } else {
        d = walk->ndim++;
        walk->extent[d] = extent;
    }
    for (int v = 0; v < walk->n_views; v++) walk->stride[v][d] = stride[v];
}

static bool keeps_pairs(const struct cs_ref_walk *walk) {
    int inner = walk->ndim - 1;
    if (walk->bits != 4 || walk->extent[inner] % 2) return false;
    for (int v = 0; v < walk->n_views; v++) {
        if (walk->start[v] % 2 || walk->stride[v][inner] != 1) return false;
        for (int d = 0; d < inner; d++)
            if (walk->stride[v][d] % 2) return false;
    }
    return true;
}

static void walk_pairs(struct cs_ref_walk *walk) {
    int inner = walk->ndim - 1;
    walk->bits = 8;
    walk->is_paired = true;
    walk->numel /= 2;
    walk->extent[inner] /= 2;
    for (int v = 0; v < walk->n_views; v++) {
        walk->start[v] /= 2;
        for (int d = 0; d < inner; d++) walk->stride[v][d] /= 2;
    }
}

struct cs_ref_walk cs_ref_walk_of(const struct cs_view *a, const struct cs_view *b) {
    struct cs_ref_walk walk = {.bits = cs_dtype_bits(a->dtype), .n_views = b ? 2 : 1, .numel = cs_view_numel(a)};
    walk.start[0] = a->offset;
    walk.start[1] = b ? b->offset : 0;
    if (walk.numel == 0) return walk;
    for (int d = 0; d < a->ndim; d++) {
        int64_t stride[2] = {a->stride[d], b ? b->stride[d] : 0};
        add_dimension(&walk, a->shape[d], stride);
    }
    if (walk.ndim == 0) { /* a single element */
        walk.ndim = 1;
        walk.extent[0] = walk.stride[0][0] = walk.stride[1][0] = 1;
    }
    if (keeps_pairs(&walk)) walk_pairs(&walk);
    return walk;
}

/* ---- walking ---- */

/* Moves to the start of the next innermost row. */
static void next_row(const struct cs_ref_walk *walk, int64_t *coordinate, struct cs_ref_run *run) {
    int d = walk->ndim - 1;
    for (int v = 0; v < walk->n_views; v++) run->position[v] -= coordinate[d] * walk->stride[v][d];
    coordinate[d] = 0;
    while (--d >= 0) {
        bool is_last = ++coordinate[d] == walk->extent[d];
        for (int v = 0; v < walk->n_views; v++)
            run->position[v] += (is_last ? 1 - walk->extent[d] : 1) * walk->stride[v][d];
        if (!is_last) return;
        coordinate[d] = 0;
    }
}

static void start_at(const struct cs_ref_walk *walk, int64_t index, int64_t *coordinate, struct cs_ref_run *run) {
    int inner = walk->ndim - 1;
    for (int v = 0; v < walk->n_views; v++) {
        run->position[v] = walk->start[v];
        run->stride[v] = walk->stride[v][inner];
    }
    run->index = index;
    for (int d = inner; d >= 0; d--) {
        coordinate[d] = index % walk->extent[d];
        index /= walk->extent[d];
        for (int v = 0; v < walk->n_views; v++) run->position[v] += coordinate[d] * walk->stride[v][d];
    }
}

static struct cs_ref_tally visit_piece(const struct cs_ref_walk *walk, int64_t first, int64_t end, cs_ref_visit *visit,
                                       const void *job) {
    struct cs_ref_tally tally = {.first = -1};
    struct cs_ref_run run = {0};
    int64_t coordinate[CS_NDIM];
    int inner = walk->ndim - 1;
    if (first >= end) return tally;
    start_at(walk, first, coordinate, &run);
    while (true) {
        run.n = walk->extent[inner] - coordinate[inner];
        if (run.n > end - run.index) run.n = end - run.index;
        visit(&run, job, &tally);
        run.index += run.n;
        if (run.index == end) return tally;
        next_row(walk, coordinate, &run);
    }
}

static void add_tally(struct cs_ref_tally *sum, const struct cs_ref_tally *piece) {
    sum->n_differ += piece->n_differ;
    if (piece->first >= 0 && (sum->first < 0 || piece->first < sum->first)) sum->first = piece->first;
    sum->sum += piece->sum;
    if (piece->filled) { /* the last piece */
        sum->word = piece->word;
        sum->filled = piece->filled;
    }
}

struct cs_ref_tally cs_ref_walk_visit(const struct cs_ref_walk *walk, cs_ref_visit *visit, const void *job) {
    struct cs_ref_tally sum = {.first = -1};
    int64_t n_pieces = walk->numel / PIECE + (walk->numel % PIECE != 0);
    if (walk->bits == 4 || walk->numel <= PARALLEL_FROM * 8 / walk->bits)
        return visit_piece(walk, 0, walk->numel, visit, job);
#pragma omp parallel
    {
        struct cs_ref_tally mine = {.first = -1};
#pragma omp for schedule(dynamic) nowait /* a busy machine delays a thread by one piece, not by half of the work */
        for (int64_t p = 0; p < n_pieces; p++) {
            int64_t first = p * PIECE, end = p + 1 < n_pieces ? first + PIECE : walk->numel;
            struct cs_ref_tally piece = visit_piece(walk, first, end, visit, job);
            add_tally(&mine, &piece);
        }
        cs_ref_stream_end();
#pragma omp critical(cs_ref_tally)
        add_tally(&sum, &mine);
    }
    return sum;
}
