/* Scenario files: what a good one becomes. Bad ones: script_errors_test.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support_script.h"

#define TOY "cs.toy { params = { { name = 'p', shape = 8, dtype = 'f32' } }, loads = { A = {} } }"

static struct cs_arena arena;

static int release_arena(void **state) {
    (void)state;
    cs_arena_release(&arena);
    return 0;
}

static void every_field_of_a_scenario_lands(void **state) {
    (void)state;
    struct cs_scenario s = script_parse_good(
        "local models = require 'models.gpt_oss'\n"
        "return cs.scenario {\n"
        "  name = 'a.b_1', note = 'one sentence', tags = { 'small', 'fast' },\n"
        "  model = models.gpt_oss_20b { layers = 2, experts = 4, hidden = 224, intermediate = 96 },\n"
        "  method = 'gpt_oss_mxfp4', backend = 'flashinfer_trtllm', loader = 'gpt_oss_combined', rounding = 'reference',\n"
        "  tp = 2, ep = 3, rank = 1, policies = { 'none', 'record_and_fill' }, seed = 7, defects = { 'meta_restore_device' },\n"
        "  run = function(s) s:cold_start 'A' end,\n"
        "}\n",
        &arena);
    assert_string_equal(s.file, "s.lua");
    assert_int_equal(s.line, 2);
    assert_string_equal(s.name, "a.b_1");
    assert_string_equal(s.note, "one sentence");
    assert_int_equal(s.n_tags, 2);
    assert_string_equal(s.tags[1], "fast");
    assert_string_equal(s.model.name, "gpt_oss_20b");
    assert_string_equal(s.method, "gpt_oss_mxfp4");
    assert_string_equal(s.backend, "flashinfer_trtllm");
    assert_string_equal(s.loader, "gpt_oss_combined");
    assert_string_equal(s.rounding, "reference");
    assert_int_equal(s.tp, 2);
    assert_int_equal(s.ep, 3);
    assert_true(s.has_only_rank);
    assert_int_equal(s.only_rank, 1);
    assert_int_equal(s.n_policies, 2);
    assert_string_equal(s.policies[0], "none");
    assert_int_equal(s.seed, 7);
    assert_int_equal(s.defects, CS_DEFECT_BIT(CS_DEFECT_META_RESTORE_DEVICE));
    assert_int_equal(s.n_ops, 1);
}

static void what_is_not_said_has_its_default(void **state) {
    (void)state;
    struct cs_scenario s =
        script_parse_good("return cs.scenario { name = 'x', model = " TOY ", run = function() end }", &arena);
    assert_null(s.note);
    assert_null(s.method);
    assert_null(s.backend);
    assert_null(s.loader);
    assert_string_equal(s.rounding, "released");
    assert_int_equal(s.tp, 1);
    assert_int_equal(s.ep, 1);
    assert_false(s.has_only_rank);
    assert_int_equal(s.n_policies, 1);
    assert_string_equal(s.policies[0], "record_and_fill");
    assert_int_equal(s.seed, 1);
    assert_int_equal(s.defects, 0);
    assert_int_equal(s.n_ops, 0);
    assert_int_equal(s.allocator.fresh_cold.kind, CS_PATTERN_RANDOM);
    assert_int_equal(s.allocator.fresh_reload.kind, CS_PATTERN_RANDOM);
    assert_true(s.allocator.recycle_up_to == UINT64_MAX);
}

static struct cs_allocator_rule parse_allocator(const char *rule) {
    char text[1024];
    snprintf(text, sizeof text, "return cs.scenario { name = 'x', model = " TOY ", allocator = %s, run = function() end }", rule);
    return script_parse_good(text, &arena).allocator;
}

static void an_allocator_is_described_in_words(void **state) {
    (void)state;
    struct cs_allocator_rule r = parse_allocator("{ fresh = { cold = 'zero', reload = '0xAA' }, recycle_up_to = '64MiB', "
                                                 "recycled = 'own_bytes', classes = { '1MiB', 10485760 }, fresh_first = 1 }");
    assert_int_equal(r.fresh_cold.kind, CS_PATTERN_BYTE);
    assert_int_equal(r.fresh_cold.byte, 0);
    assert_int_equal(r.fresh_reload.kind, CS_PATTERN_BYTE);
    assert_int_equal(r.fresh_reload.byte, 0xAA);
    assert_int_equal(r.recycle_up_to, 64 << 20);
    assert_true(r.recycled_keeps_bytes);
    assert_int_equal(r.n_classes, 2);
    assert_int_equal(r.class_limit[0], 1 << 20);
    assert_int_equal(r.class_limit[1], 10 << 20);
    assert_int_equal(r.fresh_first, 1);

    r = parse_allocator("{ fresh = 'nan', recycle_up_to = 'all', recycled = 'garbage' }");
    assert_int_equal(r.fresh_cold.kind, CS_PATTERN_NAN);
    assert_int_equal(r.fresh_reload.kind, CS_PATTERN_NAN);
    assert_true(r.recycle_up_to == UINT64_MAX);
    assert_false(r.recycled_keeps_bytes);
    assert_int_equal(parse_allocator("{ recycle_up_to = 0 }").recycle_up_to, 0);
}

static void a_plan_is_what_run_does(void **state) {
    (void)state;
    struct cs_scenario s = script_parse_good("return cs.scenario { name = 'x', model = " TOY ", run = function(s)\n"
                                             "  s:cold_start 'A'\n"
                                             "  s:cold_start { checkpoint = 'C', driver = 'meta_build', loader = 'plain' }\n"
                                             "  for i = 1, 2 do\n"
                                             "    s:reload { driver = 'layerwise', checkpoint = 'B' }\n"
                                             "  end\n"
                                             "  s:reload { driver = 'direct', checkpoint = 'A', loader = 'gpt_oss_streamed',\n"
                                             "             order = 'shuffled', omit = { '*.router.*', 'x' } }\n"
                                             "end }",
                                             &arena);
    assert_int_equal(s.n_ops, 5);
    const struct cs_op *op = s.ops;
    assert_int_equal(op[0].kind, CS_OP_COLD_START);
    assert_string_equal(op[0].driver, "cold_start");
    assert_string_equal(op[0].checkpoint, "A");
    assert_null(op[0].loader);
    assert_int_equal(op[0].line, 2);
    assert_int_equal(op[1].kind, CS_OP_COLD_START);
    assert_string_equal(op[1].driver, "meta_build");
    assert_string_equal(op[1].checkpoint, "C");
    assert_string_equal(op[1].loader, "plain");
    assert_int_equal(op[2].kind, CS_OP_RELOAD);
    assert_int_equal(op[2].line, 5);
    assert_string_equal(op[3].driver, "layerwise");
    assert_string_equal(op[3].checkpoint, "B");
    assert_false(op[3].is_shuffled);
    assert_int_equal(op[3].n_omitted, 0);
    assert_string_equal(op[4].loader, "gpt_oss_streamed");
    assert_true(op[4].is_shuffled);
    assert_int_equal(op[4].n_omitted, 2);
    assert_string_equal(op[4].omitted[0], "*.router.*");
    assert_int_equal(op[4].line, 7);
}

static const struct cs_op *parse_expectation(const char *expectation) {
    char text[1024];
    snprintf(text, sizeof text, "return cs.scenario { name = 'x', model = " TOY ", policies = { 'none', 'mine' }, run = function(s) s:expect(%s) end }", expectation);
    struct cs_scenario s = script_parse_good(text, &arena);
    assert_int_equal(s.n_ops, 1);
    assert_int_equal(s.ops[0].kind, CS_OP_EXPECT);
    return s.ops;
}

static void an_expectation_is_equal_refused_or_counts(void **state) {
    (void)state;
    const struct cs_op *op = parse_expectation("cs.equal()");
    assert_int_equal(op->n_expected, 1);
    assert_null(op->expected->policy);
    assert_null(op->against_policy);
    assert_true(op->expected->is_equal);

    op = parse_expectation("cs.refused 'does not divide'");
    assert_true(op->expected->is_refused);
    assert_string_equal(op->expected->refusal, "does not divide");
    assert_null(parse_expectation("cs.refused()")->expected->refusal);

    op = parse_expectation("{ params_differ = 8, warnings = 0, values = { p = { 7, 7.5, 0 }, a = { -1 } } }");
    assert_false(op->expected->is_equal);
    assert_true(op->expected->has_count[CS_COUNT_params_differ]);
    assert_int_equal(op->expected->count[CS_COUNT_params_differ], 8);
    assert_true(op->expected->has_count[CS_COUNT_warnings]);
    assert_false(op->expected->has_count[CS_COUNT_side_moved]);
    assert_int_equal(op->expected->n_values, 2);
    assert_string_equal(op->expected->values[0].param, "a");
    assert_string_equal(op->expected->values[1].param, "p");
    assert_int_equal(op->expected->values[1].n_values, 3);
    assert_true(op->expected->values[1].values[1] == 7.5);
}

static void every_count_can_be_expected(void **state) {
    (void)state;
    for (int i = 0; i < CS_N_COUNTS; i++) {
        char text[64];
        snprintf(text, sizeof text, "{ %s = %d }", cs_count_names[i], i + 3);
        const struct cs_expected *expected = parse_expectation(text)->expected;
        assert_true(expected->has_count[i]);
        assert_int_equal(expected->count[i], i + 3);
    }
}

static void an_expectation_may_differ_by_policy(void **state) {
    (void)state;
    const struct cs_op *op = parse_expectation("{ none = { side_moved = 6 }, mine = { params_lucky = 1 }, record_and_fill = cs.equal() }");
    assert_int_equal(op->n_expected, 3); /* by name */
    assert_string_equal(op->expected[0].policy, "mine");
    assert_string_equal(op->expected[1].policy, "none");
    assert_int_equal(op->expected[1].count[CS_COUNT_side_moved], 6);
    assert_string_equal(op->expected[2].policy, "record_and_fill");
    assert_true(op->expected[2].is_equal);
}

