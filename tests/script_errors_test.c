/* Scenario files: every way to get one wrong, and the exact message. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support_script.h"

struct bad {
    const char *text, *message;
};

#define TOY "cs.toy { params = { { name = 'p', shape = 8, dtype = 'f32' } }, loads = {} }"
#define ALL_BUT(key) "return cs.scenario { name = 'x', model = " TOY ", run = function() end, " key " }"
#define RUN(body) "return cs.scenario { name = 'x', model = " TOY ", run = function(s) " body " end }"
#define TOY_WITH(params, rest) "return cs.scenario { name = 'x', run = function() end, model = cs.toy { params = { " params " }, " rest " } }"
#define PARAM "{ name = 'p', shape = 8, dtype = 'f32' }"
#define CALL(call) TOY_WITH(PARAM, "loads = { A = { " call " } }")
#define TENSOR(tensor) "cs.module { name = 'm', tensors = { " tensor " } }"

static int differs(const struct bad *bad) {
    struct cs_arena arena = {0};
    struct cs_scenario scenario;
    enum cs_status status = script_parse(bad->text, &arena, &scenario);
    cs_arena_release(&arena);
    bool is_right = status == CS_BAD_SCRIPT && strcmp(cs_error_text(), bad->message) == 0;
    if (!is_right) print_error("%s\n  gave %s: %s\n  want %s\n", bad->text, cs_status_name(status), cs_error_text(), bad->message);
    return is_right ? 0 : 1;
}

static void expect_bad(const struct bad *bad) { assert_int_equal(differs(bad), 0); }

/* All rows, so that one run shows everything that changed. */
#define EXPECT_BAD(rows)                                                                                               \
    do {                                                                                                               \
        int n_different = 0;                                                                                           \
        for (size_t i = 0; i < CS_COUNT(rows); i++) n_different += differs(&(rows)[i]);                                \
        assert_int_equal(n_different, 0);                                                                              \
    } while (0)

static void a_file_must_be_lua_and_return_a_scenario(void **state) {
    (void)state;
    static const struct bad rows[] = {
        {"return cs.scenario {\n name = = 1 }", "s.lua:2: unexpected symbol near '='"},
        {"x = 'abc", "s.lua:1: unfinished string near <eof>"},
        {"", "s.lua: the file returned nothing, expected \"return cs.scenario { … }\""},
        {"return { 5 }", "s.lua: the file returned a list with number, expected \"return cs.scenario { … }\""},
        {"return 5", "s.lua: the file returned number, expected \"return cs.scenario { … }\""},
        {"return " TOY, "s.lua: the file returned a model (cs.model, cs.toy), expected \"return cs.scenario { … }\""},
        {"\n\nerror 'no good'", "s.lua:3: no good"},
        {"error('no place', 0)", "s.lua: no place"},
        {"error {}", "s.lua:1: raised an error that is no text but a table value"},
        {"\n\nerror()", "s.lua:3: raised an error that is no text but a nil value"},
        {"local function f() error(nil, 2) end\n\nf()", "s.lua:3: raised an error that is no text but a nil value"},
        {"pcall(error) error { 1 }", "s.lua:1: raised an error that is no text but a table value"},
        {"\nlocal x = nothing.at_all", "s.lua:2: attempt to index a nil value (global 'nothing')"},
        {RUN("\n s:cold_start 'A'\n local y = s.x.y"), "s.lua:3: s:x: no such function"},
        {RUN("\n error 'in run'"), "s.lua:2: in run"},
        {"return cs.scenaro {}", "s.lua:1: cs.scenaro: no such function, did you mean cs.scenario?"},
        {RUN("s:relod {}"), "s.lua:1: s:relod: no such function, did you mean s:reload?"},
    };
    EXPECT_BAD(rows);
}

