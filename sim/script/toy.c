/* cs.toy: a model of one module whose loader calls are spelled out. */
#include "sim/script/fields.h"

/* What the table says, before it becomes a cs_model_config. */
struct toy {
    const struct cs_template_tensor *params;
    size_t n_params, n_steps, n_loads;
    const struct cs_step *steps;
    const struct cs_toy_load *loads;
    bool processes_while_loading;
};

#define EXTENTS "integer|integer[]"
#define A_LIST  "a number or a list of numbers"

/* ---- parameters ---- */

static void read_shape(const struct cs_value *value, void *structure) {
    struct cs_extents extents = {0};
    cs_value_extents(value, &extents);
    const char *text = "";
    for (int i = 0; i < extents.ndim; i++) {
        lua_pushfstring(value->L, "%s%s%I", text, i ? " " : "", (LUAI_UACINT)extents.items[i]);
        text = cs_script_copy(value->L, lua_tostring(value->L, -1));
        lua_pop(value->L, 1);
    }
    ((struct cs_template_tensor *)structure)->shape = text;
}

static int count_dimensions(const char *shape) {
    int n = 1;
    for (; *shape; shape++) n += *shape == ' ';
    return n;
}

static void read_registered(const struct cs_value *value, void *structure) {
    ((struct cs_template_tensor *)structure)->is_unregistered = !cs_value_flag(value);
}

static void read_numel(const struct cs_value *value, void *structure) {
    ((struct cs_template_tensor *)structure)->has_numel = true;
    ((struct cs_template_tensor *)structure)->numel = cs_value_integer(value, 0, INT64_MAX);
}

static const struct cs_field param_fields[] = {
    CS_TENSOR_ROWS,
    {CS_CUSTOM_ROW("shape", read_shape, EXTENTS, "extents"), CS_REQUIRED_AS(A_LIST)},
    {CS_CUSTOM_ROW("weight_loader_numel", read_numel, "integer", "elements that count, instead of all")},
    {CS_CUSTOM_ROW("registered", read_registered, "boolean", "`false`: the module does not know it"),
     CS_DEFAULT("`true`")},
};
static const struct cs_record param_record =
    CS_RECORD("cs.Toy.Param", param_fields, struct cs_template_tensor, cs_check_tensor);

/* ---- loader calls ---- */

static void read_extents(const struct cs_value *value, int64_t *items) {
    struct cs_extents extents = {0};
    cs_value_extents(value, &extents);
    for (int i = 0; i < CS_NDIM; i++) items[i] = extents.items[i];
}

static void read_box_start(const struct cs_value *value, void *box) {
    read_extents(value, ((struct cs_toy_box *)box)->start);
}
static void read_box_length(const struct cs_value *value, void *box) {
    read_extents(value, ((struct cs_toy_box *)box)->length);
}

static const struct cs_field box_fields[] = {
    {CS_CUSTOM_ROW("at", read_box_start, EXTENTS, "where it starts"), CS_DEFAULT("0 everywhere")},
    {CS_CUSTOM_ROW("shape", read_box_length, EXTENTS, "extents"), CS_REQUIRED_AS(A_LIST)},
};
static const struct cs_record box_record = CS_RECORD("cs.Toy.Box", box_fields, struct cs_toy_box, NULL);

#define CALL struct cs_toy_call

static void read_call_start(const struct cs_value *value, void *call) {
    read_extents(value, ((CALL *)call)->write.start);
}
static void read_call_length(const struct cs_value *value, void *call) {
    read_extents(value, ((CALL *)call)->write.length);
}

static void read_value(const struct cs_value *value, void *structure) {
    double *number = CS_SCRIPT_NEW(value->L, double, 1);
    *number = cs_value_number(value);
    ((CALL *)structure)->values = number;
    ((CALL *)structure)->n_values = 1;
}

