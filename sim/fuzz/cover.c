/* Covering arrays of the axes: every legal combination of values of any t axes stands in some row.
 *
 * Each combination that no row has yet becomes a row. First it is looked whether rules leave values for the other axes
 * that rules read; if not, the combination is impossible. Then every other axis takes, one after the other, the value
 * that brings most new combinations, going back where rules leave none. Axes that rules read come first, so that
 * nothing is tried twice for the sake of an axis that no rule reads. */
#include <stdlib.h>
#include <string.h>

#include "sim/fuzz/internal.h"

enum { MOST_T = 3, MOST_RULES = 32 };

enum state { UNSEEN, COVERED, IMPOSSIBLE };

/* A rule of axes alone; one that reads two at most is a table. */
struct bound {
    const struct cs_rule *rule;
    int a, b;
    bool *holds; /* n_values[a] × n_values[b], or NULL: ask */
};

struct covering {
    int t;
    const struct cs_fuzz_space *space;
    struct cs_dice dice;
    struct cs_legal_memo *memo;
    size_t n_values[CS_N_AXES];
    int order[CS_N_AXES]; /* axes that rules read, then the others */
    size_t n_read;
    size_t n_bounds;
    struct bound bounds[MOST_RULES];
    size_t n_sets;
    uint32_t *sets; /* of t axes */
    size_t *base;   /* by set of axes: where its combinations begin in `state` */
    uint8_t *state;
    uint32_t set; /* axes that have a value in `row` */
    struct cs_fuzz_plan row;
};

/* ---- combinations ---- */

/* Place of the row's combination of these axes. */
static size_t place_of(const struct covering *covering, uint32_t axes) {
    size_t place = 0;
    for (uint32_t rest = axes; rest; rest &= rest - 1) {
        int axis = __builtin_ctz(rest);
        place = place * covering->n_values[axis] + covering->row.axis[axis];
    }
    return covering->base[axes] + place;
}

static bool is_new(const struct covering *covering, uint32_t axes) {
    return covering->state[place_of(covering, axes)] == UNSEEN;
}

/* New combinations that the axis completes with its present value. */
static int gain_of(const struct covering *covering, int axis) {
    uint32_t own = UINT32_C(1) << axis, others = covering->set & ~own;
    int gain = covering->t == 1 && is_new(covering, own);
    for (uint32_t i = others; covering->t > 1 && i; i &= i - 1) {
        uint32_t with = own | (i & -i);
        if (covering->t == 2) gain += is_new(covering, with);
        for (uint32_t j = i & (i - 1); covering->t == 3 && j; j &= j - 1) gain += is_new(covering, with | (j & -j));
    }
    return gain;
}

/* ---- rules ---- */

static bool rule_holds(const struct covering *covering, const struct bound *bound) {
    const uint8_t *axis = covering->row.axis;
    if (bound->holds) return bound->holds[axis[bound->a] * covering->n_values[bound->b] + axis[bound->b]];
    return cs_rule_holds(covering->memo, bound->rule, &covering->row);
}

/* Rules that read one of these axes, and whose axes all have values, must hold. */
static bool is_possible(const struct covering *covering, uint32_t changed) {
    for (size_t i = 0; i < covering->n_bounds; i++) {
        uint32_t axes = covering->bounds[i].rule->axes;
        bool is_due = (axes & changed) && !(axes & ~covering->set);
        if (is_due && !rule_holds(covering, &covering->bounds[i])) return false;
    }
    return true;
}

struct ranked {
    int gain;
    uint8_t value;
};

static int by_gain(const void *a, const void *b) {
    const struct ranked *x = a, *y = b;
    return x->gain != y->gain ? y->gain - x->gain : (int)x->value - (int)y->value;
}

