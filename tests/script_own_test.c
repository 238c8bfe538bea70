/* cs.layout, cs.loader, cs.method, cs.backend, and how layers are configured: what a script says is what the session gets,
 * and every way to get it wrong has a message. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "tests/support_script.h"
#include "tests/support_session.h"

static struct cs_arena arena;

#define EXPERTS                                                                                                        \
    "local model = cs.model { name = 'm', layers = 1, experts = 4, hidden = 96, intermediate = 96,\n"                 \
    "  modules = { cs.module { name = 'layers.{layer}.experts', routed_experts = true, checkpoint = 'e.{layer}' } } }\n"
#define RUN "run = function(s) s:cold_start 'A' s:expect(cs.equal()) end"
#define SCENARIO(keys) "return cs.scenario { name = 'x', model = model, " keys ", " RUN " }"
#define LOADER "cs.loader { name = 'l', tensors = { { tensor = '{expert}.w', shape = { 'If', 'Hu' }, dtype = 'bf16', param = 'w' } } }"
#define W_PARAM "{ name = 'w', shape = { 'E', 'I', 'H' }, dtype = 'bf16' }"
#define METHOD(rest) "method = cs.method { name = 'mine', params = { " W_PARAM " }, loaders = { " LOADER " }, " rest " }"

/* ---- what a script says ---- */

static struct cs_scenario parse(const char *text) {
    struct cs_scenario scenario = script_parse_good(text, &arena);
    assert_ok(cs_scenario_check(&scenario));
    return scenario;
}

static void a_layout_is_a_row_of_its_own(void **state) {
    (void)state;
    struct cs_scenario s = parse(EXPERTS
                                 "local l = cs.layout { name = 'tiles', bits = 16, pad = '128 4', view = 'M/8 8 K', order = '1 0 2', flip = '1' }\n" SCENARIO(
                                     "method = 'unquantized', backend = cs.backend { name = 'b', steps = { cs.relayout('w13_weight', l, 'transpose') } }"));
    const struct cs_step *step = s.own_backend->steps;
    assert_int_equal(*s.own_backend->n_steps, 1);
    assert_string_equal(s.own_backend->method, "unquantized");
    assert_string_equal(step->chain[0], "tiles");
    assert_string_equal(step->chain[1], "transpose");
    assert_null(step->own[1]);
    assert_int_equal(step->own[0]->bits, 16);
    assert_string_equal(step->own[0]->pad, "128 4");
    assert_string_equal(step->own[0]->view, "M/8 8 K");
    assert_string_equal(step->own[0]->order, "1 0 2");
    assert_string_equal(step->own[0]->flip, "1");
}

static void a_loader_copies_by_another_ones_rule(void **state) {
    (void)state;
    struct cs_scenario s = parse(EXPERTS SCENARIO(
        "method = 'unquantized', backend = 'triton', loader = cs.loader { name = 'l', like = 'fused_3d', tensors = {\n"
        "  { tensor = 'w1w3', shape = { 'E', '2*If', 'Hu' }, dtype = 'bf16', param = 'w13_weight', shard = 'gate_up' },\n"
        "  { tensor = 'w2', shape = 'E', dtype = 'f32', numbers = 'e8m0', param = 'w2_weight', split = 'agreed_number', when = { 'bias', 'gated' } } } }"));
    const struct cs_loader *own = cs_scenario_loader(&s, NULL);
    assert_string_equal(own->name, "l");
    assert_true(own->load == cs_loader_by_name("fused_3d")->load);
    assert_int_equal(own->n_rows, 2);
    assert_string_equal(own->rows[0].shape, "E 2*If Hu");
    assert_int_equal(own->rows[0].shard, CS_GATE_UP);
    assert_int_equal(own->rows[0].shard_dim, CS_ROWS);
    assert_int_equal(own->rows[0].as, CS_BF16);
    assert_int_equal(own->rows[1].shard, CS_WHOLE);
    assert_int_equal(own->rows[1].as, CS_E8M0);
    assert_int_equal(own->rows[1].shard_dim, CS_SCALAR_AGREED);
    assert_int_equal(own->rows[1].when, CS_WITH_BIAS | CS_UNLESS(CS_NOT_GATED));
    assert_ptr_equal(cs_scenario_loader(&s, "per_expert"), cs_loader_by_name("per_expert"));
}

