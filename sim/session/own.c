/* What can be wrong with a scenario's own method, back end and loaders, beyond types. */
#include "sim/session/internal.h"

#include <string.h>

/* ---- loaders ---- */

static bool has_param(const struct cs_method *method, const char *name) {
    for (size_t i = 0; i < method->n_params; i++)
        if (cs_text_equal(method->params[i].name, name)) return true;
    return false;
}

unsigned cs_session_options(const struct cs_scenario *scenario) {
    const struct cs_backend *backend = cs_scenario_backend(scenario);
    return cs_scenario_method(scenario)->usual.options | (backend ? backend->options : 0) | scenario->layer.on;
}

/* Rows for other layers than the scenario's may name what the method does not have, or the same tensor again. */
static enum cs_status check_rows(const struct cs_scenario *scenario, const struct cs_loader *loader) {
    const struct cs_method *method = cs_scenario_method(scenario);
    unsigned options = cs_session_options(scenario);
    for (size_t i = 0; i < loader->n_rows; i++) {
        const struct cs_loader_row *row = &loader->rows[i];
        if (!cs_options_select(options, row->when)) continue;
        CS_REQUIRE(has_param(method, row->param), CS_BAD_SCRIPT,
                   "%s:%d: loader %s: \"%s\" goes into %s, which method %s does not have", scenario->file,
                   scenario->line, loader->name, row->tensor, row->param, method->name);
        for (size_t j = 0; j < i; j++)
            CS_REQUIRE(!cs_options_select(options, loader->rows[j].when) ||
                           !cs_text_equal(loader->rows[j].tensor, row->tensor),
                       CS_BAD_SCRIPT, "%s:%d: loader %s: tensor \"%s\" is there twice", scenario->file, scenario->line,
                       loader->name, row->tensor);
    }
    return CS_OK;
}

static enum cs_status check_params(const struct cs_scenario *scenario) {
    const struct cs_method *method = cs_scenario_method(scenario);
    unsigned options = cs_session_options(scenario);
    for (size_t i = 0; i < method->n_params; i++)
        for (size_t j = 0; j < i && cs_options_select(options, method->params[i].when); j++)
            CS_REQUIRE(!cs_options_select(options, method->params[j].when) ||
                           !cs_text_equal(method->params[j].name, method->params[i].name),
                       CS_BAD_SCRIPT, "%s:%d: method %s: parameter %s is there twice", scenario->file, scenario->line,
                       method->name, method->params[i].name);
    return CS_OK;
}

static enum cs_status check_own_loaders(const struct cs_scenario *scenario) {
    for (size_t i = 0; i < scenario->n_own_loaders; i++) {
        const struct cs_loader *loader = scenario->own_loaders[i];
        for (size_t j = 0; j < i; j++)
            CS_REQUIRE(!cs_text_equal(scenario->own_loaders[j]->name, loader->name), CS_BAD_SCRIPT,
                       "%s:%d: two loaders of the scenario are named \"%s\"", scenario->file, scenario->line,
                       loader->name);
        CS_TRY(check_rows(scenario, loader));
    }
    return CS_OK;
}

static enum cs_status check_own_method(const struct cs_scenario *scenario) {
    const struct cs_method *method = scenario->own_method;
    CS_TRY(check_params(scenario));
    for (size_t i = 0; method->loaders[i]; i++) {
        const struct cs_loader *loader = cs_scenario_loader(scenario, method->loaders[i]);
        CS_REQUIRE(loader, CS_BAD_SCRIPT, "%s:%d: method %s: no loader is named \"%s\"; `coldstart list loaders`",
                   scenario->file, scenario->line, method->name, method->loaders[i]);
        CS_TRY(check_rows(scenario, loader));
    }
    return CS_OK;
}

/* ---- steps ---- */

enum { MOST_VALUES = 64 };

/* Values that a step may read: the method's parameters, and what earlier steps made. */
struct values {
    const struct cs_method *method;
    bool is_open; /* a table of upstream's made some that only it knows */
    size_t n;
    const char *made[MOST_VALUES];
};

