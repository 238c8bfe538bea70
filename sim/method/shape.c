/* Shapes in words, and the sizes that the words stand for. */
#include "sim/method/method.h"

#include <ctype.h>
#include <string.h>

enum cs_status cs_sizes_resolve(struct cs_sizes *sizes, const struct cs_rounding *rounding) {
    CS_REQUIRE(sizes->hidden_u > 0 && sizes->intermediate_full > 0 && sizes->experts_global > 0 && sizes->tp > 0 && sizes->ep > 0,
               CS_BAD_VALUE, "sizes must be positive: hidden %" PRId64 ", intermediate %" PRId64 ", experts %" PRId64 ", tp %d, ep %d",
               sizes->hidden_u, sizes->intermediate_full, sizes->experts_global, sizes->tp, sizes->ep);
    CS_REQUIRE(sizes->intermediate_full % sizes->tp == 0, CS_BAD_VALUE,
               "intermediate %" PRId64 " does not divide over tp %d ranks: choose a tp that divides it", sizes->intermediate_full, sizes->tp);
    enum { LARGEST = 1 << 30 }; /* keeps every product of two sizes and a multiple far from overflow */
    CS_REQUIRE(sizes->hidden_u <= LARGEST && sizes->intermediate_full <= LARGEST && sizes->experts_global <= LARGEST, CS_BAD_VALUE,
               "sizes above %d are not supported: hidden %" PRId64 ", intermediate %" PRId64 ", experts %" PRId64, LARGEST,
               sizes->hidden_u, sizes->intermediate_full, sizes->experts_global);
    sizes->intermediate_u = sizes->intermediate_full / sizes->tp;
    int64_t i = rounding->intermediate ? rounding->intermediate : 1, h = rounding->hidden ? rounding->hidden : 1;
    sizes->intermediate = (sizes->intermediate_u + i - 1) / i * i;
    sizes->hidden = (sizes->hidden_u + h - 1) / h * h;
    return CS_OK;
}

static bool size_of_word(const char *word, size_t length, const struct cs_sizes *sizes, int64_t *value) {
    const struct { const char *name; int64_t value; } words[] = {
        {"E", sizes->experts},          {"Eg", sizes->experts_global},   {"H", sizes->hidden},
        {"Hu", sizes->hidden_u},        {"I", sizes->intermediate},      {"If", sizes->intermediate_full},
        {"Iu", sizes->intermediate_u},
    };
    for (size_t i = 0; i < CS_COUNT(words); i++)
        if (strlen(words[i].name) == length && strncmp(words[i].name, word, length) == 0) {
            *value = words[i].value;
            return true;
        }
    if (length == 0 || length > 18) return false;
    *value = 0;
    for (size_t i = 0; i < length; i++) {
        if (!isdigit((unsigned char)word[i])) return false;
        *value = *value * 10 + (word[i] - '0');
    }
    return true;
}

enum { FLOOR = 'f' }; /* the operation // */

/* One extent: factors joined by *, / and //, from left to right; / must be exact, // rounds down as upstream's does. */
static enum cs_status parse_extent(const char *text, size_t length, const struct cs_sizes *sizes, int64_t *extent) {
    char operation = '*';
    *extent = 1;
    for (size_t start = 0, end = 0; start <= length; start = end + 1) {
        for (end = start; end < length && text[end] != '*' && text[end] != '/';) end++;
        int64_t value;
        CS_REQUIRE(size_of_word(text + start, end - start, sizes, &value), CS_BAD_VALUE,
                   "shape word \"%.*s\" is unknown: use E, Eg, I, Iu, If, H, Hu or a number, joined by * and /", (int)length, text);
        if (operation == '*') {
            CS_REQUIRE(cs_multiply(*extent, value, extent), CS_BAD_VALUE, "shape word \"%.*s\" is too large", (int)length, text);
        } else {
            CS_REQUIRE(value > 0 && (operation == FLOOR || *extent % value == 0), CS_BAD_VALUE,
                       "shape word \"%.*s\": %" PRId64 " is not a multiple of %" PRId64, (int)length, text, *extent, value);
            *extent /= value;
        }
        if (end < length) operation = text[end];
        bool is_floor = end + 1 < length && text[end] == '/' && text[end + 1] == '/';
        if (is_floor) operation = FLOOR, end++;
    }
    return CS_OK;
}

enum cs_status cs_shape_parse(const char *text, const struct cs_sizes *sizes, int *ndim, int64_t *shape) {
    *ndim = 0;
    for (const char *word = text; *word;) {
        size_t length = strcspn(word, " ");
        if (length) {
            CS_REQUIRE(*ndim < CS_NDIM, CS_BAD_VALUE, "shape \"%s\" has more than %d dimensions", text, CS_NDIM);
            CS_TRY(parse_extent(word, length, sizes, &shape[(*ndim)++]));
        }
        word += length;
        while (*word == ' ') word++;
    }
    return CS_OK;
}
