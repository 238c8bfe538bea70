/* The order in which a load's tensors arrive, what comes twice, what nobody knows, and where it ends. */
#include "sim/session/internal.h"

#include <string.h>

static enum cs_status explicit_order(struct cs_listing *list) {
    const struct cs_op *op = list->op;
    struct cs_arrivals *arrivals = list->arrivals;
    CS_REQUIRE(op->n_order == arrivals->n, CS_BAD_SHAPE, "arrival order has %zu positions for %zu tensors", op->n_order,
               arrivals->n);
    struct cs_arrival *moved = CS_NEW_ARRAY(list->arena, struct cs_arrival, arrivals->n + 1);
    CS_REQUIRE(moved, CS_NO_MEMORY, "out of memory for the arrival order");
    for (size_t i = 0; i < arrivals->n; i++) {
        CS_REQUIRE(op->order[i] < arrivals->n, CS_BAD_INDEX, "arrival order names position %zu of %zu tensors",
                   op->order[i], arrivals->n);
        moved[i] = arrivals->items[op->order[i]];
    }
    arrivals->items = moved;
    arrivals->capacity = arrivals->n + 1;
    return CS_OK;
}

static void swap(struct cs_arrival *a, struct cs_arrival *b) {
    struct cs_arrival kept = *a;
    *a = *b;
    *b = kept;
}

static uint64_t order_key(const struct cs_listing *list, const char *what) {
    return cs_stream_key(list->session->config.seed, what, (uint64_t)list->session->log.load);
}

static void shuffle(struct cs_listing *list) {
    uint64_t key = order_key(list, "order");
    for (size_t i = list->arrivals->n; i > 1; i--)
        swap(&list->arrivals->items[i - 1], &list->arrivals->items[cs_mix64(key + i) % i]);
}

static size_t module_of(const struct cs_arrival *arrival) { return arrival->route ? arrival->route->module : SIZE_MAX; }

/* Whose turn a module is, by the key; what nobody knows stays behind. Where a module's tensors come apart, they come
 * together now. */
static bool comes_before(uint64_t key, const struct cs_arrival *a, const struct cs_arrival *b) {
    uint64_t turn_a = cs_mix64(key + module_of(a)), turn_b = cs_mix64(key + module_of(b));
    return module_of(b) == SIZE_MAX ? module_of(a) != SIZE_MAX : module_of(a) != SIZE_MAX && turn_a < turn_b;
}

/* A stable merge sort: tensors of one module keep their order. */
static void sort_by_module(uint64_t key, struct cs_arrival *items, struct cs_arrival *spare, size_t n) {
    if (n < 2) return;
    size_t half = n / 2, left = 0, right = half, i = 0;
    sort_by_module(key, items, spare, half);
    sort_by_module(key, items + half, spare, n - half);
    while (left < half || right < n) {
        bool is_right = left == half || (right < n && comes_before(key, &items[right], &items[left]));
        spare[i++] = items[is_right ? right++ : left++];
    }
    memcpy(items, spare, sizeof *items * n);
}

static enum cs_status shuffle_modules(struct cs_listing *list) {
    struct cs_arrivals *arrivals = list->arrivals;
    struct cs_arrival *spare = CS_NEW_ARRAY(list->arena, struct cs_arrival, arrivals->n + 1);
    CS_REQUIRE(spare, CS_NO_MEMORY, "out of memory for the order of %zu tensors", arrivals->n);
    sort_by_module(order_key(list, "modules"), arrivals->items, spare, arrivals->n);
    return CS_OK;
}

/* Pieces of all tensors are shuffled; a tensor is there when its last piece is. */
static enum cs_status shuffle_pieces(struct cs_listing *list) {
    size_t n = list->arrivals->n, pieces = (size_t)list->op->pieces, n_ready = 0;
    size_t *order = CS_NEW_ARRAY(list->arena, size_t, n * pieces + 1), *left = CS_NEW_ARRAY(list->arena, size_t, n + 1);
    struct cs_arrival *ready = CS_NEW_ARRAY(list->arena, struct cs_arrival, n + 1);
    CS_REQUIRE(order && left && ready, CS_NO_MEMORY, "out of memory for the order of %zu pieces", n * pieces);
    uint64_t key = order_key(list, "pieces");
    for (size_t i = 0; i < n * pieces; i++) order[i] = i / pieces;
    for (size_t i = 0; i < n; i++) left[i] = pieces;
    for (size_t i = n * pieces; i > 1; i--) {
        size_t other = (size_t)(cs_mix64(key + i) % i), kept = order[i - 1];
        order[i - 1] = order[other];
        order[other] = kept;
    }
    for (size_t i = 0; i < n * pieces; i++)
        if (--left[order[i]] == 0) ready[n_ready++] = list->arrivals->items[order[i]];
    list->arrivals->items = ready;
    list->arrivals->capacity = n + 1;
    return CS_OK;
}

static enum cs_status order(struct cs_listing *list) {
    const struct cs_op *op = list->op;
    struct cs_arrivals *arrivals = list->arrivals;
    if (op->n_order) return explicit_order(list);
    if (op->is_shuffled && op->pieces > 1) return shuffle_pieces(list);
    if (op->shuffles_modules) return shuffle_modules(list);
    if (op->is_shuffled) shuffle(list);
    for (size_t i = 0; op->is_reversed && i < arrivals->n / 2; i++)
        swap(&arrivals->items[i], &arrivals->items[arrivals->n - 1 - i]);
    return CS_OK;
}

static bool is_sent_twice(const struct cs_op *op, const char *name) {
    for (size_t i = 0; i < op->n_duplicated; i++)
        if (cs_text_matches(op->duplicated[i], name)) return true;
    return false;
}

/* Puts what comes twice, and what nobody knows, in its place. */
static enum cs_status insert(struct cs_listing *list) {
    const struct cs_op *op = list->op;
    struct cs_arrivals *arrivals = list->arrivals;
    if (!op->n_duplicated && !op->n_unknown) return CS_OK;
    size_t n = 0, most = 2 * arrivals->n + op->n_unknown;
    struct cs_arrival *items = CS_NEW_ARRAY(list->arena, struct cs_arrival, most + 1);
    CS_REQUIRE(items, CS_NO_MEMORY, "out of memory for %zu arrivals", most);
    for (size_t i = 0; i < arrivals->n; i++) {
        items[n++] = arrivals->items[i];
        if (is_sent_twice(op, arrivals->items[i].name)) items[n++] = arrivals->items[i];
    }
    size_t at = op->unknown_at < (int64_t)n ? (size_t)op->unknown_at : n;
    memmove(items + at + op->n_unknown, items + at, (n - at) * sizeof *items);
    for (size_t i = 0; i < op->n_unknown; i++) items[at + i] = (struct cs_arrival){.name = op->unknown[i]};
    struct cs_accounting *accounting = &list->session->accounting;
    accounting->excess += (int64_t)op->n_unknown;
    if (op->n_unknown && !accounting->first_excess) accounting->first_excess = op->unknown[0];
    *arrivals = (struct cs_arrivals){.n = n + op->n_unknown, .capacity = most + 1, .items = items};
    return CS_OK;
}

enum cs_status cs_listing_order(struct cs_listing *list) {
    CS_TRY(order(list));
    CS_TRY(insert(list));
    const struct cs_op *op = list->op;
    if (op->is_stopped && op->stop_after < (int64_t)list->arrivals->n)
        list->arrivals->n = op->stop_after > 0 ? (size_t)op->stop_after : 0;
    return CS_OK;
}
