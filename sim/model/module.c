#include "sim/model/model.h"

#include <string.h>

struct cs_param *cs_param_new(struct cs_rank *rank, const char *name, const struct cs_tensor_spec *spec) {
    struct cs_param *param = CS_NEW(rank->arena, struct cs_param);
    if (param) *param = (struct cs_param){.name = name, .spec = spec};
    return param;
}

struct cs_slot *cs_module_slot(struct cs_module *module, const char *name) {
    for (size_t i = 0; i < module->n_slots; i++)
        if (cs_text_equal(module->slots[i].name, name)) return &module->slots[i];
    return NULL;
}

enum cs_status cs_module_register(struct cs_module *module, const char *name, enum cs_tensor_kind kind,
                                  struct cs_param *param) {
    struct cs_slot *slot = cs_module_slot(module, name);
    if (!slot) {
        slot = cs_arena_grow(module->rank->arena, (void **)&module->slots, module->n_slots, &module->slot_capacity,
                             sizeof *slot);
        CS_REQUIRE(slot, CS_NO_MEMORY, "out of memory while registering %s.%s", module->spec->name, name);
        module->n_slots++;
    }
    *slot = (struct cs_slot){.name = name, .kind = kind, .param = param};
    return CS_OK;
}

void cs_module_unregister(struct cs_module *module, const char *name) {
    size_t kept = 0;
    for (size_t i = 0; i < module->n_slots; i++)
        if (!cs_text_equal(module->slots[i].name, name)) module->slots[kept++] = module->slots[i];
    module->n_slots = kept;
}

bool cs_module_is_kernel_slot(const struct cs_module *module, size_t slot) {
    const struct cs_param *param = module->slots[slot].param;
    if (!param || param->is_retired || cs_view_numel(&param->view) == 0) return false;
    for (size_t later = slot + 1; later < module->n_slots; later++)
        if (module->slots[later].param == param) return false;
    return true;
}

enum cs_status cs_module_hold(struct cs_module *module, const char *path, struct cs_param *param) {
    struct cs_side *side = cs_arena_grow(module->rank->arena, (void **)&module->sides, module->n_sides,
                                         &module->side_capacity, sizeof *side);
    CS_REQUIRE(side, CS_NO_MEMORY, "out of memory while holding %s of %s", path, module->spec->name);
    module->n_sides++;
    *side = (struct cs_side){.path = path, .param = param};
    return CS_OK;
}

/* Audit builds a module twice over two prefills to learn which bytes no loader writes. */
static enum cs_status prefill(struct cs_rank *rank, const struct cs_view *view) {
    struct cs_view bytes = {
        .storage = view->storage, .dtype = CS_U8, .ndim = 1, .shape = {(int64_t)view->storage->bytes}, .stride = {1}};
    struct cs_fill fill = {.view = bytes, .bits = rank->prefill};
    return cs_device_fill(rank->device, &fill, 1);
}

/* The object that `name`, "module.parameter", is registered under; NULL: that module is not built. */
static struct cs_param *find_tied(struct cs_rank *rank, const char *name) {
    for (size_t m = 0; m < rank->n_modules; m++) {
        struct cs_module *module = &rank->modules[m];
        size_t length = module->spec ? strlen(module->spec->name) : 0;
        if (!length || strncmp(name, module->spec->name, length) != 0 || name[length] != '.') continue;
        struct cs_slot *slot = cs_module_slot(module, name + length + 1);
        if (slot) return slot->param;
    }
    return NULL;
}

