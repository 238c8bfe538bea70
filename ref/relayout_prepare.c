#include "ref/relayout.h"

#include <string.h>

enum {
    LINE = 64, /* of a cache */
    BLOCK = 64 << 10 /* bytes in a block: enough to hide its set-up */
};

/* ---- pairs of nibbles ---- */

static bool is_even(int64_t x) { return x % 2 == 0; }

/* A guard never parts a pair of the innermost digit. */
static bool keeps_pairs(const struct cs_guard *guard, int last) {
    if (guard->coefficient[last] == 0) return true;
    bool keeps = guard->coefficient[last] == 1 && is_even(guard->constant) && is_even(guard->limit);
    for (int d = 0; d < last; d++) keeps = keeps && is_even(guard->coefficient[d]);
    return keeps;
}

/* Every source index is even but for what digit `pair` adds. */
static bool starts_pairs(const struct cs_ref_relayout *r, int pair) {
    const struct cs_plan *plan = &r->plan;
    bool does = is_even(plan->source_start) && is_even(r->source_size) && is_even(plan->digit[pair].extent);
    for (int d = 0; d < plan->n_digits; d++) does = does && (d == pair || is_even(plan->digit[d].source));
    return does;
}

/* Makes a relayout of nibbles one of bytes, if it never takes a pair of them apart. */
static void pair_nibbles(struct cs_ref_relayout *r) {
    struct cs_plan *plan = &r->plan;
    int last = plan->n_digits - 1;
    bool pairs = plan->digit[last].source == 1 && starts_pairs(r, last);
    for (int g = 0; g < plan->n_guards; g++) pairs = pairs && keeps_pairs(&plan->guard[g], last);
    if (!pairs) return;

    plan->bits = 8;
    r->size /= 2;
    r->source_size /= 2;
    plan->source_start /= 2;
    plan->digit[last].extent /= 2;
    for (int d = 0; d < last; d++) plan->digit[d].source /= 2, plan->digit[d].destination /= 2;
    for (int g = 0; g < plan->n_guards; g++) {
        struct cs_guard *guard = &plan->guard[g];
        if (guard->coefficient[last] == 0) continue;
        guard->constant /= 2;
        guard->limit /= 2;
        for (int d = 0; d < last; d++) guard->coefficient[d] /= 2;
    }
}

/* ---- nests ---- */

static void copy_digit(struct cs_plan *plan, int to, int from) {
    plan->digit[to] = plan->digit[from];
    for (int g = 0; g < plan->n_guards; g++) plan->guard[g].coefficient[to] = plan->guard[g].coefficient[from];
}

/* Digit d becomes two, the inner one of `extent`. False when a plan has no room for one more. */
static bool split(struct cs_plan *plan, int d, int64_t extent) {
    if (extent == plan->digit[d].extent) return true;
    if (extent <= 1 || plan->n_digits == CS_PLAN_DIGITS) return false;
    for (int i = plan->n_digits++; i > d; i--) copy_digit(plan, i, i - 1);
    plan->digit[d].extent /= extent;
    plan->digit[d].source *= extent;
    plan->digit[d].destination *= extent;
    plan->digit[d + 1].extent = extent;
    for (int g = 0; g < plan->n_guards; g++) plan->guard[g].coefficient[d] *= extent;
    return true;
}

static int64_t largest_divisor(int64_t x, int64_t limit) {
    if (limit < 1) return 1;
    int64_t divisor = limit < x ? limit : x;
    while (x % divisor != 0) divisor--;
    return divisor;
}

/* Bytes that one step of a digit goes in the source, up to a whole line. */
static int64_t step_bytes(const struct cs_plan *plan, int d) {
    int64_t step = plan->digit[d].source < 0 ? -plan->digit[d].source : plan->digit[d].source;
    return step >= 2 * LINE ? LINE : step * plan->bits / 8;
}

static void choose_run(struct cs_ref_relayout *r) {
    struct cs_plan *plan = &r->plan;
    int last = plan->n_digits - 1;
    r->run = 1;
    r->has_run = plan->bits >= 8 && plan->digit[last].source == 1;
    if (!r->has_run) return;
    int64_t run = plan->digit[last].extent;
    while (run > BLOCK && is_even(run)) run /= 2; /* leaves work for other threads */
    r->run = split(plan, last, run) ? run : plan->digit[last].extent;
}

