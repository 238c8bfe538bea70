#include "sim/base/base.h"

#include <ctype.h>
#include <string.h>

bool cs_text_equal(const char *a, const char *b) { return strcmp(a, b) == 0; }

bool cs_text_matches(const char *pattern, const char *text) {
    /* On a mismatch after a star, let the star take one more character: linear space, no recursion. */
    const char *star = NULL, *resume = NULL;
    while (*text) {
        if (*pattern == '*') {
            star = pattern++;
            resume = text;
        } else if (*pattern == *text) {
            pattern++, text++;
        } else if (star) {
            pattern = star + 1;
            text = ++resume;
        } else {
            return false;
        }
    }
    while (*pattern == '*') pattern++;
    return !*pattern;
}

enum { LONGEST_WORD = 64 };

size_t cs_text_distance(const char *a, const char *b) {
    size_t n = strlen(a), m = strlen(b);
    if (n > LONGEST_WORD || m > LONGEST_WORD) return n > m ? n : m;
    size_t row[LONGEST_WORD + 1];
    for (size_t j = 0; j <= m; j++) row[j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t replace = diagonal + (a[i - 1] != b[j - 1]), insert = row[j - 1] + 1, drop = row[j] + 1;
            diagonal = row[j];
            row[j] = replace < insert ? replace : insert;
            if (drop < row[j]) row[j] = drop;
        }
    }
    return row[m];
}

const char *cs_text_nearest(const char *word, const char *const *names, size_t n) {
    const char *best = NULL;
    size_t limit = strlen(word) / 3 + 1; /* one slip in a short word, more in a long one */
    for (size_t i = 0; i < n; i++) {
        size_t distance = cs_text_distance(word, names[i]);
        if (distance <= limit) {
            if (distance == 0) return names[i];
            limit = distance - 1;
            best = names[i];
        }
    }
    return best;
}

enum cs_status cs_text_bytes(const char *text, uint64_t *bytes) {
    static const struct {
        const char *name;
        uint64_t factor;
    } units[] = {
        {"", 1}, {"B", 1}, {"KiB", UINT64_C(1) << 10}, {"MiB", UINT64_C(1) << 20}, {"GiB", UINT64_C(1) << 30},
    };
    const char *c = text;
    uint64_t value = 0;
    bool fits = isdigit((unsigned char)*c);
    for (; isdigit((unsigned char)*c); c++)
        fits = fits && !__builtin_mul_overflow(value, 10, &value) &&
               !__builtin_add_overflow(value, (uint64_t)(*c - '0'), &value);
    while (*c == ' ') c++;
    for (size_t i = 0; fits && i < CS_COUNT(units); i++)
        if (cs_text_equal(c, units[i].name) && !__builtin_mul_overflow(value, units[i].factor, bytes) &&
            *bytes <= INT64_MAX)
            return CS_OK;
    return cs_fail(CS_BAD_VALUE, "\"%s\" is not a size: write a whole number and B, KiB, MiB or GiB, such as \"64MiB\"",
                   text);
}

/* ---- UTF-8 ---- */

/* Bytes of the character that this byte begins; 0: it begins none. */
static size_t length_after(unsigned char first) {
    if (first < 0x80) return 1;
    if (first < 0xc2) return 0; /* goes on with a character, or takes two bytes where one is enough */
    if (first < 0xe0) return 2;
    if (first < 0xf0) return 3;
    return first < 0xf5 ? 4 : 0;
}

static bool goes_on(char byte) { return ((unsigned char)byte & 0xc0) == 0x80; }

size_t cs_text_cut(const char *text, size_t n) {
    n = strnlen(text, n);
    for (size_t back = 1; back <= 3 && back <= n; back++) {
        if (goes_on(text[n - back])) continue;
        return length_after((unsigned char)text[n - back]) > back ? n - back : n;
    }
    return n;
}

/* The second byte of some characters has a smaller range, or they could be had with fewer bytes, be surrogates, or lie
 * beyond U+10FFFF. */
static bool is_second(unsigned char first, unsigned char second) {
    switch (first) {
    case 0xe0: return second >= 0xa0;
    case 0xed: return second < 0xa0;
    case 0xf0: return second >= 0x90;
    case 0xf4: return second < 0x90;
    }
    return true;
}

void cs_text_make_valid(char *text) {
    for (char *c = text; *c;) {
        size_t wanted = length_after((unsigned char)*c), n = 1;
        while (n < wanted && goes_on(c[n])) n++; /* stops at the end of the text */
        bool is_valid = n == wanted && (n == 1 || is_second((unsigned char)c[0], (unsigned char)c[1]));
        if (!is_valid) *c = '?';
        c += is_valid ? n : 1;
    }
}