static void an_expectation_may_compare_with_another_policy(void **state) {
    (void)state;
    const struct cs_op *op = parse_expectation("{ params_differ = 1, against = { policy = 'none' } }");
    assert_string_equal(op->against_policy, "none");
    assert_int_equal(op->n_expected, 1);
    op = parse_expectation("{ mine = cs.equal(), against = { policy = 'none' } }");
    assert_string_equal(op->against_policy, "none");
    assert_int_equal(op->n_expected, 1);
    assert_string_equal(op->expected[0].policy, "mine");
}

static void checkpoints_are_declared_or_named(void **state) {
    (void)state;
    struct cs_scenario s = script_parse_good("local models = require 'models.gpt_oss' return cs.scenario { name = 'x', model = models.gpt_oss_20b(),\n"
                                             "  checkpoints = { C = cs.folder 'some/dir', D = cs.pattern(0), F = cs.folder '/abs', G = cs.perturbed 'C',\n"
                                             "                  M = cs.perturbed 'A', N = cs.perturbed('A', 5), P = cs.pattern(3) },\n"
                                             "  run = function(s) s:cold_start 'B' s:reload { driver = 'd', checkpoint = 'H' } s:cold_start 'Z' end }",
                                             &arena);
    const struct {
        const char *name;
        enum cs_checkpoint_kind kind;
        const char *path, *perturbs;
        unsigned version;
    } expected[] = {
        {"A", CS_CHECKPOINT_SYNTHETIC, NULL, NULL, 0},      {"B", CS_CHECKPOINT_SYNTHETIC, NULL, "A", 1},
        {"C", CS_CHECKPOINT_FOLDER, "some/dir", NULL, 0},   {"D", CS_CHECKPOINT_PATTERN, NULL, NULL, 0},
        {"F", CS_CHECKPOINT_FOLDER, "/abs", NULL, 0},       {"G", CS_CHECKPOINT_SYNTHETIC, NULL, "C", 6},
        {"H", CS_CHECKPOINT_SYNTHETIC, NULL, "A", 7},       {"M", CS_CHECKPOINT_SYNTHETIC, NULL, "A", 2},
        {"N", CS_CHECKPOINT_SYNTHETIC, NULL, "A", 5},       {"P", CS_CHECKPOINT_PATTERN, NULL, NULL, 3},
    };
    assert_int_equal(s.n_checkpoints, CS_COUNT(expected)); /* nothing explains Z: cs_scenario_check's matter */
    for (size_t i = 0; i < CS_COUNT(expected); i++) {
        const struct cs_checkpoint_config *c = &s.checkpoints[i];
        assert_string_equal(c->name, expected[i].name);
        assert_int_equal(c->kind, expected[i].kind);
        assert_int_equal(c->version, expected[i].version);
        assert_true(!c->path == !expected[i].path && (!c->path || cs_text_equal(c->path, expected[i].path)));
        assert_true(!c->perturbs == !expected[i].perturbs && (!c->perturbs || cs_text_equal(c->perturbs, expected[i].perturbs)));
    }
}