static void every_key_of_a_scenario_has_a_type(void **state) {
    (void)state;
    static const struct bad rows[] = {
        {"return cs.scenario()", "s.lua:1: cs.scenario: found nothing, expected a table"},
        {"return cs.scenario(5)", "s.lua:1: cs.scenario: found 5, expected a table"},
        {"return cs.scenario { 1 }", "s.lua:1: cs.scenario: found key 1, expected names"},
        {"return cs.scenario(setmetatable({}, {}))", "s.lua:1: cs.scenario: found a table with a metatable, expected a plain table"},
        {"\nreturn cs.scenario {\n}", "s.lua:2: cs.scenario.name: found nothing, expected a name of a-z, 0-9, _ and ."},
        {ALL_BUT("name = 5"), "s.lua:1: cs.scenario.name: found 5, expected a string"},
        {ALL_BUT("name = 'A'"), "s.lua:1: cs.scenario.name: found \"A\", expected a name of a-z, 0-9, _ and ."},
        {ALL_BUT("name = ('a'):rep(129)"), "s.lua:1: cs.scenario.name: found 129 characters, expected at most 128"},
        {ALL_BUT("name = ''"), "s.lua:1: cs.scenario.name: found \"\", expected a name of a-z, 0-9, _ and ."},
        {ALL_BUT("name = 'a\\0b'"), "s.lua:1: cs.scenario.name: found \"a\\000b\", expected a string without zero bytes"},
        {ALL_BUT("note = {}"), "s.lua:1: cs.scenario.note: found a table, expected a string"},
        {ALL_BUT("tags = 'x'"), "s.lua:1: cs.scenario.tags: found \"x\", expected a list"},
        {ALL_BUT("tags = { 'x', 2 }"), "s.lua:1: cs.scenario.tags[2]: found 2, expected a string"},
        {ALL_BUT("tags = { x = 'y' }"), "s.lua:1: cs.scenario.tags: found key \"x\", expected a list"},
        {ALL_BUT("model = {}"), "s.lua:1: cs.scenario.model: found a table, expected a model (cs.model, cs.toy)"},
        {ALL_BUT("model = cs.equal()"), "s.lua:1: cs.scenario.model: found an expectation (cs.equal, cs.refused), expected a model (cs.model, cs.toy)"},
        {"return cs.scenario { name = 'x', run = print }", "s.lua:1: cs.scenario.model: found nothing, expected a model (cs.model, cs.toy)"},
        {ALL_BUT("method = true"), "s.lua:1: cs.scenario.method: found true, expected a method's name, or cs.method { … }"},
        {ALL_BUT("backend = 1"), "s.lua:1: cs.scenario.backend: found 1, expected a back end's name, or cs.backend { … }"},
        {ALL_BUT("loader = print"), "s.lua:1: cs.scenario.loader: found a function, expected a loader's name, or cs.loader { … }"},
        {ALL_BUT("rounding = 'up'"), "s.lua:1: cs.scenario.rounding: found \"up\", expected \"released\" or \"reference\""},
        {ALL_BUT("rounding = 'relesed'"), "s.lua:1: cs.scenario.rounding: found \"relesed\", expected \"released\""},
        {ALL_BUT("rounding = 1"), "s.lua:1: cs.scenario.rounding: found 1, expected \"released\" or \"reference\""},
        {ALL_BUT("policies = 'none'"), "s.lua:1: cs.scenario.policies: found \"none\", expected a list"},
        {ALL_BUT("policies = {}"), "s.lua:1: cs.scenario.policies: found an empty list, expected at least one policy"},
        {ALL_BUT("policies = { nil, 'none' }"), "s.lua:1: cs.scenario.policies[1]: found nothing, expected a string"},
        {ALL_BUT("allocator = 'zero'"), "s.lua:1: cs.scenario.allocator: found \"zero\", expected a table"},
        {ALL_BUT("seed = 'x'"), "s.lua:1: cs.scenario.seed: found \"x\", expected an integer of at least 0"},
        {ALL_BUT("defects = { 'meta_restore_devce' }"), "s.lua:1: cs.scenario.defects[1]: found \"meta_restore_devce\", expected \"meta_restore_device\""},
        {ALL_BUT("checkpoints = { A = 'dir' }"), "s.lua:1: cs.scenario.checkpoints.A: found \"dir\", expected a checkpoint (cs.synthetic, cs.perturbed, …)"},
        {ALL_BUT("run = 5"), "s.lua:1: cs.scenario.run: found 5, expected a function of s, the server"},
        {"return cs.scenario { name = 'x', model = " TOY " }", "s.lua:1: cs.scenario.run: found nothing, expected a function of s, the server"},
        {ALL_BUT("polices = {}"), "s.lua:1: cs.scenario.polices: unknown key, did you mean \"policies\"?"},
        {ALL_BUT("zzz = 1, aaaaaa = 1"), "s.lua:1: cs.scenario.aaaaaa: unknown key, expected \"name\", \"note\", \"tags\", \"model\", \"method\", \"backend\", "
                                         "\"loader\", \"quantization\", \"experts\", \"all2all\", \"platform\", \"chosen_by\", \"rounding\", \"tp\", \"ep\", \"rank\", \"policies\", \"allocator\", \"seed\", \"defects\", \"fixes\", \"differs\", \"kills\", \"checkpoints\" or \"run\""},
    };
    EXPECT_BAD(rows);
}