static void a_method_brings_its_loaders_and_its_back_end(void **state) {
    (void)state;
    struct cs_scenario s = parse(EXPERTS SCENARIO(
        "method = cs.method { name = 'mine', params = { " W_PARAM ", { name = 's', shape = 'H/G', dtype = 'f32', created = 'ones' } }, loaders = { " LOADER " },\n"
        "  quantization = { group = 32, bits = 8 }, rounds = { intermediate = 128 }, steps = { cs.replace 'w' } }, quantization = { group = 48 }"));
    const struct cs_method *method = cs_scenario_method(&s);
    assert_string_equal(method->name, "mine");
    assert_int_equal(method->n_params, 2);
    assert_string_equal(method->params[0].shape, "E I H");
    assert_int_equal(method->params[0].init, CS_INIT_EMPTY);
    assert_int_equal(method->params[1].init, CS_INIT_ONES);
    assert_int_equal(method->usual.group, 32);
    assert_string_equal(method->loaders[0], "l");
    assert_int_equal(s.layer.group, 48);
    assert_string_equal(cs_scenario_backend(&s)->name, "mine");
    assert_int_equal(cs_scenario_backend(&s)->released.intermediate, 128);
    assert_string_equal(cs_scenario_loader(&s, NULL)->rows[0].tensor, "{expert}.w");
}

static void a_reload_may_have_a_loader_of_its_own(void **state) {
    (void)state;
    struct cs_scenario s = parse(EXPERTS "local l = cs.loader { name = 'l', tensors = { { tensor = '{expert}.up', shape = { 'If', 'Hu' }, dtype = 'bf16',\n"
                                         "  param = 'w13_weight', shard = 'up' } } }\n"
                                         "return cs.scenario { name = 'x', model = model, method = 'unquantized', backend = 'triton', run = function(s)\n"
                                         "  s:cold_start 'A' s:reload { driver = 'direct', checkpoint = 'B', loader = l } s:expect(cs.equal()) end }");
    assert_string_equal(s.ops[1].loader, "l");
    assert_int_equal(s.n_own_loaders, 1);
    assert_int_equal(cs_scenario_loader(&s, "l")->rows[0].shard, CS_UP);
    assert_string_equal(cs_scenario_loader(&s, NULL)->name, "per_expert");
}

/* ---- sizes ---- */

static struct cs_rank_spec rank_of(const char *keys, size_t rank) {
    char text[2048];
    snprintf(text, sizeof text, EXPERTS "return cs.scenario { name = 'x', model = model, %s, " RUN " }", keys);
    static struct cs_scenario scenario;
    scenario = parse(text);
    struct cs_session session;
    assert_ok(cs_session_open(&session, &(struct cs_session_config){.scenario = &scenario,
                                                                   .device = cs_device_by_name("ref"),
                                                                   .policy = "none",
                                                                   .allocator = scenario.allocator,
                                                                   .only_rank = -1}));
    struct cs_rank_spec spec = session.model.ranks[rank];
    cs_session_close(&session);
    return spec;
}

/* vllm fused_moe/oracle/mxfp4.py: Triton rounds both sizes to 256 on CDNA, DeepEP rounds 96 × 2 bytes to 512. */
static void layers_are_as_they_are_configured(void **state) {
    (void)state;
    struct cs_sizes cuda = rank_of("method = 'mxfp4', backend = 'triton'", 0).sizes;
    assert_int_equal(cuda.intermediate, 128);
    assert_int_equal(cuda.hidden, 96);
    struct cs_sizes cdna = rank_of("method = 'mxfp4', backend = 'triton', platform = 'cdna3'", 0).sizes;
    assert_int_equal(cdna.intermediate, 256);
    assert_int_equal(cdna.hidden, 256);
    struct cs_sizes unfused = rank_of("method = 'mxfp4', backend = 'TRITON_UNFUSED', platform = 'cdna3', experts = { activation = 'silu' }", 0).sizes;
    assert_int_equal(unfused.intermediate, 128);
    assert_int_equal(rank_of("method = 'unquantized', backend = 'triton', all2all = 'deepep_v2', ep = 2", 0).sizes.hidden, 256);
    assert_int_equal(rank_of("method = 'unquantized', backend = 'triton', all2all = 'deepep_ll', ep = 2", 0).sizes.hidden, 2048);
    struct cs_sizes words = rank_of("method = 'ct_wna16', backend = 'marlin', quantization = { bits = 8, group = 48, asymmetric = true }", 0).sizes;
    assert_int_equal(words.bits, 8);
    assert_int_equal(words.group, 48);
    assert_true(words.options & CS_ASYMMETRIC);
    struct cs_sizes block = rank_of("method = 'fp8_block', backend = 'triton', quantization = { block = { 32, 48 } }, chosen_by = 'engine'", 0).sizes;
    assert_int_equal(block.block[0], 32);
    assert_int_equal(block.block[1], 48);
    assert_false(block.options & CS_NAMED_BACKEND);
}

