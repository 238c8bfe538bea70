/* The real program: --set, what `help` says of files and of the language, and where the values appear. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "sim/cli/cli.h"
#include "tests/support_cli.h"

/* A toy of `size` elements; `differ` is what it expects, and never right but at 0. */
static const char sized[] = "local o = cs.declare {\n"
                            "  size = { 8, 'elements of the parameter', least = 2, most = 64 },\n"
                            "  differ = { 0, 'what is expected to differ' }, from = 'B', value = 2.5, late = false,\n"
                            "}\n"
                            "return cs.scenario {\n"
                            "  name = 'toy.sized', note = 'a toy of any size', tags = { 'toy', 'small' },\n"
                            "  model = cs.toy { params = { { name = 'weight', shape = o.size, dtype = 'f32' } },\n"
                            "                   loads = { A = { { param = 'weight', shape = o.size, value = 1 } },\n"
                            "                             B = { { param = 'weight', shape = o.size, value = o.value } } } },\n"
                            "  policies = { 'none', 'record_and_fill' },\n"
                            "  run = function(s)\n"
                            "    s:cold_start 'A'\n"
                            "    s:reload { driver = 'layerwise', checkpoint = o.from }\n"
                            "    s:expect { params_differ = o.differ }\n"
                            "  end,\n"
                            "}\n";

static int make_scenarios(void **state) {
    (void)state;
    if (enter_new_folder() != 0) return -1;
    mkdir("t", 0777), mkdir("t/library", 0777);
    write_text("t/sized.lua", sized);
    write_text("t/library/cs.lua", "not a scenario\n");
    write_toy("plain.lua", "toy.plain", "", "cs.equal()");
    write_text("dense.lua", "local o = cs.declare { hidden = 8 }\n"
                            "return cs.scenario { name = 'dense', policies = { 'none' },\n"
                            "  model = cs.model { name = 'norms', layers = 1, hidden = o.hidden, modules = {\n"
                            "    cs.module { name = 'norm', tensors = { { name = 'weight', shape = 'H', dtype = 'bf16' } } } } },\n"
                            "  run = function(s) s:cold_start 'A' s:expect(cs.equal()) end }\n");
    return 0;
}

static int remove_scenarios(void **state) {
    (void)state;
    return leave_folder();
}

/* ---- run ---- */

static void a_setting_changes_the_scenario(void **state) {
    (void)state;
    coldstart("run t --set size=16 --set=late=true");
    assert_int_equal(outcome.status, CS_EXIT_PASSED);
    assert_says(outcome.out, "2 passed, 0 failed, 0 skipped\n");
    assert_refused("run t --set from=C", CS_EXIT_USAGE, "t/sized.lua:13: ");
}

static void a_failure_is_repeated_with_the_values_it_had(void **state) {
    (void)state;
    coldstart("run t --policy none --set differ=1 --set size=16");
    assert_int_equal(outcome.status, CS_EXIT_FAILED);
    assert_says(outcome.out, "\n  repeat: coldstart run t/sized.lua -k toy.sized --policy none --seed 1 "
                             "--set differ=1 --set from=B --set late=false --set size=16 --set value=2.5\n");
}

static void wrong_settings_are_refused_before_anything_runs(void **state) {
    (void)state;
    assert_refused("run t --set size", CS_EXIT_USAGE, "coldstart: --set wants NAME=VALUE, found \"size\"\n");
    assert_refused("run t --set =8", CS_EXIT_USAGE, "coldstart: --set wants NAME=VALUE, found \"=8\"\n");
    assert_refused("run t --set size=8 --set size=9", CS_EXIT_USAGE, "coldstart: --set is given twice for one name: \"size=8\" and \"size=9\"\n");
    assert_refused("run t --set", CS_EXIT_USAGE, "coldstart: --set needs a value: NAME=VALUE\n");
    assert_refused("run t --set siz=8", CS_EXIT_USAGE,
                   "coldstart: --set siz=8: unknown option, did you mean \"size\"? t/sized.lua declares differ, from, late, size, value\n");
    assert_refused("run t --set size=65", CS_EXIT_USAGE,
                   "coldstart: --set size=65: found \"65\", expected an integer from 2 to 64, as t/sized.lua declares it\n");
    assert_refused("run t/sized.lua plain.lua --set size=4", CS_EXIT_USAGE, "coldstart: --set size=4: plain.lua declares no options\n");
}

