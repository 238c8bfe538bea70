/* Post-load steps: cs.relayout, cs.map, … */
#include <string.h>

#include "sim/script/fields.h"

static struct cs_step *push_step(lua_State *L, enum cs_step_kind kind) {
    struct cs_step *step = CS_SCRIPT_NEW(L, struct cs_step, 1);
    step->kind = kind;
    cs_script_push_place(L, 0);
    step->place = cs_script_copy(L, lua_tostring(L, -1));
    lua_pop(L, 1);
    cs_object_push(L, CS_OBJECT_STEP, step);
    return step;
}

/* Begins a step of at most `n` arguments, the first of which names the value: "cs.cast.param". */
static struct cs_step *begin(lua_State *L, enum cs_step_kind kind, int n, const char *function) {
    cs_value_last_argument(L, n, function);
    lua_settop(L, n);
    return push_step(L, kind);
}

static const char *text_argument(lua_State *L, int index, const char *name) {
    struct cs_value value = cs_value_argument(L, index, name);
    return cs_value_text(&value);
}

static enum cs_dtype dtype_argument(lua_State *L, int index, const char *name) {
    struct cs_value value = cs_value_argument(L, index, name);
    return cs_value_dtype(&value);
}

static int64_t integer_argument(lua_State *L, int index, const char *name, int64_t least, int64_t most) {
    struct cs_value value = cs_value_argument(L, index, name);
    return cs_value_integer(&value, least, most);
}

static float f32_argument(lua_State *L, int index, const char *name) {
    struct cs_value value = cs_value_argument(L, index, name);
    float number = (float)cs_value_number(&value);
    if (number - number != 0) cs_value_fail(&value, "a number that fits f32");
    return number;
}

static const char *program_argument(lua_State *L, int index, const char *name) {
    struct cs_value value = cs_value_argument(L, index, name);
    const char *text = cs_value_text(&value);
    struct cs_program program;
    struct cs_program_name names[CS_PROGRAM_OPERANDS];
    if (cs_program_parse(text, &program, names) != CS_OK) cs_value_refuse(&value, "%s", cs_error_text());
    return text;
}

/* One path, and the NULL at the end. */
static const char *const *path_argument(lua_State *L, const char *name) {
    const char **paths = CS_SCRIPT_NEW(L, const char *, 2);
    paths[0] = text_argument(L, 1, name);
    return paths;
}

/* ---- bytes ---- */

/* A name, or the scenario's own. */
static void read_layout(lua_State *L, int index, struct cs_step *step, int at) {
    const struct cs_layout *own = cs_object_test(L, index, CS_OBJECT_LAYOUT);
    struct cs_value value = cs_value_argument(L, index, "cs.relayout.layout");
    if (!own && !cs_value_is(&value, LUA_TSTRING)) cs_value_fail(&value, "a layout's name, or cs.layout { … }");
    step->own[at] = own;
    step->chain[at] = own ? own->name : cs_value_text(&value);
    if (own || cs_layout_by_name(step->chain[at])) return;
    const char **names = CS_SCRIPT_NEW(L, const char *, cs_n_layouts);
    for (size_t i = 0; i < cs_n_layouts; i++) names[i] = cs_layouts[i].name;
    const char *nearest = cs_text_nearest(step->chain[at], names, cs_n_layouts);
    if (nearest) cs_value_fail(&value, "\"%s\"", nearest);
    cs_value_fail(&value, "a name that `coldstart list layouts` shows");
}

int cs_script_relayout(lua_State *L) {
    int n = lua_gettop(L);
    cs_value_last_argument(L, 1 + CS_CHAIN, "cs.relayout");
    lua_settop(L, n < 2 ? 2 : n);
    struct cs_step *step = push_step(L, CS_STEP_RELAYOUT);
    step->param = text_argument(L, 1, "cs.relayout.param");
    for (int i = 0; i == 0 || i + 1 < n; i++) read_layout(L, i + 2, step, i);
    return 1;
}

int cs_script_cast(lua_State *L) {
    struct cs_step *step = begin(L, CS_STEP_CAST, 2, "cs.cast");
    step->param = text_argument(L, 1, "cs.cast.param");
    step->dtype = dtype_argument(L, 2, "cs.cast.dtype");
    return 1;
}

int cs_script_view(lua_State *L) {
    struct cs_step *step = begin(L, CS_STEP_VIEW, 2, "cs.view");
    step->param = text_argument(L, 1, "cs.view.param");
    step->dtype = dtype_argument(L, 2, "cs.view.dtype");
    return 1;
}

int cs_script_reshape(lua_State *L) {
    struct cs_step *step = begin(L, CS_STEP_RESHAPE, 2, "cs.reshape");
    step->param = text_argument(L, 1, "cs.reshape.param");
    step->text = text_argument(L, 2, "cs.reshape.shape");
    return 1;
}

int cs_script_select(lua_State *L) {
    struct cs_step *step = begin(L, CS_STEP_SELECT, 4, "cs.select");
    step->param = text_argument(L, 1, "cs.select.value");
    step->from = text_argument(L, 2, "cs.select.param");
    step->dim = (int)integer_argument(L, 3, "cs.select.dimension", 0, CS_NDIM - 1);
    step->at = integer_argument(L, 4, "cs.select.index", 0, INT64_MAX);
    return 1;
}

int cs_script_take(lua_State *L) {
    struct cs_step *step = begin(L, CS_STEP_TAKE, 2, "cs.take");
    step->param = text_argument(L, 1, "cs.take.value");
    step->from = text_argument(L, 2, "cs.take.param");
    return 1;
}