/* 4 experts and 2 copies over 2 ranks: 3 on each. */
static void experts_are_placed_as_they_are_configured(void **state) {
    (void)state;
    struct cs_rank_spec second = rank_of("method = 'unquantized', backend = 'triton', ep = 2, experts = { redundant = 2 }", 1);
    assert_int_equal(second.sizes.experts, 3);
    assert_int_equal(second.first_expert, 3);
    assert_int_equal(second.sizes.experts_redundant, 2);
    assert_int_equal(cs_rank_expert_slot(&second, 5), 2);
    struct cs_rank_spec odd = rank_of("method = 'unquantized', backend = 'triton', ep = 2, experts = { placement = 'round_robin' }", 1);
    assert_int_equal(cs_rank_expert_slot(&odd, 3), 1);
    assert_int_equal(cs_rank_expert_slot(&odd, 2), -1);
}

/* ---- errors ---- */

struct bad {
    const char *text, *message;
};

static void expect_bad(const struct bad *bad, size_t n) {
    int n_wrong = 0;
    for (size_t i = 0; i < n; i++) {
        struct cs_scenario scenario;
        enum cs_status status = script_parse(bad[i].text, &arena, &scenario);
        if (status == CS_OK) status = cs_scenario_check(&scenario);
        bool is_right = status == CS_BAD_SCRIPT && strcmp(cs_error_text(), bad[i].message) == 0;
        if (!is_right) print_error("%s\n  gave %s: %s\n  want %s\n", bad[i].text, cs_status_name(status), cs_error_text(), bad[i].message);
        n_wrong += !is_right;
    }
    assert_int_equal(n_wrong, 0);
}

