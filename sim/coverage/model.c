/* Axes from the registries, rules from coverage/model.h, and what they say about a cell. */
#include "coverage/model.h"

#include <string.h>

#include "sim/coverage/internal.h"

/* ---- axes ---- */

static enum cs_status add_value(struct cs_coverage_model *model, enum cs_path_axis axis, const char *name) {
    struct cs_path_axis_values *values = &model->axis[axis];
    for (size_t i = 0; i < values->n; i++)
        if (cs_text_equal(values->values[i], name)) return CS_OK;
    CS_REQUIRE(values->n < CS_PATH_VALUES, CS_BAD_VALUE, "axis %s has more than %d values", values->name,
               CS_PATH_VALUES);
    values->values[values->n++] = name;
    return CS_OK;
}

struct cs_coverage_registries cs_coverage_own_registries(void) {
    return (struct cs_coverage_registries){.n_loaders = cs_n_loaders,
                                           .loaders = cs_loaders,
                                           .n_methods = cs_n_methods,
                                           .methods = cs_methods,
                                           .n_backends = cs_n_backends,
                                           .backends = cs_backends,
                                           .n_drivers = cs_n_drivers,
                                           .drivers = cs_drivers};
}

static enum cs_status add_values(struct cs_coverage_model *model, enum cs_path_axis axis, const char *const *names,
                                 size_t n) {
    for (size_t i = 0; i < n; i++) CS_TRY(add_value(model, axis, names[i]));
    return CS_OK;
}

static enum cs_status fill_axes(struct cs_coverage_model *model) {
#define X(name) name,
    static const char *const before[] = {CS_COVERAGE_BEFORE(X)}, *const sharding[] = {CS_COVERAGE_SHARDING(X)},
                             *const arrival[] = {CS_COVERAGE_ARRIVAL(X)};
#undef X
    const struct cs_coverage_registries *from = &model->from;
    for (size_t i = 0; i < from->n_loaders; i++) CS_TRY(add_value(model, CS_PATH_loader, from->loaders[i]->name));
    CS_TRY(add_value(model, CS_PATH_loader, "none"));
    for (size_t i = 0; i < from->n_methods; i++) CS_TRY(add_value(model, CS_PATH_method, from->methods[i]->name));
    for (size_t i = 0; i < from->n_backends; i++) CS_TRY(add_value(model, CS_PATH_backend, from->backends[i].name));
    for (size_t i = 0; i < from->n_drivers; i++) CS_TRY(add_value(model, CS_PATH_driver, from->drivers[i]->name));
    CS_TRY(add_values(model, CS_PATH_before, before, CS_COUNT(before)));
    CS_TRY(add_values(model, CS_PATH_sharding, sharding, CS_COUNT(sharding)));
    for (size_t i = 0; i < cs_n_policies; i++) CS_TRY(add_value(model, CS_PATH_policy, cs_policies[i].name));
    CS_TRY(add_values(model, CS_PATH_arrival, arrival, CS_COUNT(arrival)));
    for (size_t i = 0; i < cs_n_devices; i++) CS_TRY(add_value(model, CS_PATH_device, cs_devices[i]->name));
    return CS_OK;
}

/* Who belongs to whom, as tables: cells ask often. A load without a loader goes with every method. */
static enum cs_status relate(struct cs_coverage_model *model, struct cs_arena *arena) {
    model->backend_at = cs_arena_alloc(arena, CS_PATH_VALUES, sizeof *model->backend_at);
    model->loads = cs_arena_alloc(arena, CS_PATH_VALUES, sizeof *model->loads);
    CS_REQUIRE(model->backend_at && model->loads, CS_NO_MEMORY, "out of memory for the coverage model");
    memset(model->backend_at, -1, CS_PATH_VALUES * sizeof *model->backend_at);
    for (size_t i = 0; i < model->from.n_backends; i++) {
        const struct cs_backend *backend = &model->from.backends[i];
        int method = cs_path_value(model, CS_PATH_method, backend->method);
        CS_REQUIRE(method >= 0, CS_BAD_VALUE, "back end %s: no method \"%s\"", backend->name, backend->method);
        model->backend_at[method][cs_path_value(model, CS_PATH_backend, backend->name)] = (int16_t)i;
    }
    for (size_t m = 0; m < model->from.n_methods; m++) {
        model->loads[m][cs_path_value(model, CS_PATH_loader, "none")] = true;
        for (const char *const *name = model->from.methods[m]->loaders; *name; name++) {
            int loader = cs_path_value(model, CS_PATH_loader, *name);
            if (loader >= 0) model->loads[m][loader] = true;
        }
    }
    return CS_OK;
}

