/* cs.scenario, and the allocator's rule. */
#include <ctype.h>
#include <string.h>

#include "sim/script/own.h"

#define SCENARIO struct cs_scenario
#define RULE     struct cs_allocator_rule

/* ---- allocator ---- */

static uint64_t read_bytes(const struct cs_value *value) {
    if (cs_value_is(value, LUA_TNUMBER)) return (uint64_t)cs_value_integer(value, 0, INT64_MAX);
    uint64_t bytes = 0;
    if (!cs_value_is(value, LUA_TSTRING)) cs_value_fail(value, "a size such as \"64MiB\", or a number of bytes");
    if (cs_text_bytes(cs_value_text(value), &bytes) != CS_OK) cs_value_refuse(value, "%s", cs_error_text());
    return bytes;
}

static struct cs_pattern read_pattern(const struct cs_value *value) {
    struct cs_pattern pattern;
    if (!cs_value_is(value, LUA_TSTRING))
        cs_value_fail(value, "\"zero\", a byte such as \"0xAA\", \"nan\" or \"random\"");
    if (cs_pattern_parse(cs_value_text(value), &pattern) != CS_OK) cs_value_refuse(value, "%s", cs_error_text());
    return pattern;
}

static void read_fresh_cold(const struct cs_value *value, void *rule) {
    ((RULE *)rule)->fresh_cold = read_pattern(value);
}
static void read_fresh_reload(const struct cs_value *value, void *rule) {
    ((RULE *)rule)->fresh_reload = read_pattern(value);
}

static const struct cs_field fresh_fields[] = {
    {CS_CUSTOM_ROW("cold", read_fresh_cold, "string", "what fresh pages hold at a cold start"),
     CS_DEFAULT("`\"random\"`")},
    {CS_CUSTOM_ROW("reload", read_fresh_reload, "string", "what fresh pages hold in a reload"),
     CS_DEFAULT("`\"random\"`")},
};
static const struct cs_record fresh_record = CS_RECORD("cs.Allocator.Fresh", fresh_fields, RULE, NULL);

static void read_fresh(const struct cs_value *value, void *structure) {
    RULE *rule = structure;
    if (cs_value_is(value, LUA_TTABLE))
        cs_value_record(value, &fresh_record, rule);
    else
        rule->fresh_cold = rule->fresh_reload = read_pattern(value);
}

static void read_recycle_up_to(const struct cs_value *value, void *rule) {
    bool is_all = cs_value_is(value, LUA_TSTRING) && cs_text_equal(cs_value_text(value), "all");
    ((RULE *)rule)->recycle_up_to = is_all ? UINT64_MAX : read_bytes(value);
}

static void read_recycled(const struct cs_value *value, void *rule) {
    static const char *const names[] = {"garbage", "own_bytes"};
    ((RULE *)rule)->recycled_keeps_bytes = cs_value_word(value, names, CS_COUNT(names)) == 1;
}

static void read_classes(const struct cs_value *value, void *structure) {
    RULE *rule = structure;
    rule->n_classes = cs_value_list(value);
    if (rule->n_classes > CS_SIZE_CLASSES)
        cs_value_refuse(value, "found %zu sizes, expected at most %d", rule->n_classes, CS_SIZE_CLASSES);
    for (size_t i = 0; i < rule->n_classes; i++) {
        struct cs_value item = cs_value_item(value, (lua_Integer)i + 1);
        rule->class_limit[i] = read_bytes(&item);
        if (i && rule->class_limit[i] <= rule->class_limit[i - 1])
            cs_value_fail(&item, "a larger size than the one before");
        lua_pop(value->L, 1);
    }
}

static const struct cs_field rule_fields[] = {
    {CS_CUSTOM_ROW(
         "fresh", read_fresh, "string|cs.Allocator.Fresh",
         "what fresh pages hold: `\"zero\"`, a byte such as `\"0xAA\"`, `\"nan\"` (of the dtype), `\"random\"`; or "
         "a table with `cold` and `reload`, one of these each"),
     CS_DEFAULT("`\"random\"`"), CS_TABLES_OF(&fresh_record)},
    {CS_CUSTOM_ROW(
         "recycle_up_to", read_recycle_up_to, "string|integer",
         "blocks of a reload up to this size are recycled: `\"16KiB\"`, `\"64MiB\"`, a number of bytes, `\"all\"`"),
     CS_DEFAULT("`\"all\"`")},
    {CS_CUSTOM_ROW("recycled", read_recycled, "\"garbage\"|\"own_bytes\"",
                   "what they hold: garbage, since others used them, or what the block held last"),
     CS_DEFAULT("`\"garbage\"`")},
    {CS_CUSTOM_ROW(
         "classes", read_classes, "(string|integer)[]",
         "rising sizes: blocks up to each share a class, those above the last are classed by exact size; at most 8"),
     CS_DEFAULT("exact sizes")},
    {CS_INT_ROW("fresh_first", RULE, fresh_first, 0, 1 << 20,
                "so many blocks of each class are fresh before recycling begins"),
     CS_DEFAULT("0")},
};
static const struct cs_record rule_record = CS_RECORD("cs.Allocator", rule_fields, RULE, NULL);

