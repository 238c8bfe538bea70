/* Composing layouts into one plan.
 *
 * At any point of a chain, the matrix so far is a list of digits, slowest first: a mixed-radix way of counting through
 * it in row-major order. What we follow along are linear forms of the digits: form 0 is the index of the source
 * element, the others are guards (an element where a guard reaches its limit is padding). A row of the chain then only
 *   - pads:    the outermost digit of the rows, or of the columns, grows, and a guard remembers its old extent;
 *   - views:   digits are split until every extent of the view is a product of whole digits;
 *   - flips:   a digit d becomes extent - 1 - d in every form;
 *   - orders:  digits change places.
 * Neighbours that every form counts through in one stride merge again: whole rows end up as one long digit. Two layouts
 * compose unless an extent of one and an extent of the other cross, as 96 and 128 do. */
#include "sim/device/layout_parse.h"

#include <string.h>

enum {
    MAX_DIGITS = 64, /* every digit is at least 2 and a matrix has fewer than 2^60 elements */
    MAX_FORMS = 1 + CS_PLAN_GUARDS,
    SOURCE = 0,
};

/* Forms stay below this, so that neither sums of them nor byte offsets overflow. */
#define FORM_MAX (INT64_MAX / 64)

struct digit {
    int64_t extent;
    int64_t step[MAX_FORMS];
    int place; /* rank of its axis in the order of the row at work */
};

struct matrix {
    int64_t rows, columns;
    int n_digits, n_forms;
    struct digit digit[MAX_DIGITS];
    int64_t start[MAX_FORMS], limit[MAX_FORMS];
};

/* Neighbouring view dimensions that stay neighbours, as one: fewer boundaries to cross. */
struct axis {
    int64_t extent;
    bool is_flipped;
    int place;
};

static void split(struct matrix *matrix, int d, int64_t inner_extent) {
    struct digit *outer = &matrix->digit[d];
    memmove(outer + 1, outer, (size_t)(matrix->n_digits - d) * sizeof *outer);
    matrix->n_digits++;
    outer[1].extent = inner_extent;
    outer[0].extent /= inner_extent;
    for (int f = 0; f < matrix->n_forms; f++) outer[0].step[f] *= inner_extent;
}

static bool counts_on(const struct matrix *matrix, const struct digit *outer, const struct digit *inner) {
    for (int f = 0; f < matrix->n_forms; f++) {
        if (outer->step[f] != inner->step[f] * inner->extent) return false;
    }
    return true;
}

/* Drops digits of extent 1 and merges neighbours, from digit `first` to before `end`; returns where they end now. */
static int merge(struct matrix *matrix, int first, int end) {
    int kept = first;
    for (int d = first; d < end; d++) {
        struct digit digit = matrix->digit[d];
        if (digit.extent == 1) continue;
        if (kept > first && counts_on(matrix, &matrix->digit[kept - 1], &digit)) {
            digit.extent *= matrix->digit[kept - 1].extent;
            kept--;
        }
        matrix->digit[kept++] = digit;
    }
    memmove(&matrix->digit[kept], &matrix->digit[end], (size_t)(matrix->n_digits - end) * sizeof *matrix->digit);
    matrix->n_digits -= end - kept;
    return kept;
}

static enum cs_status crossing(const struct cs_layout *layout, int64_t before, int64_t here) {
    return cs_fail(CS_UNSUPPORTED,
                   "%s does not compose with the layouts before it: their extent %" PRId64 " crosses %" PRId64
                   "; give it a pass of its own",
                   cs_layout_label(layout), before, here);
}

/* Makes a boundary between rows and columns; `n` becomes the number of digits that count rows. */
static enum cs_status split_rows(struct matrix *matrix, const struct cs_layout *layout, int *n) {
    int64_t rest = matrix->columns;
    int d = matrix->n_digits;
    while (rest > 1) {
        int64_t extent = matrix->digit[--d].extent;
        if (extent <= rest) {
            if (rest % extent != 0) return crossing(layout, extent, rest);
            rest /= extent;
        } else {
            if (extent % rest != 0) return crossing(layout, extent, rest);
            split(matrix, d++, rest);
            rest = 1;
        }
    }
    *n = d;
    return CS_OK;
}

