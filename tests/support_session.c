#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "tests/support_session.h"

static const struct cs_allocator_rule recognisable = {.fresh_cold = {CS_PATTERN_BYTE, COLD_GARBAGE},
                                                      .fresh_reload = {CS_PATTERN_BYTE, RELOAD_GARBAGE}};

void assert_ok(enum cs_status status) {
    if (status != CS_OK) fail_msg("%s: %s", cs_status_name(status), cs_error_text());
}

void assert_says(const char *text, const char *part) {
    if (!text || !strstr(text, part)) fail_msg("\"%s\" is not in \"%s\"", part, text ? text : "(nothing)");
}

/* ---- one rank ---- */

void bare_open(struct bare *bare, const char *policy, const struct cs_module_spec *specs, size_t n) {
    *bare = (struct bare){.spec = {.modules = specs, .sizes = {.experts = 1, .experts_global = 1, .tp = 1, .ep = 1}}};
    bare->log = (struct cs_log){.is_tracing = true, .arena = &bare->arena};
    bare->rank = (struct cs_rank){.spec = &bare->spec, .device = cs_device_by_name("ref"), .policy = cs_policy_by_name(policy),
                                  .arena = &bare->arena, .log = &bare->log, .stats = &bare->stats, .n_modules = n,
                                  .modules = CS_NEW_ARRAY(&bare->arena, struct cs_module, n)};
    assert_non_null(bare->rank.policy);
    struct cs_memory memory = cs_device_memory(bare->rank.device);
    cs_allocator_init(&bare->rank.allocator, &recognisable, &memory, 1);
}

void bare_create(struct bare *bare) {
    for (size_t m = 0; m < bare->rank.n_modules; m++)
        assert_ok(cs_module_create(&bare->rank, &bare->rank.modules[m], &bare->spec.modules[m], false));
}

void bare_close(struct bare *bare) {
    cs_allocator_close(&bare->rank.allocator);
    cs_arena_release(&bare->arena);
}

struct cs_param *bare_param(struct bare *bare, size_t module, const char *name) {
    struct cs_slot *slot = cs_module_slot(&bare->rank.modules[module], name);
    if (!slot) fail_msg("no tensor \"%s\"", name);
    return slot->param;
}

static struct cs_view source_over(struct bare *bare, enum cs_storage_kind kind, enum cs_dtype dtype, int ndim, const int64_t *shape,
                                  const struct cs_content *content, const void *bytes) {
    struct cs_view view;
    assert_ok(cs_view_make(&view, NULL, dtype, ndim, shape));
    assert_ok(cs_allocate_kind(&bare->rank.allocator, kind, cs_view_span_bytes(&view), content, bytes, "source", &view.storage));
    return view;
}

struct cs_view source_of_value(struct bare *bare, enum cs_dtype dtype, int ndim, const int64_t *shape, double value) {
    struct cs_content content = {.kind = CS_CONTENT_VALUE, .as = dtype};
    assert_ok(cs_dtype_encode(dtype, value, &content.key));
    return source_over(bare, CS_STORAGE_SYNTHETIC, dtype, ndim, shape, &content, NULL);
}

struct cs_view source_of_bytes(struct bare *bare, enum cs_dtype dtype, int ndim, const int64_t *shape, const void *bytes) {
    return source_over(bare, CS_STORAGE_HOST, dtype, ndim, shape, NULL, bytes);
}

static const struct cs_tensor_spec *spec_of(const struct bare *bare, size_t module, const char *name) {
    const struct cs_module_spec *spec = &bare->spec.modules[module];
    for (size_t i = 0; i < spec->n_tensors; i++)
        if (cs_text_equal(spec->tensors[i].name, name)) return &spec->tensors[i];
    fail_msg("no tensor \"%s\"", name);
    return NULL;
}

enum cs_status send_value(struct bare *bare, const struct cs_driver *driver, size_t module, const char *name, double value) {
    const struct cs_tensor_spec *spec = spec_of(bare, module, name);
    struct cs_load_call call = {.module = &bare->rank.modules[module], .loader = &cs_loader_default, .tensor = name, .expert = -1,
                                .source = source_of_value(bare, spec->dtype, spec->ndim, spec->shape, value)};
    return driver->load(&bare->rank, &call, spec->name);
}

enum cs_status send_prefix(struct bare *bare, const struct cs_driver *driver, size_t module, const char *name, int64_t length, double value) {
    const struct cs_tensor_spec *spec = spec_of(bare, module, name);
    struct cs_toy_box *mark = CS_NEW(&bare->arena, struct cs_toy_box);
    struct cs_toy_call *toy = CS_NEW(&bare->arena, struct cs_toy_call);
    assert_true(mark && toy);
    *mark = (struct cs_toy_box){{length}, {spec->shape[0] - length}};
    *toy = (struct cs_toy_call){.param = name, .has_write = true, .write = {{0}, {length}}, .n_marks = length < spec->shape[0], .marks = mark};
    struct cs_load_call call = {.module = &bare->rank.modules[module], .loader = &cs_loader_toy, .toy = toy, .tensor = name, .expert = -1,
                                .source = source_of_value(bare, spec->dtype, 1, &length, value)};
    return driver->load(&bare->rank, &call, spec->name);
}

