/* Side tensors that stay where graphs read them, with the standing fault side_tensors_rebuilt off: what post-load made
 * anew is copied into the tensor that was at the same path before. Source of the rule: register on the owning layer and
 * copy into existing storage (vllm#48941, vllm#49789). */
#include "sim/method/steps.h"

static bool is_parameter(const struct cs_module *module, const struct cs_param *param) {
    for (size_t i = 0; i < module->n_slots; i++)
        if (module->slots[i].param == param) return true;
    return false;
}

static struct cs_param *find(const struct cs_side *sides, size_t n, const char *path) {
    for (size_t i = 0; i < n; i++)
        if (cs_text_equal(sides[i].path, path)) return sides[i].param;
    return NULL;
}

enum cs_status cs_sides_keep(struct cs_module *module, const struct cs_side *before, size_t n_before) {
    for (size_t i = 0; i < module->n_sides; i++) {
        struct cs_side *side = &module->sides[i];
        struct cs_param *old = find(before, n_before, side->path);
        bool is_owned = old && old != side->param && !is_parameter(module, side->param);
        if (!is_owned || !cs_view_same_layout(&old->view, &side->param->view)) continue;
        CS_TRY(cs_rank_copy(module->rank, CS_LOG_COPY, "kept side tensor", side->path, &old->view, &side->param->view));
        side->param = old;
    }
    return CS_OK;
}
