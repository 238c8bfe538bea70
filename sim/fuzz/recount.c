/* The guaranteed part, counted again: from the plans alone, without the tables that made them. Everything that is seen
 * is written down as a number, the list is sorted, and equal neighbours count once. */
#include <stdlib.h>

#include "sim/fuzz/internal.h"

struct seen {
    size_t n, capacity;
    uint64_t *items;
    bool has_no_memory;
};

static void note(struct seen *seen, uint64_t item) {
    if (seen->n == seen->capacity) {
        size_t wider = seen->capacity ? seen->capacity * 2 : 4096;
        uint64_t *moved = realloc(seen->items, wider * sizeof *moved);
        seen->has_no_memory |= !moved;
        if (!moved) return;
        seen->items = moved;
        seen->capacity = wider;
    }
    seen->items[seen->n++] = item;
}

static int by_value(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static int64_t n_different(struct seen *seen) {
    int64_t n = 0;
    if (seen->n) qsort(seen->items, seen->n, sizeof *seen->items, by_value);
    for (size_t i = 0; i < seen->n; i++) n += i == 0 || seen->items[i] != seen->items[i - 1];
    return n;
}

/* Every set of t axes as a set of bits, with its values. */
static void note_tuples(struct seen *seen, const struct cs_fuzz_plan *plan, int t) {
    for (uint32_t set = 0; set < UINT32_C(1) << CS_N_AXES; set++) {
        if (__builtin_popcount(set) != t) continue;
        uint64_t item = 0;
        for (int a = 0; a < CS_N_AXES; a++)
            if (set >> a & 1) item = item * 4096 + (uint64_t)a * 256 + plan->axis[a];
        note(seen, item);
    }
}

/* Every set of t places with different letters. */
static void note_orders(struct seen *seen, const struct cs_fuzz_plan *plan, int t) {
    for (uint32_t set = 0; set < UINT32_C(1) << plan->n_steps; set++) {
        if (__builtin_popcount(set) != t) continue;
        uint64_t item = 0;
        bool is_again = false;
        for (int i = 0; i < plan->n_steps; i++) {
            if (!(set >> i & 1)) continue;
            for (int j = 0; j < i; j++) is_again |= (set >> j & 1) && plan->step[j].letter == plan->step[i].letter;
            item = item * 256 + plan->step[i].letter;
        }
        if (!is_again) note(seen, item);
    }
}

enum cs_status cs_recount(int t, const struct cs_fuzz_plan *plans, size_t n, struct cs_recount *recount) {
    struct seen tuples = {0}, orders = {0};
    *recount = (struct cs_recount){0};
    for (size_t i = 0; i < n; i++) {
        note_tuples(&tuples, &plans[i], t);
        note_orders(&orders, &plans[i], t);
    }
    recount->tuples = n_different(&tuples);
    recount->orders = n_different(&orders);
    free(tuples.items);
    free(orders.items);
    CS_REQUIRE(!tuples.has_no_memory && !orders.has_no_memory, CS_NO_MEMORY, "out of memory to recount %zu plans", n);
    return CS_OK;
}