/* ---- scenarios ---- */

static const struct cs_checkpoint_config checkpoints[] = {
    {.name = "A"}, {.name = "B", .perturbs = "A", .version = 1}, {.name = "C", .perturbs = "A", .version = 2}};
static const char *const every_policy[] = {"none", "zero_materialized", "zero_in_loader", "record_and_fill"};

struct cs_scenario gpt_oss_scenario(void) {
    static const struct cs_module_template templates[] = {
        {.name = "layers.{layer}.experts", .is_routed_experts = true, .checkpoint = "layers.{layer}.mlp.experts"}};
    return (struct cs_scenario){
        .file = "s.lua", .line = 1, .name = "tiny", .method = "gpt_oss_mxfp4", .backend = "flashinfer_trtllm", .rounding = "released",
        .model = {.name = "tiny", .layers = 1, .experts = 2, .hidden = 96, .intermediate = 96, .prefix = "model.", .n_templates = 1, .templates = templates},
        .tp = 1, .ep = 1, .n_policies = CS_COUNT(every_policy), .policies = every_policy, .allocator = recognisable, .seed = 1,
        .n_checkpoints = CS_COUNT(checkpoints), .checkpoints = checkpoints};
}

struct cs_scenario toy_scenario(const struct cs_template_tensor *tensors, size_t n_tensors, const struct cs_toy_load *loads, size_t n_loads) {
    static struct cs_module_template template; /* of the latest toy: one at a time is enough */
    static const struct cs_checkpoint_config names[] = {{.name = "A"}, {.name = "B"}, {.name = "C"}};
    template = (struct cs_module_template){.name = "toy", .n_tensors = n_tensors, .tensors = tensors};
    return (struct cs_scenario){
        .file = "s.lua", .line = 1, .name = "toy",
        .model = {.name = "toy", .prefix = "", .n_templates = 1, .templates = &template, .is_toy = true, .n_toy_loads = n_loads, .toy_loads = loads},
        .tp = 1, .ep = 1, .n_policies = CS_COUNT(every_policy), .policies = every_policy, .allocator = recognisable, .seed = 1,
        .n_checkpoints = n_loads, .checkpoints = names};
}

void session_open(struct cs_session *session, const struct cs_scenario *scenario, const char *policy) {
    const struct cs_session_config config = {.scenario = scenario, .device = cs_device_by_name("ref"), .policy = policy,
                                             .allocator = scenario->allocator, .seed = scenario->seed, .garbage_seed = 1, .only_rank = -1};
    assert_ok(cs_session_open(session, &config));
}

enum cs_status session_load(struct cs_session *session, const char *driver, const char *checkpoint) {
    const struct cs_op op = {.kind = cs_driver_by_name(driver)->is_start ? CS_OP_COLD_START : CS_OP_RELOAD, .driver = driver, .checkpoint = checkpoint};
    return cs_session_run(session, &op);
}

void session_run(struct cs_session *session, const char *driver, const char *checkpoint) { assert_ok(session_load(session, driver, checkpoint)); }

struct cs_view session_view(struct cs_session *session, size_t rank, size_t module, const char *name) {
    struct cs_slot *slot = cs_module_slot(&session->ranks[rank].modules[module], name);
    if (!slot) fail_msg("no tensor \"%s\"", name);
    return slot->param->view;
}

/* ---- bytes ---- */

unsigned char *bytes_of(const struct cs_view *view) {
    assert_int_equal(view->storage->kind, CS_STORAGE_MEMORY);
    return (unsigned char *)view->storage->data + cs_view_byte_offset(view);
}

double number_of(const struct cs_view *view, int64_t index) {
    uint64_t bits = 0;
    size_t width = (size_t)cs_dtype_bits(view->dtype) / 8;
    assert_int_equal(view->storage->kind, CS_STORAGE_MEMORY);
    memcpy(&bits, (unsigned char *)view->storage->data + (size_t)cs_view_element(view, index) * width, width);
    return cs_dtype_decode(view->dtype, bits);
}

void fill_bytes(const struct cs_view *view, unsigned char byte) { memset(bytes_of(view), byte, cs_view_span_bytes(view)); }

void assert_numbers(const struct cs_view *view, size_t n, const double *expected) {
    assert_int_equal(cs_view_numel(view), n);
    for (size_t i = 0; i < n; i++) {
        double actual = number_of(view, (int64_t)i);
        if (actual != expected[i]) fail_msg("element %zu: expected %g, got %g", i, expected[i], actual);
    }
}
