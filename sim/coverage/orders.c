/* Orders of operations: which were seen, and chains of operations that have those that were not. */
#include <string.h>

#include "coverage/model.h"
#include "sim/coverage/internal.h"

/* ---- counting ---- */

static int letter_of(const struct cs_orders *orders, const char *text, size_t length) {
    for (size_t i = 0; i < orders->n_letters; i++)
        if (strlen(orders->letters[i]) == length && strncmp(orders->letters[i], text, length) == 0) return (int)i;
    return -1;
}

/* Marks every choice of `left` letters from `at` on, in their order; `index`: of those chosen before. */
static void mark(struct cs_orders *orders, const int *letters, size_t n, size_t at, size_t left, size_t index) {
    if (!left) {
        orders->seen[index] = true;
        return;
    }
    for (size_t i = at; i + left <= n; i++)
        mark(orders, letters, n, i + 1, left - 1, index * orders->n_letters + (size_t)letters[i]);
}

static void mark_sequence(struct cs_orders *orders, const char *text) {
    enum { MOST = 32 };
    int letters[MOST];
    size_t count = 0;
    for (const char *at = text; *at && count < MOST; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        int letter = letter_of(orders, at, length);
        if (letter >= 0) letters[count++] = letter;
        at += length;
    }
    mark(orders, letters, count, 0, orders->n, 0);
}

static bool is_start(const struct cs_coverage_registries *from, size_t letter) {
    return letter < from->n_drivers && from->drivers[letter]->is_start;
}

static const struct {
    const char *first, *later;
} order_rules[] = {
#define X(first, later, reason) {first, later},
    CS_COVERAGE_ORDER_RULES(X)
#undef X
};

/* A server starts once, first; the rest is declared. */
static bool can_follow(const struct cs_coverage_registries *from, const struct cs_orders *orders, size_t first,
                       size_t later) {
    for (size_t i = 0; i < CS_COUNT(order_rules); i++)
        if (cs_text_matches(order_rules[i].first, orders->letters[first]) &&
            cs_text_matches(order_rules[i].later, orders->letters[later]))
            return false;
    return !is_start(from, later);
}

static bool is_possible(const struct cs_coverage_registries *from, const struct cs_orders *orders, size_t index) {
    size_t letters[CS_ORDER_MOST];
    cs_order_letters(orders, index, letters);
    for (size_t i = 0; i < orders->n; i++)
        for (size_t j = i + 1; j < orders->n; j++)
            if (!can_follow(from, orders, letters[i], letters[j])) return false;
    return true;
}

enum cs_status cs_orders_count(const struct cs_coverage *coverage, size_t n, struct cs_arena *arena,
                               struct cs_orders *orders) {
    const struct cs_coverage_registries *from = &coverage->model->from;
    *orders = (struct cs_orders){.n = n};
    for (size_t i = 0; i < from->n_drivers; i++) orders->letters[orders->n_letters++] = from->drivers[i]->name;
    orders->letters[orders->n_letters++] = "sleep";
    size_t n_orders = 1;
    for (size_t i = 0; i < n; i++) n_orders *= orders->n_letters;
    orders->seen = CS_NEW_ARRAY(arena, bool, n_orders);
    orders->possible = CS_NEW_ARRAY(arena, bool, n_orders);
    CS_REQUIRE(orders->seen && orders->possible, CS_NO_MEMORY, "out of memory for orders of %zu operations", n);
    for (size_t i = 0; i < coverage->n_sequences; i++) mark_sequence(orders, coverage->sequences[i].text);
    for (size_t i = 0; i < n_orders; i++) {
        orders->possible[i] = is_possible(from, orders, i);
        orders->n_possible += orders->possible[i];
        orders->n_seen += orders->possible[i] && orders->seen[i];
    }
    return CS_OK;
}

/* ---- words ---- */

