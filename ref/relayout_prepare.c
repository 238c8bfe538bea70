#include "ref/relayout.h"

#include <string.h>

enum {
    LINE = 64,         /* of a cache */
    WINDOW = 2 * LINE, /* of the source, that a tile reads whole */
    BLOCK = 64 << 10   /* bytes in a block: enough to hide its set-up */
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

/* Whether some guard falls where the source rises: two rows that reverse a dimension between them can bring that about. */
static bool falls_along(const struct cs_plan *plan, int d) {
    for (int g = 0; g < plan->n_guards; g++)
        if (plan->guard[g].coefficient[d] < 0) return true;
    return false;
}

static void choose_run(struct cs_ref_relayout *r) {
    struct cs_plan *plan = &r->plan;
    int last = plan->n_digits - 1;
    r->run = 1;
    r->has_run = plan->bits >= 8 && plan->digit[last].source == 1 && !falls_along(plan, last);
    if (!r->has_run) return;
    int64_t run = plan->digit[last].extent;
    while (run > BLOCK && is_even(run)) run /= 2; /* leaves work for other threads */
    r->run = split(plan, last, run) ? run : plan->digit[last].extent;
}

/* How many runs of digit d a block has room for, when its other digits make n_runs that touch n_lines of the source. */
static int64_t room(const struct cs_ref_relayout *r, int d, int64_t n_runs, int64_t n_lines) {
    int64_t run_bytes = r->run * r->plan.bits / 8,
            most = (run_bytes < CS_REF_LONG_RUN ? CS_REF_STAGE : BLOCK) / (run_bytes + 1);
    bool shares_lines = run_bytes < LINE && step_bytes(&r->plan, d) >= LINE;
    if (most > CS_REF_RUNS) most = CS_REF_RUNS;
    if (r->plan.word && most > CS_REF_RUNS * 8 / r->plan.bits / r->run) most = CS_REF_RUNS * 8 / r->plan.bits / r->run;
    if (shares_lines && CS_REF_WINDOWS / n_lines < most / n_runs) return CS_REF_WINDOWS / n_lines;
    return most / n_runs;
}

static void choose_inner(struct cs_ref_relayout *r) {
    struct cs_plan *plan = &r->plan;
    int64_t n_lines = 1;
    int first = plan->n_digits - r->has_run;
    r->n_runs = 1;
    while (first > 0) {
        int64_t extent = plan->digit[first - 1].extent,
                part = largest_divisor(extent, room(r, first - 1, r->n_runs, n_lines));
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

/* Whether digit d stays within a window of the source, rather than step from one to the next. */
static bool is_small(const struct cs_plan *plan, int d) { return step_bytes(plan, d) < LINE; }

/* Elements from the first to the last that the small digits from `first` on reach, and the run. */
static int64_t window_of(const struct cs_ref_relayout *r, int first) {
    int64_t window = 1;
    for (int d = first; d < r->plan.n_digits; d++)
        if (is_small(&r->plan, d)) window += (r->plan.digit[d].extent - 1) * r->plan.digit[d].source;
    return window;
}

static int64_t windows_of(const struct cs_ref_relayout *r, int first) {
    int64_t n = 1;
    for (int d = first; d < r->plan.n_digits; d++)
        if (!is_small(&r->plan, d)) n *= r->plan.digit[d].extent;
    return n;
}

/* Far digits that walk within a window of the source become near ones. */
static void choose_near(struct cs_ref_relayout *r) {
    struct cs_plan *plan = &r->plan;
    int64_t window = window_of(r, r->n_far) * plan->bits / 8;
    r->n_blocks = 1;
    if (r->run * plan->bits / 8 >= LINE) return;
    if (window < WINDOW) window = WINDOW;
    if (window > CS_REF_PACK / windows_of(r, r->n_far)) return;
    for (int d = 0; d < r->n_far;) {
        int64_t step = step_bytes(plan, d), most = CS_REF_NEAR / r->n_blocks;
        int64_t part = step > 0 && step < LINE && plan->digit[d].source > 0 ? window / step : 1;
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
}

static void find_reaches(struct cs_ref_relayout *r) {
    const struct cs_plan *plan = &r->plan;
    for (int g = 0; g < plan->n_guards; g++)
        for (int d = r->n_far; d < plan->n_digits; d++) {
            int64_t reach = (plan->digit[d].extent - 1) * plan->guard[g].coefficient[d];
            bool is_near = d < r->n_far + r->n_near;
            if (!is_near)
                *(reach < 0 ? &r->least[g] : &r->most[g]) += reach;
            else if (reach > 0)
                r->most_near[g] += reach;
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

/* ---- packing ---- */

static int64_t distance(const struct cs_digit *digit) { return digit->source < 0 ? -digit->source : digit->source; }

/* The digits that step from window to window, nearest first: windows are read in the order of the source. */
static int window_digits(const struct cs_ref_relayout *r, int *digits) {
    const struct cs_plan *plan = &r->plan;
    int n = 0;
    for (int d = r->n_far; d < plan->n_digits; d++) {
        int to = n;
        if (is_small(plan, d)) continue;
        for (; to > 0 && distance(&plan->digit[digits[to - 1]]) > distance(&plan->digit[d]); to--)
            digits[to] = digits[to - 1];
        digits[to] = d;
        n++;
    }
    return n;
}

/* Elements that each digit goes on in the buffer. Windows that touch are one, read forwards: what digits that count
 * backwards subtract at most is `back`. */
static void find_steps(struct cs_ref_relayout *r, int64_t *step, int64_t *back) {
    const struct cs_plan *plan = &r->plan;
    int digits[CS_PLAN_DIGITS], n = window_digits(r, digits);
    int64_t window = window_of(r, r->n_far);
    r->n_windows = 1;
    r->window[0] = *back = 0;
    r->window_bytes = 0;
    for (int d = r->n_far; d < plan->n_digits; d++) step[d] = plan->digit[d].source;
    for (int i = 0; i < n; i++) {
        const struct cs_digit *digit = &plan->digit[digits[i]];
        bool touches = r->n_windows == 1 && distance(digit) == window;
        if (touches && digit->source < 0) *back += (digit->extent - 1) * window;
        if (!touches) {
            if (r->n_windows == 1) r->window_bytes = (window * plan->bits + 7) / 8;
            if (r->n_windows == 1) window = r->window_bytes * 8 / plan->bits;
            step[digits[i]] = window;
            for (int64_t w = r->n_windows; w < r->n_windows * digit->extent; w++)
                r->window[w] = r->window[w - r->n_windows] + digit->source * plan->bits / 8;
            r->n_windows *= digit->extent;
        }
        window *= digit->extent;
    }
    if (r->n_windows == 1) r->window_bytes = (window * plan->bits + 7) / 8;
    for (int64_t w = 0; w < r->n_windows; w++) r->window[w] -= *back * plan->bits / 8;
}

/* Not when windows would be too many, or small digits count backwards. */
static bool has_windows(const struct cs_ref_relayout *r) {
    if (r->run * r->plan.bits / 8 >= LINE || windows_of(r, r->n_far) > CS_REF_WINDOWS) return false;
    for (int d = r->n_far; d < r->plan.n_digits; d++)
        if (is_small(&r->plan, d) && r->plan.digit[d].source < 0) return false;
    return true;
}

/* table[i] := where combination i of the digits [first, end) lies, in elements; returns their number. */
static int64_t tabulate(const struct cs_plan *plan, int first, int end, const int64_t *step, int64_t *table) {
    int64_t n = 1;
    table[0] = 0;
    for (int d = end - 1; d >= first; d--) {
        for (int64_t i = n; i < n * plan->digit[d].extent; i++) table[i] = table[i - n] + step[d];
        n *= plan->digit[d].extent;
    }
    return n;
}

/* Elements of each run in the buffer. */
static void tabulate_packed(struct cs_ref_relayout *r, int64_t *runs) {
    int64_t step[CS_PLAN_DIGITS], back;
    int first = r->n_far + r->n_near;
    find_steps(r, step, &back);
    tabulate(&r->plan, first, first + r->n_inner, step, runs);
    tabulate(&r->plan, r->n_far, first, step, r->near_packed);
    for (int64_t i = 0; i < r->n_runs; i++) runs[i] += back;
    for (int64_t i = 0; i < r->n_blocks; i++) r->near_packed[i] = r->near_packed[i] * r->plan.bits / 8;
}

/* ---- words made of bytes ---- */

/* moved[j][value]: the word with the bits of `value` where `place` says for bits 8j … 8j + 7. */
static void tabulate_moves(struct cs_ref_relayout *r, const uint8_t *place) {
    for (unsigned j = 0; j < 4; j++) {
        r->moved[j][0] = 0;
        for (unsigned bit = 0; bit < 8; bit++)
            if (place[8 * j + bit] >= CS_INVERTED) r->moved[j][0] |= UINT32_C(1) << place[8 * j + bit] % CS_INVERTED;
        for (unsigned value = 1; value < 256; value++) {
            unsigned lowest = (unsigned)__builtin_ctz(value);
            r->moved[j][value] = r->moved[j][value & (value - 1)] ^ UINT32_C(1) << place[8 * j + lowest] % CS_INVERTED;
        }
    }
}

/* Bytes whose bits a word permutes: each element of the block, byte by byte. */
static void permute_words(struct cs_ref_relayout *r, const int64_t *runs) {
    int64_t unit = r->plan.bits / 8, width = r->run * unit;
    r->makes_words = width * r->n_runs <= CS_REF_RUNS && width * r->n_runs % 4 == 0;
    for (int64_t i = 0; r->makes_words && i < r->n_runs * width; i++)
        r->packed[i] = (uint16_t)(runs[i / width] * unit + i % width);
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

/* How far the two nibbles of each source byte are apart in the destination, or 0: they part. */
static int64_t nibbles_apart(struct cs_ref_relayout *r) {
    if (r->plan.bits != 4 || r->plan.n_guards > 0 || r->plan.word) return 0;
    int pair = pair_digit(r);
    return pair >= 0 ? r->plan.digit[pair].destination : 0;
}

/* Nibbles whose byte brings both of them into one word: bytes are read, and each is spread over the word. */
static void spread_bytes(struct cs_ref_relayout *r, const int64_t *runs, int64_t apart) {
    uint8_t place[32];
    int64_t n = 0;
    r->makes_words = r->n_runs % 8 == 0 && (apart == 1 || apart == 2 || apart == 4);
    if (!r->makes_words) return;
    for (int64_t i = 0; i < r->n_runs; i++)
        if (i / apart % 2 == 0) r->packed[n++] = (uint16_t)(runs[i] / 2);
    for (unsigned i = 0, bit = 0; i < 8; i++) {
        if (i / apart % 2 != 0) continue;
        for (unsigned b = 0; b < 8; b++) place[bit++] = (uint8_t)(4 * (b < 4 ? i : i + (unsigned)apart) + b % 4);
    }
    tabulate_moves(r, place);
}

static void pack(struct cs_ref_relayout *r, int64_t apart) {
    int64_t runs[CS_REF_RUNS], unit = r->plan.bits / 8;
    r->is_packed = has_windows(r);
    if (!r->is_packed) return;
    tabulate_packed(r, runs);
    r->is_packed = r->window_bytes * r->n_windows <= CS_REF_PACK;
    if (r->plan.bits == 4)
        spread_bytes(r, runs, apart);
    else if (r->plan.word)
        permute_words(r, runs);
    if (r->plan.bits == 4) r->is_packed = r->makes_words;
    for (int64_t i = 0; i < r->n_runs && !r->makes_words; i++) r->packed[i] = (uint16_t)(runs[i] * unit);
}

/* ---- all of it ---- */

void cs_ref_relayout_prepare(struct cs_ref_relayout *r, const struct cs_plan *plan) {
    r->plan = *plan;
    r->size = plan->rows * plan->columns;
    r->source_size = plan->source_rows * plan->source_columns;
    r->n_near = r->n_inner = 0;
    r->makes_words = false;
    memset(r->least, 0, sizeof r->least);
    memset(r->most, 0, sizeof r->most);
    memset(r->most_near, 0, sizeof r->most_near);
    if (plan->bits == 4) pair_nibbles(r);
    int64_t apart = nibbles_apart(r);
    choose_run(r);
    choose_inner(r);
    r->n_far = r->plan.n_digits - r->has_run - r->n_inner;
    choose_near(r);
    r->n_tiles = r->size / (r->n_blocks * r->n_runs * r->run);
    tabulate_runs(r);
    tabulate_blocks(r);
    find_reaches(r);
    if (plan->word) tabulate_moves(r, plan->word);
    pack(r, apart);
}
