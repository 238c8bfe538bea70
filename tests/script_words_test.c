/* Words of the language that no committed scenario needs: orders as numbers, steps, words of layouts, print; and what is
 * refused with a number or a name. Scripts that are no file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "sim/script/script.h"
#include "tests/support_script.h"
#include "tests/support_session.h"

static struct cs_arena arena;

static int release_arena(void **state) {
    cs_arena_release(&arena);
    return script_folder_teardown(state);
}

#define ONE_PARAM "params = { { name = 'p', shape = 8, dtype = 'f32' } }, loads = { A = {} }"

static void steps_say_what_they_make(void **state) {
    (void)state;
    struct cs_model_config m = script_parse_good(
        "return cs.scenario { name = 'x', run = function() end, model = cs.toy { " ONE_PARAM ",\n"
        "  post_load = { cs.reshape('p', 'p.0/4 4'), cs.transpose 'p', cs.take('q', 'p'), cs.select('r', 'p', 1, 2),\n"
        "                cs.maximum('m', 'f32', 'p.0', 'p abs') } } }",
        &arena).model;
    const struct cs_step *step = m.toy_steps;
    assert_int_equal(m.n_toy_steps, 5);
    assert_int_equal(step[0].kind, CS_STEP_RESHAPE);
    assert_string_equal(step[0].text, "p.0/4 4");
    assert_int_equal(step[1].kind, CS_STEP_TRANSPOSE);
    assert_string_equal(step[1].param, "p");
    assert_int_equal(step[2].kind, CS_STEP_TAKE);
    assert_string_equal(step[2].param, "q");
    assert_string_equal(step[2].from, "p");
    assert_int_equal(step[3].kind, CS_STEP_SELECT);
    assert_int_equal(step[3].dim, 1);
    assert_int_equal(step[3].at, 2);
    assert_int_equal(step[4].kind, CS_STEP_MAXIMUM);
    assert_int_equal(step[4].dtype, CS_F32);
    assert_string_equal(step[4].shape, "p.0");
    assert_string_equal(step[4].text, "p abs");
}

static void an_order_may_be_numbers(void **state) {
    (void)state;
    struct cs_scenario s = script_parse_good(
        "return cs.scenario { name = 'x', model = cs.toy { " ONE_PARAM " },\n"
        "  run = function(s) s:cold_start 'A'; s:reload { driver = 'layerwise', checkpoint = 'A', order = { 3, 1, 3 } } end }",
        &arena);
    assert_int_equal(s.ops[1].n_order, 3);
    const size_t expected[] = {2, 0, 2}; /* from 0 */
    assert_memory_equal(s.ops[1].order, expected, sizeof expected);
    assert_false(s.ops[1].is_shuffled || s.ops[1].is_reversed);
}

#define MODEL                                                                                                          \
    "local model = cs.model { name = 'm', prefix = 'm.', layers = 1, experts = 2, hidden = 32, intermediate = 32, modules = "  \
    "{ cs.module { name = 'e', routed_experts = true, checkpoint = 'e' } } }\n"

static void a_layout_may_move_and_invert_bits_of_a_word(void **state) {
    (void)state;
    struct cs_scenario s = script_parse_good(
        MODEL "local word = {}\nfor i = 1, 32 do word[i] = 32 - i end\nword[5] = word[5] + 32\n"
              "local l = cs.layout { name = 'mirror', view = 'M K', word = word }\n"
              "return cs.scenario { name = 'x', model = model, method = 'unquantized', quantization = { arithmetic = 'cpu' },\n"
              "  backend = cs.backend { name = 'b', steps = { cs.relayout('w13_weight', l) } }, run = function(s) s:cold_start 'A' end }",
        &arena);
    const struct cs_layout *layout = s.own_backend->steps->own[0];
    for (int i = 0; i < 32; i++) assert_int_equal(layout->word[i], i == 4 ? 27 + CS_INVERTED : 31 - i);
    assert_true(s.layer.on & CS_CPU_ARITHMETIC);
}

/* To stderr, with the place; stdout belongs to reports. */
static void print_says_where_it_stands(void **state) {
    (void)state;
    char said[256] = "";
    script_write("s.lua", "print('a', 1, true)\nreturn cs.scenario { name = 'x', model = cs.toy { " ONE_PARAM " }, run = function(s) s:cold_start 'A'; s:expect(cs.equal()) end }");
    FILE *pipe = popen("'" COLDSTART "' check s.lua 2>&1 >/dev/null", "r");
    assert_non_null(pipe);
    said[fread(said, 1, sizeof said - 1, pipe)] = 0;
    if (pclose(pipe) != 0) fail_msg("%s", said);
    assert_says(said, "s.lua:1: a\t1\ttrue\n");
}

static void what_cannot_be_is_refused_by_name(void **state) {
    (void)state;
    static const char *const rows[][2] = {
        {"cs.call 'zzzzzzzz'", "a name that `coldstart list tables` shows"},
        {"cs.relayout('p', 'zzzzzzzzzzzz')", "a name that `coldstart list layouts` shows"},
        {"cs.module { name = 'a', routed_experts = true, attention = true, checkpoint = 'a' }", "found attention beside routed_experts, expected one of them"},
        {"cs.model { name = 'm', layers = 2, hidden = 32, modules = {} }", "found an empty list, expected at least one module"},
        {"return cs.scenario { name = 'x', model = cs.toy { " ONE_PARAM " }, run = function() end, defects = { 'no_fill', 'no_fill' } }", "no_fill"},
        {"require 'models.nothing_of_this_name'", "no such file beside the scenario"},
    };
    for (size_t i = 0; i < CS_COUNT(rows); i++) {
        struct cs_scenario scenario;
        if (script_parse(rows[i][0], &arena, &scenario) != CS_BAD_SCRIPT) fail_msg("%s: accepted", rows[i][0]);
        assert_says(cs_error_text(), rows[i][1]);
    }
}

static void a_script_may_be_text(void **state) {
    (void)state;
    struct cs_scenario s;
    static const char text[] = "local function toy() return cs.toy { params = { { name = 'p', shape = 4, dtype = 'f32' } }, loads = {\n"
                               "  A = { { param = 'p', shape = 4, value = 1 } }, B = { { param = 'p', shape = 4, value = 2 } } } } end\n"
                               "return cs.scenario { name = 'text', model = toy(), run = function(s)\n"
                               "  s:cold_start 'A' s:expect(cs.equal()) end }";
    script_write("named.lua", "return 1"); /* not this one */
    assert_int_equal(cs_script_load_text("named.lua", text, &arena, &s), CS_OK);
    assert_string_equal(s.name, "text");
    assert_string_equal(s.file, "named.lua");
    assert_int_equal(s.ops[1].line, 4);
    assert_int_equal(cs_script_load_text("named.lua", "return 1", &arena, &s), CS_BAD_SCRIPT);
    assert_non_null(strstr(cs_error_text(), "named.lua: the file returned number, expected"));
    assert_int_equal(cs_script_load_text("named.lua", "\033Lua", &arena, &s), CS_BAD_SCRIPT);
    assert_non_null(strstr(cs_error_text(), "attempt to load a binary chunk"));
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, script_folder_setup, release_arena)
    const struct CMUnitTest tests[] = {
        TEST(steps_say_what_they_make),
        TEST(an_order_may_be_numbers),
        TEST(a_layout_may_move_and_invert_bits_of_a_word),
        TEST(print_says_where_it_stands),
        TEST(what_cannot_be_is_refused_by_name),
        TEST(a_script_may_be_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
