/* The plan: what `run` does with s, and what it expects. */
#include <string.h>

#include "sim/script/fields.h"

/* ---- recording ---- */

void cs_plan_record(lua_State *L, int run, struct cs_scenario *scenario) {
    struct cs_plan_draft *draft = CS_SCRIPT_NEW(L, struct cs_plan_draft, 1);
    draft->scenario = scenario;
    lua_pushvalue(L, run);
    cs_object_push(L, CS_OBJECT_PLAN, draft);
    lua_call(L, 1, 0);
    draft->is_closed = true;
    scenario->ops = draft->ops;
}

struct cs_plan_draft *cs_plan_draft_of(lua_State *L, const char *function) {
    struct cs_value self = cs_value_argument(L, 1, function);
    struct cs_plan_draft *draft = (struct cs_plan_draft *)cs_object_test(L, 1, CS_OBJECT_PLAN); /* made mutable above */
    if (!draft)
        cs_value_refuse(&self, "found %s before the arguments, expected s: write %s(…)",
                        lua_isnone(L, 1) ? "nothing" : luaL_typename(L, 1), function);
    if (draft->is_closed) cs_value_refuse(&self, "run has returned: s is no longer of use");
    cs_value_last_argument(L, 2, function);
    lua_settop(L, 2);
    return draft;
}

void cs_plan_append(lua_State *L, struct cs_plan_draft *draft, const struct cs_op *op) {
    size_t n = draft->scenario->n_ops;
    if (n == draft->capacity) {
        size_t capacity = n ? 2 * n : 4;
        struct cs_op *wider = CS_SCRIPT_NEW(L, struct cs_op, capacity);
        if (n) memcpy(wider, draft->ops, n * sizeof *wider);
        draft->ops = wider;
        draft->capacity = capacity;
    }
    draft->ops[n] = *op;
    draft->ops[n].line = cs_script_line(L);
    draft->scenario->n_ops = n + 1;
}

#define OP struct cs_op

/* ---- expectations ---- */

#define EXPECTED struct cs_expected

int cs_script_equal(lua_State *L) {
    cs_value_last_argument(L, 0, "cs.equal");
    EXPECTED *expected = CS_SCRIPT_NEW(L, EXPECTED, 1);
    expected->is_equal = true;
    cs_object_push(L, CS_OBJECT_EXPECTED, expected);
    return 1;
}

int cs_script_undetermined(lua_State *L) {
    cs_value_last_argument(L, 0, "cs.undetermined");
    EXPECTED *expected = CS_SCRIPT_NEW(L, EXPECTED, 1);
    expected->is_undetermined = true;
    cs_object_push(L, CS_OBJECT_EXPECTED, expected);
    return 1;
}

int cs_script_refused(lua_State *L) {
    struct cs_value argument = cs_value_argument(L, 1, "cs.refused");
    cs_value_last_argument(L, 1, "cs.refused");
    EXPECTED *expected = CS_SCRIPT_NEW(L, EXPECTED, 1);
    expected->is_refused = true;
    if (!lua_isnoneornil(L, 1)) expected->refusal = cs_value_text(&argument);
    cs_object_push(L, CS_OBJECT_EXPECTED, expected);
    return 1;
}

static void read_values(const struct cs_value *value, void *structure) {
    lua_State *L = value->L;
    EXPECTED *expected = structure;
    const char *const *params = cs_value_keys(value, &expected->n_values);
    struct cs_expected_values *values = CS_SCRIPT_NEW(L, struct cs_expected_values, expected->n_values);
    for (size_t i = 0; i < expected->n_values; i++) {
        struct cs_value item;
        cs_value_field(value, params[i], &item);
        values[i].param = params[i];
        values[i].values = cs_value_numbers(&item, &values[i].n_values);
        lua_pop(L, 1);
    }
    expected->values = values;
}

static size_t find_word(const char *word, const char *const *names, size_t n) {
    size_t i = 0;
    while (i < n && !cs_text_equal(word, names[i])) i++;
    return i;
}

static void read_count(const struct cs_value *value, size_t count, EXPECTED *expected) {
    expected->has_count[count] = true;
    expected->count[count] = cs_value_integer(value, 0, INT64_MAX);
}

static void read_against_policy(const struct cs_value *value, void *op) {
    ((OP *)op)->against_policy = cs_value_text(value);
}

static const struct cs_field against_fields[] = {
    {CS_CUSTOM_ROW("policy", read_against_policy, "cs.Policy", "of the cold start to compare with"),
     CS_REQUIRED_AS("policy of the cold start to compare with")},
};
static const struct cs_record against_record = CS_RECORD("cs.Against", against_fields, OP, NULL);

static void read_against(const struct cs_value *value, void *op) { cs_value_record(value, &against_record, op); }

/* Beside counts and policies, which are not fields. The structure is an EXPECTED for the first, an OP for the second.
 */
static const struct cs_field expected_fields[] = {
    {CS_CUSTOM_ROW("values", read_values, "table<string, number[]>",
                   "what parameters of a toy hold, row by row; beside counts or alone")},
    {CS_CUSTOM_ROW("against", read_against, "cs.Against",
                   "compare with a cold start under another policy; beside counts or policies"),
     CS_TABLES_OF(&against_record)},
};
const struct cs_record cs_record_expected = CS_RECORD("cs.Expected", expected_fields, EXPECTED, NULL);
enum { VALUES, AGAINST, N_BESIDE };

