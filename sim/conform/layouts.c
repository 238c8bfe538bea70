/* Family layouts/: an operation, its input bytes and its output bytes. */
#include "sim/conform/internal.h"

/* Operations that need parameters, loaders or post-load; the others are rows. */
/* clang-format off */
static const struct {
    const char *op;
    cs_golden_check *check;
    const char *loader;
    bool has_post_load;
} module_ops[] = {
    {"e2e.gptoss_mxfp4_trtllm",                     cs_golden_end_to_end, "gpt_oss_combined", true},
    {"vllm.GptOssModel._load_weights_mxfp4",        cs_golden_load_combined, "gpt_oss_combined", false},
    {"vllm.GptOssRoutedExperts._load_packed_expert", cs_golden_load_streamed, "gpt_oss_streamed", false},
    {"vllm.gptoss_mxfp4.TRTLLM",                    cs_golden_post_load, NULL, true},
};
/* clang-format on */

static cs_golden_check *check_of(const char *op) {
    for (size_t i = 0; i < CS_COUNT(module_ops); i++)
        if (cs_text_equal(module_ops[i].op, op)) return module_ops[i].check;
    cs_golden_check *check = cs_golden_row_op(op);
    if (!check) check = cs_golden_rank_op(op);
    if (!check) check = cs_golden_step_op(op);
    if (!check) check = cs_golden_scalar_op(op);
    return check ? check : cs_golden_expert_op(op);
}

/* Those with a check of their own are about gpt-oss with TRT-LLM. */
bool cs_golden_describe_layout(const json_t *json, const void *context, struct cs_conform_subject *subject) {
    (void)context;
    subject->operation = cs_golden_string(json, "op");
    for (size_t i = 0; i < CS_COUNT(module_ops); i++) {
        if (!cs_text_equal(module_ops[i].op, subject->operation)) continue;
        subject->method = cs_method_by_name("gpt_oss_mxfp4");
        subject->backend = cs_backend_by_name(subject->method, "flashinfer_trtllm");
        subject->has_post_load = module_ops[i].has_post_load;
        subject->loader = module_ops[i].loader ? cs_loader_by_name(module_ops[i].loader) : NULL;
        return true;
    }
    subject->table = cs_golden_step_table(json, subject->also);
    return true;
}

static enum cs_status judge_all(struct cs_conform_run *run, const json_t *index) {
    CS_REQUIRE(json_is_array(index), CS_BAD_FILE, "%s/index.json: is not a list of cases", run->folder);
    size_t i;
    const json_t *json;
    json_array_foreach(index, i, json) {
        const char *id = cs_golden_string(json, "case"), *op = cs_golden_string(json, "op");
        CS_REQUIRE(id && op, CS_BAD_FILE, "%s/index.json: entry %zu has no \"case\" or no \"op\"", run->folder, i);
        cs_golden_judge(run, "index.json", id, json, NULL, check_of(op));
    }
    return CS_OK;
}

enum cs_status cs_golden_layouts(struct cs_conform_run *run) {
    struct cs_arena arena = {0};
    const char *path = cs_arena_format(&arena, "%s/index.json", run->folder);
    json_t *index = NULL;
    enum cs_status status = path ? cs_read_json(path, &index) : cs_fail(CS_NO_MEMORY, "no memory for a path");
    if (status == CS_OK) status = judge_all(run, index);
    json_decref(index);
    cs_arena_release(&arena);
    return status;
}

/* ---- what its operations share ---- */

enum cs_status cs_golden_file(struct cs_golden_case *golden, struct cs_checkpoint *file) {
    const char *path = cs_arena_format(&golden->arena, "%s/%s.safetensors", golden->folder, golden->id);
    CS_REQUIRE(path, CS_NO_MEMORY, "no memory for a path");
    return cs_checkpoint_open(file, NULL, path);
}

static enum cs_status compare_output(const struct cs_golden_outputs *outputs, const json_t *json) {
    const char *name;
    CS_TRY(cs_golden_text(json, "name", &name));
    const char *stored =
        cs_golden_string(json, "same_bytes_as"); /* an output that equals an input is not stored twice */
    struct cs_bytes expected, actual;
    CS_TRY(cs_bytes_of_entry(outputs->file, stored ? stored : name, &expected));
    CS_TRY(outputs->find(outputs->context, name, json, &actual));
    return cs_bytes_equal(name, &expected, &actual);
}

enum cs_status cs_golden_compare_outputs(const struct cs_golden_outputs *outputs) {
    const json_t *list, *json;
    CS_TRY(cs_golden_array(outputs->golden->json, "outputs", &list));
    CS_REQUIRE(json_array_size(list) > 0, CS_BAD_FILE, "golden file: the case has no outputs");
    size_t i;
    json_array_foreach(list, i, json) CS_TRY(compare_output(outputs, json));
    return CS_OK;
}
