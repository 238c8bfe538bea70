/* Cells of two or three axes: their states, and which of them were hit. */
#include "coverage/model.h"
#include "sim/coverage/internal.h"

#include <string.h>

/* ---- numbering ---- */

size_t cs_cross_index(const struct cs_coverage_model *model, const struct cs_cross *cross, const struct cs_way *path) {
    size_t index = 0;
    for (size_t i = 0; i < cross->n_axes; i++)
        index = index * model->axis[cross->axis[i]].n + path->value[cross->axis[i]];
    return index;
}

void cs_cross_cell(const struct cs_coverage_model *model, const struct cs_cross *cross, size_t index,
                   struct cs_way *cell) {
    memset(cell, CS_PATH_ANY, sizeof *cell);
    for (size_t i = cross->n_axes; i-- > 0;) {
        size_t n = model->axis[cross->axis[i]].n;
        cell->value[cross->axis[i]] = (uint8_t)(index % n);
        index /= n;
    }
}

/* ---- counting ---- */

/* A triple is no better than its pairs, which are fewer: most triples need no search. */
static enum cs_path_state worst_pair(const struct cs_coverage_model *model, const struct cs_cells *pairs,
                                     const struct cs_cross *cross, const struct cs_way *cell) {
    enum cs_path_state worst = CS_PATH_VALID;
    for (size_t c = 0; pairs && c < pairs->n_crosses; c++) {
        const struct cs_cross *pair = &pairs->crosses[c];
        bool is_part = cell->value[pair->axis[0]] != CS_PATH_ANY && cell->value[pair->axis[1]] != CS_PATH_ANY;
        if (!is_part || cross->n_axes < 3) continue;
        enum cs_path_state state = (enum cs_path_state)pair->state[cs_cross_index(model, pair, cell)];
        if (state > worst) worst = state;
    }
    return worst;
}

static enum cs_status open_cross(const struct cs_coverage_model *model, const struct cs_cells *pairs,
                                 struct cs_arena *arena, struct cs_cross *cross) {
    cross->n_cells = 1;
    for (size_t i = 0; i < cross->n_axes; i++) cross->n_cells *= model->axis[cross->axis[i]].n;
    cross->state = CS_NEW_ARRAY(arena, uint8_t, cross->n_cells);
    cross->hits = CS_NEW_ARRAY(arena, uint32_t, cross->n_cells);
    cross->accepted = CS_NEW_ARRAY(arena, uint32_t, cross->n_cells);
    CS_REQUIRE(cross->state && cross->hits && cross->accepted, CS_NO_MEMORY, "out of memory for %zu cells",
               cross->n_cells);
    for (size_t i = 0; i < cross->n_cells; i++) {
        struct cs_way cell;
        const char *reason;
        cs_cross_cell(model, cross, i, &cell);
        enum cs_path_state state = worst_pair(model, pairs, cross, &cell);
        cross->state[i] = (uint8_t)(state == CS_PATH_VALID ? cs_cell_judge(model, &cell, &reason, NULL) : state);
    }
    return CS_OK;
}

static uint32_t clamp(uint32_t a, int64_t b) { return b > (int64_t)(UINT32_MAX - a) ? UINT32_MAX : a + (uint32_t)b; }

static void count_hits(const struct cs_coverage *coverage, struct cs_cross *cross) {
    for (size_t p = 0; p < coverage->n_paths; p++) {
        const struct cs_seen_path *seen = &coverage->paths[p];
        size_t i = cs_cross_index(coverage->model, cross, &seen->path);
        cross->hits[i] = clamp(cross->hits[i], cs_seen_hits(seen));
        cross->accepted[i] = clamp(cross->accepted[i], seen->accepted);
    }
}

