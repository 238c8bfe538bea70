/* What a scenario defines without recompiling: cs.layout, cs.loader, cs.method and cs.backend. */
#include <ctype.h>
#include <string.h>

#include "sim/script/own.h"

/* A name of its own: letters, digits and _, and not one of `taken`. */
static void check_own_name(const struct cs_value *value, const char *name, bool is_taken) {
    struct cs_value field;
    cs_value_field(value, "name", &field);
    bool is_good = *name;
    for (const char *c = name; *c; c++) is_good = is_good && (isalnum((unsigned char)*c) || *c == '_');
    if (!is_good) cs_value_fail(&field, "a name of letters, digits and _");
    if (is_taken) cs_value_refuse(&field, "\"%s\" is there already: choose another name", name);
    lua_pop(value->L, 1);
}

/* ---- what a row is for ---- */

/* clang-format off */
static const struct {
    const char *word;
    unsigned when;
} conditions[] = {
    {"bias", CS_WITH_BIAS},              {"no_bias", CS_UNLESS(CS_WITH_BIAS)},
    {"gated", CS_UNLESS(CS_NOT_GATED)},  {"not_gated", CS_NOT_GATED},
    {"static_input", CS_STATIC_INPUT},   {"dynamic_input", CS_UNLESS(CS_STATIC_INPUT)},
    {"asymmetric", CS_ASYMMETRIC},       {"symmetric", CS_UNLESS(CS_ASYMMETRIC)},
    {"per_channel", CS_PER_CHANNEL},     {"grouped", CS_UNLESS(CS_PER_CHANNEL)},
};
#define CONDITION_TYPE                                                                                                 \
    "(\"bias\"|\"no_bias\"|\"gated\"|\"not_gated\"|\"static_input\"|\"dynamic_input\"|\"asymmetric\"|\"symmetric\"|"   \
    "\"per_channel\"|\"grouped\")[]"
/* clang-format on */

static unsigned read_conditions(const struct cs_value *value) {
    const char *words[CS_COUNT(conditions)];
    for (size_t i = 0; i < CS_COUNT(conditions); i++) words[i] = conditions[i].word;
    unsigned when = 0;
    size_t n = cs_value_list(value);
    for (size_t i = 0; i < n; i++) {
        struct cs_value item = cs_value_item(value, (lua_Integer)i + 1);
        when |= conditions[cs_value_word(&item, words, CS_COUNT(words))].when;
        lua_pop(value->L, 1);
    }
    return when;
}

static const char *read_known_shape(const struct cs_value *value, size_t least) {
    const char *shape = cs_value_shape(value, least);
    if (cs_shape_check(shape) != CS_OK) cs_value_refuse(value, "%s", cs_error_text());
    return shape;
}

#define SHAPE_TYPE "integer|string|(integer|string)[]"

/* ---- cs.layout ---- */

#define LAYOUT struct cs_layout

static void read_word(const struct cs_value *value, void *structure) {
    size_t n = cs_value_list(value);
    if (n != 32) cs_value_refuse(value, "found %zu numbers, expected 32: where each bit of a word goes", n);
    uint8_t *word = CS_SCRIPT_NEW(value->L, uint8_t, 32);
    for (size_t i = 0; i < n; i++) {
        struct cs_value item = cs_value_item(value, (lua_Integer)i + 1);
        word[i] = (uint8_t)cs_value_integer(&item, 0, 2 * CS_INVERTED - 1);
        lua_pop(value->L, 1);
    }
    ((LAYOUT *)structure)->word = word;
}

static void check_layout(const struct cs_value *value, void *structure) {
    const LAYOUT *layout = structure;
    check_own_name(value, layout->name, cs_layout_by_name(layout->name) != NULL);
    if (cs_layout_check(layout) != CS_OK) cs_value_refuse(value, "%s", cs_error_text());
}

static const struct cs_field layout_fields[] = {
    {CS_TEXT_ROW("name", LAYOUT, name, "for reports"), CS_REQUIRED},
    {CS_TEXT_ROW("view", LAYOUT, view,
                 "extents of the source dimensions, slowest first: `M` `K` `M/8` `K/4` and numbers, such as "
                 "`\"M/8 8 K/4 4\"`"),
     CS_REQUIRED},
    {CS_TEXT_ROW("order", LAYOUT, order, "dimension j of the result is that dimension of the view: `\"0 2 1 3\"`"),
     CS_DEFAULT("as in the view")},
    {CS_TEXT_ROW("flip", LAYOUT, flip, "dimensions of the view that are reversed"), CS_DEFAULT("none")},
    {CS_TEXT_ROW("pad", LAYOUT, pad, "multiples that M and K are rounded up to with zeros, such as `\"128 4\"`"),
     CS_DEFAULT("none")},
    {CS_INT_ROW("bits", LAYOUT, bits, 0, 64, "width of the elements that K counts; 0: any, whole rows move"),
     CS_DEFAULT("0")},
    {CS_CUSTOM_ROW("word", read_word, "integer[]", "where each of the 32 bits of a word goes afterwards; 32 more: inverted"),
     CS_DEFAULT("as it is")},
};
const struct cs_record cs_record_layout = CS_RECORD("cs.Layout.Fields", layout_fields, LAYOUT, check_layout);

