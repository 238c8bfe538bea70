/* The notation of `struct cs_layout`, read into numbers: what layout.c composes. Private to sim/device.
 *
 *   pad    ""  | number number                  multiples for M and K
 *   view   extent { " " extent }                extent = "M" | "K" | "M/" number | "K/" number | number
 *   flip   ""  | dimension { " " dimension }    each at most once
 *   order  ""  | dimension { " " dimension }    each exactly once
 *
 * Numbers are decimal and positive, dimensions count from 0. The leading extents multiply to M, the others to K: a view
 * never mixes rows and columns. Notation comes from scripts too, so every message names the layout and the word. */
#ifndef CS_LAYOUT_PARSE_H
#define CS_LAYOUT_PARSE_H

#include "sim/device/device.h"

enum { CS_LAYOUT_NDIM = 16 };

struct cs_extent {
    char of;        /* 'M', 'K', or 0: a plain number */
    int64_t number; /* the divisor, or the extent itself */
};

struct cs_notation {
    int ndim;
    struct cs_extent extent[CS_LAYOUT_NDIM];
    bool is_flipped[CS_LAYOUT_NDIM];
    int order[CS_LAYOUT_NDIM];
    int64_t pad_rows, pad_columns; /* 1: none */
};

/* Reads the four texts; looks at no shape. CS_BAD_VALUE names the layout and the word that is wrong. */
enum cs_status cs_layout_parse(const struct cs_layout *layout, struct cs_notation *notation);

/* That `word` sends every bit somewhere else. */
enum cs_status cs_layout_check_word(const struct cs_layout *layout);

/* The extents that the view has for a matrix [rows, columns], padding included. CS_BAD_SHAPE names the layout, the
 * extent and the divisor. `is_transposing`: all dimensions of K come before all of M in the result. */
enum cs_status cs_layout_extents(const struct cs_layout *layout, const struct cs_notation *notation, int64_t rows,
                                 int64_t columns, int64_t *extents, bool *is_transposing);

const char *cs_layout_label(const struct cs_layout *layout); /* its name, or "layout" */

#endif
