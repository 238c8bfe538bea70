/* Shape texts of steps: "w13_weight.0 -1 w13_weight.2/128 128", "x/32". */
#include "sim/method/steps.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { NAME = 64 };

/* A number, or the extent of one dimension of a value. */
static enum cs_status factor(struct cs_post_load *run, const char *word, size_t length, int64_t *extent) {
    char name[NAME];
    CS_REQUIRE(length > 0 && length < NAME, CS_BAD_VALUE, "shape word \"%.*s\" is no number and no NAME.DIMENSION",
               (int)length, word);
    memcpy(name, word, length);
    name[length] = 0;
    const struct {
        const char *name;
        int64_t value;
    } words[] = {{"E", run->experts}, {"bn", run->block[0]}, {"bk", run->block[1]}};
    for (size_t i = 0; i < CS_COUNT(words); i++)
        if (cs_text_equal(words[i].name, name)) {
            *extent = words[i].value;
            return CS_OK;
        }
    if (isdigit((unsigned char)name[0])) {
        *extent = strtoll(name, NULL, 10);
        return CS_OK;
    }
    char *dot = strrchr(name, '.');
    CS_REQUIRE(dot, CS_BAD_VALUE, "shape word \"%s\" is no number and no NAME.DIMENSION", name);
    *dot = 0;
    int dim = atoi(dot + 1);
    struct cs_view view;
    CS_TRY(cs_steps_value(run, name, &view));
    if (dim < 0) dim += view.ndim;
    CS_REQUIRE(dim >= 0 && dim < view.ndim, CS_BAD_SHAPE, "%s has no dimension %d", name, dim);
    *extent = view.shape[dim];
    return CS_OK;
}

static enum cs_status extent_of(struct cs_post_load *run, const char *word, size_t length, int64_t *extent) {
    char operation = '*';
    *extent = 1;
    for (size_t start = 0, end; start <= length; start = end + 1) {
        for (end = start; end < length && word[end] != '*' && word[end] != '/';) end++;
        int64_t value;
        CS_TRY(factor(run, word + start, end - start, &value));
        CS_REQUIRE(operation == '*' || value > 0, CS_BAD_VALUE, "shape word \"%.*s\" divides by %" PRId64, (int)length,
                   word, value);
        if (operation == '*')
            CS_REQUIRE(cs_multiply(*extent, value, extent), CS_BAD_SHAPE, "shape word \"%.*s\" is too large",
                       (int)length, word);
        else
            *extent = (*extent + value - 1) / value;
        if (end < length) operation = word[end];
    }
    return CS_OK;
}

/* NAME or NAME/DIVISOR: the whole shape of a value, with its last extent divided. */
static enum cs_status all_of(struct cs_post_load *run, const char *word, size_t length, int *ndim, int64_t *shape) {
    char name[NAME];
    size_t end = strcspn(word, "/ ");
    int64_t divisor = 1;
    memcpy(name, word, end);
    name[end] = 0;
    struct cs_view view;
    CS_TRY(cs_steps_value(run, name, &view));
    if (end < length) CS_TRY(factor(run, word + end + 1, length - end - 1, &divisor));
    CS_REQUIRE(*ndim + view.ndim <= CS_NDIM && divisor > 0, CS_BAD_VALUE,
               "shape word \"%.*s\": too many dimensions, or a bad divisor", (int)length, word);
    for (int d = 0; d < view.ndim; d++) shape[(*ndim)++] = view.shape[d];
    if (view.ndim > 0) shape[*ndim - 1] = (shape[*ndim - 1] + divisor - 1) / divisor;
    return CS_OK;
}

/* A name without a dimension; E, bn and bk are extents. */
static bool is_whole(const char *word, size_t length) {
    size_t end = strcspn(word, "*/ ");
    bool is_extent = (end == 1 && word[0] == 'E') || (end == 2 && word[0] == 'b' && strchr("nk", word[1]));
    return end < NAME && isalpha((unsigned char)word[0]) && !is_extent && !memchr(word, '.', end) && end <= length;
}

enum cs_status cs_steps_shape(struct cs_post_load *run, const char *text, int *ndim, int64_t *shape) {
    *ndim = 0;
    for (const char *word = text; *word; word += strspn(word, " ")) {
        size_t length = strcspn(word, " ");
        CS_REQUIRE(*ndim < CS_NDIM, CS_BAD_VALUE, "shape \"%s\" has more than %d dimensions", text, CS_NDIM);
        if (is_whole(word, length))
            CS_TRY(all_of(run, word, length, ndim, shape));
        else if (length == 2 && word[0] == '-')
            shape[(*ndim)++] = -1;
        else
            CS_TRY(extent_of(run, word, length, &shape[(*ndim)++]));
        word += length;
    }
    return CS_OK;
}