int cs_script_layout(lua_State *L) {
    struct cs_value argument = cs_value_argument(L, 1, "cs.layout");
    cs_value_last_argument(L, 1, "cs.layout");
    LAYOUT *layout = CS_SCRIPT_NEW(L, LAYOUT, 1);
    *layout = (LAYOUT){.pad = "", .flip = "", .order = ""};
    cs_value_record(&argument, &cs_record_layout, layout);
    cs_object_push(L, CS_OBJECT_LAYOUT, layout);
    return 1;
}

/* ---- cs.loader ---- */

#define ROW    struct cs_loader_row
#define LOADER struct cs_loader

static void read_row_shape(const struct cs_value *value, void *structure) {
    ((ROW *)structure)->shape = read_known_shape(value, 0);
}

static void read_row_dtype(const struct cs_value *value, void *structure) {
    ((ROW *)structure)->dtype = ((ROW *)structure)->as = cs_value_dtype(value);
}

static void read_numbers(const struct cs_value *value, void *structure) {
    ((ROW *)structure)->as = cs_value_dtype(value);
}

static void read_split(const struct cs_value *value, void *structure) {
    static const char *const names[] = {"rows", "columns", "none", "number", "agreed_number", "number_of_all"};
    static const int dims[] = {CS_ROWS, CS_COLUMNS, CS_UNSPLIT, CS_SCALAR, CS_SCALAR_AGREED, CS_SCALAR_OF_ALL};
    ((ROW *)structure)->shard_dim = dims[cs_value_word(value, names, CS_COUNT(names))];
}

static void read_shard(const struct cs_value *value, void *structure) {
    static const char *const names[] = {"whole", "gate", "up", "gate_up"};
    static const int shards[] = {CS_WHOLE, CS_GATE, CS_UP, CS_GATE_UP};
    ((ROW *)structure)->shard = shards[cs_value_word(value, names, CS_COUNT(names))];
}

static void read_row_when(const struct cs_value *value, void *structure) {
    ((ROW *)structure)->when = read_conditions(value);
}

static const struct cs_field row_fields[] = {
    {CS_TEXT_ROW("tensor", ROW, tensor,
                 "its name behind the experts' name; one for each expert if it begins with `{expert}.`"),
     CS_REQUIRED},
    {CS_CUSTOM_ROW("shape", read_row_shape, SHAPE_TYPE,
                   "in the checkpoint, such as `{ \"If\", \"Hu\" }`; `{}`: one number"),
     CS_REQUIRED_AS("a shape such as { \"If\", \"Hu\" }")},
    {CS_CUSTOM_ROW("dtype", read_row_dtype, "cs.Dtype", "in the checkpoint"),
     CS_REQUIRED_AS("a dtype such as \"bf16\"")},
    {CS_CUSTOM_ROW("numbers", read_numbers, "cs.Dtype", "what a synthetic one holds the numbers of"),
     CS_DEFAULT("`dtype`")},
    {CS_TEXT_ROW("param", ROW, param, "the parameter that it goes into"), CS_REQUIRED},
    {CS_CUSTOM_ROW("split", read_split, "\"rows\"|\"columns\"|\"none\"|\"number\"|\"agreed_number\"|\"number_of_all\"",
                   "what tensor parallelism splits; or one number, for its slot, where gate and up must agree, or of "
                   "every rank's experts"),
     CS_DEFAULT("`\"rows\"`")},
    {CS_CUSTOM_ROW("shard", read_shard, "\"whole\"|\"gate\"|\"up\"|\"gate_up\"", "which part of the parameter it is"),
     CS_DEFAULT("`\"whole\"`")},
    {CS_INT_ROW("block", ROW, block, 0, 1 << 20, "gpt-oss: elements of the split dimension that stay together"),
     CS_DEFAULT("0")},
    {CS_CUSTOM_ROW("when", read_row_when, CONDITION_TYPE, "what layers must be like to have it"), CS_DEFAULT("`{}`")},
};

