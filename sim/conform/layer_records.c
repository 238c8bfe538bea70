/* Padding records of a layer against what no load wrote (R2.8): the same set, element for element. */
#include "sim/conform/internal.h"

static enum cs_status mark_records(struct cs_arena *arena, const struct cs_layer *layer, const struct cs_slot *slot,
                                   bool **covered) {
    const struct cs_padding *padding = &layer->module.padding;
    const struct cs_view *view = &slot->param->view;
    *covered = CS_NEW_ARRAY(arena, bool, (size_t)cs_view_numel(view) + 1);
    CS_REQUIRE(*covered, CS_NO_MEMORY, "no memory for the records of %s", slot->name);
    for (size_t i = 0; i < padding->n_records; i++) {
        const struct cs_padding_record *record = &padding->records[i];
        if (!cs_text_equal(record->name, slot->name)) continue;
        for (size_t r = 0; r < record->n_regions; r++) {
            struct cs_view part = cs_region_view(&record->regions[r], view);
            for (int64_t k = 0, n = cs_view_numel(&part); k < n; k++)
                (*covered)[cs_view_element(&part, k) - view->offset] = true;
        }
    }
    return CS_OK;
}

/* Every tensor that fills the parameter was sent, to every expert that it is for. */
static bool is_complete(const struct cs_layer *layer, const char *param) {
    bool has_routes = false;
    for (size_t i = 0; i < layer->routes.n; i++) {
        if (!cs_text_equal(layer->routes.items[i].param, param)) continue;
        has_routes = true;
        if (!layer->is_sent[i]) return false;
    }
    return has_routes && !cs_rank_has_defect(&layer->rank, CS_DEFECT_FUSED_EXPERT_IDS);
}

enum cs_status cs_layer_records_equal(struct cs_layer *layer, const struct cs_slot *slot,
                                      const struct cs_source_set *set) {
    struct cs_arena scratch = {0};
    bool *covered = NULL, must_cover = is_complete(layer, slot->name);
    enum cs_status status = mark_records(&scratch, layer, slot, &covered);
    for (int64_t i = 0, n = set->experts * set->rows * set->columns; i < n && status == CS_OK; i++) {
        bool is_padding = set->from[i] == CS_FROM_NOTHING;
        bool is_right = covered[i] ? is_padding : !is_padding || !must_cover;
        if (!is_right)
            status =
                cs_fail(CS_BAD_VALUE, "%s[%" PRId64 ", %" PRId64 ", %" PRId64 "] is %s, and its padding records %s",
                        slot->name, i / set->columns / set->rows, i / set->columns % set->rows, i % set->columns,
                        is_padding ? "never written" : "written", covered[i] ? "cover it" : "do not cover it");
    }
    cs_arena_release(&scratch);
    return status;
}
