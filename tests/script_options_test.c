/* Options that a file declares: what the script gets, what the scenario keeps, and every way to get them wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <string.h>

#include "tests/support_script.h"

#define TOY    "cs.toy { params = { { name = 'p', shape = 8, dtype = 'f32' } }, loads = {} }"
#define RETURN "\nreturn cs.scenario { name = 'x', model = " TOY ", run = function() end }"
/* Every type, with a limit on either side. */
#define ALL                                                                                                            \
    "local o = cs.declare { experts = { 4, 'experts of each layer', least = 1, most = 128 }, ratio = { 0.5, most = 1 }, "  \
    "from = 'B', big = { true, 'the large one' }, shift = -3, deep = { 2, least = 1 } }\n"

static struct cs_arena arena;

static int release_arena(void **state) {
    (void)state;
    cs_arena_release(&arena);
    return 0;
}

/* "experts=8 big=false": settings separated by spaces. */
static enum cs_status parse_set(const char *text, const char *given, struct cs_scenario *scenario) {
    struct cs_setting settings[8];
    size_t n = 0;
    char *words = cs_arena_text(&arena, given);
    for (char *word = strtok(words, " "); word; word = strtok(NULL, " ")) {
        char *equals = strchr(word, '=');
        *equals = 0;
        settings[n++] = (struct cs_setting){word, equals + 1};
    }
    script_write("s.lua", text);
    return cs_script_parse("s.lua", settings, n, &arena, scenario);
}

static struct cs_scenario parse_good(const char *text, const char *given) {
    struct cs_scenario scenario;
    if (parse_set(text, given, &scenario) != CS_OK) fail_msg("%s", cs_error_text());
    return scenario;
}

static void assert_bad(const char *text, const char *given, enum cs_status status, const char *message) {
    struct cs_scenario scenario;
    assert_int_equal(parse_set(text, given, &scenario), status);
    assert_string_equal(cs_error_text(), message);
}

static void a_script_gets_the_defaults(void **state) {
    (void)state;
    parse_good(ALL "assert(o.experts == 4 and math.type(o.experts) == 'integer' and o.ratio == 0.5 and o.from == 'B')\n"
                   "assert(o.big == true and o.shift == -3 and o.deep == 2)" RETURN, "");
}

static void a_setting_replaces_a_default_by_a_value_of_its_type(void **state) {
    (void)state;
    parse_good(ALL "assert(o.experts == 8 and math.type(o.experts) == 'integer' and o.ratio == 1 and math.type(o.ratio) == 'float')\n"
                   "assert(o.from == '12' and o.big == false and o.shift == -16 and o.deep == 2)" RETURN,
               "experts=8 ratio=1 from=12 big=false shift=-16");
    parse_good(ALL "assert(o.experts == 16 and o.ratio == 0.25 and o.from == '' and o.shift == 10)" RETURN,
               "experts=0x10 ratio=2.5e-1 from= shift=010");
}

static void a_scenario_keeps_what_was_declared(void **state) {
    (void)state;
    struct cs_scenario s = parse_good(ALL RETURN, "experts=0x8 ratio=0.1");
    static const struct {
        const char *name, *text, *initial, *value, *type;
        enum cs_declared_kind kind;
    } expected[] = { /* by name */
        {"big", "the large one", "true", "true", "true or false", CS_DECLARED_BOOLEAN},
        {"deep", NULL, "2", "2", "an integer of at least 1", CS_DECLARED_INTEGER},
        {"experts", "experts of each layer", "4", "8", "an integer from 1 to 128", CS_DECLARED_INTEGER},
        {"from", NULL, "B", "B", "a string", CS_DECLARED_STRING},
        {"ratio", NULL, "0.5", "0.1", "a number of at most 1", CS_DECLARED_NUMBER},
        {"shift", NULL, "-3", "-3", "an integer", CS_DECLARED_INTEGER},
    };
    assert_int_equal(s.n_declared, CS_COUNT(expected));
    for (size_t i = 0; i < CS_COUNT(expected); i++) {
        char type[128];
        assert_string_equal(s.declared[i].name, expected[i].name);
        assert_int_equal(s.declared[i].kind, expected[i].kind);
        assert_string_equal(s.declared[i].initial, expected[i].initial);
        assert_string_equal(s.declared[i].value, expected[i].value);
        assert_string_equal(cs_declared_type(&s.declared[i], type, sizeof type), expected[i].type);
        assert_true(!s.declared[i].text == !expected[i].text);
        if (expected[i].text) assert_string_equal(s.declared[i].text, expected[i].text);
    }
    s = parse_good(RETURN, "");
    assert_int_equal(s.n_declared, 0);
}