/* No form may grow beyond FORM_MAX, wherever the digits stand. */
static bool forms_fit(const struct matrix *matrix) {
    for (int f = 0; f < matrix->n_forms; f++) {
        int64_t span = matrix->start[f] < 0 ? -matrix->start[f] : matrix->start[f];
        for (int d = 0; d < matrix->n_digits; d++) {
            int64_t step = matrix->digit[d].step[f], reach;
            if (!cs_multiply(step < 0 ? -step : step, matrix->digit[d].extent, &reach)) return false;
            if (reach > FORM_MAX - span) return false;
            span += reach;
        }
    }
    return true;
}

/* Digits [first, end) count `extent`, the rows or the columns; makes them count `padded`. */
static enum cs_status pad(struct matrix *matrix, const struct cs_layout *layout, int first, int end, int64_t extent,
                          int64_t padded) {
    if (padded == extent) return CS_OK;
    CS_REQUIRE(matrix->n_forms < MAX_FORMS, CS_UNSUPPORTED, "%s: a chain pads more than %d times",
               cs_layout_label(layout), CS_PLAN_GUARDS);
    if (first == end) { /* a single row or column */
        memmove(&matrix->digit[first + 1], &matrix->digit[first],
                (size_t)(matrix->n_digits - first) * sizeof *matrix->digit);
        matrix->digit[first] = (struct digit){.extent = 1};
        matrix->n_digits++;
    }
    struct digit *outermost = &matrix->digit[first];
    int64_t inner = extent / outermost->extent;
    if (padded % inner != 0) return crossing(layout, inner, padded);

    int guard = matrix->n_forms++;
    for (int d = 0; d < matrix->n_digits; d++) matrix->digit[d].step[guard] = 0;
    outermost->step[guard] = 1;
    matrix->start[guard] = 0;
    matrix->limit[guard] = outermost->extent;
    outermost->extent = padded / inner;
    CS_REQUIRE(forms_fit(matrix), CS_BAD_SHAPE, "%s: padding %" PRId64 " to %" PRId64 " makes the matrix too large",
               cs_layout_label(layout), extent, padded);
    return CS_OK;
}

static bool round_up(int64_t value, int64_t multiple, int64_t *rounded) {
    return cs_multiply((value - 1) / multiple + 1, multiple, rounded);
}

static enum cs_status pad_matrix(struct matrix *matrix, const struct cs_layout *layout,
                                 const struct cs_notation *notation, int bits) {
    int64_t rows, columns, size;
    bool fits = round_up(matrix->rows, notation->pad_rows, &rows) &&
                round_up(matrix->columns, notation->pad_columns, &columns) && cs_multiply(rows, columns, &size) &&
                cs_multiply(size, bits, &size) && size <= FORM_MAX;
    CS_REQUIRE(fits, CS_BAD_SHAPE, "%s: pad \"%.80s\" makes %" PRId64 " x %" PRId64 " too large",
               cs_layout_label(layout), layout->pad, matrix->rows, matrix->columns);
    if (rows == matrix->rows && columns == matrix->columns) return CS_OK;

    int n = 0;
    CS_TRY(split_rows(matrix, layout, &n));
    n = merge(matrix, 0, n);
    int end = merge(matrix, n, matrix->n_digits);
    CS_TRY(pad(matrix, layout, n, end, matrix->columns, columns));
    CS_TRY(pad(matrix, layout, 0, n, matrix->rows, rows));
    matrix->rows = rows;
    matrix->columns = columns;
    return CS_OK;
}

