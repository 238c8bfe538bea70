/* A whole path through a cell, chosen so that it hits as many cells never hit as greedy choices find: axis by axis, in
 * an order that a seed shuffles, the value that hits most together with those chosen before. */
#include "sim/coverage/internal.h"

enum { TRIES = 6, PAIR_WEIGHT = 16 };

struct attempt {
    const struct cs_coverage_model *model;
    const struct cs_cells *cells[2]; /* pairs, then triples; NULL: do not matter */
    struct cs_way path;
    unsigned known; /* axes that have a value */
    uint64_t key, gain;
};

static uint64_t draw(struct attempt *attempt, uint64_t below) {
    return (attempt->key = cs_mix64(attempt->key + 1)) % below;
}

/* Valid cells never hit that `axis` makes together with what is known. */
static uint64_t gain_of(const struct attempt *attempt, const struct cs_cells *cells, int axis) {
    uint64_t gain = 0;
    for (size_t c = 0; cells && c < cells->n_crosses; c++) {
        const struct cs_cross *cross = &cells->crosses[c];
        unsigned axes = 0;
        for (size_t i = 0; i < cross->n_axes; i++) axes |= 1u << cross->axis[i];
        if (!(axes >> axis & 1) || axes & ~(attempt->known | 1u << axis)) continue;
        size_t cell = cs_cross_index(attempt->model, cross, &attempt->path);
        gain += cross->state[cell] == CS_PATH_VALID && !cross->hits[cell];
    }
    return gain;
}

/* Gives an axis the value that gains most; of several, one by chance, but the first device (ref is the fastest). */
static void choose_value(struct attempt *attempt, int axis) {
    size_t n = attempt->model->axis[axis].n, first = axis == CS_PATH_device ? 0 : draw(attempt, n), best = 0;
    uint64_t most = 0;
    bool is_found = false;
    for (size_t i = 0; i < n; i++) {
        const char *reason;
        size_t value = (first + i) % n;
        attempt->path.value[axis] = (uint8_t)value;
        if (cs_cell_judge(attempt->model, &attempt->path, &reason, NULL) != CS_PATH_VALID) continue;
        uint64_t gain =
            PAIR_WEIGHT * gain_of(attempt, attempt->cells[0], axis) + gain_of(attempt, attempt->cells[1], axis);
        if (is_found && gain <= most) continue;
        is_found = true;
        best = value;
        most = gain;
    }
    attempt->path.value[axis] = (uint8_t)best;
    attempt->known |= 1u << axis;
    attempt->gain += most;
}

/* What is known is part of a valid path, and stays so: some value always fits. */
static void complete(struct attempt *attempt) {
    int axes[CS_N_PATH_AXES], n = 0;
    for (int a = 0; a < CS_N_PATH_AXES; a++)
        if (!(attempt->known >> a & 1)) axes[n++] = a;
    for (; n; n--) {
        size_t i = draw(attempt, (uint64_t)n);
        choose_value(attempt, axes[i]);
        axes[i] = axes[n - 1];
    }
}

bool cs_coverage_complete(const struct cs_coverage *coverage, const struct cs_cells *pairs,
                          const struct cs_cells *triples, const struct cs_way *cell, uint64_t seed,
                          struct cs_way *path) {
    struct attempt best = {0};
    const char *reason;
    if (cs_cell_judge(coverage->model, cell, &reason, path) != CS_PATH_VALID) return false;
    for (uint64_t i = 0; i < TRIES; i++) {
        struct attempt attempt = {coverage->model, {pairs, triples}, *cell, 0, cs_mix64(seed * TRIES + i), 0};
        for (int a = 0; a < CS_N_PATH_AXES; a++)
            if (cell->value[a] != CS_PATH_ANY) attempt.known |= 1u << a;
        complete(&attempt);
        if (!best.model || attempt.gain > best.gain) best = attempt;
    }
    *path = best.path;
    return true;
}

/* ---- what must be refused ---- */

/* Illegal pairs that `axis` makes together with what is known. */
static size_t illegal_of(const struct cs_coverage_model *model, const struct cs_cells *pairs, const struct cs_way *path,
                         unsigned known, int axis) {
    size_t n = 0;
    for (size_t c = 0; c < pairs->n_crosses; c++) {
        const struct cs_cross *cross = &pairs->crosses[c];
        unsigned axes = 1u << cross->axis[0] | 1u << cross->axis[1];
        bool is_known = axes >> axis & 1 && !(axes & ~(known | 1u << axis));
        n += is_known && cross->state[cs_cross_index(model, cross, path)] != CS_PATH_VALID;
    }
    return n;
}

void cs_coverage_complete_illegal(const struct cs_coverage_model *model, const struct cs_cells *pairs,
                                  const struct cs_way *cell, struct cs_way *path) {
    unsigned known = 0;
    *path = *cell;
    for (int a = 0; a < CS_N_PATH_AXES; a++) known |= cell->value[a] == CS_PATH_ANY ? 0 : 1u << a;
    for (int a = 0; a < CS_N_PATH_AXES; a++) {
        size_t best = 0, least = SIZE_MAX;
        if (known >> a & 1) continue;
        for (size_t v = 0; v < model->axis[a].n; v++) {
            path->value[a] = (uint8_t)v;
            size_t n = illegal_of(model, pairs, path, known, a);
            if (n < least) best = v, least = n;
        }
        path->value[a] = (uint8_t)best;
        known |= 1u << a;
    }
}