static void own_things_are_checked_where_they_are_made(void **state) {
    (void)state;
    static const struct bad rows[] = {
        {"cs.layout { name = 'x' }", "s.lua:1: cs.layout.view: found nothing, expected a string"},
        {"cs.layout { name = 'transpose', view = 'M K' }", "s.lua:1: cs.layout.name: \"transpose\" is there already: choose another name"},
        {"cs.layout { name = 'a b', view = 'M K' }", "s.lua:1: cs.layout.name: found \"a b\", expected a name of letters, digits and _"},
        {"cs.layout { name = 'x', view = 'M/0 K' }", "s.lua:1: cs.layout: x: extent \"M/0\" is not M, K, M/n, K/n or n, with n from 1 to 2^30"},
        {"cs.layout { name = 'x', view = 'M K', order = '0' }", "s.lua:1: cs.layout: x: order names 1 of the view's 2 dimensions"},
        {"cs.layout { name = 'x', view = 'M K', bits = 7 }", "s.lua:1: cs.layout: x: elements of 7 bits; layouts move 4, 8, 16, 32 or 64"},
        {"cs.layout { name = 'x', view = 'M K', word = { 1 } }", "s.lua:1: cs.layout.word: found 1 numbers, expected 32: where each bit of a word goes"},
        {"cs.layout { name = 'x', view = 'M K', pads = '1 1' }", "s.lua:1: cs.layout.pads: unknown key, did you mean \"pad\"?"},
        {"cs.relayout('w', 'shufle32')", "s.lua:1: cs.relayout.layout: found \"shufle32\", expected \"shuffle32\""},
        {"cs.map('w', 'f32', 'w plus')", "s.lua:1: cs.map.program: a program ends where an operand should stand"},
        {"cs.call 'mxfp4_marlinn'", "s.lua:1: cs.call: found \"mxfp4_marlinn\", expected \"mxfp4_marlin\""},
        {"cs.select('a', 'w', 9, 0)", "s.lua:1: cs.select.dimension: found 9, expected an integer from 0 to 5"},
        {"cs.pad('w', 0, 1)", "s.lua:1: cs.pad.rows: found 0, expected an integer from 1 to 1048576"},
        {"cs.loader { name = 'per_expert', tensors = {} }", "s.lua:1: cs.loader.name: \"per_expert\" is there already: choose another name"},
        {"cs.loader { name = 'l', tensors = {} }", "s.lua:1: cs.loader.tensors: found an empty list, expected at least one tensor"},
        {"cs.loader { name = 'l', tensors = { { tensor = 'w', shape = 'X', dtype = 'bf16', param = 'w' } } }",
         "s.lua:1: cs.loader.tensors[1].shape: shape word \"X\" is unknown: use E, Eg, I, Iu, If, H, Hu, S or a number, joined by * and /"},
        {"cs.loader { name = 'l', tensors = { { tensor = 'w', shape = 'Hu', dtype = 'bf16', param = 'w', split = 'row' } } }",
         "s.lua:1: cs.loader.tensors[1].split: found \"row\", expected \"rows\""},
        {"cs.loader { name = 'l', tensors = { { tensor = '{expert}.w', shape = {}, dtype = 'f32', param = 'w' },\n{ tensor = 'w', shape = {}, dtype = 'f32', param = 'w' } } }",
         "s.lua:1: cs.loader.tensors[2]: either all tensors begin with {expert}. or none does"},
        {"cs.method { name = 'mxfp4', params = {}, loaders = { 'per_expert' } }", "s.lua:1: cs.method.name: \"mxfp4\" is there already: choose another name"},
        {"cs.method { name = 'm', params = {}, loaders = { 'per_expert' } }", "s.lua:1: cs.method.params: found an empty list, expected at least one parameter"},
        {"cs.method { name = 'm', params = {}, loaders = {} }", "s.lua:1: cs.method.loaders: found an empty list, expected at least one loader"},
        {"cs.method { name = 'm', params = {}, loaders = { 5 } }", "s.lua:1: cs.method.loaders[1]: found 5, expected a loader's name, or cs.loader { … }"},
        {"cs.method { name = 'm', params = { { name = 'w', shape = 'E', dtype = 'u8', when = { 'bais' } } }, loaders = { 'per_expert' } }",
         "s.lua:1: cs.method.params[1].when[1]: found \"bais\", expected \"bias\""},
        {"cs.backend { name = 'triton', steps = {} }", "s.lua:1: cs.backend.name: \"triton\" is there already: choose another name"},
        {"cs.backend { name = 'b', steps = { 'w' } }", "s.lua:1: cs.backend.steps[1]: found \"w\", expected a post-load step (cs.relayout, cs.cast, …)"},
        {"cs.backend { name = 'b', steps = {}, rounds = { hiden = 1 } }", "s.lua:1: cs.backend.rounds.hiden: unknown key, did you mean \"hidden\"?"},
        {"cs.module { name = 'm', routed_experts = true, checkpoint = 'e', names = { gate_proj = 'a.b' } }",
         "s.lua:1: cs.module.names.gate_proj: found \"a.b\", expected a word without dots"},
        {"cs.module { name = 'm', tensors = { { name = 'w', shape = 1, dtype = 'f32' } }, dtypes = { w = 'u8' } }",
         "s.lua:1: cs.module.dtypes.w: found \"u8\", expected \"f32\", \"bf16\" or \"f16\""},
        {"cs.module { name = 'm', tensors = { { name = 'w', shape = 1, dtype = 'f32' } }, dtypes = { w = 'f64' } }",
         "s.lua:1: cs.module.dtypes.w: found \"f64\", expected \"f32\", \"bf16\" or \"f16\""},
        {"cs.module { name = 'm', tensors = { { name = 'w', shape = 1, dtype = 'f32' } }, dtypes = { w = 16 } }",
         "s.lua:1: cs.module.dtypes.w: found 16, expected \"f32\", \"bf16\" or \"f16\""},
        {"cs.module { name = 'm', first_layer = 1, tensors = { { name = 'w', shape = 1, dtype = 'f32' } } }",
         "s.lua:1: cs.module.first_layer: found 1, expected nothing, unless the name has {layer} in it"},
    };
    expect_bad(rows, CS_COUNT(rows));
}

