#include "sim/mutant/mutant.h"

static const struct cs_defect_row rows[] = {
#define X(id, name, state, group, report, channel, text)                                                               \
    [CS_DEFECT_##id] = {name, CS_##state, group, report, channel, text},
    CS_DEFECTS(X)
#undef X
};

const struct cs_defect_row *cs_defect_row(enum cs_defect defect) { return &rows[defect]; }
const char *cs_defect_name(enum cs_defect defect) { return rows[defect].name; }

enum cs_status cs_defect_parse(const char *name, enum cs_defect *defect) {
    const char *names[CS_N_DEFECTS];
    for (size_t i = 0; i < CS_N_DEFECTS; i++) {
        names[i] = rows[i].name;
        if (cs_text_equal(names[i], name)) {
            *defect = (enum cs_defect)i;
            return CS_OK;
        }
    }
    const char *near = cs_text_nearest(name, names, CS_N_DEFECTS);
    return cs_fail(CS_BAD_VALUE, "no mutant is named \"%s\"%s%s%s; `coldstart list mutants` shows them", name,
                   near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
}

/* ---- equivalent mutants ---- */

static const struct {
    enum cs_defect defect;
    const char *proof;
} equivalents[] = {
    {CS_N_DEFECTS, NULL},
};

const char *cs_defect_proof(enum cs_defect defect) {
    for (size_t i = 0; i < CS_COUNT(equivalents); i++)
        if (equivalents[i].defect == defect) return equivalents[i].proof;
    return NULL;
}
