/* What can be wrong with a scenario beyond types. Each rule is one function over the whole scenario; the first that
 * fails speaks. */
#include "sim/session/internal.h"

static enum cs_status unknown(const struct cs_scenario *scenario, int line, const char *kind, const char *name,
                              const char *const *names, size_t n) {
    const char *near = cs_text_nearest(name, names, n);
    return cs_fail(CS_BAD_SCRIPT, "%s:%d: no %s is named \"%s\"%s%s%s", scenario->file, line, kind, name,
                   near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
}

enum { MOST_NAMES = 64 };

static enum cs_status check_policy(const struct cs_scenario *scenario, int line, const char *name) {
    const char *names[MOST_NAMES];
    for (size_t i = 0; i < cs_n_policies && i < MOST_NAMES; i++) names[i] = cs_policies[i].name;
    return cs_policy_by_name(name) ? CS_OK : unknown(scenario, line, "policy", name, names, cs_n_policies);
}

static enum cs_status check_policies(const struct cs_scenario *scenario) {
    CS_REQUIRE(scenario->n_policies, CS_BAD_SCRIPT,
               "%s:%d: policies: empty; name at least one, such as \"record_and_fill\"", scenario->file,
               scenario->line);
    for (size_t i = 0; i < scenario->n_policies; i++) {
        CS_TRY(check_policy(scenario, scenario->line, scenario->policies[i]));
        for (size_t j = 0; j < i; j++)
            CS_REQUIRE(!cs_text_equal(scenario->policies[i], scenario->policies[j]), CS_BAD_SCRIPT,
                       "%s:%d: policies: \"%s\" is there twice", scenario->file, scenario->line, scenario->policies[i]);
    }
    for (size_t i = 0; i < scenario->n_ops; i++) {
        const struct cs_op *op = &scenario->ops[i];
        if (op->against_policy) CS_TRY(check_policy(scenario, op->line, op->against_policy));
        for (size_t e = 0; e < op->n_expected; e++)
            if (op->expected[e].policy) CS_TRY(check_policy(scenario, op->line, op->expected[e].policy));
    }
    return CS_OK;
}

static const struct cs_module_template *routed_experts(const struct cs_model_config *model) {
    for (size_t i = 0; i < model->n_templates; i++)
        if (model->templates[i].is_routed_experts) return &model->templates[i];
    return NULL;
}

static enum cs_status check_loader(const struct cs_scenario *scenario, int line, const char *name) {
    const char *const *loaders = cs_scenario_method(scenario)->loaders;
    size_t n = 0;
    for (; loaders[n]; n++)
        if (cs_text_equal(loaders[n], name)) return CS_OK;
    for (size_t i = 0; i < scenario->n_own_loaders; i++)
        if (cs_text_equal(scenario->own_loaders[i]->name, name)) return CS_OK;
    CS_REQUIRE(!cs_loader_by_name(name), CS_BAD_SCRIPT, "%s:%d: loader \"%s\" does not load method %s; use \"%s\"",
               scenario->file, line, name, scenario->method, loaders[0]);
    return unknown(scenario, line, "loader", name, loaders, n);
}

static enum cs_status check_names(const struct cs_scenario *scenario) {
    const char *names[MOST_NAMES];
    for (size_t i = 0; i < cs_n_methods && i < MOST_NAMES; i++) names[i] = cs_methods[i]->name;
    const struct cs_method *method = cs_scenario_method(scenario);
    if (!method) return unknown(scenario, scenario->line, "method", scenario->method, names, cs_n_methods);
    bool is_own = scenario->own_method != NULL;
    CS_REQUIRE(scenario->backend, CS_BAD_SCRIPT,
               is_own ? "%s:%d: backend: missing; give method %s steps, or name a cs.backend"
                      : "%s:%d: backend: missing; `coldstart list backends` shows those of %s",
               scenario->file, scenario->line, method->name);
    CS_REQUIRE(!is_own || scenario->own_backend, CS_BAD_SCRIPT,
               "%s:%d: backend: \"%s\" is not for the scenario's own method: use cs.backend", scenario->file,
               scenario->line, scenario->backend);
    size_t n = 0;
    for (size_t i = 0; i < cs_n_backends && n < MOST_NAMES; i++)
        if (cs_text_equal(cs_backends[i].method, method->name)) names[n++] = cs_backends[i].name;
    return cs_scenario_backend(scenario)
               ? CS_OK
               : unknown(scenario, scenario->line, "back end of this method", scenario->backend, names, n);
}

static enum cs_status check_method(const struct cs_scenario *scenario) {
    bool has_experts = routed_experts(&scenario->model) != NULL;
    CS_REQUIRE(has_experts == (scenario->method != NULL), CS_BAD_SCRIPT, "%s:%d: %s", scenario->file, scenario->line,
               has_experts ? "the model has routed experts: name a method and a backend"
                           : "method: the model has no routed experts");
    CS_REQUIRE(scenario->method || (!scenario->loader && !scenario->backend), CS_BAD_SCRIPT,
               "%s:%d: %s: the model has no routed experts and no method", scenario->file, scenario->line,
               scenario->loader ? "loader" : "backend");
    if (!scenario->method) return CS_OK;
    CS_TRY(check_names(scenario));
    if (scenario->loader) CS_TRY(check_loader(scenario, scenario->line, scenario->loader));
    for (size_t i = 0; i < scenario->n_ops; i++)
        if (scenario->ops[i].loader) CS_TRY(check_loader(scenario, scenario->ops[i].line, scenario->ops[i].loader));
    bool is_known = cs_text_equal(scenario->rounding, "released") || cs_text_equal(scenario->rounding, "reference");
    return is_known ? CS_OK
                    : unknown(scenario, scenario->line, "rounding", scenario->rounding,
                              (const char *const[]){"released", "reference"}, 2);
}

static enum cs_status check_ranks(const struct cs_scenario *scenario) {
    enum { MOST_RANKS = 64 };
    CS_REQUIRE(scenario->tp >= 1 && scenario->tp <= MOST_RANKS && scenario->ep >= 1 && scenario->ep <= MOST_RANKS,
               CS_BAD_SCRIPT, "%s:%d: tp %d, ep %d: both must be 1 to %d", scenario->file, scenario->line, scenario->tp,
               scenario->ep, MOST_RANKS);
    CS_REQUIRE(scenario->tp == 1 || scenario->ep == 1, CS_BAD_SCRIPT,
               "%s:%d: tp %d with ep %d: with expert parallel on, ranks own whole experts and are not split; set one "
               "of them to 1",
               scenario->file, scenario->line, scenario->tp, scenario->ep);
    CS_REQUIRE(!scenario->has_only_rank || scenario->only_rank < scenario->tp * scenario->ep, CS_BAD_SCRIPT,
               "%s:%d: rank %d: there are %d ranks", scenario->file, scenario->line, scenario->only_rank,
               scenario->tp * scenario->ep);
    CS_REQUIRE(!scenario->model.is_toy || scenario->tp * scenario->ep == 1, CS_BAD_SCRIPT,
               "%s:%d: a toy has one rank: leave out tp and ep", scenario->file, scenario->line);
    CS_REQUIRE(!scenario->method || scenario->model.experts >= scenario->ep, CS_BAD_SCRIPT,
               "%s:%d: ep %d for %" PRId64 " experts: some rank would own none", scenario->file, scenario->line,
               scenario->ep, scenario->model.experts);
    return CS_OK;
}

static const struct cs_checkpoint_config *find_checkpoint(const struct cs_scenario *scenario, const char *name) {
    for (size_t i = 0; i < scenario->n_checkpoints; i++)
        if (cs_text_equal(scenario->checkpoints[i].name, name)) return &scenario->checkpoints[i];
    return NULL;
}

static int line_of(const struct cs_scenario *scenario, const struct cs_checkpoint_config *config) {
    return config->line ? config->line : scenario->line;
}

/* Follows the copies from `config` on: they must end at a checkpoint that is none. */
static enum cs_status check_originals(const struct cs_scenario *scenario, const struct cs_checkpoint_config *config) {
    const struct cs_checkpoint_config *last = config, *next;
    for (size_t i = 0; i < scenario->n_checkpoints && cs_checkpoint_original(last); i++) {
        if (!(next = find_checkpoint(scenario, cs_checkpoint_original(last))))
            return CS_OK; /* told where `last` is checked */
        CS_REQUIRE(
            next != config || last == config, CS_BAD_SCRIPT,
            "%s:%d: checkpoint %s is a copy of \"%s\", and by way of \"%s\" of itself: name an original that is no "
            "copy of it",
            scenario->file, line_of(scenario, config), config->name, cs_checkpoint_original(config), last->name);
        CS_REQUIRE(next != config, CS_BAD_SCRIPT, "%s:%d: checkpoint %s is a copy of itself: name another original",
                   scenario->file, line_of(scenario, config), config->name);
        last = next;
    }
    return CS_OK;
}

static enum cs_status check_perturbed(const struct cs_scenario *scenario, const struct cs_checkpoint_config *config) {
    const struct cs_checkpoint_config *original = find_checkpoint(scenario, config->perturbs);
    CS_REQUIRE(original && !original->perturbs, CS_BAD_SCRIPT,
               "%s:%d: checkpoint %s is a perturbed copy of \"%s\", which %s", scenario->file,
               line_of(scenario, config), config->name, config->perturbs,
               original ? "is a perturbed copy itself: name its original" : "does not exist");
    CS_REQUIRE(config->version >= 1 && config->version < CS_CHECKPOINT_VERSIONS, CS_BAD_SCRIPT,
               "%s:%d: checkpoint %s: version %u, expected 1 to %d", scenario->file, line_of(scenario, config),
               config->name, config->version, CS_CHECKPOINT_VERSIONS - 1);
    return CS_OK;
}

static enum cs_status check_checkpoints(const struct cs_scenario *scenario) {
    for (size_t i = 0; i < scenario->n_checkpoints; i++) {
        const struct cs_checkpoint_config *config = &scenario->checkpoints[i];
        CS_REQUIRE(find_checkpoint(scenario, config->name) == config, CS_BAD_SCRIPT,
                   "%s:%d: checkpoint %s is there twice", scenario->file, scenario->line, config->name);
        if (!cs_checkpoint_original(config)) continue;
        CS_TRY(check_originals(scenario, config));
        CS_REQUIRE(!config->patches || find_checkpoint(scenario, config->patches), CS_BAD_SCRIPT,
                   "%s:%d: checkpoint \"%s\": there is no checkpoint \"%s\" to change", scenario->file,
                   line_of(scenario, config), config->name, config->patches ? config->patches : "");
        if (config->perturbs) CS_TRY(check_perturbed(scenario, config));
        CS_REQUIRE(!scenario->model.is_toy, CS_BAD_SCRIPT,
                   "%s:%d: checkpoint %s: toys say what each load writes, and have no perturbed or patched copies",
                   scenario->file, line_of(scenario, config), config->name);
    }
    return CS_OK;
}

/* Switches that a driver would not look at are slips of the pen. */
static enum cs_status check_switches(const struct cs_scenario *scenario, const struct cs_op *op,
                                     const struct cs_driver *driver) {
    bool has_buckets = op->bucket_bytes || op->bucket_tensors;
    bool has_transport = has_buckets || op->pieces > 1 || op->is_shuffled || op->is_reversed || op->shuffles_modules ||
                         op->n_order || op->n_duplicated || op->n_unknown || op->loader;
    CS_REQUIRE(
        driver->takes == CS_TAKES_CHECKPOINT || !has_transport, CS_BAD_SCRIPT,
        "%s:%d: driver \"%s\" takes no checkpoint tensors: of the switches, only `only`, `omit` and `stop_after` "
        "mean something to it",
        scenario->file, op->line, op->driver);
    CS_REQUIRE(!op->replays_records || cs_text_equal(op->driver, "load_plan"), CS_BAD_SCRIPT,
               "%s:%d: replay_records: driver \"%s\" runs loaders, which record; use it with \"load_plan\"",
               scenario->file, op->line, op->driver);
    CS_REQUIRE(!op->is_patch || cs_text_equal(op->driver, "raw"), CS_BAD_SCRIPT,
               "%s:%d: patch: sparse patches go into live tensors, past every reload: use driver \"raw\"",
               scenario->file, op->line);
    CS_REQUIRE(!op->is_buffer_shared || has_buckets, CS_BAD_SCRIPT,
               "%s:%d: buffer: a shared one holds a bucket: say how large, such as bucket = \"64MiB\"", scenario->file,
               op->line);
    CS_REQUIRE(!driver->bucket || has_buckets, CS_BAD_SCRIPT,
               "%s:%d: driver \"%s\" does something after each bucket: say how large, such as bucket = 4",
               scenario->file, op->line, op->driver);
    return CS_OK;
}

static enum cs_status check_load(const struct cs_scenario *scenario, const struct cs_op *op, bool is_first) {
    const char *names[MOST_NAMES];
    for (size_t i = 0; i < cs_n_drivers && i < MOST_NAMES; i++) names[i] = cs_drivers[i]->name;
    const struct cs_driver *driver = cs_driver_by_name(op->driver);
    if (!driver) return unknown(scenario, op->line, "driver", op->driver, names, cs_n_drivers);
    CS_REQUIRE(driver->is_start == (op->kind == CS_OP_COLD_START), CS_BAD_SCRIPT, "%s:%d: driver \"%s\" %s",
               scenario->file, op->line, op->driver,
               driver->is_start ? "starts a server: use it in cold_start" : "reloads a server: use it in reload");
    CS_TRY(check_switches(scenario, op, driver));
    CS_REQUIRE(is_first == driver->is_start, CS_BAD_SCRIPT, "%s:%d: %s", scenario->file, op->line,
               is_first ? "a reload needs a running server: begin with cold_start"
                        : "a scenario has one server: cold_start comes once, first");
    bool needs_none = driver->takes == CS_TAKES_NOTHING;
    CS_REQUIRE(needs_none == !op->checkpoint, CS_BAD_SCRIPT, "%s:%d: driver \"%s\" %s", scenario->file, op->line,
               op->driver, needs_none ? "takes no checkpoint" : "needs a checkpoint: checkpoint = \"A\"");
    if (needs_none) return CS_OK;
    const char *checkpoints[MOST_NAMES];
    size_t n = 0;
    for (; n < scenario->n_checkpoints && n < MOST_NAMES; n++) checkpoints[n] = scenario->checkpoints[n].name;
    return find_checkpoint(scenario, op->checkpoint)
               ? CS_OK
               : unknown(scenario, op->line, "checkpoint", op->checkpoint, checkpoints, n);
}

/* What the plan knows of the server before an operation. */
struct standing {
    bool is_started, is_asleep, has_weights;
    size_t n_expectations;
};

static enum cs_status check_expect(const struct cs_scenario *scenario, const struct cs_op *op,
                                   const struct standing *server) {
    CS_REQUIRE(server->is_started, CS_BAD_SCRIPT, "%s:%d: an expectation needs a running server: begin with cold_start",
               scenario->file, op->line);
    CS_REQUIRE(server->has_weights, CS_BAD_SCRIPT,
               "%s:%d: the server holds random numbers: nothing to compare with before the first reload",
               scenario->file, op->line);
    return CS_OK;
}

static enum cs_status check_op(const struct cs_scenario *scenario, const struct cs_op *op, struct standing *server) {
    bool is_wake = op->kind == CS_OP_WAKE, is_start = op->kind == CS_OP_COLD_START;
    CS_REQUIRE(is_wake == server->is_asleep, CS_BAD_SCRIPT, "%s:%d: %s", scenario->file, op->line,
               is_wake ? "wake: the server is not asleep" : "the server is asleep: wake it first, s:wake()");
    bool needs_server = op->kind == CS_OP_SLEEP || op->kind == CS_OP_CAPTURE;
    CS_REQUIRE(!needs_server || server->is_started, CS_BAD_SCRIPT,
               "%s:%d: %s: there is no server yet: begin with cold_start", scenario->file, op->line,
               op->kind == CS_OP_SLEEP ? "sleep" : "capture");
    server->is_asleep = op->kind == CS_OP_SLEEP;
    if (op->kind == CS_OP_EXPECT) {
        server->n_expectations++;
        return check_expect(scenario, op, server);
    }
    if (!is_start && op->kind != CS_OP_RELOAD) return CS_OK;
    CS_TRY(check_load(scenario, op, !server->is_started));
    server->is_started = true;
    server->has_weights = server->has_weights || op->checkpoint;
    return CS_OK;
}

static enum cs_status check_plan(const struct cs_scenario *scenario) {
    struct standing server = {0};
    for (size_t i = 0; i < scenario->n_ops; i++) CS_TRY(check_op(scenario, &scenario->ops[i], &server));
    CS_REQUIRE(server.n_expectations, CS_BAD_SCRIPT,
               "%s:%d: run: no expectation, so nothing could fail; add s:expect(cs.equal())", scenario->file,
               scenario->line);
    const struct cs_op *last = &scenario->ops[scenario->n_ops - 1];
    CS_REQUIRE(last->kind == CS_OP_EXPECT, CS_BAD_SCRIPT, "%s:%d: nothing judges the plan after this step: add an s:expect after it",
               scenario->file, last->line);
    return CS_OK;
}

/* ---- toys ---- */

static const struct cs_template_tensor *toy_param(const struct cs_model_config *model, const char *name) {
    for (size_t i = 0; i < model->templates[0].n_tensors; i++)
        if (cs_text_equal(model->templates[0].tensors[i].name, name)) return &model->templates[0].tensors[i];
    return NULL;
}

static enum cs_status check_box(const struct cs_scenario *scenario, const struct cs_toy_call *call, const char *what,
                                const struct cs_toy_box *box, int ndim, const int64_t *shape, int64_t *numel) {
    *numel = 1;
    for (int d = 0; d < CS_NDIM; d++) {
        bool is_inside = d < ndim ? box->start[d] >= 0 && box->length[d] > 0 && box->start[d] <= shape[d] &&
                                        box->length[d] <= shape[d] - box->start[d]
                                  : box->start[d] == 0 && box->length[d] == 0;
        int64_t end;
        if (__builtin_add_overflow(box->start[d], box->length[d], &end)) end = INT64_MAX;
        CS_REQUIRE(is_inside, CS_BAD_SCRIPT,
                   "%s:%d: %s of %s: dimension %d: [%" PRId64 ", %" PRId64
                   ") is outside of the parameter's extent %" PRId64,
                   scenario->file, call->line, what, call->param, d, box->start[d], end, d < ndim ? shape[d] : 0);
        if (d < ndim) *numel *= box->length[d];
    }
    return CS_OK;
}

static enum cs_status check_toy_call(const struct cs_scenario *scenario, const struct cs_toy_call *call) {
    const struct cs_template_tensor *param = toy_param(&scenario->model, call->param);
    CS_REQUIRE(param, CS_BAD_SCRIPT, "%s:%d: the toy has no parameter \"%s\"", scenario->file, call->line, call->param);
    const struct cs_sizes none = {0};
    int ndim;
    int64_t shape[CS_NDIM], numel;
    CS_TRY(cs_shape_parse(param->shape, &none, &ndim, shape));
    if (call->has_write) {
        CS_TRY(check_box(scenario, call, "write", &call->write, ndim, shape, &numel));
        CS_REQUIRE(call->n_values == 1 || call->n_values == (size_t)numel, CS_BAD_SCRIPT,
                   "%s:%d: write of %s: %zu values for %" PRId64 " elements", scenario->file, call->line, call->param,
                   call->n_values, numel);
    }
    for (size_t i = 0; i < call->n_zeros; i++)
        CS_TRY(check_box(scenario, call, "zeros", &call->zeros[i], ndim, shape, &numel));
    for (size_t i = 0; i < call->n_marks; i++) {
        CS_TRY(check_box(scenario, call, "mark", &call->marks[i], ndim, shape, &numel));
        CS_REQUIRE(!call->through_view || ndim < 2 || call->marks[i].length[0] == 1, CS_BAD_SCRIPT,
                   "%s:%d: mark of %s through a view: %" PRId64
                   " along dimension 0: the view is one expert, mark each in a call of its own",
                   scenario->file, call->line, call->param, call->marks[i].length[0]);
    }
    return CS_OK;
}

/* A parameter of the toy, or a value that an earlier step made, or this one makes. */
static bool is_value(const struct cs_model_config *model, size_t step, const char *name) {
    for (size_t i = 0; i <= step; i++) {
        enum cs_step_kind kind = model->toy_steps[i].kind;
        bool makes = kind == CS_STEP_CONSTANT || kind == CS_STEP_SELECT || kind == CS_STEP_TAKE ||
                     kind == CS_STEP_MAP || kind == CS_STEP_MAXIMUM;
        if (makes && (i == step || cs_text_equal(model->toy_steps[i].param, name))) return true;
    }
    return toy_param(model, name) != NULL;
}

static enum cs_status check_toy(const struct cs_scenario *scenario) {
    const struct cs_model_config *model = &scenario->model;
    for (size_t l = 0; l < model->n_toy_loads; l++)
        for (size_t c = 0; c < model->toy_loads[l].n_calls; c++)
            CS_TRY(check_toy_call(scenario, &model->toy_loads[l].calls[c]));
    for (size_t i = 0; i < model->n_toy_steps; i++) {
        const struct cs_step *step = &model->toy_steps[i];
        CS_REQUIRE(is_value(model, i, step->param), CS_BAD_SCRIPT,
                   "%s:%d: post_load step %zu: the toy has no parameter \"%s\"", scenario->file, scenario->line, i + 1,
                   step->param);
        for (size_t c = 0; c < CS_CHAIN && step->chain[c]; c++)
            CS_REQUIRE(step->own[c] || cs_layout_by_name(step->chain[c]), CS_BAD_SCRIPT,
                       "%s:%d: post_load step %zu: no layout is named \"%s\"; `coldstart list layouts` shows them",
                       scenario->file, scenario->line, i + 1, step->chain[c]);
    }
    return CS_OK;
}

static enum cs_status resolve_sizes(struct cs_session *session, const struct cs_scenario *scenario) {
    CS_TRY(cs_session_resolve(session));
    const struct cs_route_set *set;
    if (scenario->method) CS_TRY(cs_session_routes(session, cs_session_loader(session, NULL), NULL, &set));
    for (size_t i = 0; scenario->method && i < scenario->n_ops; i++)
        if (scenario->ops[i].loader)
            CS_TRY(cs_session_routes(session, cs_session_loader(session, scenario->ops[i].loader), NULL, &set));
    return CS_OK;
}

/* Every shape of the model and of its checkpoints, on every rank. */
static enum cs_status check_sizes(const struct cs_scenario *scenario) {
    struct cs_session session = {.config = {.scenario = scenario, .only_rank = -1}};
    enum cs_status status = resolve_sizes(&session, scenario);
    cs_arena_release(&session.arena);
    CS_REQUIRE(
        status != CS_OK || !scenario->has_only_rank || !session.ranks_meet, CS_BAD_SCRIPT,
        "%s:%d: rank: %d: %s takes the largest values over all ranks in post-load, so none of them can run alone: "
        "leave out rank",
        scenario->file, scenario->line, scenario->only_rank, cs_scenario_backend(scenario)->method);
    CS_REQUIRE(status == CS_OK, status == CS_NO_MEMORY ? status : CS_BAD_SCRIPT, "%s:%d: model: %s", scenario->file,
               scenario->line, cs_error_text());
    return CS_OK;
}

enum cs_status cs_scenario_check(const struct cs_scenario *scenario) {
    CS_TRY(check_policies(scenario));
    CS_TRY(check_method(scenario));
    CS_TRY(check_ranks(scenario));
    CS_TRY(cs_session_check_words(scenario));
    CS_TRY(cs_session_check_own(scenario));
    CS_TRY(cs_session_check_layer(scenario));
    CS_TRY(check_checkpoints(scenario));
    if (scenario->model.is_toy) CS_TRY(check_toy(scenario));
    CS_TRY(check_plan(scenario));
    return check_sizes(scenario);
}
