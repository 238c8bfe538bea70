/* The kernel layouts that we know, one row each: chains of them are what post-load does to weights and scales
 * (sim/device/device.h has the notation). A new layout is a new row in layouts.c. */
#ifndef CS_METHOD_LAYOUTS_H
#define CS_METHOD_LAYOUTS_H

#include "sim/device/device.h"

extern const struct cs_layout cs_layouts[]; /* sorted by name */
extern const size_t cs_n_layouts;

/* NULL when no layout has that name. */
const struct cs_layout *cs_layout_by_name(const char *name);

#endif