/* Values of an axis; most promising first, equal ones in an order of the dice. */
static size_t list_values(struct covering *covering, int axis, bool is_ranked, struct ranked *ranked) {
    size_t n = covering->n_values[axis], kept = 0, turn = is_ranked ? cs_roll_below(&covering->dice, n) : 0;
    for (size_t i = 0; i < n; i++) {
        uint8_t value = (uint8_t)((i + turn) % n);
        if (covering->space->is_left_out[axis][value]) continue;
        covering->row.axis[axis] = value;
        ranked[kept++] = (struct ranked){.gain = is_ranked ? gain_of(covering, axis) : 0, .value = value};
    }
    if (is_ranked) qsort(ranked, kept, sizeof *ranked, by_gain);
    return kept;
}

/* Gives each of the first `end` axes of the order a value, from `at` on. */
static bool complete(struct covering *covering, size_t at, size_t end, bool is_ranked) {
    while (at < end && covering->set >> covering->order[at] & 1) at++;
    if (at == end) return true;
    int axis = covering->order[at];
    uint32_t own = UINT32_C(1) << axis;
    struct ranked ranked[CS_AXIS_VALUES];
    size_t n = list_values(covering, axis, is_ranked, ranked);
    covering->set |= own;
    for (size_t i = 0; i < n; i++) {
        covering->row.axis[axis] = ranked[i].value;
        if (is_possible(covering, own) && complete(covering, at + 1, end, is_ranked)) return true;
    }
    covering->set &= ~own;
    return false;
}

/* ---- rows ---- */

static void mark(struct covering *covering, struct cs_axes_cover *cover) {
    for (size_t i = 0; i < covering->n_sets; i++) {
        uint8_t *state = &covering->state[place_of(covering, covering->sets[i])];
        cover->n_tuples += *state == UNSEEN;
        *state = COVERED;
    }
}

static enum cs_status add_row(struct covering *covering, struct cs_arena *arena, struct cs_axes_cover *cover) {
    void *rows = cover->rows;
    struct cs_fuzz_plan *row = cs_arena_grow(arena, &rows, cover->n_rows, &cover->capacity, sizeof *row);
    CS_REQUIRE(row, CS_NO_MEMORY, "out of memory for %zu rows of a covering array", cover->n_rows);
    cover->rows = rows;
    *row = covering->row;
    row->seed = cs_roll(&covering->dice) >> 1;
    cover->n_rows++;
    return CS_OK;
}

/* Sets the row to combination `number` of these axes; false: one of its values may not be chosen. */
static bool begin_row(struct covering *covering, uint32_t axes, size_t number) {
    bool is_wanted = true;
    covering->row = (struct cs_fuzz_plan){0};
    covering->set = axes;
    for (int axis = CS_N_AXES; axis-- > 0;) {
        if (!(axes >> axis & 1)) continue;
        covering->row.axis[axis] = (uint8_t)(number % covering->n_values[axis]);
        is_wanted &= !covering->space->is_left_out[axis][covering->row.axis[axis]];
        number /= covering->n_values[axis];
    }
    return is_wanted;
}

/* Makes the combination a row, or finds it impossible. */
static enum cs_status cover_one(struct covering *covering, uint32_t axes, size_t number, struct cs_arena *arena,
                                struct cs_axes_cover *cover) {
    uint8_t *state = &covering->state[covering->base[axes] + number];
    if (*state != UNSEEN || !begin_row(covering, axes, number)) return CS_OK;
    if (!is_possible(covering, axes) || !complete(covering, 0, covering->n_read, false)) {
        *state = IMPOSSIBLE;
        cover->n_impossible++;
        return CS_OK;
    }
    begin_row(covering, axes, number);
    CS_REQUIRE(complete(covering, 0, CS_N_AXES, true), CS_INTERNAL, "a row that could be had cannot be had any more");
    mark(covering, cover);
    return add_row(covering, arena, cover);
}

static size_t n_combinations(const struct covering *covering, uint32_t axes) {
    size_t n = 1;
    for (uint32_t rest = axes; rest; rest &= rest - 1) n *= covering->n_values[__builtin_ctz(rest)];
    return n;
}

static enum cs_status cover_all(struct covering *covering, struct cs_arena *arena, struct cs_axes_cover *cover) {
    for (size_t s = 0; s < covering->n_sets; s++)
        for (size_t i = 0; i < n_combinations(covering, covering->sets[s]); i++)
            CS_TRY(cover_one(covering, covering->sets[s], i, arena, cover));
    return CS_OK;
}