static void numbers_come_back_the_same(void **state) {
    (void)state;
    struct cs_scenario s = parse_good("local o = cs.declare { a = 0.1, b = 1/3, c = 1e300, d = math.maxinteger }\n"
                                      "assert(o.a == 0.1 and o.b == 1/3 and o.c == 1e300 and o.d == math.maxinteger)" RETURN, "");
    assert_string_equal(s.declared[0].value, "0.1");
    assert_string_equal(s.declared[1].value, "0.3333333333333333");
    assert_string_equal(s.declared[2].value, "1e+300");
    assert_string_equal(s.declared[3].value, "9223372036854775807");
}

/* A model of models/ takes them as they are. */
static void values_are_a_plain_table_for_others(void **state) {
    (void)state;
    struct cs_scenario s = parse_good("local models = require 'models.gpt_oss'\nlocal o = cs.declare { layers = 2, experts = 4 }\n"
                                      "for k, v in pairs(o) do assert(o[k] == v) end\n"
                                      "return cs.scenario { name = 'x', model = models.gpt_oss_20b(o), run = function() end }", "layers=3");
    assert_int_equal(s.model.layers, 3);
    assert_int_equal(s.model.experts, 4);
    assert_int_equal(s.model.hidden, 2880);
}

static void a_required_file_may_declare(void **state) {
    (void)state;
    script_write("common.lua", "return cs.declare { layers = 2 }");
    struct cs_scenario s = parse_good("assert(require 'common'.layers == 5)" RETURN, "layers=5");
    assert_string_equal(s.declared[0].value, "5");
}

static void wrong_settings_name_what_is_right(void **state) {
    (void)state;
    static const struct {
        const char *given, *message;
    } rows[] = {
        {"expets=8", "--set expets=8: unknown option, did you mean \"experts\"? s.lua declares big, deep, experts, from, ratio, shift"},
        {"zzz=8", "--set zzz=8: unknown option, s.lua declares big, deep, experts, from, ratio, shift"},
        {"experts=", "--set experts=: found \"\", expected an integer from 1 to 128, as s.lua declares it"},
        {"experts=0", "--set experts=0: found \"0\", expected an integer from 1 to 128, as s.lua declares it"},
        {"experts=129", "--set experts=129: found \"129\", expected an integer from 1 to 128, as s.lua declares it"},
        {"experts=4.0", "--set experts=4.0: found \"4.0\", expected an integer from 1 to 128, as s.lua declares it"},
        {"experts=4x", "--set experts=4x: found \"4x\", expected an integer from 1 to 128, as s.lua declares it"},
        {"experts=0x", "--set experts=0x: found \"0x\", expected an integer from 1 to 128, as s.lua declares it"},
        {"deep=0", "--set deep=0: found \"0\", expected an integer of at least 1, as s.lua declares it"},
        {"shift=9223372036854775808", "--set shift=9223372036854775808: found \"9223372036854775808\", expected an integer, as s.lua declares it"},
        {"ratio=1.5", "--set ratio=1.5: found \"1.5\", expected a number of at most 1, as s.lua declares it"},
        {"ratio=nan", "--set ratio=nan: found \"nan\", expected a number of at most 1, as s.lua declares it"},
        {"ratio=-inf", "--set ratio=-inf: found \"-inf\", expected a number of at most 1, as s.lua declares it"},
        {"big=yes", "--set big=yes: found \"yes\", expected true or false, as s.lua declares it"},
        {"experts=8 big=1", "--set big=1: found \"1\", expected true or false, as s.lua declares it"},
    };
    for (size_t i = 0; i < CS_COUNT(rows); i++) assert_bad(ALL RETURN, rows[i].given, CS_BAD_USAGE, rows[i].message);
    assert_bad("cs.declare { tab = 1 }" RETURN, "tab=\t1", CS_BAD_USAGE, "--set tab=\t1: found \"\t1\", expected an integer, as s.lua declares it");
    assert_bad(RETURN, "experts=8", CS_BAD_USAGE, "--set experts=8: s.lua declares no options");
}