int cs_path_value(const struct cs_coverage_model *model, enum cs_path_axis axis, const char *name) {
    for (size_t i = 0; i < model->axis[axis].n; i++)
        if (cs_text_equal(model->axis[axis].values[i], name)) return (int)i;
    return -1;
}

/* ---- questions to the registries ---- */

const struct cs_method *cs_path_method(const struct cs_coverage_model *model, const struct cs_way *path) {
    return model->from.methods[path->value[CS_PATH_method]];
}

const struct cs_driver *cs_path_driver(const struct cs_coverage_model *model, const struct cs_way *path) {
    return model->from.drivers[path->value[CS_PATH_driver]];
}

const struct cs_backend *cs_path_backend(const struct cs_coverage_model *model, const struct cs_way *path) {
    int row = model->backend_at[path->value[CS_PATH_method]][path->value[CS_PATH_backend]];
    return row < 0 ? NULL : &model->from.backends[row];
}

const struct cs_loader *cs_path_other_form(const struct cs_coverage_model *model, const struct cs_way *path) {
    size_t wanted = path->value[CS_PATH_loader];
    if (wanted >= model->from.n_loaders) return NULL;
    for (const char *const *name = cs_path_method(model, path)->loaders; *name; name++) {
        const struct cs_loader *form = cs_loader_by_name(*name), *loader = model->from.loaders[wanted];
        if (form && form != loader && cs_session_takes_form(loader, form)) return form;
    }
    return NULL;
}

static bool is_other_backend(const struct cs_coverage_model *model, const struct cs_way *path) {
    return !cs_path_backend(model, path);
}

static bool has_no_post_load(const struct cs_coverage_model *model, const struct cs_way *path) {
    return !cs_path_backend(model, path)->steps;
}

static bool is_other_loader(const struct cs_coverage_model *model, const struct cs_way *path) {
    return !model->loads[path->value[CS_PATH_method]][path->value[CS_PATH_loader]];
}

static bool has_no_other_form(const struct cs_coverage_model *model, const struct cs_way *path) {
    return !cs_path_other_form(model, path);
}

/* Upstream looks every name up among the model's modules and parameters, but for models that keep their own table. */
static bool looks_names_up(const struct cs_coverage_model *model, const struct cs_way *path) {
    size_t loader = path->value[CS_PATH_loader];
    return loader < model->from.n_loaders && !model->from.loaders[loader]->keeps_parameters;
}

static bool is_start(const struct cs_coverage_model *model, const struct cs_way *path) {
    return cs_path_driver(model, path)->is_start;
}
static bool is_reload(const struct cs_coverage_model *model, const struct cs_way *path) {
    return !is_start(model, path);
}
static bool is_loaderless(const struct cs_coverage_model *model, const struct cs_way *path) {
    return cs_path_driver(model, path)->takes != CS_TAKES_CHECKPOINT;
}
static bool has_loader(const struct cs_coverage_model *model, const struct cs_way *path) {
    return !is_loaderless(model, path);
}
static bool is_per_bucket(const struct cs_coverage_model *model, const struct cs_way *path) {
    return cs_path_driver(model, path)->bucket != NULL;
}
static bool is_no_such_device(const struct cs_coverage_model *model, const struct cs_way *path) {
    return !model->has_device[path->value[CS_PATH_device]];
}