static void check_n_values(const struct cs_value *field, const CALL *call) {
    struct cs_value shape;
    cs_value_field(field->owner, "shape", &shape);
    struct cs_extents extents = {0};
    cs_value_extents(&shape, &extents);
    int64_t n = 1;
    for (int i = 0; i < extents.ndim; i++)
        if (!cs_multiply(n, extents.items[i], &n)) cs_value_refuse(&shape, "found too many elements");
    lua_pop(field->L, 1);
    if (cs_value_is(field, LUA_TTABLE) && (int64_t)call->n_values != n)
        cs_value_refuse(field, "found %zu numbers, expected %" PRId64 " as in shape", call->n_values, n);
}

static void check_call(const struct cs_value *value, void *structure) {
    CALL *call = structure;
    call->line = cs_script_line(value->L);
    call->has_write = call->values != NULL;
    struct cs_value one, many, shape;
    bool has_one = cs_value_field(value, "value", &one), has_many = cs_value_field(value, "values", &many);
    bool has_shape = cs_value_field(value, "shape", &shape);
    if (has_one && has_many) cs_value_fail(&many, "nothing beside value");
    if (!call->has_write && call->n_marks == 0) cs_value_refuse(value, "found neither value, values nor marks");
    if (call->has_write && !has_shape) cs_value_fail(&shape, "a number or a list of numbers");
    if (call->has_write) check_n_values(has_many ? &many : &one, call);
    lua_pop(value->L, 3);
}

static const struct cs_field call_fields[] = {
    {CS_TEXT_ROW("param", CALL, param, "the parameter that the loader is given"), CS_REQUIRED},
    {CS_CUSTOM_ROW("at", read_call_start, EXTENTS, "where the box that it writes starts"), CS_DEFAULT("0 everywhere")},
    {CS_CUSTOM_ROW("shape", read_call_length, EXTENTS, "extents of that box"), CS_DEFAULT("writes nothing")},
    {CS_CUSTOM_ROW("value", read_value, "number", "one number, written everywhere in the box")},
    {CS_NUMBERS_ROW("values", CALL, values, n_values, "a number for each element of the box, row by row, instead")},
    {CS_RECORDS_ROW("marks", CALL, marks, n_marks, &box_record, "boxes that are padding"), CS_DEFAULT("`{}`")},
    {CS_RECORDS_ROW("zeros", CALL, zeros, n_zeros, &box_record,
                    "boxes that the loader zeroes itself, without a word to those who record padding"),
     CS_DEFAULT("`{}`")},
    {CS_FLAG_ROW("concatenates", CALL, concatenates,
                 "`true`: zeros are copied behind what the loader read, so that they count; else they are filled in"),
     CS_DEFAULT("`false`")},
    {CS_FLAG_ROW("through_view", CALL, through_view, "`true`: the loader is given only a view of the parameter"),
     CS_DEFAULT("`false`")},
    {CS_FLAG_ROW("on_plain", CALL, on_plain, "`true`: the mark is for a plain copy of the parameter"),
     CS_DEFAULT("`false`")},
};
static const struct cs_record call_record = CS_RECORD("cs.Toy.Call", call_fields, CALL, check_call);

/* ---- loads ---- */

static void check_box(const struct cs_value *box, int ndim) {
    static const char *const keys[] = {"at", "shape"};
    for (size_t i = 0; i < CS_COUNT(keys); i++) {
        struct cs_value field;
        struct cs_extents extents = {0};
        if (cs_value_field(box, keys[i], &field)) {
            cs_value_extents(&field, &extents);
            if (extents.ndim != ndim)
                cs_value_refuse(&field, "found %d dimensions, expected %d as in the parameter", extents.ndim, ndim);
        }
        lua_pop(box->L, 1);
    }
}

static const struct cs_template_tensor *find_param(const struct cs_value *call, const struct toy *toy,
                                                   const char *name) {
    const char **names = CS_SCRIPT_NEW(call->L, const char *, toy->n_params);
    for (size_t i = 0; i < toy->n_params; i++) {
        names[i] = toy->params[i].name;
        if (cs_text_equal(names[i], name)) return &toy->params[i];
    }
    struct cs_value field;
    cs_value_field(call, "param", &field);
    cs_value_fail_word(&field, name, names, toy->n_params);
}