/* ---- scenario ---- */

static void read_name(const struct cs_value *value, void *scenario) {
    const char *name = cs_value_text(value);
    bool is_good = *name;
    for (const char *c = name; *c; c++)
        is_good = is_good && (islower((unsigned char)*c) || isdigit((unsigned char)*c) || *c == '_' || *c == '.');
    if (!is_good) cs_value_fail(value, "a name of a-z, 0-9, _ and .");
    if (strlen(name) > CS_SCENARIO_NAME)
        cs_value_refuse(value, "found %zu characters, expected at most %d", strlen(name), CS_SCENARIO_NAME);
    ((SCENARIO *)scenario)->name = name;
}

static void read_rounding(const struct cs_value *value, void *scenario) {
    static const char *const names[] = {"released", "reference"};
    ((SCENARIO *)scenario)->rounding = names[cs_value_word(value, names, CS_COUNT(names))];
}

static void read_policies(const struct cs_value *value, void *structure) {
    SCENARIO *scenario = structure;
    scenario->policies = cs_value_texts(value, &scenario->n_policies);
    if (scenario->n_policies == 0) cs_value_refuse(value, "found an empty list, expected at least one policy");
}

static void read_allocator(const struct cs_value *value, void *scenario) {
    cs_value_record(value, &rule_record, &((SCENARIO *)scenario)->allocator);
}

static const enum cs_defect *read_defect_list(const struct cs_value *value, size_t *n) {
    const char *names[CS_N_DEFECTS];
    for (int i = 0; i < CS_N_DEFECTS; i++) names[i] = cs_defect_name((enum cs_defect)i);
    *n = cs_value_list(value);
    enum cs_defect *defects = CS_SCRIPT_NEW(value->L, enum cs_defect, *n);
    for (size_t i = 0; i < *n; i++) {
        struct cs_value item = cs_value_item(value, (lua_Integer)i + 1);
        defects[i] = (enum cs_defect)cs_value_word(&item, names, CS_N_DEFECTS);
        lua_pop(value->L, 1);
    }
    return defects;
}

static void switch_defects(const struct cs_value *value, SCENARIO *scenario, bool is_on) {
    size_t n;
    const enum cs_defect *defects = read_defect_list(value, &n);
    for (size_t i = 0; i < n; i++) {
        if (cs_defects_have(scenario->defects, defects[i]) == is_on)
            cs_value_refuse(value, "found \"%s\", which is %s already: `coldstart list mutants`",
                            cs_defect_name(defects[i]), is_on ? "on" : "off");
        scenario->defects = cs_defects_with(scenario->defects, defects[i], is_on);
    }
}

static void read_kills(const struct cs_value *value, void *scenario) {
    ((SCENARIO *)scenario)->kills = read_defect_list(value, &((SCENARIO *)scenario)->n_kills);
}

static void read_defects(const struct cs_value *value, void *scenario) { switch_defects(value, scenario, true); }
static void read_fixes(const struct cs_value *value, void *scenario) { switch_defects(value, scenario, false); }

static void read_checkpoints(const struct cs_value *value, void *structure) {
    SCENARIO *scenario = structure;
    const char *const *names = cs_value_keys(value, &scenario->n_checkpoints);
    struct cs_checkpoint_config *configs =
        CS_SCRIPT_NEW(value->L, struct cs_checkpoint_config, scenario->n_checkpoints);
    for (size_t i = 0; i < scenario->n_checkpoints; i++) {
        struct cs_value item;
        cs_value_field(value, names[i], &item);
        configs[i] = *(const struct cs_checkpoint_config *)cs_value_object(&item, CS_OBJECT_CHECKPOINT);
        configs[i].name = names[i];
        lua_pop(value->L, 1);
    }
    scenario->checkpoints = configs;
}

/* ---- legitimate differences ---- */