int cs_script_transpose(lua_State *L) {
    struct cs_step *step = begin(L, CS_STEP_TRANSPOSE, 1, "cs.transpose");
    step->param = text_argument(L, 1, "cs.transpose.param");
    return 1;
}

int cs_script_pad(lua_State *L) {
    enum { MOST_MULTIPLE = 1 << 20 };
    static const char *const parts[] = {"whole", "halves"};
    struct cs_step *step = begin(L, CS_STEP_PAD, 5, "cs.pad");
    step->param = text_argument(L, 1, "cs.pad.param");
    step->multiple[0] = integer_argument(L, 2, "cs.pad.rows", 1, MOST_MULTIPLE);
    step->multiple[1] = integer_argument(L, 3, "cs.pad.columns", 1, MOST_MULTIPLE);
    if (!lua_isnil(L, 4)) step->value = f32_argument(L, 4, "cs.pad.number");
    struct cs_value part = cs_value_argument(L, 5, "cs.pad.parts");
    step->by_halves = !lua_isnil(L, 5) && cs_value_word(&part, parts, CS_COUNT(parts)) == 1;
    return 1;
}

/* ---- arithmetic ---- */

int cs_script_map(lua_State *L) {
    struct cs_step *step = begin(L, CS_STEP_MAP, 4, "cs.map");
    step->param = text_argument(L, 1, "cs.map.value");
    step->dtype = dtype_argument(L, 2, "cs.map.dtype");
    step->text = program_argument(L, 3, "cs.map.program");
    if (!lua_isnil(L, 4)) step->shape = text_argument(L, 4, "cs.map.shape");
    return 1;
}

int cs_script_update(lua_State *L) {
    struct cs_step *step = begin(L, CS_STEP_UPDATE, 2, "cs.update");
    step->param = text_argument(L, 1, "cs.update.param");
    step->text = program_argument(L, 2, "cs.update.program");
    return 1;
}

int cs_script_maximum(lua_State *L) {
    struct cs_step *step = begin(L, CS_STEP_MAXIMUM, 4, "cs.maximum");
    step->param = text_argument(L, 1, "cs.maximum.value");
    step->dtype = dtype_argument(L, 2, "cs.maximum.dtype");
    step->shape = text_argument(L, 3, "cs.maximum.shape");
    step->text = program_argument(L, 4, "cs.maximum.program");
    return 1;
}

int cs_script_call(lua_State *L) {
    struct cs_step *step = begin(L, CS_STEP_CALL, 1, "cs.call");
    struct cs_value name = cs_value_argument(L, 1, "cs.call");
    const char *text = cs_value_text(&name);
    step->table = cs_step_table_by_name(text);
    if (step->table) return 1;
    const char **names = CS_SCRIPT_NEW(L, const char *, cs_n_step_tables);
    for (size_t i = 0; i < cs_n_step_tables; i++) names[i] = cs_step_tables[i]->name;
    const char *nearest = cs_text_nearest(text, names, cs_n_step_tables);
    if (nearest) cs_value_fail(&name, "\"%s\"", nearest);
    cs_value_fail(&name, "a name that `coldstart list tables` shows");
}

/* ---- what ends a post-load ---- */

int cs_script_replace(lua_State *L) {
    struct cs_step *step = begin(L, CS_STEP_REPLACE, 1, "cs.replace");
    step->param = text_argument(L, 1, "cs.replace.param");
    return 1;
}

int cs_script_empty(lua_State *L) {
    struct cs_step *step = begin(L, CS_STEP_EMPTY, 1, "cs.empty");
    step->param = text_argument(L, 1, "cs.empty.param");
    return 1;
}

int cs_script_config(lua_State *L) {
    struct cs_step *step = begin(L, CS_STEP_CONFIG, 2, "cs.config");
    step->paths = path_argument(L, "cs.config.path");
    step->param = text_argument(L, 2, "cs.config.param");
    return 1;
}

/* ---- side tensors ---- */

static enum cs_keep keep_argument(lua_State *L, int index, const char *name) {
    static const char *const names[] = {"anew", "once", "in_place"};
    struct cs_value value = cs_value_argument(L, index, name);
    return lua_isnoneornil(L, index) ? CS_MADE_ANEW : (enum cs_keep)cs_value_word(&value, names, CS_COUNT(names));
}

int cs_script_derived(lua_State *L) {
    struct cs_step *step = begin(L, CS_STEP_DERIVE, 3, "cs.derived");
    step->paths = path_argument(L, "cs.derived.path");
    step->param = text_argument(L, 2, "cs.derived.value");
    step->keep = keep_argument(L, 3, "cs.derived.made");
    return 1;
}

int cs_script_closure(lua_State *L) {
    struct cs_step *step = begin(L, CS_STEP_DERIVE, 3, "cs.closure");
    step->paths = path_argument(L, "cs.closure.name");
    step->param = text_argument(L, 2, "cs.closure.value");
    step->keep = keep_argument(L, 3, "cs.closure.made");
    step->is_hidden = true;
    return 1;
}

int cs_script_cache(lua_State *L) {
    struct cs_step *step = begin(L, CS_STEP_CONSTANT, 2, "cs.cache");
    step->paths = path_argument(L, "cs.cache.path");
    step->param = step->paths[0];
    step->value = f32_argument(L, 2, "cs.cache.value");
    step->keep = CS_MADE_ONCE;
    return 1;
}

int cs_script_constant(lua_State *L) {
    struct cs_step *step = begin(L, CS_STEP_CONSTANT, 2, "cs.constant");
    step->paths = path_argument(L, "cs.constant.path");
    step->param = step->paths[0];
    step->value = f32_argument(L, 2, "cs.constant.value");
    return 1;
}
