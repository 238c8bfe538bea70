/* KV-cache scales of an attention layer as tensors of its module. The checkpoint's k_scale and v_scale, if it has any,
 * are loaded into parameters that hold -1 until then; post-load turns them into buffers that kernels read and into
 * numbers that are baked into launches, and drops the parameters. Source: vllm 0.33 quantization/kv_cache.py,
 * attention/attention.py. */
#include "sim/method/methods.h"

enum { N_SCALES = 4, N_NUMBERS = 3 };
static const char *const params[N_SCALES] = {"k_scale", "v_scale", "q_scale", "prob_scale"};
static const char *const buffers[N_SCALES] = {"_k_scale", "_v_scale", "_q_scale", "_prob_scale"};
static const char *const numbers[N_NUMBERS] = {"_k_scale_float", "_v_scale_float", "_q_scale_float"};

/* clang-format off */
#define BUFFER(name_) {.name = name_, .kind = CS_PERSISTENT_BUFFER, .dtype = CS_F32, .init = CS_INIT_ONES, .weight_loader_numel = -1, .is_scale = true}
#define PARAM(name_)  {.name = name_, .kind = CS_PARAMETER, .dtype = CS_F32, .init = CS_INIT_VALUE, .init_value = -1, .weight_loader_numel = -1, .is_scale = true}
/* clang-format on */
const struct cs_tensor_spec cs_kv_tensors[] = {
    BUFFER("_k_scale"), BUFFER("_v_scale"), BUFFER("_q_scale"), BUFFER("_prob_scale"),
    PARAM("k_scale"),   PARAM("v_scale"),   PARAM("q_scale"),   PARAM("prob_scale"),
};
const size_t cs_n_kv_tensors = CS_COUNT(cs_kv_tensors);

static enum cs_status read_scale(struct cs_module *module, const char *name, float *scale) {
    const struct cs_slot *slot = cs_module_slot(module, name);
    CS_REQUIRE(slot && slot->param, CS_BAD_VALUE, "%s has no \"%s\"", module->spec->name, name);
    return cs_device_read(module->rank->device, &slot->param->view, scale, sizeof *scale);
}

static enum cs_status write_scale(struct cs_rank *rank, const struct cs_view *view, const char *name, float scale) {
    struct cs_fill fill = {.view = *view};
    CS_TRY(cs_dtype_encode(CS_F32, (double)scale, &fill.bits));
    CS_TRY(cs_device_fill(rank->device, &fill, 1));
    cs_log_note(rank->log, &(struct cs_log_entry){
                               .kind = CS_LOG_INIT, .who = "KV-cache post-load", .what = name, .destination = *view});
    return CS_OK;
}

/* A Python float: the module keeps it, and launches were captured with it. */
static enum cs_status keep_number(struct cs_module *module, const char *name, float number) {
    struct cs_rank *rank = module->rank;
    for (size_t i = 0; i < module->n_sides; i++)
        if (cs_text_equal(module->sides[i].path, name))
            return write_scale(rank, &module->sides[i].param->view, name, number);
    struct cs_param *param = cs_param_new(rank, name, NULL);
    CS_REQUIRE(param, CS_NO_MEMORY, "out of memory for %s", name);
    struct cs_view layout;
    CS_TRY(cs_view_make(&layout, NULL, CS_F32, 0, NULL));
    CS_TRY(cs_rank_allocate(rank, &layout, name, &param->view));
    CS_TRY(write_scale(rank, &param->view, name, number));
    CS_TRY(cs_module_hold(module, name, param));
    module->sides[module->n_sides - 1].is_kept = true;
    return CS_OK;
}

static void drop_params(struct cs_module *module) {
    size_t kept = 0;
    for (size_t i = 0; i < module->n_slots; i++)
        if (module->slots[i].kind != CS_PARAMETER) module->slots[kept++] = module->slots[i];
    module->n_slots = kept;
}

enum cs_status cs_kv_post_load(struct cs_module *module) {
    struct cs_kv_rule rule;
    struct cs_kv_scales scales = {.number = {1, 1, 1}};
    float loaded[N_SCALES];
    if (!cs_module_slot(module, params[0])) return CS_OK; /* dropped before, and nothing was loaded since */
    CS_TRY(cs_kv_rule_parse("fp8_e4m3", false, &rule));
    for (int i = 0; i < N_SCALES; i++) {
        CS_TRY(read_scale(module, params[i], &loaded[i]));
        CS_TRY(read_scale(module, buffers[i], &scales.device[i]));
    }
    CS_TRY(cs_kv_scales_take(&rule, loaded, &scales));
    for (int i = 0; i < N_SCALES; i++)
        CS_TRY(
            write_scale(module->rank, &cs_module_slot(module, buffers[i])->param->view, buffers[i], scales.device[i]));
    for (int i = 0; i < N_NUMBERS; i++) CS_TRY(keep_number(module, numbers[i], scales.number[i]));
    drop_params(module);
    return CS_OK;
}