static char *join(const struct cs_orders *orders, const size_t *letters, size_t n, char *buffer) {
    size_t used = 0;
    *buffer = 0;
    for (size_t i = 0; i < n && used < CS_CHAIN_TEXT; i++)
        used +=
            (size_t)snprintf(buffer + used, CS_CHAIN_TEXT - used, "%s%s", i ? "+" : "", orders->letters[letters[i]]);
    return buffer;
}

void cs_order_letters(const struct cs_orders *orders, size_t index, size_t letters[CS_ORDER_MOST]) {
    for (size_t i = orders->n; i-- > 0; index /= orders->n_letters) letters[i] = index % orders->n_letters;
}

char *cs_order_text(const struct cs_orders *orders, size_t index, char *buffer) {
    size_t letters[CS_ORDER_MOST];
    cs_order_letters(orders, index, letters);
    return join(orders, letters, orders->n, buffer);
}

char *cs_chain_text(const struct cs_orders *orders, const struct cs_chain *chain, char *buffer) {
    return join(orders, chain->letter, chain->n, buffer);
}

/* The operations of an order, each of which can come after those before. */
static enum cs_status check_order(const struct cs_coverage_model *model, const struct cs_orders *orders,
                                  const char *text, const size_t *order, size_t n) {
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < j; i++)
            CS_REQUIRE(can_follow(&model->from, orders, order[i], order[j]), CS_BAD_VALUE,
                       "order=%s: %s cannot come after %s: a server starts once, first, and one that was built on meta "
                       "has no checkpoint layout to load into",
                       text, orders->letters[order[j]], orders->letters[order[i]]);
    CS_REQUIRE(n >= 2, CS_BAD_VALUE, "order=%s: an order is OPERATION+OPERATION", text);
    return CS_OK;
}

enum cs_status cs_order_parse(const struct cs_coverage_model *model, const struct cs_orders *orders, const char *text,
                              size_t order[CS_ORDER_MOST], size_t *n) {
    *n = 0;
    for (const char *at = text; *at;) {
        size_t length = strcspn(at, "+");
        char word[64];
        CS_REQUIRE(*n < CS_ORDER_MOST, CS_BAD_VALUE, "order=%s: an order has at most %d operations", text,
                   CS_ORDER_MOST);
        snprintf(word, sizeof word, "%.*s", (int)length, at);
        int letter = letter_of(orders, at, length);
        const char *near = cs_text_nearest(word, orders->letters, orders->n_letters);
        CS_REQUIRE(letter >= 0, CS_BAD_VALUE, "order=%s: no operation is named \"%s\"%s%s", text, word,
                   near ? "; did you mean " : "", near ? near : "");
        order[(*n)++] = (size_t)letter;
        at += length + (at[length] == '+');
    }
    return check_order(model, orders, text, order, *n);
}

/* ---- chains ---- */

enum { NO_LETTER = CS_PATH_VALUES };

struct draft {
    const struct cs_coverage_model *model;
    const struct cs_orders *orders; /* what was seen, by length */
    bool is_long;                   /* goes on after the order */
    struct cs_chain *chain;
    const char *before; /* what the server holds */
};

/* Whether the operation can follow; if so, `load` of one that is a load. */
static bool fits(const struct draft *draft, size_t letter, struct cs_way *load) {
    const struct cs_coverage_model *model = draft->model;
    const char *reason;
    for (size_t i = 0; i < draft->chain->n; i++)
        if (!can_follow(&model->from, draft->orders + 1, draft->chain->letter[i], letter)) return false;
    if (letter == model->from.n_drivers) return draft->chain->n > 0; /* a running server sleeps */
    char text[CS_CELL_TEXT];
    struct cs_way cell;
    snprintf(text, sizeof text, CS_COVERAGE_ORDERS_WAY ",driver=%s,before=%s", model->from.drivers[letter]->name,
             draft->before);
    return cs_cell_parse(model, text, &cell) == CS_OK && cs_cell_judge(model, &cell, &reason, load) == CS_PATH_VALID;
}