static enum cs_status create_tensor(struct cs_rank *rank, struct cs_module *module, const struct cs_tensor_spec *spec,
                                    bool on_meta) {
    struct cs_param *tied = spec->tied ? find_tied(rank, spec->tied) : NULL;
    if (tied) {
        tied->is_tied = true;
        return cs_module_register(module, spec->name, spec->kind, tied);
    }
    struct cs_param *param = cs_param_new(rank, spec->name, spec);
    CS_REQUIRE(param, CS_NO_MEMORY, "out of memory while creating %s.%s", module->spec->name, spec->name);
    struct cs_view layout;
    CS_TRY(cs_view_make(&layout, NULL, spec->dtype, spec->ndim, spec->shape));
    bool is_meta = on_meta || spec->is_online || spec->init == CS_INIT_META;
    bool is_written = spec->init != CS_INIT_EMPTY;
    CS_TRY((is_meta      ? cs_rank_allocate_meta
            : is_written ? cs_rank_allocate_result
                         : cs_rank_allocate)(rank, &layout, spec->name, &param->view));
    CS_TRY(cs_rank_initialise(rank, spec, &param->view));
    bool may_be_padded = !module->spec->is_attention; /* numbers that say whether they were loaded */
    if (rank->has_prefill && spec->kind == CS_PARAMETER && !is_meta && may_be_padded)
        CS_TRY(prefill(rank, &param->view));
    param->padding_value = cs_padding_value(spec, on_meta);
    return cs_module_register(module, spec->name, spec->is_unregistered ? CS_PLAIN_TENSOR : spec->kind, param);
}

enum cs_status cs_module_create(struct cs_rank *rank, struct cs_module *module, const struct cs_module_spec *spec,
                                bool on_meta) {
    *module =
        (struct cs_module){.rank = rank, .spec = spec, .padding = {.arena = rank->arena, .defects = rank->defects}};
    for (size_t i = 0; i < spec->n_tensors; i++)
        if (!spec->tensors[i].is_late) CS_TRY(create_tensor(rank, module, &spec->tensors[i], on_meta));
    return CS_OK;
}

enum cs_status cs_module_register_late(struct cs_module *module) {
    for (size_t i = 0; i < module->spec->n_tensors; i++) {
        const struct cs_tensor_spec *spec = &module->spec->tensors[i];
        bool is_due = spec->is_late && !cs_module_slot(module, spec->name);
        if (is_due) CS_TRY(create_tensor(module->rank, module, spec, false));
    }
    return CS_OK;
}

static bool find_parameter(void *context, const char *name, struct cs_view *view) {
    const struct cs_slot *slot = cs_module_slot(context, name);
    if (!slot || !slot->param || slot->kind != CS_PARAMETER) return false;
    *view = slot->param->view;
    return true;
}

/* What is about to be filled, for provenance. */
static void trace_fill(struct cs_module *module) {
    const struct cs_padding *padding = &module->padding;
    for (size_t i = 0; i < padding->n_records; i++) {
        const struct cs_padding_record *record = &padding->records[i];
        struct cs_view view;
        if (record->is_stale || !find_parameter(module, record->name, &view) ||
            !cs_view_same_layout(&view, &record->layout))
            continue;
        for (size_t r = 0; r < record->n_regions; r++)
            cs_log_note(module->rank->log,
                        &(struct cs_log_entry){.kind = CS_LOG_FILL,
                                               .who = "record_and_fill",
                                               .what = record->name,
                                               .destination = cs_region_view(&record->regions[r], &view)});
    }
}

enum cs_status cs_module_fill(struct cs_module *module) {
    struct cs_rank *rank = module->rank;
    if (!rank->policy->before_post_load || cs_rank_has_defect(rank, CS_DEFECT_NO_FILL)) return CS_OK;
    trace_fill(module);
    const struct cs_fill_stats before = *rank->stats;
    CS_TRY(rank->policy->before_post_load(&module->padding, find_parameter, module, rank->device, rank->stats));
    bool is_filled = rank->stats->calls > before.calls;
    cs_load_probe(rank->log, is_filled ? CS_LOAD_PROBE_fill_of_padding : CS_LOAD_PROBE_fill_of_nothing);
    if (rank->stats->skipped > before.skipped) cs_load_probe(rank->log, CS_LOAD_PROBE_fill_skips_parameter);
    return CS_OK;
}