static bool is_known(const struct values *values, const char *name, size_t length) {
    for (size_t i = 0; i < values->n; i++)
        if (strlen(values->made[i]) == length && strncmp(values->made[i], name, length) == 0) return true;
    for (size_t i = 0; i < values->method->n_params; i++) {
        const char *param = values->method->params[i].name;
        if (strlen(param) == length && strncmp(param, name, length) == 0) return true;
    }
    return values->is_open;
}

static enum cs_status check_value(const struct values *values, const struct cs_step *step, const char *name,
                                  size_t length) {
    return is_known(values, name, length)
               ? CS_OK
               : cs_fail(CS_BAD_SCRIPT, "%sno parameter of method %s and no value of an earlier step is named \"%.*s\"",
                         step->place, values->method->name, (int)length, name);
}

static enum cs_status check_program(const struct values *values, const struct cs_step *step) {
    struct cs_program program;
    struct cs_program_name names[CS_PROGRAM_OPERANDS];
    CS_REQUIRE(cs_program_parse(step->text, &program, names) == CS_OK, CS_BAD_SCRIPT, "%s%s", step->place,
               cs_error_text());
    for (size_t i = 0; i < program.n_operands; i++) CS_TRY(check_value(values, step, names[i].start, names[i].length));
    return CS_OK;
}

/* What each kind of step does with names. */
static const struct {
    bool reads, makes, reads_from, has_program;
} kinds[] = {
    [CS_STEP_RELAYOUT] = {.reads = true},
    [CS_STEP_CAST] = {.reads = true},
    [CS_STEP_VIEW] = {.reads = true},
    [CS_STEP_RESHAPE] = {.reads = true},
    [CS_STEP_TRANSPOSE] = {.reads = true},
    [CS_STEP_PAD] = {.reads = true},
    [CS_STEP_ZERO] = {.reads = true},
    [CS_STEP_REPLACE] = {.reads = true},
    [CS_STEP_CONFIG] = {.reads = true},
    [CS_STEP_DERIVE] = {.reads = true},
    [CS_STEP_SELECT] = {.makes = true, .reads_from = true},
    [CS_STEP_TAKE] = {.makes = true, .reads_from = true},
    [CS_STEP_MAP] = {.makes = true, .has_program = true},
    [CS_STEP_MAXIMUM] = {.makes = true, .has_program = true},
    [CS_STEP_UPDATE] = {.reads = true, .has_program = true},
};

static enum cs_status check_step(struct values *values, const struct cs_step *step) {
    values->is_open = values->is_open || step->kind == CS_STEP_CALL;
    if ((size_t)step->kind >= CS_COUNT(kinds)) return CS_OK;
    if (kinds[step->kind].reads) CS_TRY(check_value(values, step, step->param, strlen(step->param)));
    if (kinds[step->kind].reads_from) CS_TRY(check_value(values, step, step->from, strlen(step->from)));
    if (kinds[step->kind].has_program) CS_TRY(check_program(values, step));
    if (!kinds[step->kind].makes || is_known(values, step->param, strlen(step->param))) return CS_OK;
    CS_REQUIRE(values->n < MOST_VALUES, CS_BAD_SCRIPT, "%smore than %d values in one post-load", step->place,
               MOST_VALUES);
    values->made[values->n++] = step->param;
    return CS_OK;
}

enum cs_status cs_session_check_own(const struct cs_scenario *scenario) {
    if (!scenario->method) return CS_OK;
    CS_TRY(check_own_loaders(scenario));
    if (scenario->own_method) CS_TRY(check_own_method(scenario));
    const struct cs_backend *backend = scenario->own_backend;
    struct values values = {.method = cs_scenario_method(scenario)};
    for (size_t i = 0; backend && i < *backend->n_steps; i++) CS_TRY(check_step(&values, &backend->steps[i]));
    return CS_OK;
}