static void read_region_start(const struct cs_value *value, void *structure) {
    struct cs_excuse *declared = structure;
    struct cs_extents extents = {0};
    cs_value_extents(value, &extents);
    if (declared->ndim && declared->ndim != extents.ndim)
        cs_value_refuse(value, "found %d dimensions beside %d", extents.ndim, declared->ndim);
    declared->ndim = extents.ndim;
    for (int i = 0; i < extents.ndim; i++) declared->start[i] = extents.items[i];
}

static void read_region_length(const struct cs_value *value, void *structure) {
    struct cs_excuse *declared = structure;
    struct cs_extents extents = {0};
    cs_value_extents(value, &extents);
    if (declared->ndim && declared->ndim != extents.ndim)
        cs_value_refuse(value, "found %d dimensions beside %d", extents.ndim, declared->ndim);
    declared->ndim = extents.ndim;
    for (int i = 0; i < extents.ndim; i++) declared->length[i] = extents.items[i];
}

static const struct cs_field region_fields[] = {
    {CS_CUSTOM_ROW("at", read_region_start, "integer|integer[]", "where it starts"), CS_DEFAULT("0 everywhere")},
    {CS_CUSTOM_ROW("shape", read_region_length, "integer|integer[]", "extents"),
     CS_REQUIRED_AS("a number or a list of numbers")},
};
static const struct cs_record region_record = CS_RECORD("cs.Region", region_fields, struct cs_excuse, NULL);

static void read_region(const struct cs_value *value, void *structure) {
    cs_value_record(value, &region_record, structure);
    ((struct cs_excuse *)structure)->has_region = true;
}

static const struct cs_field difference_fields[] = {
    {CS_TEXT_ROW("tensor", struct cs_excuse, tensor, "pattern of a tensor's name; `*` matches any run of characters"),
     CS_REQUIRED},
    {CS_CUSTOM_ROW("region", read_region, "cs.Region", "the part of each rank's kernel tensor that may differ"),
     CS_DEFAULT("all of it"), CS_TABLES_OF(&region_record)},
    {CS_TEXT_ROW("reason", struct cs_excuse, reason, "why it may, in a few words"), CS_REQUIRED},
};
static const struct cs_record difference_record = CS_RECORD("cs.Difference", difference_fields, struct cs_excuse, NULL);

static void read_rank(const struct cs_value *value, void *structure) {
    SCENARIO *scenario = structure;
    scenario->only_rank = (int)cs_value_integer(value, 0, 63);
    scenario->has_only_rank = true;
}

static void read_run(const struct cs_value *value, void *scenario) {
    (void)scenario;
    if (!cs_value_is(value, LUA_TFUNCTION)) cs_value_fail(value, "a function of s, the server");
}