static bool append(struct draft *draft, size_t letter) {
    struct cs_chain *chain = draft->chain;
    bool sleeps = letter == draft->model->from.n_drivers;
    if (letter == NO_LETTER || chain->n == CS_CHAIN_MOST || !fits(draft, letter, &chain->load[chain->n])) return false;
    const struct cs_driver *driver = sleeps ? NULL : draft->model->from.drivers[letter];
    const struct cs_op op = {.kind = sleeps             ? CS_OP_WAKE
                                     : driver->is_start ? CS_OP_COLD_START
                                                        : CS_OP_RELOAD,
                             .driver = sleeps ? NULL : driver->name,
                             .checkpoint = sleeps || driver->takes == CS_TAKES_NOTHING ? NULL : "A"};
    draft->before = cs_left_by(&op);
    chain->letter[chain->n++] = letter;
    return true;
}

/* Whether operation `at` of a chain has no equal between `from` and itself. */
static bool is_first(const struct cs_chain *chain, size_t from, size_t at) {
    for (size_t i = from; i < at; i++)
        if (chain->letter[i] == chain->letter[at]) return false;
    return true;
}

static bool is_after(const struct cs_chain *chain, size_t at, size_t letter) {
    for (size_t i = at + 1; i < chain->n; i++)
        if (chain->letter[i] == letter) return true;
    return false;
}

/* Orders that neither a run nor the chain so far has, and the letter would bring; each counts once. */
static size_t gain_of(const struct draft *draft, size_t letter) {
    const struct cs_chain *chain = draft->chain;
    size_t gain = 0, n = draft->orders[1].n_letters;
    for (size_t i = 0; i < chain->n; i++) {
        if (!is_first(chain, 0, i)) continue;
        gain += !draft->orders[2].seen[chain->letter[i] * n + letter] && !is_after(chain, i, letter);
        for (size_t j = i + 1; j < chain->n; j++) {
            size_t triple = (chain->letter[i] * n + chain->letter[j]) * n + letter;
            gain += is_first(chain, i + 1, j) && !draft->orders[3].seen[triple] && !is_after(chain, j, letter);
        }
    }
    return gain;
}

/* The letter that fits and brings most orders never seen; of several, the first. */
static size_t best_letter(const struct draft *draft, bool may_sleep, size_t least_gain) {
    const struct cs_coverage_registries *from = &draft->model->from;
    size_t best = NO_LETTER, most = 0;
    for (size_t letter = 0; letter < from->n_drivers + may_sleep; letter++) {
        struct cs_way load;
        size_t gain = draft->is_long ? gain_of(draft, letter) : 0;
        bool is_better = best == NO_LETTER ? gain >= least_gain : gain > most;
        if (!is_better || is_start(from, letter) != !draft->chain->n || !fits(draft, letter, &load)) continue;
        best = letter;
        most = gain;
    }
    return best;
}

/* One operation of the order, after another one when it cannot follow at once. */
static bool append_wanted(struct draft *draft, size_t letter) {
    return append(draft, letter) || (append(draft, best_letter(draft, false, 0)) && append(draft, letter));
}

enum cs_status cs_orders_chain(const struct cs_coverage_model *model, const struct cs_orders orders[CS_ORDER_MOST + 1],
                               const size_t *order, size_t n, bool is_long, struct cs_chain *chain) {
    struct draft draft = {model, orders, is_long, chain, "nothing"};
    *chain = (struct cs_chain){0};
    bool is_made = true;
    for (size_t i = 0; i < n && is_made; i++) is_made = append_wanted(&draft, order[i]);
    while (is_made && is_long && chain->n + 1 < CS_CHAIN_MOST && append(&draft, best_letter(&draft, true, 1))) continue;
    bool ends_with_load = is_made && chain->letter[chain->n - 1] < model->from.n_drivers && chain->n > 1;
    if (!ends_with_load) is_made = is_made && append(&draft, best_letter(&draft, false, 0)); /* to have what to judge */
    char text[CS_CHAIN_TEXT];
    CS_REQUIRE(is_made, CS_BAD_VALUE, "order=%s: no operations are found that have it, with " CS_COVERAGE_ORDERS_WAY,
               join(orders + 1, order, n, text));
    return CS_OK;
}