static void numbers_must_be_sane(void **state) {
    (void)state;
    static const struct bad rows[] = {
        {ALL_BUT("tp = '2'"), "s.lua:1: cs.scenario.tp: found \"2\", expected an integer from 1 to 64"},
        {ALL_BUT("tp = 0"), "s.lua:1: cs.scenario.tp: found 0, expected an integer from 1 to 64"},
        {ALL_BUT("tp = -1"), "s.lua:1: cs.scenario.tp: found -1, expected an integer from 1 to 64"},
        {ALL_BUT("ep = 65"), "s.lua:1: cs.scenario.ep: found 65, expected an integer from 1 to 64"},
        {ALL_BUT("tp = 1.5"), "s.lua:1: cs.scenario.tp: found 1.5, expected an integer from 1 to 64"},
        {ALL_BUT("tp = 0/0"), "s.lua:1: cs.scenario.tp: found nan, expected an integer from 1 to 64"},
        {ALL_BUT("tp = 1/0"), "s.lua:1: cs.scenario.tp: found inf, expected an integer from 1 to 64"},
        {ALL_BUT("tp = 1e300"), "s.lua:1: cs.scenario.tp: found 1e+300, expected an integer from 1 to 64"},
        {ALL_BUT("seed = 2^63"), "s.lua:1: cs.scenario.seed: found 9.2233720368548e+18, expected an integer of at least 0"},
        {ALL_BUT("seed = math.mininteger"), "s.lua:1: cs.scenario.seed: found -9223372036854775808, expected an integer of at least 0"},
        {RUN("s:expect { params_differ = -1 }"), "s.lua:1: s:expect.params_differ: found -1, expected an integer of at least 0"},
        {RUN("s:expect { values = { p = { 1, 0/0 } } }"), "s.lua:1: s:expect.values.p[2]: found nan, expected a finite number"},
        {"cs.constant('x', 1e300)", "s.lua:1: cs.constant.value: found 1e+300, expected a number that fits f32"},
        {"cs.constant('x', -1/0)", "s.lua:1: cs.constant.value: found -inf, expected a finite number"},
        {"cs.pattern(-1)", "s.lua:1: cs.pattern: found -1, expected an integer from 0 to 1048576"},
        {TENSOR("{ name = 't', dtype = 'f32', shape = { 'E', -8 } }"), "s.lua:1: cs.module.tensors[1].shape[2]: found -8, expected an integer of at least 0"},
    };
    EXPECT_BAD(rows);
}

static void an_allocator_must_make_sense(void **state) {
    (void)state;
    static const struct bad rows[] = {
        {ALL_BUT("allocator = { frsh = 'zero' }"), "s.lua:1: cs.scenario.allocator.frsh: unknown key, did you mean \"fresh\"?"},
        {ALL_BUT("allocator = { fresh = 5 }"), "s.lua:1: cs.scenario.allocator.fresh: found 5, expected \"zero\", a byte such as \"0xAA\", \"nan\" or \"random\""},
        {ALL_BUT("allocator = { fresh = { warm = 'zero' } }"), "s.lua:1: cs.scenario.allocator.fresh.warm: unknown key, expected \"cold\" or \"reload\""},
        {ALL_BUT("allocator = { recycle_up_to = -1 }"), "s.lua:1: cs.scenario.allocator.recycle_up_to: found -1, expected an integer of at least 0"},
        {ALL_BUT("allocator = { recycle_up_to = '64Mb' }"),
         "s.lua:1: cs.scenario.allocator.recycle_up_to: \"64Mb\" is not a size: write a whole number and B, KiB, MiB or GiB, such as \"64MiB\""},
        {ALL_BUT("allocator = { recycled = 'garbge' }"), "s.lua:1: cs.scenario.allocator.recycled: found \"garbge\", expected \"garbage\""},
        {ALL_BUT("allocator = { classes = { 2, 1 } }"), "s.lua:1: cs.scenario.allocator.classes[2]: found 1, expected a larger size than the one before"},
        {ALL_BUT("allocator = { classes = { 1, 2, 3, 4, 5, 6, 7, 8, 9 } }"), "s.lua:1: cs.scenario.allocator.classes: found 9 sizes, expected at most 8"},
        {ALL_BUT("allocator = { fresh_first = 1e9 }"), "s.lua:1: cs.scenario.allocator.fresh_first: found 1000000000.0, expected an integer from 0 to 1048576"},
    };
    EXPECT_BAD(rows);
}