#define BIT(axis) (1u << CS_PATH_##axis)
static const struct {
    const char *word;
    unsigned axes;
    bool (*ask)(const struct cs_coverage_model *model, const struct cs_way *path);
} questions[] = {
    {"no_such_device", BIT(device), is_no_such_device},
    {"other_backend", BIT(method) | BIT(backend), is_other_backend},
    {"other_loader", BIT(method) | BIT(loader), is_other_loader},
    {"no_post_load", BIT(method) | BIT(backend), has_no_post_load},
    {"no_other_form", BIT(method) | BIT(loader), has_no_other_form},
    {"looks_names_up", BIT(loader), looks_names_up},
    {"start", BIT(driver), is_start},
    {"reload", BIT(driver), is_reload},
    {"loaderless", BIT(driver), is_loaderless},
    {"with_loader", BIT(driver), has_loader},
    {"per_bucket", BIT(driver), is_per_bucket},
};

/* ---- rules ---- */

/* "a|b*" against the values of an axis; every part must fit one, or the row is a slip of the pen. */
static enum cs_status read_values(struct cs_coverage_model *model, const char *text, size_t length,
                                  struct cs_cell_condition *condition) {
    const struct cs_path_axis_values *axis = &model->axis[condition->axis];
    for (const char *at = text, *end = text + length; at < end;) {
        size_t n = strcspn(at, "|");
        if (n > (size_t)(end - at)) n = (size_t)(end - at);
        char pattern[64];
        bool fits = false;
        CS_REQUIRE(n < sizeof pattern, CS_BAD_VALUE, "coverage/model.h: \"%s\" is too long", text);
        memcpy(pattern, at, n);
        pattern[n] = 0;
        for (size_t i = 0; i < axis->n; i++)
            if (cs_text_matches(pattern, axis->values[i])) fits = condition->is_one_of[i] = true;
        CS_REQUIRE(fits, CS_BAD_VALUE, "coverage/model.h: axis %s has no value \"%s\"", axis->name, pattern);
        at += n + 1;
    }
    return CS_OK;
}

static enum cs_status read_condition(struct cs_coverage_model *model, const char *word, size_t length,
                                     struct cs_cell_condition *condition) {
    for (size_t i = 0; i < CS_COUNT(questions); i++) {
        if (strlen(questions[i].word) != length || strncmp(questions[i].word, word, length) != 0) continue;
        condition->axes = questions[i].axes;
        condition->ask = questions[i].ask;
        return CS_OK;
    }
    const char *equals = memchr(word, '=', length);
    CS_REQUIRE(equals, CS_BAD_VALUE, "coverage/model.h: \"%.*s\" is no condition", (int)length, word);
    bool is_not = equals > word && equals[-1] == '!';
    size_t n = (size_t)(equals - word) - is_not;
    for (int a = 0; a < CS_N_PATH_AXES; a++) {
        const char *name = model->axis[a].name;
        if (strlen(name) != n || strncmp(name, word, n) != 0) continue;
        condition->axis = (enum cs_path_axis)a;
        condition->axes = 1u << a;
        CS_TRY(read_values(model, equals + 1, (size_t)(word + length - equals - 1), condition));
        for (size_t i = 0; i < CS_PATH_VALUES; i++) condition->is_one_of[i] ^= is_not;
        return CS_OK;
    }
    return cs_fail(CS_BAD_VALUE, "coverage/model.h: \"%.*s\": no such axis", (int)length, word);
}

static enum cs_status read_rule(struct cs_coverage_model *model, const char *text, struct cs_cell_rule *rule) {
    for (const char *at = text; *at; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        CS_REQUIRE(rule->n < CS_RULE_CONDITIONS, CS_BAD_VALUE, "coverage/model.h: too many conditions: %s", text);
        CS_TRY(read_condition(model, at, length, &rule->condition[rule->n]));
        rule->axes |= rule->condition[rule->n++].axes;
        at += length;
    }
    return CS_OK;
}