static void the_checkpoints_of_a_toy_are_its_loads(void **state) {
    (void)state;
    struct cs_scenario s = script_parse_good("return cs.scenario { name = 'x', run = function(s) s:cold_start 'B' end, model = cs.toy {\n"
                                             "  params = { { name = 'p', shape = 8, dtype = 'f32' } }, loads = { half = {}, B = {} } } }", &arena);
    assert_int_equal(s.n_checkpoints, 2);
    assert_string_equal(s.checkpoints[0].name, "B");
    assert_null(s.checkpoints[0].perturbs);
    assert_string_equal(s.checkpoints[1].name, "half");
}

static void a_folder_is_relative_to_the_scenario(void **state) {
    (void)state;
    struct cs_scenario s;
    assert_int_equal(mkdir("topic", 0700), 0);
    script_write("topic/x.lua", "return cs.scenario { name = 'x', model = " TOY ", checkpoints = { A = cs.folder 'dir' }, run = function() end }");
    assert_int_equal(cs_script_parse("topic/x.lua", NULL, 0, &arena, &s), CS_OK);
    assert_string_equal(s.checkpoints[0].path, "topic/dir");
    assert_string_equal(s.file, "topic/x.lua");
}

static void a_model_is_modules_of_tensors(void **state) {
    (void)state;
    struct cs_model_config m = script_parse_good(
        "return cs.scenario { name = 'x', run = function() end, model = cs.model {\n"
        "  name = 'm', layers = 2, experts = 4, hidden = 64, intermediate = 32, prefix = 'model.', not_simulated = { '*.self_attn.*', 'lm_head.*' },\n"
        "  modules = {\n"
        "    cs.module { name = 'layers.{layer}.norm', tensors = {\n"
        "      { name = 'weight', shape = 'H', dtype = 'bf16', created = 'ones' },\n"
        "      { name = 'scale', shape = { 'E', '2*I', 8 }, dtype = 'e8m0', created = 'value', value = 2, padding_value = 1, kind = 'buffer' },\n"
        "      { name = 'other', shape = 8, dtype = 'float8_e4m3fn', kind = 'persistent_buffer' } } },\n"
        "    cs.module { name = 'layers.{layer}.experts', routed_experts = true, checkpoint = 'layers.{layer}.mlp.experts' } } } }",
        &arena).model;
    assert_string_equal(m.name, "m");
    assert_int_equal(m.layers, 2);
    assert_int_equal(m.experts, 4);
    assert_int_equal(m.hidden, 64);
    assert_int_equal(m.intermediate, 32);
    assert_string_equal(m.prefix, "model.");
    assert_int_equal(m.n_not_simulated, 2);
    assert_string_equal(m.not_simulated[1], "lm_head.*");
    assert_false(m.is_toy);
    assert_int_equal(m.n_templates, 2);
    assert_string_equal(m.templates[0].name, "layers.{layer}.norm");
    assert_false(m.templates[0].is_routed_experts);
    assert_null(m.templates[0].checkpoint);
    assert_true(m.templates[1].is_routed_experts);
    assert_string_equal(m.templates[1].checkpoint, "layers.{layer}.mlp.experts");
    assert_int_equal(m.templates[0].n_tensors, 3);
    const struct cs_template_tensor *t = m.templates[0].tensors;
    assert_string_equal(t[0].name, "weight");
    assert_string_equal(t[0].shape, "H");
    assert_int_equal(t[0].dtype, CS_BF16);
    assert_int_equal(t[0].init, CS_INIT_ONES);
    assert_int_equal(t[0].kind, CS_PARAMETER);
    assert_false(t[0].has_padding_value);
    assert_string_equal(t[1].shape, "E 2*I 8");
    assert_int_equal(t[1].init, CS_INIT_VALUE);
    assert_true(t[1].init_value == 2);
    assert_true(t[1].has_padding_value && t[1].padding_value == 1);
    assert_int_equal(t[1].kind, CS_BUFFER);
    assert_string_equal(t[2].shape, "8");
    assert_int_equal(t[2].dtype, CS_E4M3);
    assert_int_equal(t[2].init, CS_INIT_EMPTY);
    assert_int_equal(t[2].kind, CS_PERSISTENT_BUFFER);
}

