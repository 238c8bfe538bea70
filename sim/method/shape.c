/* Shapes in words. */
#include "sim/method/method.h"

#include <ctype.h>
#include <string.h>

static bool size_of_word(const char *word, size_t length, const struct cs_sizes *sizes, int64_t *value) {
    bool is_global = sizes->options & CS_GLOBAL_INPUT;
    const int64_t refine[] = {sizes->refine[0] > 0 ? sizes->refine[0] : 1, sizes->refine[1] > 0 ? sizes->refine[1] : 1};
    const struct {
        const char *name;
        int64_t value;
    } words[] = {
        {"B", sizes->bits},
        {"Bk", sizes->block[1]},
        {"Bn", sizes->block[0]},
        {"E", sizes->experts},
        {"Eg", sizes->experts_global},
        {"Ei", is_global ? sizes->experts_global + sizes->experts_redundant : sizes->experts},
        {"G", sizes->group},
        {"H", sizes->hidden},
        {"Hu", sizes->hidden_u},
        {"I", sizes->intermediate},
        {"If", sizes->intermediate_full},
        {"Iu", sizes->intermediate_u},
        {"P", sizes->bits > 0 ? 32 / sizes->bits : 0},
        {"S", sizes->options & CS_NOT_GATED ? 1 : 2},
        {"bk", sizes->block[1] / refine[1]},
        {"bn", sizes->block[0] / refine[0]},
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

enum { FLOOR = 'f', CEILING = 'c' }; /* the operations // and /+ */

static enum cs_status apply(char operation, const char *text, size_t length, int64_t value, int64_t *extent) {
    if (operation == '*') {
        CS_REQUIRE(cs_multiply(*extent, value, extent), CS_BAD_VALUE, "shape word \"%.*s\" is too large", (int)length,
                   text);
        return CS_OK;
    }
    CS_REQUIRE(value > 0 && (operation != '/' || *extent % value == 0), CS_BAD_VALUE,
               "shape word \"%.*s\": %" PRId64 " is not a multiple of %" PRId64, (int)length, text, *extent, value);
    *extent = *extent / value + (operation == CEILING && *extent % value);
    return CS_OK;
}

static enum cs_status read_word(const char *text, size_t length, size_t start, size_t end, const struct cs_sizes *sizes,
                                int64_t *value) {
    CS_REQUIRE(size_of_word(text + start, end - start, sizes, value), CS_BAD_VALUE,
               "shape word \"%.*s\" is unknown: use E, Eg, I, Iu, If, H, Hu, S or a number, joined by * and /",
               (int)length, text);
    return CS_OK;
}

/* One extent: factors joined by *, /, // and /+, from left to right. */
static enum cs_status parse_extent(const char *text, size_t length, const struct cs_sizes *sizes, int64_t *extent) {
    char operation = '*';
    *extent = 1;
    for (size_t start = 0, end = 0; start <= length; start = end + 1) {
        for (end = start; end < length && text[end] != '*' && text[end] != '/';) end++;
        int64_t value;
        CS_TRY(read_word(text, length, start, end, sizes, &value));
        CS_TRY(apply(operation, text, length, value, extent));
        if (end < length) operation = text[end];
        bool is_rounded = end + 1 < length && text[end] == '/' && (text[end + 1] == '/' || text[end + 1] == '+');
        if (is_rounded) operation = text[++end] == '/' ? FLOOR : CEILING;
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

enum cs_status cs_shape_check(const char *text) {
    const struct cs_sizes none = {0};
    for (const char *word = text; *word; word += strspn(word, " ")) {
        size_t length = strcspn(word, " ");
        for (size_t start = 0, end; start <= length; start = end + 1) {
            int64_t value;
            end = start + strcspn(word + start, "*/ ");
            CS_TRY(read_word(word, length, start, end, &none, &value));
            bool is_rounded = end + 1 < length && word[end] == '/' && strchr("/+", word[end + 1]);
            end += is_rounded;
        }
        word += length;
    }
    return CS_OK;
}
