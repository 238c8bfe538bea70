/* Covering arrays of the axes: every legal combination of values of any t axes stands in some row.
 *
 * Each combination that no row has yet becomes a row: its values are fixed, and the other axes take, one after the
 * other, the value that brings most new combinations, going back where rules leave none. A combination that cannot be
 * completed at all is impossible. */
#include <stdlib.h>
#include <string.h>

#include "sim/fuzz/internal.h"

enum { MOST_T = 3 };

/* t axes, and where their combinations begin in the table. */
struct choice {
    int axis[MOST_T];
    size_t base, n;
};

enum state { UNSEEN, COVERED, IMPOSSIBLE };

struct covering {
    int t;
    const struct cs_fuzz_space *space;
    struct cs_dice dice;
    struct cs_legal_memo *memo;
    size_t n_choices;
    struct choice *choices;
    uint8_t *state;
    bool is_set[CS_N_AXES];
    struct cs_fuzz_plan row;
    int64_t n_tried; /* values, for the row being made */
};

static size_t n_values(int axis) { return cs_axis((enum cs_axis_id)axis)->n; }

static void add_choice(struct covering *covering, const int *axis, size_t *base) {
    struct choice *choice = &covering->choices[covering->n_choices++];
    *choice = (struct choice){.base = *base, .n = 1};
    for (int i = 0; i < covering->t; i++) {
        choice->axis[i] = axis[i];
        choice->n *= n_values(axis[i]);
    }
    *base += choice->n;
}

static size_t add_choices(struct covering *covering, int first, int depth, int *axis, size_t base) {
    if (depth == covering->t) {
        add_choice(covering, axis, &base);
        return base;
    }
    for (int a = first; a < CS_N_AXES; a++) {
        axis[depth] = a;
        base = add_choices(covering, a + 1, depth + 1, axis, base);
    }
    return base;
}

/* Place of the row's combination in the table. */
static size_t place_of(const struct covering *covering, const struct choice *choice, const struct cs_fuzz_plan *row) {
    size_t place = 0;
    for (int i = 0; i < covering->t; i++) place = place * n_values(choice->axis[i]) + row->axis[choice->axis[i]];
    return choice->base + place;
}

static bool is_left_out(const struct covering *covering, int axis, size_t value) {
    return covering->space->is_left_out[axis][value];
}

/* New combinations that the axis completes with its present value. */
static int gain_of(const struct covering *covering, int axis) {
    int gain = 0;
    for (size_t c = 0; c < covering->n_choices; c++) {
        const struct choice *choice = &covering->choices[c];
        bool has_axis = false, is_whole = true;
        for (int i = 0; i < covering->t; i++) {
            has_axis |= choice->axis[i] == axis;
            is_whole &= choice->axis[i] == axis || covering->is_set[choice->axis[i]];
        }
        if (has_axis && is_whole) gain += covering->state[place_of(covering, choice, &covering->row)] == UNSEEN;
    }
    return gain;
}

/* Rules whose axes all have values must hold. */
static bool is_possible(struct covering *covering) {
    uint32_t set = 0;
    for (int a = 0; a < CS_N_AXES; a++) set |= (uint32_t)covering->is_set[a] << a;
    for (size_t i = 0; i < cs_n_rules; i++) {
        const struct cs_rule *rule = &cs_rules[i];
        bool is_due = !rule->reads_steps && !cs_text_equal(rule->name, "sizes_fit") && (rule->axes & ~set) == 0;
        if (is_due && !rule->holds(&covering->row)) return false;
    }
    uint32_t sizes = 0;
    for (size_t i = 0; i < cs_n_rules; i++) sizes |= cs_rules[i].reads_steps ? 0 : cs_rules[i].axes;
    return (sizes & ~set) != 0 || cs_axes_are_legal(covering->memo, &covering->row);
}

struct ranked {
    int gain;
    uint8_t value;
};

static int by_gain(const void *a, const void *b) {
    const struct ranked *x = a, *y = b;
    return x->gain != y->gain ? y->gain - x->gain : (int)x->value - (int)y->value;
}