static const struct cs_record row_record = CS_RECORD("cs.Loader.Tensor", row_fields, ROW, NULL);

/* `shard` is -1 for the whole, so that rows must not begin as zeros. */
static void read_rows(const struct cs_value *value, void *structure) {
    LOADER *loader = structure;
    loader->n_rows = cs_value_list(value);
    ROW *rows = CS_SCRIPT_NEW(value->L, ROW, loader->n_rows);
    for (size_t i = 0; i < loader->n_rows; i++) {
        struct cs_value item = cs_value_item(value, (lua_Integer)i + 1);
        rows[i].shard = CS_WHOLE;
        cs_value_record(&item, &row_record, &rows[i]);
        lua_pop(value->L, 1);
    }
    loader->rows = rows;
}

/* The rule of copying: another loader's. */
static void read_like(const struct cs_value *value, void *structure) {
    LOADER *loader = structure;
    const char **names = CS_SCRIPT_NEW(value->L, const char *, cs_n_loaders);
    const struct cs_loader **found = CS_SCRIPT_NEW(value->L, const struct cs_loader *, cs_n_loaders);
    size_t n = 0;
    for (size_t i = 0; i < cs_n_loaders; i++)
        if (cs_loaders[i]->n_rows) found[n] = cs_loaders[i], names[n++] = cs_loaders[i]->name;
    LOADER copied = *found[cs_value_word(value, names, n)];
    copied.name = loader->name, copied.text = loader->text;
    copied.rows = loader->rows, copied.n_rows = loader->n_rows;
    memcpy(loader, &copied, sizeof copied);
}

static bool is_per_expert(const ROW *row) { return strncmp(row->tensor, "{expert}.", 9) == 0; }

static void check_loader(const struct cs_value *value, void *structure) {
    const LOADER *loader = structure;
    check_own_name(value, loader->name, cs_loader_by_name(loader->name) != NULL);
    struct cs_value tensors;
    cs_value_field(value, "tensors", &tensors);
    if (loader->n_rows == 0) cs_value_refuse(&tensors, "found an empty list, expected at least one tensor");
    for (size_t i = 1; i < loader->n_rows; i++)
        if (is_per_expert(&loader->rows[i]) != is_per_expert(&loader->rows[0])) {
            struct cs_value item = cs_value_item(&tensors, (lua_Integer)i + 1);
            cs_value_refuse(&item, "either all tensors begin with {expert}. or none does");
        }
    lua_pop(value->L, 1);
}

static const struct cs_field loader_fields[] = {
    {CS_TEXT_ROW("name", LOADER, name, "for reports"), CS_REQUIRED},
    {CS_CUSTOM_ROW("tensors", read_rows, "cs.Loader.Tensor[]", "the checkpoint's tensors that it takes"),
     CS_REQUIRED_AS("a list of tensors"), CS_TABLES_OF(&row_record)},
    {CS_CUSTOM_ROW("like", read_like, "cs.Loader",
                   "the loader whose rule it copies by: slices, halves, interleaved rows, what it records as padding"),
     CS_DEFAULT("`\"per_expert\"`")},
};
const struct cs_record cs_record_loader = CS_RECORD("cs.Loader.Fields", loader_fields, LOADER, check_loader);

int cs_script_loader(lua_State *L) {
    struct cs_value argument = cs_value_argument(L, 1, "cs.loader");
    cs_value_last_argument(L, 1, "cs.loader");
    LOADER *loader = CS_SCRIPT_NEW(L, LOADER, 1);
    const LOADER standard = {.text = "a scenario's own", .load = cs_load_standard};
    memcpy(loader, &standard, sizeof standard);
    cs_value_record(&argument, &cs_record_loader, loader);
    cs_object_push(L, CS_OBJECT_LOADER, loader);
    return 1;
}

/* ---- cs.backend ---- */

struct backend_fields {
    const char *name;
    struct cs_rounding rounds;
    const struct cs_step *steps;
    size_t n_steps;
};

enum { MOST_MULTIPLE = 1 << 20 };
/* clang-format off */
static const struct cs_field rounds_fields[] = {
    {CS_INTEGER_ROW("intermediate", struct cs_rounding, intermediate, 0, MOST_MULTIPLE, "multiple of the intermediate size of a rank; 0: as it is"), CS_DEFAULT("0")},
    {CS_INTEGER_ROW("hidden", struct cs_rounding, hidden, 0, MOST_MULTIPLE, "multiple of the hidden size; 0: as it is"), CS_DEFAULT("0")},
};
/* clang-format on */
static const struct cs_record rounds_record = CS_RECORD("cs.Rounds", rounds_fields, struct cs_rounding, NULL);
static const struct cs_record step_record = {.size = sizeof(struct cs_step)};