static void a_toy_spells_out_its_loads(void **state) {
    (void)state;
    struct cs_model_config m = script_parse_good(
        "return cs.scenario { name = 'x', run = function() end, model = cs.toy {\n"
        "  params = { { name = 'p', shape = 8, dtype = 'f32', created = 'meta', padding_value = 1 },\n"
        "             { name = 'q', shape = { 2, 3 }, dtype = 'u8', created = 'zeros', registered = false } },\n"
        "  loads = {\n"
        "    B = { { param = 'p', at = 2, shape = 4, value = 7, marks = { { at = { 4 }, shape = { 2 } }, { shape = 1 } } } },\n"
        "    A = { { param = 'q', shape = { 1, 2 }, values = { 5, 6 }, through_view = true },\n"
        "          { param = 'q', marks = { { at = { 1, 0 }, shape = { 1, 3 } } }, on_plain = true } } } } }",
        &arena).model;
    assert_true(m.is_toy);
    assert_int_equal(m.n_templates, 1);
    const struct cs_template_tensor *t = m.templates[0].tensors;
    assert_int_equal(m.templates[0].n_tensors, 2);
    assert_string_equal(t[0].shape, "8");
    assert_int_equal(t[0].init, CS_INIT_META);
    assert_true(t[0].has_padding_value && t[0].padding_value == 1);
    assert_false(t[0].is_unregistered);
    assert_string_equal(t[1].shape, "2 3");
    assert_true(t[1].is_unregistered);

    assert_int_equal(m.n_toy_loads, 2); /* by name */
    assert_string_equal(m.toy_loads[0].checkpoint, "A");
    assert_int_equal(m.toy_loads[0].n_calls, 2);
    const struct cs_toy_call *call = m.toy_loads[0].calls;
    assert_string_equal(call[0].param, "q");
    assert_true(call[0].has_write && call[0].through_view && !call[0].on_plain);
    assert_int_equal(call[0].write.start[1], 0);
    assert_int_equal(call[0].write.length[0], 1);
    assert_int_equal(call[0].write.length[1], 2);
    assert_int_equal(call[0].n_values, 2);
    assert_true(call[0].values[0] == 5 && call[0].values[1] == 6);
    assert_int_equal(call[0].line, 1);
    assert_false(call[1].has_write);
    assert_true(call[1].on_plain);
    assert_int_equal(call[1].n_marks, 1);
    assert_int_equal(call[1].marks[0].start[0], 1);
    assert_int_equal(call[1].marks[0].length[1], 3);

    call = m.toy_loads[1].calls;
    assert_int_equal(call->write.start[0], 2);
    assert_int_equal(call->write.length[0], 4);
    assert_int_equal(call->n_values, 1);
    assert_true(call->values[0] == 7);
    assert_int_equal(call->n_marks, 2);
    assert_int_equal(call->marks[0].start[0], 4);
    assert_int_equal(call->marks[1].start[0], 0);
    assert_int_equal(call->marks[1].length[0], 1);
}