/* Words that a table of expectations may have as keys: counts, then "values" and "against", then policies. */
struct words {
    const char **names;
    size_t n_counts, n_policies, n;
};

static struct words words_of(lua_State *L, const struct cs_scenario *scenario) {
    struct words words = {.n_counts = CS_N_COUNTS + N_BESIDE, .n_policies = cs_n_policies + scenario->n_policies};
    words.n = words.n_counts + words.n_policies;
    words.names = CS_SCRIPT_NEW(L, const char *, words.n);
    size_t n = 0;
    for (size_t i = 0; i < CS_N_COUNTS; i++) words.names[n++] = cs_count_names[i];
    for (size_t i = 0; i < N_BESIDE; i++) words.names[n++] = expected_fields[i].name;
    for (size_t i = 0; i < cs_n_policies; i++) words.names[n++] = cs_policies[i].name;
    for (size_t i = 0; i < scenario->n_policies; i++) words.names[n++] = scenario->policies[i];
    return words;
}

static bool is_policy(const char *key, const struct words *words) {
    size_t i = find_word(key, words->names, words->n);
    return words->n_counts <= i && i < words->n;
}

/* { params_differ = 8, values = { … } }; keys named "against" belong to the whole expectation. */
static void read_counts(const struct cs_value *value, const struct words *words, bool may_have_against,
                        EXPECTED *expected) {
    size_t n, n_read = 0;
    const char *const *keys = cs_value_keys(value, &n);
    size_t n_words = words->n_counts - (may_have_against ? 0 : 1);
    for (size_t i = 0; i < n; i++) {
        struct cs_value item;
        size_t word = find_word(keys[i], words->names, n_words);
        if (word == n_words && is_policy(keys[i], words))
            cs_value_refuse(value, "found policy \"%s\" beside counts, expected either policies or counts", keys[i]);
        if (word == n_words) cs_value_fail_key(value, keys[i], words->names, n_words);
        cs_value_field(value, keys[i], &item);
        if (word < CS_N_COUNTS) read_count(&item, word, expected);
        if (word == CS_N_COUNTS + VALUES) read_values(&item, expected);
        n_read += word != CS_N_COUNTS + AGAINST;
        lua_pop(value->L, 1);
    }
    if (n_read == 0) cs_value_refuse(value, "found no count, expected some such as params_differ = 0");
}

static void read_expected(const struct cs_value *value, const struct words *words, bool may_have_against,
                          EXPECTED *expected) {
    const EXPECTED *object = cs_object_test(value->L, value->at, CS_OBJECT_EXPECTED);
    if (object)
        *expected = *object;
    else if (cs_value_is(value, LUA_TTABLE))
        read_counts(value, words, may_have_against, expected);
    else
        cs_value_fail(value, "cs.equal(), cs.refused(…), or a table of counts");
}

/* { none = { … }, record_and_fill = cs.equal() } */
static const EXPECTED *read_by_policy(const struct cs_value *value, const struct words *words, const char *const *keys,
                                      size_t n, size_t *n_expected) {
    EXPECTED *expected = CS_SCRIPT_NEW(value->L, EXPECTED, n);
    *n_expected = 0;
    for (size_t i = 0; i < n; i++) {
        if (cs_text_equal(keys[i], expected_fields[AGAINST].name)) continue;
        if (!is_policy(keys[i], words))
            cs_value_fail_key(value, keys[i], words->names + words->n_counts, cs_n_policies);
        struct cs_value item;
        cs_value_field(value, keys[i], &item);
        read_expected(&item, words, false, &expected[*n_expected]);
        expected[(*n_expected)++].policy = keys[i];
        lua_pop(value->L, 1);
    }
    return expected;
}

/* The plan's, not an expectation's: it comes once, whatever the policies. */
static void find_against(const struct cs_value *value, OP *op) {
    struct cs_value against;
    if (cs_value_field(value, expected_fields[AGAINST].name, &against)) read_against(&against, op);
    lua_pop(value->L, 1);
}

int cs_script_expect(lua_State *L) {
    struct cs_plan_draft *draft = cs_plan_draft_of(L, "s:expect");
    struct cs_value argument = cs_value_argument(L, 2, "s:expect");
    OP op = {.kind = CS_OP_EXPECT};
    struct words words = words_of(L, draft->scenario);
    bool has_policies = false;
    size_t n = 0;
    const char *const *keys = NULL;
    if (cs_value_is(&argument, LUA_TTABLE)) {
        keys = cs_value_keys(&argument, &n);
        find_against(&argument, &op);
    }
    for (size_t i = 0; i < n; i++) has_policies = has_policies || is_policy(keys[i], &words);
    if (has_policies) {
        op.expected = read_by_policy(&argument, &words, keys, n, &op.n_expected);
    } else {
        EXPECTED *expected = CS_SCRIPT_NEW(L, EXPECTED, 1);
        read_expected(&argument, &words, true, expected);
        op.expected = expected;
        op.n_expected = 1;
    }
    cs_plan_append(L, draft, &op);
    return 0;
}