static void a_plan_must_make_sense(void **state) {
    (void)state;
    static const struct bad rows[] = {
        {RUN("s:cold_start()"), "s.lua:1: s:cold_start: found nothing, expected the name of a checkpoint, or { checkpoint = …, driver = … }"},
        {RUN("s:cold_start {}"), "s.lua:1: s:cold_start.checkpoint: found nothing, expected a string"},
        {RUN("s:cold_start('A', 'B')"), "s.lua:1: s:cold_start: found 3 arguments, expected at most 2"},
        {RUN("s.cold_start 'A'"), "s.lua:1: s:cold_start: found string before the arguments, expected s: write s:cold_start(…)"},
        {RUN("\n\ns:reload 'B'"), "s.lua:3: s:reload: found \"B\", expected { driver = …, checkpoint = … }"},
        {RUN("s:reload { checkpoint = 'B' }"), "s.lua:1: s:reload.driver: found nothing, expected a string"},
        {RUN("s:reload { driver = 'direct', checkpoint = 'B', ordr = 'file' }"), "s.lua:1: s:reload.ordr: unknown key, did you mean \"order\"?"},
        {RUN("s:reload { driver = 'direct', checkpoint = 'B', order = 'any' }"), "s.lua:1: s:reload.order: found \"any\", expected \"file\", \"shuffled\", \"reversed\" or \"modules\""},
        {RUN("s:reload { driver = 'direct', checkpoint = 'B', omit = '*' }"), "s.lua:1: s:reload.omit: found \"*\", expected a list"},
        {"local kept cs.scenario { name = 'x', model = " TOY ", run = function(s) kept = s end }\nkept:cold_start 'A'",
         "s.lua:2: s:cold_start: run has returned: s is no longer of use"},
        {RUN("s:expect()"), "s.lua:1: s:expect: found nothing, expected cs.equal(), cs.refused(…), or a table of counts"},
        {RUN("s:expect(cs.equal)"), "s.lua:1: s:expect: found a function, expected cs.equal(), cs.refused(…), or a table of counts"},
        {RUN("s:expect {}"), "s.lua:1: s:expect: found no count, expected some such as params_differ = 0"},
        {RUN("s:expect { param_differ = 1 }"), "s.lua:1: s:expect.param_differ: unknown key, did you mean \"params_differ\"?"},
        {RUN("s:expect { none = cs.equal(), params_differ = 1 }"), "s.lua:1: s:expect.params_differ: unknown key, expected \"none\", \"zero_materialized\", "
                                                                    "\"zero_in_loader\" or \"record_and_fill\""},
        {RUN("s:expect { none = {}, nne = {} }"), "s.lua:1: s:expect.nne: unknown key, did you mean \"none\"?"},
        {RUN("s:expect { none = 5 }"), "s.lua:1: s:expect.none: found 5, expected cs.equal(), cs.refused(…), or a table of counts"},
        {RUN("s:expect { none = { none = 1 } }"), "s.lua:1: s:expect.none: found policy \"none\" beside counts, expected either policies or counts"},
        {RUN("s:expect { params_differ = 0, against = { policy = 5 } }"), "s.lua:1: s:expect.against.policy: found 5, expected a string"},
        {RUN("s:expect { params_differ = 0, against = {} }"), "s.lua:1: s:expect.against.policy: found nothing, expected policy of the cold start to compare with"},
        {RUN("cs.equal(1)"), "s.lua:1: cs.equal: found 1 arguments, expected at most 0"},
        {RUN("cs.refused(1)"), "s.lua:1: cs.refused: found 1, expected a string"},
        {"cs.folder()", "s.lua:1: cs.folder: found nothing, expected a string"},
        {"cs.perturbed('A', 8)", "s.lua:1: cs.perturbed.version: found 8, expected an integer from 1 to 7"},
        {ALL_BUT("checkpoints = { I = cs.perturbed 'A', J = cs.perturbed 'A', K = cs.perturbed 'A', L = cs.perturbed 'A', M = cs.perturbed 'A', "
                 "N = cs.perturbed 'A', O = cs.perturbed 'A', P = cs.perturbed 'A' }"),
         "s.lua:1: cs.scenario: checkpoints.P: \"A\" has 7 perturbed copies already"},
    };
    EXPECT_BAD(rows);
}

