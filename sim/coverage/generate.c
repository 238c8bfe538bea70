/* The file that takes a path. */
#include "sim/coverage/internal.h"

/* What comes before the load, by the value of `before`. */
static const char *const preludes[][2] = {
    {"nothing", ""},
    {"cold", "    s:cold_start \"A\"\n"},
    {"meta", "    s:cold_start { driver = \"meta_build\", checkpoint = \"A\" }\n"},
    {"dummy", "    s:cold_start { driver = \"dummy_start\" }\n"},
    {"reloaded", "    s:cold_start \"C\"\n    s:reload { driver = \"layerwise\", checkpoint = \"A\" }\n"},
    {"partial", "    s:cold_start \"A\"\n    s:reload { driver = \"layerwise\", checkpoint = \"C\", omit = { "
                "\"*.layers.0.*\" } }\n"},
    {"waiting",
     "    s:cold_start \"A\"\n    s:reload { driver = \"layerwise\", checkpoint = \"C\", stop_after = 1 }\n"},
    {"woken", "    s:cold_start \"A\"\n    s:sleep(2)\n    s:wake()\n"},
};

/* The switches of the load, by the value of `arrival`. */
static const char *const switches[][2] = {
    {"in_order", ""},
    {"reversed", ", order = \"reversed\""},
    {"shuffled", ", order = \"shuffled\""},
    {"buckets", ", bucket = 4"},
    {"pieces", ", pieces = 2"},
    {"unknown", ", unknown = { \"nobody.knows.this\" }"},
    {"duplicated", ", duplicate = { \"*\" }"},
    {"partial", ", omit = { \"*.layers.1.*\" }"},
    {"stopped", ", stop_after = 1"},
};

static const char *find(const char *const (*rows)[2], size_t n, const char *name) {
    for (size_t i = 0; i < n; i++)
        if (cs_text_equal(rows[i][0], name)) return rows[i][1];
    return NULL;
}

/* The method's usual loader, or the one that a scenario names so that the load can name another. */
static const char *scenario_loader(const struct cs_coverage_model *model, const struct cs_way *path) {
    const char *loader = cs_path_name(model, path, CS_PATH_loader), *usual = cs_path_method(model, path)->loaders[0];
    if (!cs_text_equal(cs_path_name(model, path, CS_PATH_arrival), "other_loader"))
        return cs_text_equal(loader, "none") ? usual : loader;
    const struct cs_loader *form = cs_path_other_form(model, path);
    return form ? form->name : usual;
}

static const char *ranks_of(const char *sharding) {
    static const char *const ranks[][2] = {
        {"tp1", "tp = 1"}, {"tp2", "tp = 2"}, {"tp3+", "tp = 4"}, {"ep2", "ep = 2"}, {"ep3+", "ep = 4"}};
    return find(ranks, CS_COUNT(ranks), sharding);
}

/* Whole blocks of every method; and of back ends whose layouts do not pad, twice that. */
static int width_of(const char *backend) {
    static const char *const wide[][2] = {{"aiter_bf16", ""}, {"flashinfer_trtllm", ""}, {"marlin", ""}};
    return find(wide, CS_COUNT(wide), backend) ? 256 : 128;
}

static int size_of(const char *sharding, int width) {
    return cs_text_equal(sharding, "tp2") ? 2 * width : cs_text_equal(sharding, "tp3+") ? 4 * width : width;
}

/* The parameters of some methods' layers only exist with a setting, and some checkpoints always have what goes there.
 */
static bool has_optional_bias(const struct cs_method *method) {
    for (size_t i = 0; i < method->n_params; i++)
        if (method->params[i].when & CS_WITH_BIAS) return true;
    return false;
}

/* What the back end asks of a layer, or the loader's checkpoint always has. */
static const char *layer_of(const struct cs_coverage_model *model, const struct cs_way *path, const char *loader) {
    const struct cs_backend *backend = cs_path_backend(model, path);
    unsigned options = backend ? cs_backend_needed_options(backend) : 0; /* illegal ways name some that are none */
    bool has_bias = cs_text_equal(loader, "gpt_oss_quark_mx_combined") || options & CS_WITH_BIAS;
    if (has_bias && has_optional_bias(cs_path_method(model, path))) return "  experts = { bias = true },\n";
    return options & CS_STATIC_INPUT ? "  quantization = { static_input = true },\n" : "";
}