static void read_rounds(const struct cs_value *value, void *structure) {
    cs_value_record(value, &rounds_record, &((struct backend_fields *)structure)->rounds);
}

/* The rows that a back end has, and a method that brings its own: `S` begins with a struct backend_fields. */
#define ROUNDS_ROW                                                                                                     \
    {                                                                                                                  \
        CS_CUSTOM_ROW("rounds", read_rounds, "cs.Rounds", "what it rounds sizes up to"), CS_DEFAULT("`{}`"),           \
            CS_TABLES_OF(&rounds_record)                                                                               \
    }
#define STEPS_ROW                                                                                                      \
    CS_OBJECTS_ROW("steps", struct backend_fields, steps, n_steps, CS_OBJECT_STEP, &step_record,                       \
                   "its post-load: `cs.relayout`, `cs.replace` …")

static void check_backend(const struct cs_value *value, void *structure) {
    bool is_taken = false;
    const char *name = ((const struct backend_fields *)structure)->name;
    for (size_t i = 0; i < cs_n_backends; i++) is_taken = is_taken || cs_text_equal(cs_backends[i].name, name);
    check_own_name(value, name, is_taken);
}

static const struct cs_field backend_fields[] = {
    {CS_TEXT_ROW("name", struct backend_fields, name, "for reports"), CS_REQUIRED},
    ROUNDS_ROW,
    {STEPS_ROW, CS_REQUIRED},
};
const struct cs_record cs_record_backend =
    CS_RECORD("cs.Backend.Fields", backend_fields, struct backend_fields, check_backend);

static struct cs_backend *make_backend(lua_State *L, const struct backend_fields *fields) {
    struct cs_backend *backend = CS_SCRIPT_NEW(L, struct cs_backend, 1);
    size_t *n_steps = CS_SCRIPT_NEW(L, size_t, 1);
    *n_steps = fields->n_steps;
    const struct cs_backend made = {.method = "",
                                    .name = fields->name,
                                    .upstream = "", /* known to no engine */
                                    .released = fields->rounds,
                                    .steps = fields->steps,
                                    .n_steps = n_steps};
    memcpy(backend, &made, sizeof made);
    return backend;
}

int cs_script_backend(lua_State *L) {
    struct cs_value argument = cs_value_argument(L, 1, "cs.backend");
    cs_value_last_argument(L, 1, "cs.backend");
    struct backend_fields fields = {0};
    cs_value_record(&argument, &cs_record_backend, &fields);
    cs_object_push(L, CS_OBJECT_BACKEND, make_backend(L, &fields));
    return 1;
}

/* ---- cs.method ---- */

#define PARAM struct cs_param_row

static void read_param_shape(const struct cs_value *value, void *structure) {
    ((PARAM *)structure)->shape = read_known_shape(value, 1);
}

static void read_param_dtype(const struct cs_value *value, void *structure) {
    ((PARAM *)structure)->dtype = cs_value_dtype(value);
}

static void read_param_created(const struct cs_value *value, void *structure) {
    static const char *const names[] = {"empty", "zeros", "ones"};
    static const enum cs_init inits[] = {CS_INIT_EMPTY, CS_INIT_ZEROS, CS_INIT_ONES};
    ((PARAM *)structure)->init = inits[cs_value_word(value, names, CS_COUNT(names))];
}

static void read_param_when(const struct cs_value *value, void *structure) {
    ((PARAM *)structure)->when = read_conditions(value);
}

static const struct cs_field param_fields[] = {
    {CS_TEXT_ROW("name", PARAM, name, "such as `w13_weight`"), CS_REQUIRED},
    {CS_CUSTOM_ROW("shape", read_param_shape, SHAPE_TYPE,
                   "an extent or a list of them, as in models; also `S` (2 if gated, else 1), `G` (group), `B` (bits), "
                   "`P` (elements of a word of 32 bits), `Bn` `Bk` (block)"),
     CS_REQUIRED_AS("a shape such as { \"E\", \"S*I\", \"H\" }")},
    {CS_CUSTOM_ROW("dtype", read_param_dtype, "cs.Dtype", "of its elements"),
     CS_REQUIRED_AS("a dtype such as \"bf16\"")},
    {CS_CUSTOM_ROW("created", read_param_created, "\"empty\"|\"zeros\"|\"ones\"",
                   "what `create_weights` writes, and padding must hold"),
     CS_DEFAULT("`\"empty\"`")},
    {CS_FLAG_ROW("scale", PARAM, is_scale, "`true`: reports call its payload scale"), CS_DEFAULT("`false`")},
    {CS_CUSTOM_ROW("when", read_param_when, CONDITION_TYPE, "what layers must be like to have it"), CS_DEFAULT("`{}`")},
};
static const struct cs_record param_record = CS_RECORD("cs.Method.Param", param_fields, PARAM, NULL);