static void a_model_must_make_sense(void **state) {
    (void)state;
    static const struct bad rows[] = {
        {"cs.model { name = 'm', layers = 0, hidden = 8, modules = {} }", "s.lua:1: cs.model.layers: found 0, expected an integer from 1 to 10000"},
        {"cs.model { name = 'm', layers = 1, modules = {} }", "s.lua:1: cs.model.hidden: found nothing, expected an integer"},
        {"cs.model { name = 'm', layers = 1, hidden = 8, modules = {} }", "s.lua:1: cs.model.modules: found an empty list, expected at least one module"},
        {"cs.model { name = 'm', layers = 1, hidden = 8, modules = { {} } }", "s.lua:1: cs.model.modules[1]: found a table, expected a module (cs.module)"},
        {"cs.model { name = 'm', layers = 1, hiden = 8 }", "s.lua:1: cs.model.hiden: unknown key, did you mean \"hidden\"?"},
        {"cs.module { name = 'm' }", "s.lua:1: cs.module.tensors: found nothing, expected a list of at least one tensor"},
        {"cs.module { name = 'm', routed_experts = 1 }", "s.lua:1: cs.module.routed_experts: found 1, expected true or false"},
        {"cs.module { name = 'm', routed_experts = true }",
         "s.lua:1: cs.module.checkpoint: found nothing, expected the experts' name in checkpoints, such as \"layers.{layer}.mlp.experts\""},
        {TENSOR("{ name = 't', shape = 'H' }"), "s.lua:1: cs.module.tensors[1].dtype: found nothing, expected a dtype such as \"bf16\""},
        {TENSOR("{ name = 't', dtype = 'bf16' }"), "s.lua:1: cs.module.tensors[1].shape: found nothing, expected a shape such as \"H\" or { \"E\", 8 }"},
        {TENSOR("{ name = 't', dtype = 'bf17', shape = 'H' }"), "s.lua:1: cs.module.tensors[1].dtype: found \"bf17\", expected \"bf16\""},
        {TENSOR("{ name = 't', dtype = 'f32', shape = {} }"), "s.lua:1: cs.module.tensors[1].shape: found 0 extents, expected 1 to 6"},
        {TENSOR("{ name = 't', dtype = 'f32', shape = { 'E', {} } }"), "s.lua:1: cs.module.tensors[1].shape[2]: found a table, expected an extent such as 8 or \"2*I\""},
        {TENSOR("{ name = 't', dtype = 'f32', shape = 'H', created = 'one' }"), "s.lua:1: cs.module.tensors[1].created: found \"one\", expected \"ones\""},
        {TENSOR("{ name = 't', dtype = 'f32', shape = 'H', created = 'value' }"), "s.lua:1: cs.module.tensors[1].value: found nothing, expected a number, since created = \"value\""},
        {TENSOR("{ name = 't', dtype = 'f32', shape = 'H', value = 1 }"), "s.lua:1: cs.module.tensors[1].value: found 1, expected nothing, unless created = \"value\""},
        {TENSOR("{ name = 't', dtype = 'f32', shape = 'H', padding_value = '1' }"), "s.lua:1: cs.module.tensors[1].padding_value: found \"1\", expected a finite number"},
        {TENSOR("{ name = 't', dtype = 'f32', shape = 'H', kind = 'plain' }"), "s.lua:1: cs.module.tensors[1].kind: found \"plain\", expected \"parameter\", \"buffer\" or \"persistent_buffer\""},
        {TENSOR("{ name = 't', dtype = 'f32', shape = 'H', registered = true }"),
         "s.lua:1: cs.module.tensors[1].registered: unknown key, expected \"name\", \"dtype\", \"created\", \"value\", \"late\", \"padding_value\", \"shape\", \"kind\" or \"tied\""},
    };
    EXPECT_BAD(rows);
}