static void count_states(const struct cs_cross *cross, struct cs_cells *cells) {
    for (size_t i = 0; i < cross->n_cells; i++) {
        bool is_valid = cross->state[i] == CS_PATH_VALID;
        cells->n_valid += is_valid;
        cells->n_hit += is_valid && cross->hits[i];
        cells->n_refused += is_valid && cross->hits[i] && !cross->accepted[i];
        cells->n_ignored += cross->state[i] == CS_PATH_IGNORED;
        cells->n_illegal += cross->state[i] == CS_PATH_ILLEGAL;
    }
}

enum cs_status cs_cells_count(const struct cs_coverage *coverage, size_t n_axes, struct cs_arena *arena,
                              struct cs_cells *cells) {
    enum { MOST = CS_N_PATH_AXES * CS_N_PATH_AXES * CS_N_PATH_AXES };
    struct cs_cells pairs;
    if (n_axes == 3) CS_TRY(cs_cells_count(coverage, 2, arena, &pairs));
    *cells = (struct cs_cells){.crosses = CS_NEW_ARRAY(arena, struct cs_cross, MOST)};
    CS_REQUIRE(cells->crosses, CS_NO_MEMORY, "out of memory for cells");
    int last = n_axes == 3 ? CS_N_PATH_AXES : 1;
    for (int a = 0; a < CS_N_PATH_AXES; a++)
        for (int b = a + 1; b < CS_N_PATH_AXES; b++)
            for (int c = n_axes == 3 ? b + 1 : 0; c < last; c++) {
                struct cs_cross *cross = &cells->crosses[cells->n_crosses++];
                *cross = (struct cs_cross){.n_axes = n_axes,
                                           .axis = {(enum cs_path_axis)a, (enum cs_path_axis)b, (enum cs_path_axis)c}};
                CS_TRY(open_cross(coverage->model, n_axes == 3 ? &pairs : NULL, arena, cross));
                count_hits(coverage, cross);
                count_states(cross, cells);
            }
    return CS_OK;
}

int64_t cs_coverage_faults(const struct cs_coverage *coverage, const struct cs_seen_path **first) {
    int64_t n = 0;
    *first = NULL;
    for (size_t p = 0; p < coverage->n_paths; p++) {
        const struct cs_seen_path *seen = &coverage->paths[p];
        const struct cs_cell_rule *rule = cs_rule_of(coverage->model, &seen->path, (1u << CS_N_PATH_AXES) - 1);
        bool is_fault = rule && rule->state == CS_PATH_ILLEGAL && seen->accepted;
        if (is_fault && !*first) *first = seen;
        n += is_fault;
    }
    return n;
}

int64_t cs_coverage_undeclared(const struct cs_coverage *coverage, const struct cs_seen_path **first) {
    int64_t n = 0;
    *first = NULL;
    for (size_t p = 0; p < coverage->n_paths; p++) {
        const struct cs_seen_path *seen = &coverage->paths[p];
        bool is_valid = !cs_rule_of(coverage->model, &seen->path, (1u << CS_N_PATH_AXES) - 1);
        bool is_one = is_valid && !cs_seen_hits(seen);
        if (is_one && !*first) *first = seen;
        n += is_one;
    }
    return n;
}

enum cs_status cs_coverage_is_enough(const struct cs_coverage *coverage, enum cs_coverage_asked asked, bool *answer) {
    struct cs_arena arena = {0};
    struct cs_cells pairs, triples;
    const struct cs_seen_path *fault;
    enum cs_status status = cs_cells_count(coverage, 2, &arena, &pairs);
    if (status == CS_OK) status = cs_cells_count(coverage, 3, &arena, &triples);
    *answer = status == CS_OK && 100.0 * (double)pairs.n_hit >= CS_COVERAGE_LEAST_PAIRS * (double)pairs.n_valid &&
              (asked < CS_ASKED_TRIPLES ||
               100.0 * (double)triples.n_hit >= CS_COVERAGE_LEAST_TRIPLES * (double)triples.n_valid) &&
              cs_coverage_faults(coverage, &fault) == 0;
    cs_arena_release(&arena);
    return status;
}
