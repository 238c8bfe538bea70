/* Sequence covering arrays: every t different letters, in every order, come in that order in some row.
 *
 * Each order that no row has yet begins a row, which then grows: at a place that the dice choose, the letter comes that
 * brings most new orders. */
#include <string.h>

#include "sim/fuzz/internal.h"

enum { MOST_T = 3 };

struct ordering {
    int t;
    size_t n_letters;
    struct cs_dice dice;
    bool *is_covered; /* by letters, first one slowest */
};

static size_t n_orders(const struct ordering *ordering) {
    size_t n = 1;
    for (int i = 0; i < ordering->t; i++) n *= ordering->n_letters;
    return n;
}

/* Marks every order of t different letters of the row. */
static void mark(struct ordering *ordering, const struct cs_fuzz_plan *row, size_t first, int depth, size_t place,
                 uint64_t used) {
    if (depth == ordering->t) {
        ordering->is_covered[place] = true;
        return;
    }
    for (size_t i = first; i < row->n_steps; i++) {
        size_t letter = row->step[i].letter;
        bool is_again = false;
        for (size_t j = 0; j < first && depth; j++) is_again |= (used >> j & 1) && row->step[j].letter == letter;
        if (!is_again)
            mark(ordering, row, i + 1, depth + 1, place * ordering->n_letters + letter, used | UINT64_C(1) << i);
    }
}

static void insert(struct cs_fuzz_plan *row, size_t at, size_t letter) {
    memmove(&row->step[at + 1], &row->step[at], sizeof row->step[0] * (row->n_steps - at));
    row->step[at].letter = (uint8_t)letter;
    row->n_steps++;
}

static struct cs_fuzz_plan row_of(const size_t *letters, int t) {
    struct cs_fuzz_plan row = {0};
    for (int i = 0; i < t; i++) insert(&row, (size_t)i, letters[i]);
    return row;
}

/* Orders that the letter at a place of the row is part of, and that no row has. */
static int64_t gain_at(const struct ordering *ordering, const struct cs_fuzz_plan *row, size_t at) {
    size_t n = ordering->n_letters, letter = row->step[at].letter;
    int64_t gain = ordering->t == 1 && !ordering->is_covered[letter];
    for (size_t i = 0; ordering->t > 1 && i < row->n_steps; i++) {
        size_t a = row->step[i].letter;
        if (i == at || a == letter) continue;
        if (ordering->t == 2) gain += !ordering->is_covered[i < at ? a * n + letter : letter * n + a];
        for (size_t j = i + 1; ordering->t == 3 && j < row->n_steps; j++) {
            size_t b = row->step[j].letter;
            if (j == at || b == letter || b == a) continue;
            size_t first = at < i ? letter : a, last = at > j ? letter : b, middle = at < i ? a : at > j ? b : letter;
            gain += !ordering->is_covered[(first * n + middle) * n + last];
        }
    }
    return gain;
}

/* Another letter in the row, where the dice say, that brings most new orders; false: none may come there. */
static bool lengthen(struct ordering *ordering, struct cs_fuzz_plan *row) {
    size_t at = cs_roll_below(&ordering->dice, (size_t)row->n_steps + 1),
           turn = cs_roll_below(&ordering->dice, ordering->n_letters), best = SIZE_MAX;
    int64_t most = -1;
    struct cs_fuzz_plan longer = *row;
    insert(&longer, at, 0);
    for (size_t i = 0; i < ordering->n_letters; i++) {
        size_t letter = (i + turn) % ordering->n_letters;
        longer.step[at].letter = (uint8_t)letter;
        int64_t gain = gain_at(ordering, &longer, at);
        if (gain > most && cs_steps_are_legal(&longer)) most = gain, best = letter;
    }
    if (best == SIZE_MAX) return false;
    insert(row, at, best);
    return true;
}

/* Two equal letters in one row are allowed: the count of an order does not change. */
static enum cs_status add_row(struct ordering *ordering, const size_t *wanted, struct cs_arena *arena,
                              struct cs_orders_cover *cover) {
    struct cs_fuzz_plan best = row_of(wanted, ordering->t);
    for (int tries = 0; tries < 2 * CS_PLAN_STEPS && best.n_steps < CS_PLAN_STEPS; tries++) lengthen(ordering, &best);
    void *rows = cover->rows;
    struct cs_fuzz_plan *row = cs_arena_grow(arena, &rows, cover->n_rows, &cover->capacity, sizeof *row);
    CS_REQUIRE(row, CS_NO_MEMORY, "out of memory for %zu sequences", cover->n_rows);
    cover->rows = rows;
    *row = best;
    cover->n_rows++;
    mark(ordering, row, 0, 0, 0, 0);
    return CS_OK;
}

static bool are_different(const size_t *letters, int t) {
    for (int i = 0; i < t; i++)
        for (int j = 0; j < i; j++)
            if (letters[i] == letters[j]) return false;
    return true;
}

static enum cs_status cover_all(struct ordering *ordering, struct cs_arena *arena, struct cs_orders_cover *cover) {
    for (size_t place = 0; place < n_orders(ordering); place++) {
        size_t letters[MOST_T], rest = place;
        for (int i = ordering->t; i-- > 0; rest /= ordering->n_letters) letters[i] = rest % ordering->n_letters;
        if (!are_different(letters, ordering->t)) continue;
        struct cs_fuzz_plan alone = row_of(letters, ordering->t);
        bool is_possible = cs_steps_are_legal(&alone);
        cover->n_impossible += !is_possible;
        cover->n_orders += is_possible;
        if (!is_possible) continue;
        if (!ordering->is_covered[place]) CS_TRY(add_row(ordering, letters, arena, cover));
    }
    return CS_OK;
}

enum cs_status cs_orders_cover(int t, uint64_t seed, struct cs_arena *arena, struct cs_orders_cover *cover) {
    CS_REQUIRE(t >= 1 && t <= MOST_T, CS_BAD_VALUE, "orders of %d letters: expected 1 to %d", t, MOST_T);
    struct cs_arena scratch = {0};
    struct ordering ordering = {
        .t = t, .n_letters = cs_n_letters(), .dice = {cs_stream_key(seed, "orders", (uint64_t)t)}};
    *cover = (struct cs_orders_cover){.t = t};
    ordering.is_covered = CS_NEW_ARRAY(&scratch, bool, n_orders(&ordering));
    enum cs_status status = ordering.is_covered ? cover_all(&ordering, arena, cover) : CS_NO_MEMORY;
    cs_arena_release(&scratch);
    CS_REQUIRE(status != CS_NO_MEMORY, status, "out of memory for orders of %d of %zu letters", t, cs_n_letters());
    return status;
}