struct rule_row {
    enum cs_path_state state;
    const char *when, *reason;
};

static enum cs_status read_rules(struct cs_coverage_model *model, const struct rule_row *rows, size_t n,
                                 struct cs_arena *arena, struct cs_cell_rule **rules) {
    *rules = CS_NEW_ARRAY(arena, struct cs_cell_rule, n);
    CS_REQUIRE(*rules, CS_NO_MEMORY, "out of memory for the coverage model");
    for (size_t i = 0; i < n; i++) {
        (*rules)[i].state = rows[i].state;
        (*rules)[i].reason = rows[i].reason;
        CS_TRY(read_rule(model, rows[i].when, &(*rules)[i]));
    }
    return CS_OK;
}

enum cs_status cs_coverage_model(struct cs_coverage_model *model, const struct cs_coverage_registries *registries,
                                 struct cs_arena *arena) {
    static const struct rule_row rules[] =
        {
#define X(state, when, reason) {CS_PATH_##state, when, reason},
            CS_COVERAGE_RULES(X)
#undef X
        },
                                 refusals[] = {
#define X(when, reason) {CS_PATH_VALID, when, reason},
                                     CS_COVERAGE_REFUSALS(X)
#undef X
                                 };
    *model =
        (struct cs_coverage_model){.from = *registries, .n_rules = CS_COUNT(rules), .n_refusals = CS_COUNT(refusals)};
    for (size_t i = 0; i < cs_n_devices && i < CS_COUNT(model->has_device); i++)
        model->has_device[i] = i == 0 || cs_devices[i]->is_emulated; /* every machine has those */
    int a = 0;
#define X(name_, text_) model->axis[a].name = #name_, model->axis[a++].text = text_;
    CS_PATH_AXES(X)
#undef X
    CS_TRY(fill_axes(model));
    CS_TRY(relate(model, arena));
    CS_TRY(read_rules(model, rules, model->n_rules, arena, &model->rules));
    return read_rules(model, refusals, model->n_refusals, arena, &model->refusals);
}

static bool holds(const struct cs_coverage_model *model, const struct cs_cell_rule *rule, const struct cs_way *path) {
    for (size_t i = 0; i < rule->n; i++) {
        const struct cs_cell_condition *condition = &rule->condition[i];
        bool is_so = condition->ask ? condition->ask(model, path) : condition->is_one_of[path->value[condition->axis]];
        if (!is_so) return false;
    }
    return true;
}

const struct cs_cell_rule *cs_rule_of(const struct cs_coverage_model *model, const struct cs_way *path,
                                      unsigned known) {
    for (size_t i = 0; i < model->n_rules; i++) {
        const struct cs_cell_rule *rule = &model->rules[i];
        bool is_known = (rule->axes & known) == rule->axes;
        if (is_known && holds(model, rule, path)) return rule;
    }
    return NULL;
}

const char *cs_path_refusal(const struct cs_coverage_model *model, const struct cs_way *path) {
    for (size_t i = 0; i < model->n_refusals; i++)
        if (holds(model, &model->refusals[i], path)) return model->refusals[i].reason;
    return NULL;
}

/* ---- cells ---- */

struct search {
    const struct cs_coverage_model *model;
    struct cs_way path;
    const struct cs_cell_rule *ignored, *illegal; /* that stood in the way */
};

/* Whether the axes from `axis` on can be given values so that the path is valid. Rules that read the method's registry
 * rows come early, since axes are in the order of dependence: few dead ends. */