/* ---- tables ---- */

static enum cs_status add_bound(struct covering *covering, const struct cs_rule *rule, struct cs_arena *scratch) {
    struct bound *bound = &covering->bounds[covering->n_bounds++];
    *bound = (struct bound){.rule = rule};
    if (__builtin_popcount(rule->axes) > 2) return CS_OK;
    bound->a = __builtin_ctz(rule->axes), bound->b = 31 - __builtin_clz(rule->axes);
    size_t n = covering->n_values[bound->b];
    bool *holds = CS_NEW_ARRAY(scratch, bool, covering->n_values[bound->a] * n);
    CS_REQUIRE(holds, CS_NO_MEMORY, "out of memory for rule %s", rule->name);
    struct cs_fuzz_plan plan = {0};
    for (size_t i = 0; i < covering->n_values[bound->a]; i++)
        for (size_t j = 0; j < n; j++) {
            plan.axis[bound->a] = (uint8_t)i;
            plan.axis[bound->b] = (uint8_t)j;
            holds[i * n + j] = rule->holds(&plan);
        }
    bound->holds = holds;
    return CS_OK;
}

static enum cs_status read_rules(struct covering *covering, struct cs_arena *scratch) {
    uint32_t read = 0;
    size_t n = 0;
    for (size_t i = 0; i < cs_n_rules && covering->n_bounds < MOST_RULES; i++) {
        if (cs_rules[i].reads_steps || !cs_rules[i].axes) continue;
        CS_TRY(add_bound(covering, &cs_rules[i], scratch));
        read |= cs_rules[i].axes;
    }
    for (int axis = 0; axis < CS_N_AXES; axis++)
        if (read >> axis & 1) covering->order[n++] = axis;
    covering->n_read = n;
    for (int axis = 0; axis < CS_N_AXES; axis++)
        if (!(read >> axis & 1)) covering->order[n++] = axis;
    return CS_OK;
}

static enum cs_status prepare(struct covering *covering, struct cs_arena *scratch) {
    size_t n = 0, n_all = (size_t)1 << CS_N_AXES;
    for (int axis = 0; axis < CS_N_AXES; axis++) covering->n_values[axis] = cs_axis((enum cs_axis_id)axis)->n;
    covering->sets = CS_NEW_ARRAY(scratch, uint32_t, n_all);
    covering->base = CS_NEW_ARRAY(scratch, size_t, n_all);
    CS_REQUIRE(covering->memo && covering->sets && covering->base, CS_NO_MEMORY, "out of memory for a covering array");
    for (uint32_t axes = 0; axes < n_all; axes++) {
        if (__builtin_popcount(axes) != covering->t) continue;
        covering->sets[covering->n_sets++] = axes;
        covering->base[axes] = n;
        n += n_combinations(covering, axes);
    }
    covering->state = CS_NEW_ARRAY(scratch, uint8_t, n);
    CS_REQUIRE(covering->state, CS_NO_MEMORY, "out of memory for %zu combinations", n);
    return read_rules(covering, scratch);
}

enum cs_status cs_axes_cover(int t, uint64_t seed, const struct cs_fuzz_space *space, struct cs_legal_memo *memo,
                             struct cs_arena *arena, struct cs_axes_cover *cover) {
    CS_REQUIRE(t >= 1 && t <= MOST_T, CS_BAD_VALUE, "a covering array of %d axes at a time: expected 1 to %d", t, MOST_T);
    struct cs_arena scratch = {0};
    struct covering covering = {
        .t = t, .space = space, .dice = {cs_stream_key(seed, "axes", (uint64_t)t)}, .memo = memo};
    *cover = (struct cs_axes_cover){.t = t};
    enum cs_status status = prepare(&covering, &scratch);
    if (status == CS_OK) status = cover_all(&covering, arena, cover);
    cs_arena_release(&scratch);
    return status;
}