/* Turns the view's dimensions into axes, slowest source first; returns their number. Dimensions of extent 1 vanish. */
static int make_axes(const struct cs_notation *notation, const int64_t *extents, struct axis *axes) {
    int rank[CS_LAYOUT_NDIM], n_ranks = 0, n = 0, previous = -1;
    for (int j = 0; j < notation->ndim; j++) {
        if (extents[notation->order[j]] > 1) rank[notation->order[j]] = n_ranks++;
    }
    for (int i = 0; i < notation->ndim; i++) {
        if (extents[i] == 1) continue;
        if (n > 0 && rank[i] == rank[previous] + 1 && notation->is_flipped[i] == axes[n - 1].is_flipped) {
            axes[n - 1].extent *= extents[i];
        } else {
            axes[n++] = (struct axis){extents[i], notation->is_flipped[i], rank[i]};
        }
        previous = i;
    }
    return n;
}

static void flip(struct matrix *matrix, struct digit *digit) {
    for (int f = 0; f < matrix->n_forms; f++) {
        matrix->start[f] += (digit->extent - 1) * digit->step[f];
        digit->step[f] = -digit->step[f];
    }
}

/* Splits digits until each lies within one axis, innermost first, and gives it the place of that axis. Both lists count
 * through the same number of elements. */
static enum cs_status refine(struct matrix *matrix, const struct cs_layout *layout, const struct axis *axes,
                             int n_axes) {
    int a = n_axes;
    int64_t rest = 1; /* of axis a, still to be covered */
    for (int d = matrix->n_digits - 1; d >= 0; d--) {
        if (rest == 1) rest = axes[--a].extent;
        int64_t extent = matrix->digit[d].extent;
        if (extent > rest) {
            if (extent % rest != 0) return crossing(layout, extent, rest);
            split(matrix, d++, rest);
            extent = rest;
        } else if (rest % extent != 0) {
            return crossing(layout, extent, rest);
        }
        matrix->digit[d].place = axes[a].place;
        if (axes[a].is_flipped) flip(matrix, &matrix->digit[d]);
        rest /= extent;
    }
    return CS_OK;
}

/* Stable: digits of one axis keep their order. */
static void order(struct matrix *matrix) {
    for (int d = 1; d < matrix->n_digits; d++) {
        struct digit digit = matrix->digit[d];
        int to = d;
        for (; to > 0 && matrix->digit[to - 1].place > digit.place; to--) matrix->digit[to] = matrix->digit[to - 1];
        matrix->digit[to] = digit;
    }
}

static enum cs_status apply(struct matrix *matrix, const struct cs_layout *layout, int bits) {
    CS_REQUIRE(layout->bits == 0 || layout->bits == bits, CS_BAD_TYPE,
               "%s moves %d-bit elements, not %d-bit ones: K counts in those", cs_layout_label(layout), layout->bits,
               bits);
    struct cs_notation notation;
    CS_TRY(cs_layout_parse(layout, &notation));
    CS_TRY(pad_matrix(matrix, layout, &notation, bits));

    int64_t extents[CS_LAYOUT_NDIM];
    bool is_transposing;
    CS_TRY(cs_layout_extents(layout, &notation, matrix->rows, matrix->columns, extents, &is_transposing));
    struct axis axes[CS_LAYOUT_NDIM];
    int n_axes = make_axes(&notation, extents, axes);
    merge(matrix, 0, matrix->n_digits);
    CS_TRY(refine(matrix, layout, axes, n_axes));
    order(matrix);
    merge(matrix, 0, matrix->n_digits);
    if (is_transposing) {
        int64_t rows = matrix->rows;
        matrix->rows = matrix->columns;
        matrix->columns = rows;
    }
    return CS_OK;
}