static void a_toy_has_post_load_steps(void **state) {
    (void)state;
    struct cs_model_config m = script_parse_good(
        "return cs.scenario { name = 'x', run = function() end, model = cs.toy {\n"
        "  params = { { name = 'p', shape = 8, dtype = 'f32' } }, loads = {}, post_load_while_loading = true,\n"
        "  post_load = { cs.relayout('p', 'shuffle32', 'swap_halves'), cs.cast('p', 'f32'), cs.view('p', 'e4m3'), cs.replace 'p',\n"
        "                cs.config('some.path', 'p'), cs.constant('other.path', 1.5) } } }",
        &arena).model;
    assert_true(m.toy_processes_while_loading);
    assert_int_equal(m.n_toy_steps, 6);
    const struct cs_step *step = m.toy_steps;
    assert_int_equal(step[0].kind, CS_STEP_RELAYOUT);
    assert_string_equal(step[0].param, "p");
    assert_string_equal(step[0].chain[0], "shuffle32");
    assert_string_equal(step[0].chain[1], "swap_halves");
    assert_null(step[0].chain[2]);
    assert_int_equal(step[1].kind, CS_STEP_CAST);
    assert_int_equal(step[1].dtype, CS_F32);
    assert_int_equal(step[2].kind, CS_STEP_VIEW);
    assert_int_equal(step[2].dtype, CS_E4M3);
    assert_int_equal(step[3].kind, CS_STEP_REPLACE);
    assert_int_equal(step[4].kind, CS_STEP_CONFIG);
    assert_string_equal(step[4].paths[0], "some.path");
    assert_null(step[4].paths[1]);
    assert_string_equal(step[4].param, "p");
    assert_int_equal(step[5].kind, CS_STEP_CONSTANT);
    assert_string_equal(step[5].paths[0], "other.path");
    assert_true(step[5].value == 1.5f);
}

