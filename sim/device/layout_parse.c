#include "sim/device/layout_parse.h"

#include <string.h>

/* No extent or multiple of a real layout comes near; it keeps every product of two of them inside an int64_t. */
#define NUMBER_MAX (INT64_C(1) << 30)

/* A word of the text, for messages: at most 40 characters of it. */
struct word {
    const char *text;
    int length;
};
#define WORD(word) ((word).length < 40 ? (word).length : 40), (word).text

const char *cs_layout_label(const struct cs_layout *layout) {
    return layout->name && *layout->name ? layout->name : "layout";
}

/* Cuts the next word off `*text`; false at the end. Only spaces separate. */
static bool next_word(const char **text, struct word *word) {
    const char *start = *text ? *text + strspn(*text, " ") : "";
    size_t length = strcspn(start, " ");
    word->text = start;
    word->length = length > INT32_MAX ? INT32_MAX : (int)length;
    *text = start + length;
    return length > 0;
}

/* A decimal number up to NUMBER_MAX, and nothing else. */
static bool read_number(const char *text, int length, int64_t *number) {
    *number = 0;
    for (int i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9') return false;
        *number = *number * 10 + (text[i] - '0');
        if (*number > NUMBER_MAX) return false;
    }
    return length > 0;
}

static bool read_extent(struct word word, struct cs_extent *extent) {
    extent->of = 0;
    if (*word.text != 'M' && *word.text != 'K') {
        return read_number(word.text, word.length, &extent->number) && extent->number > 0;
    }
    extent->of = *word.text;
    extent->number = 1;
    if (word.length == 1) return true;
    return word.text[1] == '/' && read_number(word.text + 2, word.length - 2, &extent->number) && extent->number > 0;
}

static enum cs_status parse_pad(const struct cs_layout *layout, struct cs_notation *notation) {
    const char *rest = layout->pad;
    int64_t multiple[2] = {1, 1};
    int n = 0;
    for (struct word word; next_word(&rest, &word); n++) {
        CS_REQUIRE(n < 2, CS_BAD_VALUE, "%s: pad \"%s\" has more than two numbers", cs_layout_label(layout),
                   layout->pad);
        CS_REQUIRE(read_number(word.text, word.length, &multiple[n]) && multiple[n] > 0, CS_BAD_VALUE,
                   "%s: pad \"%.*s\" is not a number from 1 to 2^30", cs_layout_label(layout), WORD(word));
    }
    CS_REQUIRE(n != 1, CS_BAD_VALUE, "%s: pad \"%s\" needs two numbers, for M and for K", cs_layout_label(layout),
               layout->pad);
    notation->pad_rows = multiple[0];
    notation->pad_columns = multiple[1];
    return CS_OK;
}

static enum cs_status parse_view(const struct cs_layout *layout, struct cs_notation *notation) {
    const char *rest = layout->view;
    notation->ndim = 0;
    for (struct word word; next_word(&rest, &word); notation->ndim++) {
        CS_REQUIRE(notation->ndim < CS_LAYOUT_NDIM, CS_BAD_VALUE, "%s: the view has more than %d extents",
                   cs_layout_label(layout), CS_LAYOUT_NDIM);
        CS_REQUIRE(read_extent(word, &notation->extent[notation->ndim]), CS_BAD_VALUE,
                   "%s: extent \"%.*s\" is not M, K, M/n, K/n or n, with n from 1 to 2^30", cs_layout_label(layout),
                   WORD(word));
    }
    CS_REQUIRE(notation->ndim > 0, CS_BAD_VALUE, "%s: the view is empty", cs_layout_label(layout));
    return CS_OK;
}

/* Reads distinct dimensions of the view into `dimension` and their count. */
static enum cs_status parse_dimensions(const struct cs_layout *layout, const char *what, const char *text, int ndim,
                                       int *dimension, int *n) {
    bool seen[CS_LAYOUT_NDIM] = {false};
    *n = 0;
    for (struct word word; next_word(&text, &word); (*n)++) {
        int64_t number;
        CS_REQUIRE(read_number(word.text, word.length, &number) && number < ndim, CS_BAD_VALUE,
                   "%s: %s \"%.*s\" is not a dimension of the view, which has 0 to %d", cs_layout_label(layout), what,
                   WORD(word), ndim - 1);
        CS_REQUIRE(!seen[number], CS_BAD_VALUE, "%s: %s names dimension %d twice", cs_layout_label(layout), what,
                   (int)number);
        seen[number] = true;
        dimension[*n] = (int)number;
    }
    return CS_OK;
}