static enum cs_status write_plan(struct cs_plan *plan, const struct matrix *matrix) {
    CS_REQUIRE(matrix->n_digits <= CS_PLAN_DIGITS, CS_UNSUPPORTED,
               "the chain composes into %d digits, a plan has %d: make two passes of it", matrix->n_digits,
               CS_PLAN_DIGITS);
    plan->rows = matrix->rows;
    plan->columns = matrix->columns;
    plan->source_start = matrix->start[SOURCE];
    plan->n_digits = matrix->n_digits;
    plan->n_guards = matrix->n_forms - 1;
    int64_t destination = 1;
    for (int d = matrix->n_digits - 1; d >= 0; d--) {
        const struct digit *digit = &matrix->digit[d];
        plan->digit[d] = (struct cs_digit){digit->extent, digit->step[SOURCE], destination};
        for (int g = 0; g < plan->n_guards; g++) plan->guard[g].coefficient[d] = digit->step[1 + g];
        destination *= digit->extent;
    }
    for (int g = 0; g < plan->n_guards; g++) {
        plan->guard[g].constant = matrix->start[1 + g];
        plan->guard[g].limit = matrix->limit[1 + g];
    }
    if (plan->n_digits == 0) plan->digit[plan->n_digits++] = (struct cs_digit){1, 1, 1}; /* a single element */
    return CS_OK;
}

/* A permuted word must not straddle two matrices. */
static enum cs_status take_word(struct cs_plan *plan, const struct cs_layout *const *chain, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (!chain[i]->word) continue;
        CS_REQUIRE(i + 1 == n, CS_UNSUPPORTED, "%s permutes the bits of words, so it must come last in a chain",
                   cs_layout_label(chain[i]));
        CS_REQUIRE(plan->rows * plan->columns * plan->bits % 32 == 0, CS_BAD_SHAPE,
                   "%s: %" PRId64 " x %" PRId64 " elements of %d bits are no whole number of 32-bit words",
                   cs_layout_label(chain[i]), plan->rows, plan->columns, plan->bits);
        CS_TRY(cs_layout_check_word(chain[i]));
        plan->word = chain[i]->word;
    }
    return CS_OK;
}

enum cs_status cs_plan_compose(struct cs_plan *plan, const struct cs_layout *const *chain, size_t n, int bits,
                               int64_t rows, int64_t columns) {
    int64_t size;
    CS_REQUIRE(bits == 4 || bits == 8 || bits == 16 || bits == 32 || bits == 64, CS_BAD_TYPE,
               "layouts move elements of 4, 8, 16, 32 or 64 bits, not of %d", bits);
    CS_REQUIRE(rows > 0 && columns > 0, CS_BAD_SHAPE, "a matrix of %" PRId64 " x %" PRId64 " elements has no layout",
               rows, columns);
    CS_REQUIRE(cs_multiply(rows, columns, &size) && cs_multiply(size, bits, &size) && size <= FORM_MAX, CS_BAD_SHAPE,
               "a matrix of %" PRId64 " x %" PRId64 " elements of %d bits is too large", rows, columns, bits);

    struct matrix matrix = {.rows = rows, .columns = columns, .n_digits = 2, .n_forms = 1};
    matrix.digit[0] = (struct digit){.extent = rows, .step = {columns}};
    matrix.digit[1] = (struct digit){.extent = columns, .step = {1}};
    merge(&matrix, 0, 2);
    for (size_t i = 0; i < n; i++) CS_TRY(apply(&matrix, chain[i], bits));

    *plan = (struct cs_plan){.bits = bits, .source_rows = rows, .source_columns = columns};
    CS_TRY(write_plan(plan, &matrix));
    return take_word(plan, chain, n);
}

int64_t cs_plan_source(const struct cs_plan *plan, int64_t index) {
    int64_t source = plan->source_start, guard[CS_PLAN_GUARDS];
    for (int g = 0; g < plan->n_guards; g++) guard[g] = plan->guard[g].constant;
    for (int d = plan->n_digits - 1; d >= 0; d--) {
        int64_t digit = index % plan->digit[d].extent;
        index /= plan->digit[d].extent;
        source += digit * plan->digit[d].source;
        for (int g = 0; g < plan->n_guards; g++) guard[g] += digit * plan->guard[g].coefficient[d];
    }
    for (int g = 0; g < plan->n_guards; g++) {
        if (guard[g] >= plan->guard[g].limit) return -1;
    }
    return source;
}