static struct cs_model_config parse_gpt_oss(const char *model) {
    char text[512];
    snprintf(text, sizeof text, "local models = require 'models.gpt_oss'\nreturn cs.scenario { name = 'x', run = function() end, model = models.%s }", model);
    return script_parse_good(text, &arena).model;
}

static void gpt_oss_has_its_published_sizes_and_names(void **state) {
    (void)state;
    struct cs_model_config m = parse_gpt_oss("gpt_oss_20b()");
    assert_int_equal(m.layers, 24);
    assert_int_equal(m.experts, 32);
    assert_int_equal(m.hidden, 2880);
    assert_int_equal(m.intermediate, 2880);
    assert_string_equal(m.prefix, "model.");
    const char *names[] = {"layers.{layer}.input_layernorm", "layers.{layer}.post_attention_layernorm", "norm",
                           "layers.{layer}.mlp.router", "layers.{layer}.mlp.experts.routed_experts"};
    assert_int_equal(m.n_templates, CS_COUNT(names));
    for (size_t i = 0; i < CS_COUNT(names); i++) assert_string_equal(m.templates[i].name, names[i]);
    assert_int_equal(m.templates[0].tensors[0].init, CS_INIT_ONES);
    assert_string_equal(m.templates[3].tensors[0].shape, "Eg Hu");
    assert_string_equal(m.templates[3].tensors[1].shape, "Eg");
    assert_int_equal(m.n_not_simulated, 3);

    m = parse_gpt_oss("gpt_oss_120b { layers = 2 }");
    assert_int_equal(m.layers, 2);
    assert_int_equal(m.experts, 128);
}

static void a_required_file_is_found_above_and_run_once(void **state) {
    (void)state;
    struct cs_scenario s;
    assert_int_equal(mkdir("scenarios", 0700) || mkdir("scenarios/a", 0700) || mkdir("scenarios/a/b", 0700), 0);
    script_write("scenarios/once.lua", "count = (count or 0) + 1 return { toy = " TOY " }");
    script_write("outside.lua", "return 1");
    script_write("scenarios/a/b/x.lua", "local o = require 'once' assert(o == require 'once' and count == 1)\n"
                                        "assert(not pcall(require, 'outside'))\n"
                                        "return cs.scenario { name = 'x', model = o.toy, run = function() end }");
    if (cs_script_parse("scenarios/a/b/x.lua", NULL, 0, &arena, &s) != CS_OK) fail_msg("%s", cs_error_text());
    assert_int_equal(chdir("scenarios/a/b"), 0);
    if (cs_script_parse("x.lua", NULL, 0, &arena, &s) != CS_OK) fail_msg("%s", cs_error_text());
}