static void files_that_are_not_selected_need_not_declare(void **state) {
    (void)state;
    coldstart("run t plain.lua -k sized --set size=4");
    assert_int_equal(outcome.status, CS_EXIT_PASSED);
    coldstart("run t plain.lua --tag small --set size=4");
    assert_int_equal(outcome.status, CS_EXIT_PASSED);
}

static void values_keep_their_type_in_json(void **state) {
    (void)state;
    char arguments[sizeof original_folder + 64];
    snprintf(arguments, sizeof arguments, "run t plain.lua -k toy --json '%s/cli_set_test.json'", original_folder);
    coldstart(arguments);
    assert_int_equal(outcome.status, CS_EXIT_PASSED);
    snprintf(arguments, sizeof arguments, "%s/cli_set_test.json", original_folder);
    json_t *report = json_load_file(arguments, 0, NULL), *verdicts = json_object_get(report, "verdicts");
    json_t *options = json_object_get(json_array_get(verdicts, 0), "options");
    assert_int_equal(json_object_size(options), 5);
    assert_int_equal(json_integer_value(json_object_get(options, "size")), 8);
    assert_true(json_is_integer(json_object_get(options, "differ")));
    assert_true(json_real_value(json_object_get(options, "value")) == 2.5);
    assert_true(json_is_false(json_object_get(options, "late")));
    assert_string_equal(json_string_value(json_object_get(options, "from")), "B");
    assert_int_equal(json_object_size(json_object_get(json_array_get(verdicts, 2), "options")), 0); /* plain.lua */
    json_decref(report);
}

/* Verdicts cross a pipe. */
static void several_processes_know_them_too(void **state) {
    (void)state;
    write_text("t/other.lua", sized);
    coldstart("run t -j 2 --policy none --set differ=1");
    assert_int_equal(outcome.status, CS_EXIT_FAILED);
    assert_says(outcome.out, "repeat: coldstart run t/other.lua -k toy.sized --policy none --seed 1 --set differ=1");
    assert_int_equal(remove("t/other.lua"), 0);
}

static void a_checkpoint_is_made_at_that_size(void **state) {
    (void)state;
    coldstart("make-checkpoint dense.lua A made --set hidden=32");
    assert_int_equal(outcome.status, CS_EXIT_PASSED);
    assert_string_equal(outcome.out, "made: 1 tensors, 64 bytes in 1 file\n");
    coldstart("run dense.lua --checkpoint A=made --set hidden=32");
    assert_int_equal(outcome.status, CS_EXIT_PASSED);
    assert_refused("make-checkpoint dense.lua A more --set hiden=32", CS_EXIT_USAGE, "did you mean \"hidden\"? dense.lua declares hidden\n");
}

/* ---- dtypes of checkpoints ---- */

/* An f32 router, and experts whose weights are e4m3. */
static void write_stored(const char *path, const char *router, const char *experts) {
    char text[2048];
    snprintf(text, sizeof text,
             "return cs.scenario {\n  name = 'stored', policies = { 'none' }, method = 'fp8_block', backend = 'triton',\n"
             "  model = cs.model { name = 'stored', layers = 1, experts = 1, hidden = 128, intermediate = 128, modules = {\n"
             "    cs.module { name = 'gate', tensors = { { name = 'weight', shape = 'Hu', dtype = 'f32' },\n"
             "      { name = 'sub.weight', shape = 'Hu', dtype = 'f32' } }, dtypes = { %s } },\n"
             "    cs.module { name = 'e', routed_experts = true, checkpoint = 'experts', %s } } },\n"
             "  run = function(s)\n    s:cold_start 'A'\n    s:reload { driver = 'layerwise', checkpoint = 'B' }\n    s:expect { params_differ = 0 }\n  end,\n}\n",
             router, experts);
    write_text(path, text);
}

static void checkpoints_may_store_other_numbers_than_the_model_has(void **state) {
    (void)state;
    write_stored("stored.lua", "weight = 'bf16'", "dtypes = { weight_scale_inv = 'bf16' }");
    coldstart("make-checkpoint stored.lua A --list");
    assert_int_equal(outcome.status, CS_EXIT_PASSED);
    assert_says(outcome.out, "gate.weight  BF16  [128]\n");
    assert_says(outcome.out, "experts.0.gate_proj.weight  F8_E4M3  [128, 128]\n");
    assert_says(outcome.out, "experts.0.down_proj.weight_scale_inv  BF16  [1, 1]\n");
    coldstart("run stored.lua");
    assert_int_equal(outcome.status, CS_EXIT_PASSED);
    write_stored("stored_wrong.lua", "", "dtypes = { weight = 'bf16' }");
    assert_refused("run stored_wrong.lua", CS_EXIT_USAGE,
                   "stored_wrong.lua:1: model: e: dtypes.weight: \"{expert}.gate_proj.weight\" is e4m3 here, which nothing is converted to: leave it out");
}