/* How many runs of digit d a block has room for, when its other digits make n_runs that touch n_lines of the source. */
static int64_t room(const struct cs_ref_relayout *r, int d, int64_t n_runs, int64_t n_lines) {
    int64_t most = BLOCK / (r->run * r->plan.bits / 8 + 1);
    bool shares_lines = r->run * r->plan.bits / 8 < LINE && step_bytes(&r->plan, d) >= LINE;
    if (most > CS_REF_RUNS) most = CS_REF_RUNS;
    if (r->plan.word && most > CS_REF_RUNS * 8 / r->plan.bits / r->run) most = CS_REF_RUNS * 8 / r->plan.bits / r->run;
    if (shares_lines && CS_REF_LINES / n_lines < most / n_runs) return CS_REF_LINES / n_lines;
    return most / n_runs;
}

static void choose_inner(struct cs_ref_relayout *r) {
    struct cs_plan *plan = &r->plan;
    int64_t n_lines = 1;
    int first = plan->n_digits - r->has_run;
    r->n_runs = 1;
    while (first > 0) {
        int64_t extent = plan->digit[first - 1].extent, part = largest_divisor(extent, room(r, first - 1, r->n_runs, n_lines));
        bool is_whole = part == extent;
        if (!split(plan, first - 1, part)) break;
        first -= is_whole;
        r->n_inner++;
        r->n_runs *= part;
        if (step_bytes(plan, first) >= LINE) n_lines *= part;
        if (!is_whole) break;
    }
}

static void rotate_to(struct cs_plan *plan, int from, int to) {
    struct cs_plan kept = *plan;
    for (int d = from; d < to; d++) copy_digit(plan, d, d + 1);
    plan->digit[to] = kept.digit[from];
    for (int g = 0; g < plan->n_guards; g++) plan->guard[g].coefficient[to] = kept.guard[g].coefficient[from];
}

/* Far digits that walk within a line of the source become near ones. */
static void choose_near(struct cs_ref_relayout *r) {
    struct cs_plan *plan = &r->plan;
    r->n_blocks = 1;
    if (r->run * plan->bits / 8 >= LINE) return;
    for (int d = 0; d < r->n_far;) {
        int64_t step = step_bytes(plan, d), most = CS_REF_NEAR / r->n_blocks;
        int64_t part = step > 0 && step < LINE ? LINE / step : 1;
        part = largest_divisor(plan->digit[d].extent, part < most ? part : most);
        bool is_whole = part == plan->digit[d].extent;
        if (part == 1 || !split(plan, d, part)) {
            d++;
            continue;
        }
        r->n_blocks *= part;
        r->n_near++;
        r->n_far -= is_whole; /* else the far rest of it stays */
        rotate_to(plan, is_whole ? d : d + 1, r->n_far + r->n_near - 1);
        d += !is_whole;
    }
}

/* ---- tables ---- */

static void tabulate_runs(struct cs_ref_relayout *r) {
    const struct cs_plan *plan = &r->plan;
    int first = r->n_far + r->n_near;
    int64_t unit = plan->bits >= 8 ? plan->bits / 8 : 1, n = 1;
    r->offset[0] = 0;
    for (int d = first + r->n_inner - 1; d >= first; d--) {
        int64_t step = plan->digit[d].source * unit;
        for (int64_t i = n; i < n * plan->digit[d].extent; i++) r->offset[i] = r->offset[i - n] + step;
        n *= plan->digit[d].extent;
    }
    for (int64_t i = n; i < n + CS_REF_AHEAD; i++) r->offset[i] = r->offset[n - 1];
    for (int g = 0; g < plan->n_guards; g++)
        for (int d = first; d < plan->n_digits; d++) {
            int64_t reach = (plan->digit[d].extent - 1) * plan->guard[g].coefficient[d];
            *(reach < 0 ? &r->least[g] : &r->most[g]) += reach;
        }
}

/* Where the digits that step over lines go; the others stay in a line, or nearly. */
static void tabulate_lines(struct cs_ref_relayout *r) {
    const struct cs_plan *plan = &r->plan;
    int first = r->n_far + r->n_near;
    r->n_lines = r->run * plan->bits / 8 < LINE;
    r->line[0] = 0;
    for (int d = first + r->n_inner - 1; d >= first && r->n_lines; d--) {
        if (step_bytes(plan, d) < LINE) continue;
        for (int64_t i = r->n_lines; i < r->n_lines * plan->digit[d].extent; i++)
            r->line[i] = r->line[i - r->n_lines] + plan->digit[d].source * plan->bits / 8;
        r->n_lines *= plan->digit[d].extent;
    }
}