enum cs_status cs_layout_parse(const struct cs_layout *layout, struct cs_notation *notation) {
    CS_TRY(parse_pad(layout, notation));
    CS_TRY(parse_view(layout, notation));

    int flipped[CS_LAYOUT_NDIM], n;
    CS_TRY(parse_dimensions(layout, "flip", layout->flip, notation->ndim, flipped, &n));
    memset(notation->is_flipped, 0, sizeof notation->is_flipped);
    for (int i = 0; i < n; i++) notation->is_flipped[flipped[i]] = true;

    CS_TRY(parse_dimensions(layout, "order", layout->order, notation->ndim, notation->order, &n));
    CS_REQUIRE(n == 0 || n == notation->ndim, CS_BAD_VALUE, "%s: order names %d of the view's %d dimensions",
               cs_layout_label(layout), n, notation->ndim);
    if (n == 0) {
        for (int i = 0; i < notation->ndim; i++) notation->order[i] = i;
    }
    return CS_OK;
}

enum cs_status cs_layout_check(const struct cs_layout *layout) {
    struct cs_notation notation;
    CS_TRY(cs_layout_parse(layout, &notation));
    bool is_known = layout->bits == 0 || layout->bits == 4 || layout->bits == 8 || layout->bits == 16 ||
                    layout->bits == 32 || layout->bits == 64;
    CS_REQUIRE(is_known, CS_BAD_VALUE, "%s: elements of %d bits; layouts move 4, 8, 16, 32 or 64",
               cs_layout_label(layout), layout->bits);
    return layout->word ? cs_layout_check_word(layout) : CS_OK;
}

enum cs_status cs_layout_check_word(const struct cs_layout *layout) {
    bool seen[32] = {false};
    for (int bit = 0; bit < 32; bit++) {
        int place = layout->word[bit] % CS_INVERTED;
        CS_REQUIRE(layout->word[bit] < 2 * CS_INVERTED && !seen[place], CS_BAD_VALUE,
                   "%s: word sends bit %d to %d: expected a permutation of 0 to 31, 32 more for bits that are inverted", cs_layout_label(layout), bit,
                   layout->word[bit]);
        seen[place] = true;
    }
    return CS_OK;
}

/* Number of leading dimensions that multiply to `rows`, the others to `columns`; 0 when they do not. */
static int row_dimensions(const int64_t *extents, int ndim, int64_t rows, int64_t columns) {
    int n = 0;
    int64_t product = 1;
    while (n < ndim && (n == 0 || product < rows)) {
        if (!cs_multiply(product, extents[n++], &product)) return 0;
    }
    if (product != rows) return 0;
    product = 1;
    for (int i = n; i < ndim; i++) {
        if (!cs_multiply(product, extents[i], &product)) return 0;
    }
    return product == columns ? n : 0;
}

/* All of K before all of M? A plain 1 belongs to neither. */
static bool puts_columns_first(const struct cs_notation *notation, int n_row_dims) {
    bool seen_row = false, seen_column = false;
    for (int j = 0; j < notation->ndim; j++) {
        int dimension = notation->order[j];
        const struct cs_extent *extent = &notation->extent[dimension];
        if (extent->of == 0 && extent->number == 1) continue;
        if (dimension < n_row_dims)
            seen_row = true;
        else if (seen_row)
            return false;
        else
            seen_column = true;
    }
    return seen_row && seen_column;
}

enum cs_status cs_layout_extents(const struct cs_layout *layout, const struct cs_notation *notation, int64_t rows,
                                 int64_t columns, int64_t *extents, bool *is_transposing) {
    for (int i = 0; i < notation->ndim; i++) {
        const struct cs_extent *extent = &notation->extent[i];
        int64_t whole = extent->of == 'M' ? rows : columns;
        CS_REQUIRE(extent->of == 0 || whole % extent->number == 0, CS_BAD_SHAPE,
                   "%s: %c = %" PRId64 " is not a multiple of %" PRId64, cs_layout_label(layout), extent->of, whole,
                   extent->number);
        extents[i] = extent->of ? whole / extent->number : extent->number;
    }
    int n_row_dims = row_dimensions(extents, notation->ndim, rows, columns);
    CS_REQUIRE(n_row_dims > 0, CS_BAD_SHAPE,
               "%s: view \"%.200s\" does not multiply to M = %" PRId64 " rows, then K = %" PRId64 " columns",
               cs_layout_label(layout), layout->view, rows, columns);
    *is_transposing = puts_columns_first(notation, n_row_dims);
    return CS_OK;
}