struct method_fields {
    struct backend_fields backend; /* first, for ROUNDS_ROW and STEPS_ROW */
    struct cs_own_method own;
};

/* Names, or the scenario's own. */
static void read_loaders(const struct cs_value *value, void *structure) {
    struct cs_own_method *own = &((struct method_fields *)structure)->own;
    lua_State *L = value->L;
    size_t n = cs_value_list(value);
    if (n == 0) cs_value_refuse(value, "found an empty list, expected at least one loader");
    const char **names = CS_SCRIPT_NEW(L, const char *, n + 1);
    const LOADER **loaders = CS_SCRIPT_NEW(L, const LOADER *, n);
    for (size_t i = 0; i < n; i++) {
        struct cs_value item = cs_value_item(value, (lua_Integer)i + 1);
        const LOADER *loader = cs_object_test(L, item.at, CS_OBJECT_LOADER);
        if (!loader && !cs_value_is(&item, LUA_TSTRING)) cs_value_fail(&item, "a loader's name, or cs.loader { … }");
        names[i] = loader ? loader->name : cs_value_text(&item);
        if (loader) loaders[own->n_loaders++] = loader;
        lua_pop(L, 1);
    }
    own->method.loaders = names;
    own->loaders = loaders;
}

static void read_usual(const struct cs_value *value, void *structure) {
    struct cs_quant *usual = &((struct method_fields *)structure)->own.method.usual;
    struct cs_layer_settings said = {0};
    cs_read_quantization(value, &said);
    if (said.block[0] != said.block[1]) {
        struct cs_value block;
        cs_value_field(value, "block", &block);
        cs_value_fail(&block, "a square block");
    }
    *usual = (struct cs_quant){.bits = said.bits, .group = said.group, .block = said.block[0], .options = said.on};
}

static void check_method(const struct cs_value *value, void *structure) {
    const struct cs_method *method = &((const struct method_fields *)structure)->own.method;
    check_own_name(value, method->name, cs_method_by_name(method->name) != NULL);
    struct cs_value params;
    cs_value_field(value, "params", &params);
    if (method->n_params == 0) cs_value_refuse(&params, "found an empty list, expected at least one parameter");
    lua_pop(value->L, 1);
}

/* clang-format off */
static const struct cs_field method_fields[] = {
    {CS_TEXT_ROW("name", struct method_fields, own.method.name, "for reports"), CS_REQUIRED},
    {CS_RECORDS_ROW("params", struct method_fields, own.method.params, own.method.n_params, &param_record, "its parameters, in order"), CS_REQUIRED},
    {CS_CUSTOM_ROW("loaders", read_loaders, "(cs.Loader|cs.OwnLoader)[]", "who fills them: names or `cs.loader`; the first unless a scenario names another"), CS_REQUIRED_AS("a list of loaders")},
    {CS_CUSTOM_ROW("quantization", read_usual, "cs.Quantization", "what scenarios may change with their `quantization`"), CS_DEFAULT("`{}`"), CS_TABLES_OF(&cs_record_quantization)},
    {CS_FLAG_ROW("online", struct method_fields, own.method.is_online, "`true`: parameters are born on the meta device, and processed when they are complete"), CS_DEFAULT("`false`")},
    ROUNDS_ROW,
    {STEPS_ROW, CS_DEFAULT("no post-load, unless the scenario names a `cs.backend`")},
};
/* clang-format on */
const struct cs_record cs_record_method =
    CS_RECORD("cs.Method.Fields", method_fields, struct method_fields, check_method);

int cs_script_method(lua_State *L) {
    struct cs_value argument = cs_value_argument(L, 1, "cs.method");
    cs_value_last_argument(L, 1, "cs.method");
    struct method_fields fields = {0};
    const struct cs_method blank = {.text = "a scenario's own"};
    memcpy(&fields.own.method, &blank, sizeof blank);
    cs_value_record(&argument, &cs_record_method, &fields);
    fields.backend.name = fields.own.method.name;
    struct cs_own_method *own = CS_SCRIPT_NEW(L, struct cs_own_method, 1);
    memcpy(own, &fields.own, sizeof *own);
    own->backend = make_backend(L, &fields.backend);
    cs_object_push(L, CS_OBJECT_METHOD, own);
    return 1;
}