static void tabulate_blocks(struct cs_ref_relayout *r) {
    const struct cs_plan *plan = &r->plan;
    int64_t n = 1;
    r->near[0] = (struct cs_ref_near){0};
    for (int d = r->n_far + r->n_near - 1; d >= r->n_far; d--) {
        for (int64_t i = n; i < n * plan->digit[d].extent; i++) {
            struct cs_ref_near *near = &r->near[i];
            *near = r->near[i - n];
            near->destination += plan->digit[d].destination;
            near->source += plan->digit[d].source;
            for (int g = 0; g < plan->n_guards; g++) near->guard[g] += plan->guard[g].coefficient[d];
        }
        n *= plan->digit[d].extent;
    }
}

/* ---- words made of bytes ---- */

/* moved[j][value]: the word with the bits of `value` where `place` says for bits 8j … 8j + 7. */
static void tabulate_moves(struct cs_ref_relayout *r, const uint8_t *place) {
    for (unsigned j = 0; j < 4; j++) {
        r->moved[j][0] = 0;
        for (unsigned value = 1; value < 256; value++) {
            unsigned lowest = (unsigned)__builtin_ctz(value);
            r->moved[j][value] = r->moved[j][value & (value - 1)] | UINT32_C(1) << place[8 * j + lowest];
        }
    }
}

/* Bytes whose bits a word permutes: each element of the block, byte by byte. */
static void permute_words(struct cs_ref_relayout *r) {
    int64_t width = r->run * r->plan.bits / 8;
    tabulate_moves(r, r->plan.word);
    r->makes_words = width * r->n_runs <= CS_REF_RUNS && width * r->n_runs % 4 == 0;
    for (int64_t i = 0; r->makes_words && i < r->n_runs * width; i++) r->byte[i] = r->offset[i / width] + i % width;
}

/* The digit that counts the two nibbles of a source byte, split off if need be; -1: none that starts pairs. */
static int pair_digit(struct cs_ref_relayout *r) {
    struct cs_plan *plan = &r->plan;
    for (int d = 0; d < plan->n_digits; d++) {
        if (plan->digit[d].source != 1 || !starts_pairs(r, d)) continue;
        if (plan->digit[d].extent == 2) return d;
        return split(plan, d, 2) ? d + 1 : -1;
    }
    return -1;
}

/* Nibbles whose byte brings both of them into one word: bytes are read, and each is spread over the word. `apart`: how far
 * the two are from each other there, in nibbles. */
static void spread_bytes(struct cs_ref_relayout *r, int64_t apart) {
    uint8_t place[32];
    int64_t n = 0;
    if (r->n_runs % 8 != 0 || apart > 4) return;
    for (int64_t i = 0; i < r->n_runs; i++)
        if (i / apart % 2 == 0) r->byte[n++] = r->offset[i] / 2;
    for (unsigned i = 0, byte = 0; i < 8; i++) {
        if (i / apart % 2 != 0) continue;
        for (unsigned bit = 0; bit < 8; bit++) place[8 * byte + bit] = (uint8_t)(4 * (bit < 4 ? i : i + (unsigned)apart) + bit % 4);
        byte++;
    }
    tabulate_moves(r, place);
    r->makes_words = true;
}

void cs_ref_relayout_prepare(struct cs_ref_relayout *r, const struct cs_plan *plan) {
    int64_t apart = 0;
    r->plan = *plan;
    r->size = plan->rows * plan->columns;
    r->source_size = plan->source_rows * plan->source_columns;
    r->n_near = r->n_inner = 0;
    r->makes_words = false;
    memset(r->least, 0, sizeof r->least);
    memset(r->most, 0, sizeof r->most);
    if (plan->bits == 4) pair_nibbles(r);
    if (r->plan.bits == 4 && plan->n_guards == 0) {
        int pair = pair_digit(r);
        if (pair >= 0) apart = r->plan.digit[pair].destination;
    }
    choose_run(r);
    choose_inner(r);
    r->n_far = r->plan.n_digits - r->has_run - r->n_inner;
    choose_near(r);
    r->n_tiles = r->size / (r->n_blocks * r->n_runs * r->run);
    tabulate_runs(r);
    tabulate_lines(r);
    tabulate_blocks(r);
    if (r->plan.word && r->plan.bits >= 8) permute_words(r);
    else if (apart == 1 || apart == 2 || apart == 4) spread_bytes(r, apart);
}
