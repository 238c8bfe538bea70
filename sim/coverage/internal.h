/* What the files of this folder share. */
#ifndef CS_COVERAGE_INTERNAL_H
#define CS_COVERAGE_INTERNAL_H

#include "sim/coverage/coverage.h"

/* One condition of a rule: an axis and the set of its values that fulfil it, or a question about a registry. */
struct cs_cell_condition {
    unsigned axes;                  /* bits of those that must be known */
    enum cs_path_axis axis;         /* without `ask` */
    bool is_one_of[CS_PATH_VALUES]; /* by value */
    bool (*ask)(const struct cs_coverage_model *model, const struct cs_way *path);
};
enum { CS_RULE_CONDITIONS = 4 };
struct cs_cell_rule {
    enum cs_path_state state;
    const char *reason;
    unsigned axes;
    size_t n;
    struct cs_cell_condition condition[CS_RULE_CONDITIONS];
};

/* The first rule that decides about a path of which these axes are known; NULL: none yet. */
const struct cs_cell_rule *cs_rule_of(const struct cs_coverage_model *model, const struct cs_way *path, unsigned known);
/* Index of a name on an axis, or -1. */
int cs_path_value(const struct cs_coverage_model *model, enum cs_path_axis axis, const char *name);
static inline const char *cs_path_name(const struct cs_coverage_model *model, const struct cs_way *path,
                                       enum cs_path_axis axis) {
    return model->axis[axis].values[path->value[axis]];
}
const struct cs_method *cs_path_method(const struct cs_coverage_model *model, const struct cs_way *path);
const struct cs_backend *cs_path_backend(const struct cs_coverage_model *model, const struct cs_way *path);
const struct cs_driver *cs_path_driver(const struct cs_coverage_model *model, const struct cs_way *path);
/* A loader of the method in whose form a checkpoint can be, so that it is sent in the form of the path's loader; or
 * NULL. */
const struct cs_loader *cs_path_other_form(const struct cs_coverage_model *model, const struct cs_way *path);
/* What the server holds after this operation, as a value of `before`; NULL: as before. */
const char *cs_left_by(const struct cs_op *op);

#endif