/* A plain tensor is called by its whole name, an expert's by the loader's word and not by the checkpoint's. */
static void what_is_stored_otherwise_is_called_by_the_models_words(void **state) {
    (void)state;
    write_stored("called.lua", "['sub.weight'] = 'f16'", "names = { weight_scale_inv = 'scales' }, dtypes = { weight_scale_inv = 'bfloat16' }");
    coldstart("make-checkpoint called.lua A --list");
    assert_int_equal(outcome.status, CS_EXIT_PASSED);
    assert_says(outcome.out, "gate.weight  F32  [128]\n");
    assert_says(outcome.out, "gate.sub.weight  F16  [128]\n");
    assert_says(outcome.out, "experts.0.up_proj.scales  BF16  [1, 1]\n");
    coldstart("run called.lua");
    assert_int_equal(outcome.status, CS_EXIT_PASSED);
    write_stored("called.lua", "weight = 'BF16'", "");
    coldstart("make-checkpoint called.lua A --list");
    assert_says(outcome.out, "gate.weight  BF16  [128]\n");
    assert_says(outcome.out, "gate.sub.weight  F32  [128]\n");
    assert_says(outcome.out, "experts.0.up_proj.weight_scale_inv  F32  [1, 1]\n");
    write_stored("called.lua", "", "names = { weight_scale_inv = 'scales' }, dtypes = { scales = 'bf16' }");
    coldstart("check called.lua");
    assert_int_equal(outcome.status, CS_EXIT_USAGE);
    assert_says(outcome.out, "called.lua:1: model: e: dtypes.scales: found no name of the scenario's loaders that ends with this word, expected one such as \"weight\"");
}

/* KV-cache scales, an own loader's words under other names, and a loader that only the reload has. */
static void every_tensor_of_a_checkpoint_may_be_stored_otherwise(void **state) {
    (void)state;
    static const char text[] =
        "local own = cs.loader { name = 'own', tensors = { { tensor = '{expert}.deep.w', shape = { 'If', 'Hu' }, dtype = 'bf16', param = 'w' } } }\n"
        "local method = cs.method { name = 'mine', params = { { name = 'w', shape = { 'E', 'I', 'H' }, dtype = 'bf16' } }, loaders = { own }, steps = {} }\n"
        "local function stored(name, method, backend, loader, names, dtypes)\n"
        "  return cs.scenario { name = name, policies = { 'none' }, method = method, backend = backend,\n"
        "    model = cs.model { name = 'm', layers = 1, experts = 2, hidden = 128, intermediate = 128, modules = {\n"
        "      cs.module { name = 'a', attention = true, dtypes = { k_scale = 'bf16', v_scale = 'f16' } },\n"
        "      cs.module { name = 'e', routed_experts = true, checkpoint = 'experts', names = names, dtypes = dtypes } } },\n"
        "    run = function(s)\n      s:cold_start 'A'\n      s:reload { driver = 'layerwise', checkpoint = 'B', loader = loader }\n      s:expect(cs.equal())\n    end }\n"
        "end\n"
        "local o = cs.declare { fused = { false, 'the reload has another loader' } }\n"
        "return not o.fused and stored('own', method, nil, nil, { deep = 'x', w = 'y' }, { w = 'f32' })\n"
        "  or stored('fused', 'unquantized', 'triton', 'fused_3d', {}, { weight = 'f16', gate_up_proj = 'f16', down_proj = 'f16' })\n";
    write_text("every.lua", text);
    coldstart("run every.lua");
    assert_int_equal(outcome.status, CS_EXIT_PASSED);
    coldstart("run every.lua --set fused=true");
    assert_int_equal(outcome.status, CS_EXIT_PASSED);
    coldstart("make-checkpoint every.lua A --list");
    assert_string_equal(outcome.out, "a.k_scale  BF16  []\na.v_scale  F16  []\nexperts.0.x.y  F32  [128, 128]\nexperts.1.x.y  F32  [128, 128]\n");
    coldstart("make-checkpoint every.lua A --list --set fused=true");
    assert_says(outcome.out, "experts.1.down_proj.weight  F16  [128, 128]\n");
}