static void a_toy_must_make_sense(void **state) {
    (void)state;
    static const struct bad rows[] = {
        {TOY_WITH("", "loads = {}"), "s.lua:1: cs.toy.params: found an empty list, expected at least one parameter"},
        {TOY_WITH(PARAM, ""), "s.lua:1: cs.toy.loads: found nothing, expected a table of checkpoint names and lists of loader calls"},
        {TOY_WITH("{ name = 'p', shape = 'H', dtype = 'f32' }", "loads = {}"), "s.lua:1: cs.toy.params[1].shape: found \"H\", expected a list"},
        {TOY_WITH("{ name = 'p', shape = {}, dtype = 'f32' }", "loads = {}"), "s.lua:1: cs.toy.params[1].shape: found 0 numbers, expected 1 to 6"},
        {TOY_WITH("{ name = 'p', shape = 8, dtype = 'f32', registered = false, late = true }", "loads = {}"), "s.lua:1: cs.toy.params[1].late: found true, expected nothing beside registered = false"},
        {CALL("{}"), "s.lua:1: cs.toy.loads.A[1].param: found nothing, expected a string"},
        {CALL("{ param = 'p' }"), "s.lua:1: cs.toy.loads.A[1]: found neither value, values nor marks"},
        {CALL("{ param = 'pp', shape = 8, value = 1 }"), "s.lua:1: cs.toy.loads.A[1].param: found \"pp\", expected \"p\""},
        {CALL("{ param = 'p', value = 1 }"), "s.lua:1: cs.toy.loads.A[1].shape: found nothing, expected a number or a list of numbers"},
        {CALL("{ param = 'p', shape = 8, value = 1, values = { 1 } }"), "s.lua:1: cs.toy.loads.A[1].values: found a table, expected nothing beside value"},
        {CALL("{ param = 'p', shape = 3, values = { 1, 2 } }"), "s.lua:1: cs.toy.loads.A[1].values: found 2 numbers, expected 3 as in shape"},
        {CALL("{ param = 'p', shape = { 2^40, 2^40 }, value = 1 }"), "s.lua:1: cs.toy.loads.A[1].shape: found too many elements"},
        {CALL("{ param = 'p', at = { 1, 1 }, shape = 1, value = 1 }"), "s.lua:1: cs.toy.loads.A[1].at: found 2 dimensions, expected 1 as in the parameter"},
        {CALL("{ param = 'p', marks = { { shape = { 1, 2 } } } }"), "s.lua:1: cs.toy.loads.A[1].marks[1].shape: found 2 dimensions, expected 1 as in the parameter"},
        {CALL("{ param = 'p', marks = { {} } }"), "s.lua:1: cs.toy.loads.A[1].marks[1].shape: found nothing, expected a number or a list of numbers"},
        {TOY_WITH(PARAM, "loads = {}, post_load = { 'cast' }"),
         "s.lua:1: cs.toy.post_load[1]: found \"cast\", expected a post-load step (cs.relayout, cs.cast, …)"},
        {"cs.pad('p', 8, 1, 0, 'halves\\0x')", "s.lua:1: cs.pad.parts: found \"halves\\000x\", expected a string without zero bytes"},
        {TENSOR("{ name = 't', dtype = 'f32\\0', shape = 'H' }"), "s.lua:1: cs.module.tensors[1].dtype: found \"f32\\000\", expected a string without zero bytes"},
        {"cs.pad('p', 8, 1, 0, 'half')", "s.lua:1: cs.pad.parts: found \"half\", expected \"whole\" or \"halves\""},
        {"cs.empty()", "s.lua:1: cs.empty.param: found nothing, expected a string"},
        {"cs.patched('A', 'w', 0)", "s.lua:1: cs.patched.number: found nothing, expected a finite number"},
        {"cs.cast('p', 'f33')", "s.lua:1: cs.cast.dtype: found \"f33\", expected \"f32\""},
        {"cs.cast('p')", "s.lua:1: cs.cast.dtype: found nothing, expected \"u8\", \"i8\", \"bool\", \"e2m1\", \"e4m3\", \"e5m2\", \"e8m0\", \"i16\", \"u16\", "
                         "\"bf16\", \"f16\", \"i32\", \"u32\", \"f32\", \"i64\", \"u64\" or \"f64\""},
        {"cs.relayout('p')", "s.lua:1: cs.relayout.layout: found nothing, expected a layout's name, or cs.layout { … }"},
        {"cs.relayout('p', 'a', 'b', 'c', 'd', 'e')", "s.lua:1: cs.relayout: found 6 arguments, expected at most 5"},
    };
    EXPECT_BAD(rows);
}

static void options_blame_who_gave_them(void **state) {
    (void)state;
#define GPT_OSS(options) "local models = require 'models.gpt_oss'\nlocal m = models.gpt_oss_20b " options
    static const struct bad rows[] = {
        {GPT_OSS("{ layres = 2 }"), "s.lua:2: gpt_oss_20b.layres: unknown key, did you mean \"layers\"?"},
        {GPT_OSS("{ layers = 0 }"), "s.lua:2: gpt_oss_20b.layers: found 0, expected an integer from 1 to 2147483647"},
        {GPT_OSS("{ layers = 1.5 }"), "s.lua:2: gpt_oss_20b.layers: found 1.5, expected an integer from 1 to 2147483647"},
        {GPT_OSS("(5)"), "s.lua:2: gpt_oss_20b: found 5, expected a table"},
        {"local function f(o) local x = cs.options('f', o, { a = 'x', b = 1.5 }) return x end\n\nf { a = 1 }", "s.lua:3: f.a: found 1, expected a string"},
        {"local function f(o) local x = cs.options('f', o, { a = 'x', b = 1.5 }) return x end\n\nf { b = 0/0 }", "s.lua:3: f.b: found nan, expected a finite number"},
    };
    EXPECT_BAD(rows);
}

#define LOOP "s.lua:1: more than 50000000 instructions: an endless loop?"
#define LARGE "s.lua:1: more than 64 MiB of memory"