static const char *load_text(const struct cs_coverage_model *model, const struct cs_way *path, struct cs_arena *arena) {
    const struct cs_driver *driver = cs_path_driver(model, path);
    const char *arrival = cs_path_name(model, path, CS_PATH_arrival);
    const char *more = find(switches, CS_COUNT(switches), arrival);
    if (cs_text_equal(arrival, "other_loader"))
        more = cs_arena_format(arena, ", loader = \"%s\"", cs_path_name(model, path, CS_PATH_loader));
    return cs_arena_format(arena, "    s:%s { driver = \"%s\"%s%s }\n", driver->is_start ? "cold_start" : "reload",
                           driver->name, driver->takes == CS_TAKES_NOTHING ? "" : ", checkpoint = \"B\"",
                           more ? more : "");
}

/* After a start without weights there is nothing to judge until a load brings some. */
static const char *after(const struct cs_coverage_model *model, const struct cs_way *path) {
    bool is_dummy = cs_path_driver(model, path)->takes == CS_TAKES_NOTHING;
    return is_dummy ? "    s:reload { driver = \"layerwise\", checkpoint = \"B\" }\n" : "";
}

/* A scenario of one small model that runs these operations. */
static char *scenario_lua(const struct cs_coverage_model *model, const struct cs_way *path, const char *comment,
                          const char *name, const char *operations, struct cs_arena *arena) {
    int width = width_of(cs_path_name(model, path, CS_PATH_backend));
    if (!comment || arena->has_failed) return NULL; /* or some operations would be missing */
    return cs_arena_format(
        arena,
        "-- %s.\n"
        "-- It asks only that every device makes the same; expect more where it is known what must hold.\n"
        "return cs.scenario {\n"
        "  name = \"%s\",\n"
        "  model = cs.model {\n"
        "    name = \"small\", prefix = \"model.\", layers = 2, experts = 4, hidden = %d, intermediate = %d,\n"
        "    modules = { cs.module {\n"
        "      name = \"layers.{layer}.experts\", routed_experts = true, checkpoint = \"layers.{layer}.mlp.experts\",\n"
        "    } },\n"
        "  },\n"
        "  method = \"%s\", backend = \"%s\", loader = \"%s\", %s,\n"
        "%s"
        "  policies = { \"%s\" },\n"
        "  run = function(s)\n"
        "%s"
        "    s:expect { device_differ = 0 }\n"
        "  end,\n"
        "}\n",
        comment, name, width, size_of(cs_path_name(model, path, CS_PATH_sharding), width),
        cs_path_name(model, path, CS_PATH_method), cs_path_name(model, path, CS_PATH_backend),
        scenario_loader(model, path), ranks_of(cs_path_name(model, path, CS_PATH_sharding)),
        layer_of(model, path, scenario_loader(model, path)), cs_path_name(model, path, CS_PATH_policy), operations);
}

char *cs_path_lua(const struct cs_coverage_model *model, const struct cs_way *path, const char *name,
                  struct cs_arena *arena) {
    char cell[CS_CELL_TEXT];
    const char *before = find(preludes, CS_COUNT(preludes), cs_path_name(model, path, CS_PATH_before));
    const char *operations =
        cs_arena_format(arena, "%s%s%s", before ? before : "", load_text(model, path, arena), after(model, path));
    const char *comment = cs_arena_format(arena, "Takes one way of loading: %s", cs_cell_text(model, path, cell));
    return scenario_lua(model, path, comment, name, operations, arena);
}

char *cs_chain_lua(const struct cs_coverage_model *model, const struct cs_orders *orders, const struct cs_chain *chain,
                   const char *name, struct cs_arena *arena) {
    char text[CS_CHAIN_TEXT];
    const char *operations = "", *none = "none";
    const struct cs_way *path = NULL; /* of a load whose loader the others have too */
    for (size_t i = 0; i < chain->n; i++) {
        const struct cs_way *load = &chain->load[i];
        bool is_load = chain->letter[i] < model->from.n_drivers;
        if (is_load && (!path || !cs_text_equal(cs_path_name(model, load, CS_PATH_loader), none))) path = load;
        const char *line = is_load ? load_text(model, load, arena) : "    s:sleep(2)\n    s:wake()\n";
        operations = cs_arena_format(arena, "%s%s", operations ? operations : "", line ? line : "");
    }
    const char *comment =
        cs_arena_format(arena, "One operation after the other: %s", cs_chain_text(orders, chain, text));
    return scenario_lua(model, path, comment, name, operations, arena);
}