static const struct cs_field scenario_fields[] = {
    {CS_CUSTOM_ROW("name", read_name, "string", "a-z, 0-9, `_` and `.`; `--filter` looks here"),
     CS_REQUIRED_AS("a name of a-z, 0-9, _ and .")},
    {CS_TEXT_ROW("note", SCENARIO, note, "one sentence")},
    {CS_TEXTS_ROW("tags", SCENARIO, tags, n_tags, "words to select scenarios by: `--tag`"), CS_DEFAULT("`{}`")},
    {CS_OBJECT_ROW("model", SCENARIO, model, CS_OBJECT_MODEL, &cs_record_model,
                   "`cs.model`, `cs.toy`, or a function of `models/`"),
     CS_REQUIRED},
    {CS_CUSTOM_ROW("method", cs_read_method, "cs.Method|cs.OwnMethod",
                   "quantization method of the routed experts: `coldstart list methods`, or `cs.method`"),
     CS_DEFAULT("none; required with routed experts")},
    {CS_CUSTOM_ROW("backend", cs_read_backend, "cs.Backend|string|cs.OwnBackend",
                   "its back end, by our name or the engine's: `coldstart list backends`, or `cs.backend`"),
     CS_DEFAULT("none; required with a method")},
    {CS_CUSTOM_ROW("loader", cs_read_loader, "cs.Loader|cs.OwnLoader",
                   "one of the method's loaders: `coldstart list loaders`, or `cs.loader`"),
     CS_DEFAULT("the method's first")},
    {CS_CUSTOM_ROW("quantization", cs_read_scenario_quantization, "cs.Quantization",
                   "how the method is configured, where it can be"),
     CS_DEFAULT("as the method usually is"), CS_TABLES_OF(&cs_record_quantization)},
    {CS_CUSTOM_ROW("experts", cs_read_experts, "cs.Experts", "what experts are like, and where they are"),
     CS_DEFAULT("as the method usually is"), CS_TABLES_OF(&cs_record_experts)},
    {CS_CUSTOM_ROW("all2all", cs_read_all2all, "\"none\"|\"deepep_ht\"|\"deepep_ll\"|\"deepep_v2\"|\"nixl_ep\"",
                   "all-to-all back end: it may round the hidden size"),
     CS_DEFAULT("`\"none\"`")},
    {CS_CUSTOM_ROW("platform", cs_read_platform, "\"cuda\"|\"xpu\"|\"cdna3\"|\"cdna4\"",
                   "whose rounding of MXFP4 sizes holds"),
     CS_DEFAULT("`\"cuda\"`")},
    {CS_CUSTOM_ROW(
         "chosen_by", cs_read_chosen_by, "\"user\"|\"engine\"",
         "who chose the back end: FP8 in blocks of a size that does not divide is refused or rounded by that"),
     CS_DEFAULT("`\"user\"`")},
    {CS_CUSTOM_ROW("rounding", read_rounding, "\"released\"|\"reference\"",
                   "how the back end rounds sizes: as released, or as in published figures"),
     CS_DEFAULT("`\"released\"`")},
    {CS_INT_ROW("tp", SCENARIO, tp, 1, 64, "tensor-parallel ranks; `tp` or `ep` must be 1"), CS_DEFAULT("1")},
    {CS_INT_ROW("ep", SCENARIO, ep, 1, 64, "expert-parallel ranks"), CS_DEFAULT("1")},
    {CS_CUSTOM_ROW("rank", read_rank, "integer", "simulate this rank alone"),
     CS_DEFAULT("all of them, one after the other")},
    {CS_CUSTOM_ROW("policies", read_policies, "cs.Policy[]",
                   "padding policies, each run once: `coldstart list policies`"),
     CS_DEFAULT("`{ \"record_and_fill\" }`")},
    {CS_CUSTOM_ROW("allocator", read_allocator, "cs.Allocator", "what uninitialised memory holds"),
     CS_DEFAULT("the harshest"), CS_TABLES_OF(&rule_record)},
    {CS_INTEGER_ROW("seed", SCENARIO, seed, 0, INT64_MAX, "of all random streams"), CS_DEFAULT("1")},
    {CS_CUSTOM_ROW("defects", read_defects, "cs.Defect[]", "faults to switch on: `coldstart list mutants`"),
     CS_DEFAULT("`{}`")},
    {CS_CUSTOM_ROW("fixes", read_fixes, "cs.Defect[]",
                   "standing faults of the released engine to switch off: `coldstart list mutants`"),
     CS_DEFAULT("`{}`")},
    {CS_RECORDS_ROW("differs", SCENARIO, excuses, n_excuses, &difference_record,
                    "what may differ from a cold start, and why; one that never does is a failure"),
     CS_DEFAULT("`{}`")},
    {CS_CUSTOM_ROW("kills", read_kills, "cs.Defect[]",
                   "mutants that this scenario is there to kill: `coldstart mutants` fails when it does not"),
     CS_DEFAULT("`{}`")},
    {CS_CUSTOM_ROW("checkpoints", read_checkpoints, "table<string, cs.Checkpoint>", "names, and what each is"),
     CS_DEFAULT("`A` synthetic, `B` to `H` copies of it")},
    {CS_CUSTOM_ROW("run", read_run, "fun(s: cs.Server)", "the plan: what is done with `s`, the server"),
     CS_REQUIRED_AS("a function of s, the server")},
};
const struct cs_record cs_record_scenario = CS_RECORD("cs.Scenario.Fields", scenario_fields, SCENARIO, NULL);

int cs_script_scenario(lua_State *L) {
    static const char *const default_policies[] = {"record_and_fill"};
    struct cs_value argument = cs_value_argument(L, 1, "cs.scenario"), run;
    SCENARIO *scenario = CS_SCRIPT_NEW(L, SCENARIO, 1);
    *scenario = (SCENARIO){
        .file = cs_script_of(L)->path,
        .line = cs_script_line(L),
        .rounding = "released",
        .tp = 1,
        .ep = 1,
        .policies = default_policies,
        .n_policies = CS_COUNT(default_policies),
        .allocator = cs_allocator_harshest,
        .seed = 1,
    };
    cs_value_record(&argument, &cs_record_scenario, scenario);
    cs_value_field(&argument, "run", &run);
    cs_scenario_own_backend(L, scenario);
    cs_plan_record(L, run.at, scenario);
    for (size_t i = 0; i < scenario->n_ops; i++)
        if (scenario->ops[i].own_loader) cs_scenario_own_loader(L, scenario, scenario->ops[i].own_loader);
    cs_checkpoints_complete(&argument, scenario);
    cs_object_push(L, CS_OBJECT_SCENARIO, scenario);
    return 1;
}