static void no_script_runs_for_ever(void **state) {
    (void)state;
    static const struct bad rows[] = {
        {"while true do end", LOOP},
        {RUN("while true do end"), LOOP},
        {"while true do pcall(function() while true do end end) end", LOOP},
        {"local function f() while true do pcall(f) end end f()", LOOP},
        {"local ok = pcall(function() while true do end end) return ok", LOOP},
        {"local t <close> = setmetatable({}, { __close = function() while true do end end })", LOOP},
        {"while true do ('x'):rep(1000000) end", LOOP},
        {"('').rep('', 1 << 62)", LOOP},
        {"('a'):rep(40):match(('a*'):rep(40) .. 'b')", LOOP},
        {"('a'):rep(40):find(('[a]-'):rep(40) .. 'b')", LOOP},
        {"table.move({}, 1, 1 << 60, 2)", LOOP},
        {"while true do table.concat({ 'x', 'y' }) end", LOOP},
        {"while true do cs.equal() end", LARGE},
        {"while true do pcall(cs.scenario, {}) end", LARGE},
        {RUN("while true do pcall(s.expect, s, { none = {} }) end"), LARGE},
        {"table.insert(setmetatable({}, { __len = function() return 1 << 60 end }), 1, 1)", "s.lua:1: a table with __len is not supported here"},
        {"setmetatable({}, { __gc = function() while true do end end })", "s.lua:1: setmetatable: __gc is not supported here"},
    };
    EXPECT_BAD(rows);
}

static void no_script_takes_all_memory(void **state) {
    (void)state;
    static const struct bad rows[] = {
        {"local t = {} while true do t[#t + 1] = {} end", LARGE},
        {"local t = {} while true do pcall(function() t[#t + 1] = {} end) end", LARGE},
        {"local s = 'x' while true do s = s .. s end", LARGE},
        {"local s = ('x'):rep(1 << 40)", "s.lua:1: string.rep: found 1099511627776 times 1 bytes, expected at most 67108864 in all"},
        {"local t = {} for i = 1, 10 do t[i] = ('x'):rep(10000000) .. i end", LARGE},
        {RUN("while true do s:cold_start 'A' end"), LARGE},
        {"local t = {} for i = 1, 100000 do t[i] = 1 end " RUN("while true do s:expect { values = { p = t } } end"), LARGE},
    };
    EXPECT_BAD(rows);
}

static void recursion_ends(void **state) {
    (void)state;
    static const struct bad rows[] = {
        {"local function f() return 1 + f() end f()", LARGE ": an endless recursion?"},
        {"local function f(...) return 1 + f(1, 2, 3, 4, 5, ...) end f()", "s.lua:1: stack overflow"},
        {"local t = setmetatable({}, {}) getmetatable(t).__index = function(_, k) return t[k] end local x = t.x", "s.lua:1: C stack overflow"},
        {"local function f() local ok, e = pcall(f) error(e, 0) end f()", "s.lua: C stack overflow"},
    };
    EXPECT_BAD(rows);
}

static void the_sandbox_has_no_way_out(void **state) {
    (void)state;
    static const char *const names[] = {"os", "io", "debug", "coroutine", "package", "load", "loadfile", "dofile", "collectgarbage", "warn", "loadstring", "xpcall"};
    for (size_t i = 0; i < CS_COUNT(names); i++) {
        char text[64], message[128];
        snprintf(text, sizeof text, "\n%s.x()", names[i]);
        snprintf(message, sizeof message, "s.lua:2: attempt to index a nil value (global '%s')", names[i]);
        expect_bad(&(struct bad){text, message});
    }
    static const struct bad rows[] = {
        {"string.dump(print)", "s.lua:1: attempt to call a nil value (field 'dump')"},
        {"math.random()", "s.lua:1: attempt to call a nil value (field 'random')"},
        {"math.randomseed(1)", "s.lua:1: attempt to call a nil value (field 'randomseed')"},
        {"getmetatable(cs).__index = 1", "s.lua:1: attempt to index a boolean value"},
        {"setmetatable(cs, nil)", "s.lua:1: cannot change a protected metatable"},
        {"getmetatable(cs.equal()).__index = 1", "s.lua:1: attempt to index a boolean value"},
    };
    EXPECT_BAD(rows);
}