static void pairs_goes_by_key(void **state) {
    (void)state;
    script_parse_good("local s = '' for k, v in pairs { z = 1, a = 2, [2] = 'x', [1] = 'y', [1.5] = 0, m = 3 } do s = s .. k .. '=' .. v .. ' ' end\n"
                      "assert(s == '1=y 1.5=0 2=x a=2 m=3 z=1 ', s)\n"
                      "local t = { a = 1, b = 2 } for k in pairs(t) do t.b = nil assert(k == 'a') end\n"
                      "return cs.scenario { name = 'x', model = " TOY ", run = function() end }", &arena);
}

static void ordinary_string_work_is_allowed(void **state) {
    (void)state;
    script_parse_good("assert(('layers.12.x'):gsub('%d+', '{layer}') == 'layers.{layer}.x')\n"
                      "assert(('a = b'):match '^%s*(.-)%s*=%s*(.-)%s*$' == 'a')\n"
                      "local n = 0 for word in ('E 2*I H/2'):gmatch '[^ ]+' do n = n + 1 end assert(n == 3)\n"
                      "assert(('x'):rep(3, ',') == 'x,x,x' and table.concat({ 1, 2 }, '-') == '1-2')\n"
                      "local t = { 3, 1 } table.sort(t) table.insert(t, 2) table.insert(t, 1, 0) assert(#t == 4 and t[2] == 1)\n"
                      "return cs.scenario { name = 'x', model = " TOY ", run = function() end }", &arena);
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, NULL, release_arena)

static void a_file_may_return_a_list(void **state) {
    (void)state;
    static const char one[] = "local function one(name) return cs.scenario { name = name, model = cs.toy { params = { { name = 'p', "
                              "shape = 8, dtype = 'f32' } }, loads = {} }, run = function() end } end ";
    struct cs_script_list list;
    struct cs_scenario first;
    script_write("s.lua", "");
    first = script_parse_good((char[sizeof one + 64]){0}[0] ? "" : cs_arena_format(&arena, "%sreturn { one 'a', one 'b' }", one), &arena);
    assert_string_equal(first.name, "a");
    assert_int_equal(cs_script_parse_all("s.lua", NULL, 0, &arena, &list), CS_OK);
    assert_int_equal(list.n, 2);
    assert_string_equal(list.items[1].name, "b");
    script_write("s.lua", cs_arena_format(&arena, "%sreturn { one 'a', one 'a' }", one));
    assert_int_equal(cs_script_parse_all("s.lua", NULL, 0, &arena, &list), CS_BAD_SCRIPT);
    assert_string_equal(cs_error_text(), "s.lua: the file returned two scenarios of the name \"a\"");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        ROW(every_field_of_a_scenario_lands),
        ROW(what_is_not_said_has_its_default),
        ROW(an_allocator_is_described_in_words),
        ROW(a_plan_is_what_run_does),
        ROW(a_file_may_return_a_list),
        ROW(an_expectation_is_equal_refused_or_counts),
        ROW(every_count_can_be_expected),
        ROW(an_expectation_may_differ_by_policy),
        ROW(an_expectation_may_compare_with_another_policy),
        ROW(checkpoints_are_declared_or_named),
        ROW(the_checkpoints_of_a_toy_are_its_loads),
        ROW(a_folder_is_relative_to_the_scenario),
        ROW(a_model_is_modules_of_tensors),
        ROW(a_toy_spells_out_its_loads),
        ROW(a_toy_has_post_load_steps),
        ROW(gpt_oss_has_its_published_sizes_and_names),
        ROW(pairs_goes_by_key),
        ROW(ordinary_string_work_is_allowed),
        ROW(a_required_file_is_found_above_and_run_once), /* last: changes the folder */
    };
    return cmocka_run_group_tests(tests, script_folder_setup, script_folder_teardown);
}
