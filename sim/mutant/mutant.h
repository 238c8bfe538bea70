/* Mutants: the engine with one rule broken, as some engine broke it or as somebody might.
 *
 * A defect is a row here and a test of its bit where the rule lives; nothing else knows it. What is off costs one test
 * of a bit. A defect that is `standing` is the released engine's, which every scenario simulates unless it lists it in
 * `fixes`; the others are off unless a scenario lists them in `defects`, or `--mutant` switches them on. A mutant is
 * the engine of a scenario with one more defect; the scenario kills it when its verdict is not passed any more. */
#ifndef CS_MUTANT_H
#define CS_MUTANT_H

#include "sim/base/base.h"
#include "sim/mutant/rows.h"

enum cs_defect {
#define X(id, name, state, group, report, channel, text) CS_DEFECT_##id,
    CS_DEFECTS(X)
#undef X
        CS_N_DEFECTS
};

enum cs_defect_state { CS_OFF, CS_STANDING };

struct cs_defect_row {
    const char *name;
    enum cs_defect_state state;
    const char *group;   /* class of failure: "P1" … "X" */
    const char *report;  /* public report, or the number of a fault of the released engine; "": none is known */
    const char *channel; /* that should see it: the name of one of sim/matrix */
    const char *text;    /* what is wrong, in one line */
};
const struct cs_defect_row *cs_defect_row(enum cs_defect defect);
const char *cs_defect_name(enum cs_defect defect);

/* Why no scenario can kill a mutant: the engine with it does nothing that another one could see. NULL: one can. */
const char *cs_defect_proof(enum cs_defect defect);

/* CS_BAD_VALUE names the word and the nearest defect. */
enum cs_status cs_defect_parse(const char *name, enum cs_defect *defect);

/* ---- sets: what differs from the released engine, one bit for each defect ----
 *
 * The empty set is the released engine: its standing defects are on, the others off. */

__extension__ typedef unsigned __int128 cs_defect_set;
_Static_assert(CS_N_DEFECTS <= 128, "a set of defects has 128 bits");

#define CS_DEFECT_BIT(defect) ((cs_defect_set)1 << (defect))
#define X(id, name, state, group, report, channel, text)                                                               \
    | (CS_##state == CS_STANDING ? CS_DEFECT_BIT(CS_DEFECT_##id) : 0)
#define CS_DEFECTS_STANDING ((cs_defect_set)0 CS_DEFECTS(X))
static inline bool cs_defects_have(cs_defect_set set, enum cs_defect defect) {
    const cs_defect_set standing = CS_DEFECTS_STANDING;
    return (set ^ standing) >> defect & 1;
}
#undef X
/* The set with the defect on, or off. */
static inline cs_defect_set cs_defects_with(cs_defect_set set, enum cs_defect defect, bool is_on) {
    return cs_defects_have(set, defect) == is_on ? set : set ^ CS_DEFECT_BIT(defect);
}

#endif