#define ONE_MODULE(keys)                                                                                                   \
    "local model = cs.model { name = 'm', layers = 1, experts = 4, hidden = 96, intermediate = 96, modules = { cs.module {\n  " keys " } } }\n"
#define RENAMED(names)                                                                                                 \
    ONE_MODULE("name = 'e', routed_experts = true, checkpoint = 'e', names = { " names " }")                               \
    SCENARIO("method = 'mxfp4', backend = 'triton'")
#define STORED(keys, dtypes) ONE_MODULE("name = 'n', " keys ", dtypes = { " dtypes " }")
#define PLAIN                                                                                                          \
    "tensors = { { name = 'sub.weight', shape = 1, dtype = 'f32' }, { name = 'b', shape = 1, dtype = 'f32', kind = 'buffer' } }"
#define WITH(keys) EXPERTS "\n" SCENARIO(keys)

static void own_things_must_fit_each_other(void **state) {
    (void)state;
    static const struct bad rows[] = {
        {RENAMED("gate_prj = 'w1', down_proj = 'w2'"), "s.lua:3: model: e: names.gate_prj: no loader has a tensor with that word"},
        {RENAMED("['{expert}'] = 'x'"), "s.lua:3: model: e: names.{expert}: no loader has a tensor with that word"},
        {STORED("routed_experts = true, checkpoint = 'e'", "gate_proj = 'f16'") SCENARIO("method = 'unquantized', backend = 'triton'"),
         "s.lua:3: model: n: dtypes.gate_proj: found no name of the scenario's loaders that ends with this word, expected one such as \"weight\""},
        {STORED("routed_experts = true, checkpoint = 'e'", "['{expert}'] = 'f16'") SCENARIO("method = 'unquantized', backend = 'triton'"),
         "s.lua:3: model: n: dtypes.{expert}: found no name of the scenario's loaders that ends with this word, expected one such as \"weight\""},
        {STORED("routed_experts = true, checkpoint = 'e'", "qweight = 'f16'") SCENARIO("method = 'unquantized', backend = 'triton'"),
         "s.lua:3: model: n: dtypes.qweight: found no name of the scenario's loaders that ends with this word, expected one such as \"weight\""},
        {STORED("routed_experts = true, checkpoint = 'e'", "gate_up_proj = 'f16', weight = 'f16'") SCENARIO("method = 'unquantized', backend = 'triton'"),
         "s.lua:3: model: n: dtypes.gate_up_proj: found no name of the scenario's loaders that ends with this word, expected one such as \"weight\""},
        {STORED("routed_experts = true, checkpoint = 'e'", "weight_scale = 'bf16'") SCENARIO("method = 'mxfp4', backend = 'triton'"),
         "s.lua:3: model: n: dtypes.weight_scale: \"{expert}.gate_proj.weight_scale\" is u8 here, which nothing is converted to: leave it out"},
        {STORED(PLAIN, "weight = 'bf16'") SCENARIO("seed = 1"), "s.lua:3: model: n: dtypes.weight: found no parameter of this name in checkpoints, expected one such as \"sub.weight\""},
        {STORED(PLAIN, "b = 'bf16'") SCENARIO("seed = 1"), "s.lua:3: model: n: dtypes.b: found no parameter of this name in checkpoints, expected one such as \"sub.weight\""},
        {STORED("attention = true", "q_scale = 'bf16'") SCENARIO("seed = 1"),
         "s.lua:3: model: n: dtypes.q_scale: found no parameter of this name in checkpoints, expected one such as \"k_scale\""},
        {STORED("tensors = { { name = 'b', shape = 1, dtype = 'f32', kind = 'buffer' } }", "b = 'bf16'") SCENARIO("seed = 1"),
         "s.lua:3: model: n: dtypes.b: checkpoints hold no tensor of this module: leave it out"},
        {WITH("method = cs.method { name = 'mine', params = { { name = 'v', shape = 'E', dtype = 'u8' } }, loaders = { " LOADER " } }"),
         "s.lua:4: loader l: \"{expert}.w\" goes into w, which method mine does not have"},
        {WITH("method = cs.method { name = 'mine', params = { " W_PARAM ", " W_PARAM " }, loaders = { " LOADER " } }"),
         "s.lua:4: method mine: parameter w is there twice"},
        {WITH("method = 'unquantized', backend = 'triton', loader = cs.loader { name = 'l', tensors = {\n"
              "  { tensor = 'w', shape = 'Hu', dtype = 'bf16', param = 'w2_weight' }, { tensor = 'w', shape = 'Hu', dtype = 'bf16', param = 'w2_weight' } } }"),
         "s.lua:4: loader l: tensor \"w\" is there twice"},
        {WITH("method = cs.method { name = 'mine', params = { " W_PARAM " }, loaders = { 'per_exprt' } }"),
         "s.lua:4: method mine: no loader is named \"per_exprt\"; `coldstart list loaders`"},
        {WITH(METHOD("") ", backend = 'triton'"), "s.lua:4: backend: \"triton\" is not for the scenario's own method: use cs.backend"},
        {WITH(METHOD("steps = {\n cs.replace 'v' }")), "s.lua:5: no parameter of method mine and no value of an earlier step is named \"v\""},
        {WITH(METHOD("steps = { cs.map('a', 'f32', 'w * b') }")), "s.lua:4: no parameter of method mine and no value of an earlier step is named \"b\""},
        {WITH("method = 'unquantized', backend = 'triton', loader = " LOADER), "s.lua:4: loader l: \"{expert}.w\" goes into w, which method unquantized does not have"},
    };
    expect_bad(rows, CS_COUNT(rows));
    parse(WITH("method = cs.method { name = 'mine', params = { { name = 'w13_weight', shape = 'E', dtype = 'u8' }, { name = 'w2_weight', shape = 'E', dtype = 'u8' } },\n"
               "  loaders = { 'per_expert' } }")); /* without biases, as its rows of biases say */
    parse(WITH(METHOD("steps = { cs.take('a', 'w'), cs.cast('a', 'f32'), cs.map('b', 'f32', 'a * 2'), cs.update('a', 'b'), cs.replace 'b' }")));
}