static void no_pcall_hides_a_wrong_setting(void **state) {
    (void)state;
    assert_bad("pcall(cs.declare, { a = 1 })" RETURN, "b=1", CS_BAD_USAGE, "--set b=1: unknown option, did you mean \"a\"? s.lua declares a");
    assert_bad("pcall(cs.declare, { a = {} })" RETURN, "a=1", CS_BAD_USAGE, "--set a=1: s.lua declares no options");
}

static void wrong_declarations_are_errors_of_the_script(void **state) {
    (void)state;
#define A_DEFAULT "expected a default: a number, true or false, or a string"
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"cs.declare()", "s.lua:1: cs.declare: found nothing, expected a table"},
        {"cs.declare {}", "s.lua:1: cs.declare: found an empty table, expected options such as experts = 4"},
        {"cs.declare { 4 }", "s.lua:1: cs.declare: found key 1, expected names"},
        {"cs.declare { ['a-b'] = 4 }", "s.lua:1: cs.declare.a-b: found a name that --set cannot take, expected letters, digits and _"},
        {"cs.declare { a = print }", "s.lua:1: cs.declare.a[1]: found a function, " A_DEFAULT},
        {"\ncs.declare { a = {} }", "s.lua:2: cs.declare.a[1]: found nothing, " A_DEFAULT},
        {"cs.declare { a = 0/0 }", "s.lua:1: cs.declare.a[1]: found nan, expected a finite number"},
        {"cs.declare { a = { 1, 2 } }", "s.lua:1: cs.declare.a[2]: found 2, expected a string"},
        {"cs.declare { a = { 1, 'x', 'y' } }", "s.lua:1: cs.declare.a: found key 3, expected names"},
        {"cs.declare { a = { 1, 'x', lest = 1 } }", "s.lua:1: cs.declare.a.lest: unknown key, did you mean \"least\"?"},
        {"cs.declare { a = { 1, 'x', least = '1' } }", "s.lua:1: cs.declare.a.least: found \"1\", expected a finite number"},
        {"cs.declare { a = { 1, least = 2 } }", "s.lua:1: cs.declare.a[1]: found 1, expected a default within least and most"},
        {"cs.declare { a = { 'x', most = 2 } }", "s.lua:1: cs.declare.a[1]: found \"x\", expected a number, since there is most"},
        {"cs.declare { a = 1 }\ncs.declare { b = 1 }", "s.lua:2: cs.declare: options are declared already: one table declares them all"},
        {"cs.declare({ a = 1 }, 2)", "s.lua:1: cs.declare: found 2 arguments, expected at most 1"},
        {"cs.declare(setmetatable({ a = 1 }, {}))", "s.lua:1: cs.declare: found a table with a metatable, expected a plain table"},
        {"local o = cs.declare { layers = 1 }\nlocal x = o.layrs", "s.lua:2: cs.declare.layrs: unknown key, did you mean \"layers\"?"},
        {"local o = cs.declare { layers = 1 }\nlocal x = o[1]", "s.lua:2: cs.declare.1: unknown key, expected \"layers\""},
        {"local o = cs.declare { layers = 1 } getmetatable(o).__index = 1", "s.lua:1: attempt to index a boolean value"},
        {"while true do pcall(cs.declare, { a = {} }) end", "s.lua:1: more than 50000000 instructions: an endless loop?"},
    };
    for (size_t i = 0; i < CS_COUNT(rows); i++) assert_bad(rows[i].text, "", CS_BAD_SCRIPT, rows[i].message);
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, NULL, release_arena)

int main(void) {
    const struct CMUnitTest tests[] = {
        ROW(a_script_gets_the_defaults),
        ROW(a_setting_replaces_a_default_by_a_value_of_its_type),
        ROW(a_scenario_keeps_what_was_declared),
        ROW(numbers_come_back_the_same),
        ROW(values_are_a_plain_table_for_others),
        ROW(a_required_file_may_declare),
        ROW(wrong_settings_name_what_is_right),
        ROW(no_pcall_hides_a_wrong_setting),
        ROW(wrong_declarations_are_errors_of_the_script),
    };
    return cmocka_run_group_tests(tests, script_folder_setup, script_folder_teardown);
}