static bool extend(struct search *search, int axis, unsigned known) {
    const struct cs_cell_rule *rule = cs_rule_of(search->model, &search->path, known);
    if (rule) {
        if (rule->state == CS_PATH_IGNORED && !search->ignored) search->ignored = rule;
        if (rule->state == CS_PATH_ILLEGAL && !search->illegal) search->illegal = rule;
        return false;
    }
    while (axis < CS_N_PATH_AXES && known >> axis & 1) axis++;
    if (axis == CS_N_PATH_AXES) return true;
    for (size_t v = 0; v < search->model->axis[axis].n; v++) {
        search->path.value[axis] = (uint8_t)v;
        if (extend(search, axis + 1, known | 1u << axis)) return true;
    }
    return false;
}

const char *cs_path_state_name(enum cs_path_state state) {
    static const char *const names[] = {"valid", "ignored", "illegal"};
    return names[state];
}

enum cs_path_state cs_cell_judge(const struct cs_coverage_model *model, const struct cs_way *cell, const char **reason,
                                 struct cs_way *example) {
    struct search search = {.model = model, .path = *cell};
    unsigned known = 0;
    for (int a = 0; a < CS_N_PATH_AXES; a++)
        if (cell->value[a] != CS_PATH_ANY) known |= 1u << a;
    bool is_valid = extend(&search, 0, known);
    if (example && is_valid) *example = search.path;
    /* What is illegal on its own stays so; else somebody could have it, if not for what is ignored. */
    const struct cs_cell_rule *own = cs_rule_of(model, cell, known), *rule = own ? own : search.ignored;
    if (!rule) rule = search.illegal;
    *reason = is_valid ? NULL : rule->reason;
    return is_valid ? CS_PATH_VALID : rule->state;
}

enum cs_status cs_cell_parse(const struct cs_coverage_model *model, const char *text, struct cs_way *cell) {
    memset(cell, CS_PATH_ANY, sizeof *cell);
    CS_REQUIRE(*text, CS_BAD_VALUE, "\"\": a cell is AXIS=VALUE,AXIS=VALUE");
    for (const char *at = text; *at;) {
        size_t n = strcspn(at, ","), name = strcspn(at, "=");
        char word[128];
        CS_REQUIRE(name < n && n < sizeof word, CS_BAD_VALUE, "\"%s\": a cell is AXIS=VALUE,AXIS=VALUE", text);
        memcpy(word, at, n);
        word[n] = word[name] = 0;
        const char *axes[CS_N_PATH_AXES];
        int axis = -1;
        for (int a = 0; a < CS_N_PATH_AXES; a++)
            if (cs_text_equal(axes[a] = model->axis[a].name, word)) axis = a;
        const char *near = cs_text_nearest(word, axes, CS_N_PATH_AXES);
        CS_REQUIRE(axis >= 0, CS_BAD_VALUE, "\"%s\": no axis is named \"%s\"%s%s", text, word,
                   near ? "; did you mean " : "", near ? near : "");
        int value = cs_path_value(model, (enum cs_path_axis)axis, word + name + 1);
        near = cs_text_nearest(word + name + 1, model->axis[axis].values, model->axis[axis].n);
        CS_REQUIRE(value >= 0, CS_BAD_VALUE, "\"%s\": axis %s has no value \"%s\"%s%s", text, word, word + name + 1,
                   near ? "; did you mean " : "", near ? near : "");
        CS_REQUIRE(cell->value[axis] == CS_PATH_ANY, CS_BAD_VALUE, "\"%s\": axis %s is given twice", text, word);
        cell->value[axis] = (uint8_t)value;
        at += n + (at[n] == ',');
    }
    return CS_OK;
}

char *cs_cell_text(const struct cs_coverage_model *model, const struct cs_way *cell, char *buffer) {
    size_t used = 0;
    *buffer = 0;
    for (int a = 0; a < CS_N_PATH_AXES; a++)
        if (cell->value[a] != CS_PATH_ANY)
            used += (size_t)snprintf(buffer + used, CS_CELL_TEXT - used, "%s%s=%s", used ? "," : "",
                                     model->axis[a].name, cs_path_name(model, cell, (enum cs_path_axis)a));
    return buffer;
}