static void settings_must_mean_something(void **state) {
    (void)state;
    static const struct bad rows[] = {
        {WITH("method = 'mxfp4', backend = 'triton', quantization = { bits = 5 }"), "s.lua:4: cs.scenario.quantization.bits: found 5, expected 4, 6 or 8"},
        {WITH("method = 'mxfp4', backend = 'triton', quantization = { bits = 8 }"),
         "s.lua:4: quantization.bits: no parameter of method mxfp4 depends on it: leave it out"},
        {WITH("method = 'gptq', backend = 'marlin', quantization = { bits = 6 }"),
         "s.lua:4: quantization.bits: 6: method gptq packs integers into words of 32 bits: 4 or 8"},
        {WITH("method = 'mxfp4', backend = 'triton', quantization = { group = 64 }"),
         "s.lua:4: quantization.group: no parameter of method mxfp4 depends on it: leave it out"},
        {WITH("method = 'mxfp4', backend = 'triton', quantization = { asymmetric = true }"),
         "s.lua:4: quantization.asymmetric: nothing of method mxfp4 with loader per_expert_mxfp4 depends on it: leave it out, or choose others"},
        {WITH("method = 'unquantized', backend = 'triton', loader = 'llama4', experts = { gated = false }"),
         "s.lua:4: experts.gated: nothing of method unquantized with loader llama4 depends on it: leave it out, or choose others"},
        {WITH("method = 'quark_fp8_gpt_oss', backend = 'triton', experts = { bias = false }"),
         "s.lua:4: experts.bias = false: every layer of method quark_fp8_gpt_oss has it"},
        {WITH("method = 'gptq', backend = 'marlin', quantization = { act_order = true }"),
         "s.lua:4: model: m: GPTQ experts with desc_act and groups of 128 are not supported: quantise without desc_act"},
        {WITH("method = 'awq', backend = 'marlin', quantization = { group = 64 }"),
         "s.lua:4: model: m: hidden 96 or intermediate 96 per rank is not a multiple of the group size 64: upstream does not choose awq then (check_moe_marlin_supports_layer): "
         "choose quantization.group, tp or sizes so that both are"},
        {WITH("method = 'awq', backend = 'marlin', quantization = { bits = 8 }"),
         "s.lua:4: quantization.bits: 8: upstream's experts of method awq have 4 bits: leave it out"},
        {WITH("method = 'ct_wna16', backend = 'marlin', quantization = { group = 64 }"),
         "s.lua:4: model: m: hidden 96 or intermediate 96 per rank is not a multiple of the group size 64: choose quantization.group, tp or sizes so that both are"},
        {"local model = cs.model { name = 'm', layers = 1, experts = 1, hidden = 132, intermediate = 132, modules = { cs.module {\n"
         "  name = 'e', routed_experts = true, checkpoint = 'e' } } }\n" SCENARIO("method = 'ct_wna16', backend = 'marlin', quantization = { group = 4, asymmetric = true }"),
         "s.lua:3: model: m: zero points are packed by 8: hidden 132 and gate and up, 264 per rank, must be multiples of that: choose other sizes or another tp, or leave out "
         "quantization.asymmetric"},
        {WITH("method = 'mxfp8_modelopt', backend = 'triton', tp = 2"),
         "s.lua:4: model: m: MXFP8 needs sizes that are multiples of 32: hidden 96, intermediate 48 per rank: choose other sizes, or another tp"},
        {WITH("method = 'awq', backend = 'marlin', quantization = { act_order = true }"),
         "s.lua:4: quantization.act_order: nothing of method awq with loader per_expert_awq depends on it: leave it out, or choose others"},
        {WITH("method = 'unquantized', backend = 'triton', experts = { redundant = 2 }"), "s.lua:4: experts.redundant: there is one rank: set ep"},
        {WITH("method = 'unquantized', backend = 'triton', ep = 2, experts = { redundant = 2, placement = 'round_robin' }"),
         "s.lua:4: experts.placement: \"round_robin\" with experts.redundant = 2: upstream places them linearly then: leave one of them out"},
        {WITH("method = 'unquantized', backend = 'triton', ep = 2, experts = { redundant = 5 }"),
         "s.lua:4: experts.redundant: 5, but the model has 4 experts to copy"},
        {WITH("method = 'unquantized', backend = 'triton', ep = 2, experts = { redundant = 3 }"),
         "s.lua:4: experts.redundant: 7 experts with the copies, on ep 2 ranks: load balancing needs the same number on each, as upstream says"},
        {WITH("method = 'gptq', backend = 'marlin', ep = 2, experts = { redundant = 2 }"),
         "s.lua:4: experts.redundant: upstream refuses load balancing of gptq with marlin (EPLB is not supported): leave it out"},
        {WITH("method = 'nvfp4_ct', backend = 'marlin', ep = 2, experts = { redundant = 2 }"),
         "s.lua:4: experts.redundant: upstream refuses load balancing of nvfp4_ct with marlin (EPLB is not supported): leave it out"},
        {WITH("method = 'online_fp8_tensor', backend = 'triton', tp = 2, rank = 1"),
         "s.lua:4: rank: 1: online_fp8_tensor takes the largest values over all ranks in post-load, so none of them can run alone: leave out rank"},
        {WITH("method = 'unquantized', backend = 'triton', experts = { placement = 'round_robin' }"), "s.lua:4: experts.placement: there is one rank: set ep"},
        {WITH("method = 'unquantized', backend = 'triton', platform = 'cdna4'"),
         "s.lua:4: platform: triton rounds sizes in the same way on every platform: leave it out"},
        {WITH("method = 'unquantized', backend = 'triton', all2all = 'deepep'"),
         "s.lua:4: cs.scenario.all2all: found \"deepep\", expected \"deepep_ht\""},
        {"return cs.scenario { name = 'x', model = cs.model { name = 'm', layers = 1, hidden = 4, modules = { cs.module { name = 'n',\n"
         "  tensors = { { name = 'w', shape = 1, dtype = 'f32' } } } } }, experts = { bias = true }, " RUN " }",
         "s.lua:1: the model has no routed experts: leave out quantization, experts, all2all, platform and chosen_by"},
    };
    expect_bad(rows, CS_COUNT(rows));
}