static void only_neighbours_can_be_required(void **state) {
    (void)state;
    script_write("broken.lua", "local x = {}\nreturn x.y.z");
    script_write("syntax.lua", "return (");
    script_write("first.lua", "return require 'second'");
    script_write("second.lua", "return require 'first'");
    script_write("looping.lua", "while true do end");
#define NAME "expected a name of a-z, 0-9, _ and dots between words, such as \"models.gpt_oss\""
    static const struct bad rows[] = {
        {"require()", "s.lua:1: require: found nothing, expected a name such as \"models.gpt_oss\""},
        {"require {}", "s.lua:1: require: found a table, expected a name such as \"models.gpt_oss\""},
        {"require '../x'", "s.lua:1: require: found \"../x\", " NAME},
        {"require '..x'", "s.lua:1: require: found \"..x\", " NAME},
        {"require '/etc/passwd'", "s.lua:1: require: found \"/etc/passwd\", " NAME},
        {"require 'models..x'", "s.lua:1: require: found \"models..x\", " NAME},
        {"require ''", "s.lua:1: require: found \"\", " NAME},
        {"require 'Models'", "s.lua:1: require: found \"Models\", " NAME},
        {"require 'a\\0b'", "s.lua:1: require: found \"a\\000b\", expected a string without zero bytes"},
        {"\nrequire 'missing'", "s.lua:2: require: \"missing\": no such file beside the scenario or in the folders above it, up to scenarios"},
        {"require 'broken'", "broken.lua:2: attempt to index a nil value (field 'y')"},
        {"require 'syntax'", "syntax.lua:1: unexpected symbol near <eof>"},
        {"require 'first'", "second.lua:1: require: \"first\" requires itself"},
        {"require 's'", "s.lua:1: require: \"s\" requires itself"},
        {"require 'looping'", "looping.lua:1: more than 50000000 instructions: an endless loop?"},
    };
    EXPECT_BAD(rows);
}

static void expect_bad_file(const char *path, const char *message) {
    struct cs_arena arena = {0};
    struct cs_scenario scenario;
    assert_int_equal(cs_script_load(path, &arena, &scenario), CS_BAD_FILE);
    assert_string_equal(cs_error_text(), message);
    cs_arena_release(&arena);
}

static void only_text_files_are_read(void **state) {
    (void)state;
    assert_int_equal(mkdir("folder.lua", 0700), 0);
    expect_bad_file("missing.lua", "cannot read \"missing.lua\": No such file or directory");
    expect_bad_file("folder.lua", "folder.lua: found a folder, expected a Lua file");
    expect_bad_file("/dev/zero", "/dev/zero: found a device or pipe, expected a Lua file");
    expect_bad_file("", "cannot read \"\": No such file or directory");
    expect_bad(&(struct bad){"\x1bLua\x54", "s.lua: attempt to load a binary chunk (mode is 't')"});
    FILE *large = fopen("large.lua", "w");
    assert_non_null(large);
    assert_int_equal(fseek(large, 5 << 20, SEEK_SET) || fputc('x', large) == EOF || fclose(large), 0);
    expect_bad_file("large.lua", "large.lua: found 5242881 bytes, expected at most 4194304");
}

/* Lua itself would write "...". */
static void long_file_names_are_kept(void **state) {
    (void)state;
    char folder[128] = "", path[160], message[256];
    memset(folder, 'x', 100);
    assert_int_equal(mkdir(folder, 0700), 0);
    snprintf(path, sizeof path, "%s/s.lua", folder);
    static const struct bad rows[] = {
        {"\nlocal x = nil + 1", "attempt to perform arithmetic on a nil value"},
        {"\nx = = 1", "unexpected symbol near '='"},
        {"\ncs.equal(1)", "cs.equal: found 1 arguments, expected at most 0"},
        {"\nwhile true do end", "more than 50000000 instructions: an endless loop?"},
    };
    for (size_t i = 0; i < CS_COUNT(rows); i++) {
        struct cs_arena arena = {0};
        struct cs_scenario scenario;
        script_write(path, rows[i].text);
        snprintf(message, sizeof message, "%s:2: %s", path, rows[i].message);
        assert_int_equal(cs_script_load(path, &arena, &scenario), CS_BAD_SCRIPT);
        assert_string_equal(cs_error_text(), message);
        cs_arena_release(&arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_must_be_lua_and_return_a_scenario),
        cmocka_unit_test(every_key_of_a_scenario_has_a_type),
        cmocka_unit_test(numbers_must_be_sane),
        cmocka_unit_test(an_allocator_must_make_sense),
        cmocka_unit_test(a_plan_must_make_sense),
        cmocka_unit_test(a_model_must_make_sense),
        cmocka_unit_test(a_toy_must_make_sense),
        cmocka_unit_test(options_blame_who_gave_them),
        cmocka_unit_test(no_script_runs_for_ever),
        cmocka_unit_test(no_script_takes_all_memory),
        cmocka_unit_test(recursion_ends),
        cmocka_unit_test(the_sandbox_has_no_way_out),
        cmocka_unit_test(only_neighbours_can_be_required),
        cmocka_unit_test(only_text_files_are_read),
        cmocka_unit_test(long_file_names_are_kept),
    };
    return cmocka_run_group_tests(tests, script_folder_setup, script_folder_teardown);
}