/* ---- help ---- */

static void help_of_a_file_shows_what_it_declares(void **state) {
    (void)state;
    coldstart("help t/sized.lua");
    assert_int_equal(outcome.status, CS_EXIT_PASSED);
    assert_string_equal(outcome.out, "t/sized.lua: toy.sized\n\na toy of any size\n\n"
                                     "tags:     toy, small\npolicies: none, record_and_fill\n\n"
                                     "options, for --set NAME=VALUE:\n"
                                     "  differ  an integer               default 0      what is expected to differ\n"
                                     "  from    a string                 default B\n"
                                     "  late    true or false            default false\n"
                                     "  size    an integer from 2 to 64  default 8      elements of the parameter\n"
                                     "  value   a number                 default 2.5\n");
    coldstart("help plain.lua");
    assert_string_equal(outcome.out, "plain.lua: toy.plain\n\npolicies: none, record_and_fill\n");
    assert_refused("help t/nowhere.lua", CS_EXIT_USAGE, "cannot read \"t/nowhere.lua\": No such file or directory");
    assert_refused("help ./t", CS_EXIT_USAGE, "./t: found a folder, expected a Lua file");
    assert_refused("help t/library/cs.lua", CS_EXIT_USAGE, "t/library/cs.lua:1: ");
}

static void help_knows_the_language(void **state) {
    (void)state;
    coldstart("help lua");
    assert_int_equal(outcome.status, CS_EXIT_PASSED);
    assert_says(outcome.out, "cs.perturbed(checkpoint [, version])\n    Checkpoint: a copy of");
    assert_says(outcome.out, "cs.scenario { … }\n");
    coldstart("help s:reload");
    assert_int_equal(outcome.status, CS_EXIT_PASSED);
    assert_says(outcome.out, "s:reload { … }\n    loads another checkpoint into the running server\n\n  driver: cs.ReloadDriver, required\n");
    coldstart("help cs.scenario");
    assert_says(outcome.out, "  tp: integer 1 to 64\n      tensor-parallel ranks; `tp` or `ep` must be 1; default: 1\n");
    assert_says(outcome.out, "      fresh: string|cs.Allocator.Fresh\n"); /* a table within */
    assert_refused("help cs.scenaro", CS_EXIT_USAGE, "unknown function \"cs.scenaro\": did you mean \"cs.scenario\"?\n");
    assert_refused("help cs.zzzzzz", CS_EXIT_USAGE, "unknown function \"cs.zzzzzz\": \"coldstart help lua\" lists them\n");
}

static void stubs_and_reference_belong_to_the_language(void **state) {
    (void)state;
    coldstart("help lua --stubs");
    assert_int_equal(outcome.status, CS_EXIT_PASSED);
    assert_says(outcome.out, "---@meta\n");
    assert_says(outcome.out, "---@param version? integer\n---@return cs.Checkpoint\nfunction cs.perturbed(checkpoint, version) end\n");
    coldstart("help lua --reference");
    assert_says(outcome.out, "<!-- cs.Reload -->\n| key | type | value | default |\n");
    assert_refused("help run --stubs", CS_EXIT_USAGE, "--stubs belongs to \"coldstart help lua\"\n");
    assert_refused("help --reference", CS_EXIT_USAGE, "--reference belongs to \"coldstart help lua\"\n");
    assert_refused("help run list", CS_EXIT_USAGE, "help describes one thing at a time, found \"list\" too\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_setting_changes_the_scenario),
        cmocka_unit_test(a_failure_is_repeated_with_the_values_it_had),
        cmocka_unit_test(wrong_settings_are_refused_before_anything_runs),
        cmocka_unit_test(files_that_are_not_selected_need_not_declare),
        cmocka_unit_test(values_keep_their_type_in_json),
        cmocka_unit_test(several_processes_know_them_too),
        cmocka_unit_test(a_checkpoint_is_made_at_that_size),
        cmocka_unit_test(checkpoints_may_store_other_numbers_than_the_model_has),
        cmocka_unit_test(what_is_stored_otherwise_is_called_by_the_models_words),
        cmocka_unit_test(every_tensor_of_a_checkpoint_may_be_stored_otherwise),
        cmocka_unit_test(help_of_a_file_shows_what_it_declares),
        cmocka_unit_test(help_knows_the_language),
        cmocka_unit_test(stubs_and_reference_belong_to_the_language),
    };
    return cmocka_run_group_tests(tests, make_scenarios, remove_scenarios);
}