/* What only the sizes of a run show is still the script's error, at the step's line. */
static void a_step_that_does_not_fit_is_blamed_at_its_line(void **state) {
    (void)state;
    struct cs_scenario scenario = parse(EXPERTS "local l = cs.layout { name = 'tiles', view = 'M/64 64 K' }\n" SCENARIO(
        METHOD("steps = {\n\n cs.relayout('w', l) }")));
    struct cs_session session;
    assert_ok(cs_session_open(&session, &(struct cs_session_config){.scenario = &scenario,
                                                                   .device = cs_device_by_name("ref"),
                                                                   .policy = "none",
                                                                   .allocator = scenario.allocator,
                                                                   .only_rank = -1}));
    assert_int_equal(cs_session_run(&session, &scenario.ops[0]), CS_BAD_SCRIPT);
    assert_string_equal(cs_error_text(), "s.lua:6: w: tiles: M = 96 is not a multiple of 64");
    cs_session_close(&session);
}

/* 100 output columns of 8 nibbles are no whole tiles of 64: w2 is named, as the table calls it. */
/* As captured: 0.5 and 0.25 in version 0, 2 and 4 in version 1. */
static void patterns_have_scales_for_attention(void **state) {
    (void)state;
    struct cs_scenario scenario = parse("return cs.scenario { name = 'x', checkpoints = { A = cs.pattern(0), B = cs.pattern(1) },\n"
                                        "  model = cs.model { name = 'm', layers = 1, hidden = 64, modules = { cs.module { name = 'a', attention = true } } },\n"
                                        "  run = function(s) s:cold_start 'A' s:reload { driver = 'direct', checkpoint = 'B' } s:expect(cs.equal()) end }");
    assert_int_equal(scenario.n_checkpoints, 2);
    for (size_t i = 0; i < 2; i++) {
        bool is_first = cs_text_equal(scenario.checkpoints[i].name, "A");
        assert_float_equal(scenario.checkpoints[i].kv_scales[0], is_first ? 0.5f : 2.0f, 0);
        assert_float_equal(scenario.checkpoints[i].kv_scales[1], is_first ? 0.25f : 4.0f, 0);
    }
    struct cs_session session;
    assert_ok(cs_session_open(&session, &(struct cs_session_config){.scenario = &scenario,
                                                                   .device = cs_device_by_name("ref"),
                                                                   .policy = "none",
                                                                   .allocator = scenario.allocator,
                                                                   .only_rank = -1}));
    for (size_t i = 0; i < 2; i++) assert_ok(cs_session_run(&session, &scenario.ops[i]));
    cs_session_close(&session);
}