static void check_boxes(const struct cs_value *call, const struct toy *toy, const CALL *read) {
    lua_State *L = call->L;
    int ndim = count_dimensions(find_param(call, toy, read->param)->shape);
    check_box(call, ndim);
    struct cs_value marks;
    cs_value_field(call, "marks", &marks);
    for (size_t i = 0; i < read->n_marks; i++) {
        struct cs_value mark = cs_value_item(&marks, (lua_Integer)i + 1);
        check_box(&mark, ndim);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}

static void read_load(const struct cs_value *value, const struct toy *toy, struct cs_toy_load *load) {
    load->calls = cs_value_records(value, &call_record, NULL, &load->n_calls);
    for (size_t i = 0; i < load->n_calls; i++) {
        struct cs_value call = cs_value_item(value, (lua_Integer)i + 1);
        check_boxes(&call, toy, &load->calls[i]);
        lua_pop(value->L, 1);
    }
}

/* Comes after params in the rows: names and dimensions are checked here. */
static void read_loads(const struct cs_value *value, void *structure) {
    struct toy *toy = structure;
    struct cs_value params;
    cs_value_field(value->owner, "params", &params);
    if (toy->n_params == 0) cs_value_refuse(&params, "found an empty list, expected at least one parameter");
    lua_pop(value->L, 1);
    const char *const *names = cs_value_keys(value, &toy->n_loads);
    struct cs_toy_load *loads = CS_SCRIPT_NEW(value->L, struct cs_toy_load, toy->n_loads);
    for (size_t i = 0; i < toy->n_loads; i++) {
        struct cs_value load;
        cs_value_field(value, names[i], &load);
        loads[i].checkpoint = names[i];
        read_load(&load, toy, &loads[i]);
        lua_pop(value->L, 1);
    }
    toy->loads = loads;
}

static const struct cs_record step_record = {.size = sizeof(struct cs_step)};

#define TOY struct toy
static const struct cs_field toy_fields[] = {
    {CS_RECORDS_ROW("params", TOY, params, n_params, &param_record, "its parameters"), CS_REQUIRED},
    {CS_CUSTOM_ROW("loads", read_loads, "table<string, cs.Toy.Call[]>",
                   "for each checkpoint name a list of loader calls"),
     CS_REQUIRED_AS("a table of checkpoint names and lists of loader calls"), CS_TABLES_OF(&call_record)},
    {CS_OBJECTS_ROW("post_load", TOY, steps, n_steps, CS_OBJECT_STEP, &step_record, "steps such as `cs.relayout`"),
     CS_DEFAULT("`{}`")},
    {CS_FLAG_ROW("post_load_while_loading", TOY, processes_while_loading,
                 "`true`: post-load runs as soon as every tensor arrived"),
     CS_DEFAULT("`false`")},
};
const struct cs_record cs_record_toy = CS_RECORD("cs.Toy.Fields", toy_fields, TOY, NULL);

int cs_script_toy(lua_State *L) {
    struct cs_value argument = cs_value_argument(L, 1, "cs.toy");
    struct toy toy = {0};
    cs_value_record(&argument, &cs_record_toy, &toy);
    struct cs_module_template *module = CS_SCRIPT_NEW(L, struct cs_module_template, 1);
    *module = (struct cs_module_template){.name = "toy", .n_tensors = toy.n_params, .tensors = toy.params};
    struct cs_model_config *model = CS_SCRIPT_NEW(L, struct cs_model_config, 1);
    *model = (struct cs_model_config){
        .name = "toy",
        .layers = 1,
        .prefix = "",
        .n_templates = 1,
        .templates = module,
        .is_toy = true,
        .n_toy_loads = toy.n_loads,
        .toy_loads = toy.loads,
        .n_toy_steps = toy.n_steps,
        .toy_steps = toy.steps,
        .toy_processes_while_loading = toy.processes_while_loading,
    };
    cs_object_push(L, CS_OBJECT_MODEL, model);
    return 1;
}