/* Values of an axis, most promising first; equal ones in an order of the dice. */
static size_t rank_values(struct covering *covering, int axis, struct ranked *ranked) {
    size_t n = n_values(axis), kept = 0, turn = cs_roll_below(&covering->dice, n);
    for (size_t i = 0; i < n; i++) {
        uint8_t value = (uint8_t)((i + turn) % n);
        if (is_left_out(covering, axis, value)) continue;
        covering->row.axis[axis] = value;
        ranked[kept++] = (struct ranked){.gain = gain_of(covering, axis), .value = value};
    }
    qsort(ranked, kept, sizeof *ranked, by_gain);
    return kept;
}

/* Gives every axis from `axis` on a value. */
static bool complete(struct covering *covering, int axis) {
    while (axis < CS_N_AXES && covering->is_set[axis]) axis++;
    if (axis == CS_N_AXES) return true;
    struct ranked ranked[CS_AXIS_VALUES];
    size_t n = rank_values(covering, axis, ranked);
    covering->is_set[axis] = true;
    for (size_t i = 0; i < n; i++) {
        covering->row.axis[axis] = ranked[i].value;
        if (is_possible(covering) && complete(covering, axis + 1)) return true;
    }
    covering->is_set[axis] = false;
    return false;
}

static void mark(struct covering *covering, struct cs_axes_cover *cover) {
    for (size_t c = 0; c < covering->n_choices; c++) {
        uint8_t *state = &covering->state[place_of(covering, &covering->choices[c], &covering->row)];
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

/* One combination of the choice: row it, or find it impossible. */
static enum cs_status cover_one(struct covering *covering, const struct choice *choice, size_t number,
                                struct cs_arena *arena, struct cs_axes_cover *cover) {
    if (covering->state[choice->base + number] != UNSEEN) return CS_OK;
    memset(covering->is_set, 0, sizeof covering->is_set);
    covering->row = (struct cs_fuzz_plan){0};
    bool is_wanted = true;
    for (int i = covering->t; i-- > 0;) {
        int axis = choice->axis[i];
        covering->row.axis[axis] = (uint8_t)(number % n_values(axis));
        covering->is_set[axis] = true;
        is_wanted = is_wanted && !is_left_out(covering, axis, covering->row.axis[axis]);
        number /= n_values(axis);
    }
    if (!is_wanted) return CS_OK;
    size_t place = place_of(covering, choice, &covering->row);
    if (!is_possible(covering) || !complete(covering, 0)) {
        covering->state[place] = IMPOSSIBLE;
        cover->n_impossible++;
        return CS_OK;
    }
    mark(covering, cover);
    return add_row(covering, arena, cover);
}

static enum cs_status cover_all(struct covering *covering, struct cs_arena *arena, struct cs_axes_cover *cover) {
    for (size_t c = 0; c < covering->n_choices; c++)
        for (size_t i = 0; i < covering->choices[c].n; i++)
            CS_TRY(cover_one(covering, &covering->choices[c], i, arena, cover));
    return CS_OK;
}

enum { MOST_CHOICES = 1024 };

enum cs_status cs_axes_cover(int t, uint64_t seed, const struct cs_fuzz_space *space, struct cs_arena *arena,
                             struct cs_axes_cover *cover) {
    CS_REQUIRE(t >= 1 && t <= MOST_T, CS_BAD_VALUE, "a covering array of %d axes at a time: expected 1 to %d", t, MOST_T);
    struct cs_arena scratch = {0};
    int axis[MOST_T];
    struct covering covering = {.t = t,
                                .space = space,
                                .dice = {cs_stream_key(seed, "axes", (uint64_t)t)},
                                .memo = CS_NEW(&scratch, struct cs_legal_memo),
                                .choices = CS_NEW_ARRAY(&scratch, struct choice, MOST_CHOICES)};
    *cover = (struct cs_axes_cover){.t = t};
    enum cs_status status = CS_NO_MEMORY;
    if (covering.memo && covering.choices) {
        size_t n = add_choices(&covering, 0, 0, axis, 0);
        covering.state = CS_NEW_ARRAY(&scratch, uint8_t, n);
        if (covering.state) status = cover_all(&covering, arena, cover);
    }
    cs_arena_release(&scratch);
    CS_REQUIRE(status != CS_NO_MEMORY, status, "out of memory for a covering array of %d axes at a time", t);
    return status;
}