static void a_post_load_that_does_not_fit_names_its_tensor(void **state) {
    (void)state;
    struct cs_scenario scenario =
        parse("local model = cs.model { name = 'm', layers = 1, experts = 1, hidden = 100, intermediate = 128, modules = { cs.module {\n"
              "  name = 'e', routed_experts = true, checkpoint = 'e' } } }\n" SCENARIO("method = 'gptq', backend = 'marlin', quantization = { per_channel = true }"));
    struct cs_session session;
    assert_ok(cs_session_open(&session, &(struct cs_session_config){.scenario = &scenario,
                                                                   .device = cs_device_by_name("ref"),
                                                                   .policy = "none",
                                                                   .allocator = scenario.allocator,
                                                                   .only_rank = -1}));
    assert_true(cs_session_run(&session, &scenario.ops[0]) != CS_OK);
    assert_string_equal(cs_error_text(), "rank 0: post-load of e: w2_weight: gptq_to_marlin4: K = 800 is not a multiple of 512");
    cs_session_close(&session);
}

static int release(void **state) {
    cs_arena_release(&arena);
    return script_folder_teardown(state);
}

#define ROW(name) cmocka_unit_test(name)

int main(void) {
    const struct CMUnitTest tests[] = {
        ROW(a_layout_is_a_row_of_its_own),
        ROW(a_loader_copies_by_another_ones_rule),
        ROW(a_method_brings_its_loaders_and_its_back_end),
        ROW(a_reload_may_have_a_loader_of_its_own),
        ROW(layers_are_as_they_are_configured),
        ROW(experts_are_placed_as_they_are_configured),
        ROW(own_things_are_checked_where_they_are_made),
        ROW(own_things_must_fit_each_other),
        ROW(settings_must_mean_something),
        ROW(a_step_that_does_not_fit_is_blamed_at_its_line),
        ROW(patterns_have_scales_for_attention),
        ROW(a_post_load_that_does_not_fit_names_its_tensor),
    };
    return cmocka_run_group_tests(tests, script_folder_setup, release);
}
