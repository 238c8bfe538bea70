/* The tables of steps that have names; sorted. */
#include "sim/method/methods.h"

#include <stdlib.h>
#include <string.h>

const struct cs_step_table *const cs_step_tables[] = {
#define X(id) &cs_table_##id,
    CS_TABLES(X)
#undef X
};
const size_t cs_n_step_tables = CS_COUNT(cs_step_tables);

static int compare_name(const void *name, const void *table) {
    return strcmp(name, (*(const struct cs_step_table *const *)table)->name);
}

const struct cs_step_table *cs_step_table_by_name(const char *name) {
    const struct cs_step_table *const *found =
        bsearch(name, cs_step_tables, cs_n_step_tables, sizeof *cs_step_tables, compare_name);
    return found ? *found : NULL;
}
