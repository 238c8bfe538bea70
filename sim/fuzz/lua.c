/* A scenario as a Lua file. Everything that a plan can say is written out; what is the language's default is left out. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sim/fuzz/internal.h"

struct out {
    struct cs_arena *arena;
    char *text;
    size_t used, capacity;
    bool is_full;
};

static void put(struct out *out, const char *text) {
    size_t n = strlen(text);
    if (out->used + n + 1 > out->capacity) {
        size_t wider = (out->capacity + n + 1024) * 2;
        char *moved = cs_arena_alloc(out->arena, wider, 1);
        if (!moved) {
            out->is_full = true;
            return;
        }
        memcpy(moved, out->text ? out->text : "", out->used);
        out->text = moved;
        out->capacity = wider;
    }
    memcpy(out->text + out->used, text, n + 1);
    out->used += n;
}

__attribute__((format(printf, 2, 3))) static void say(struct out *out, const char *format, ...) {
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    put(out, line);
}

/* ---- model ---- */

static void say_tensor(struct out *out, const struct cs_template_tensor *tensor) {
    static const char *const kinds[] = {[CS_BUFFER] = "buffer", [CS_PERSISTENT_BUFFER] = "persistent_buffer"};
    char shape[128];
    size_t n = 0;
    for (const char *c = tensor->shape; *c && n + 4 < sizeof shape; c++) {
        if (*c == ' ') { /* "Eg Hu" → "Eg", "Hu" */
            memcpy(shape + n, "\", \"", 4);
            n += 4;
        } else {
            shape[n++] = *c;
        }
    }
    shape[n] = 0;
    say(out, "          { name = \"%s\", shape = { \"%s\" }, dtype = \"%s\", created = \"%s\"", tensor->name, shape,
        cs_dtype_name(tensor->dtype), cs_init_name(tensor->init));
    if (tensor->tied) say(out, ", tied = \"%s\"", tensor->tied);
    if (tensor->is_late) put(out, ", late = true");
    if (tensor->init == CS_INIT_VALUE) say(out, ", value = %g", tensor->init_value);
    if (tensor->has_padding_value) say(out, ", padding_value = %g", tensor->padding_value);
    if (tensor->kind != CS_PARAMETER) say(out, ", kind = \"%s\"", kinds[tensor->kind]);
    put(out, " },\n");
}

static void say_module(struct out *out, const struct cs_module_template *module) {
    say(out, "      cs.module {\n        name = \"%s\",\n", module->name);
    if (module->is_routed_experts) put(out, "        routed_experts = true,\n");
    if (module->is_attention) put(out, "        attention = true,\n");
    if (module->checkpoint) say(out, "        checkpoint = \"%s\",\n", module->checkpoint);
    if (module->n_tensors) put(out, "        tensors = {\n");
    for (size_t i = 0; i < module->n_tensors; i++) say_tensor(out, &module->tensors[i]);
    if (module->n_tensors) put(out, "        },\n");
    put(out, "      },\n");
}

static void say_model(struct out *out, const struct cs_model_config *model) {
    say(out, "  model = cs.model {\n    name = \"%s\", prefix = \"%s\", layers = %" PRId64 ", experts = %" PRId64
             ", hidden = %" PRId64 ", intermediate = %" PRId64 ",\n    modules = {\n",
        model->name, model->prefix, model->layers, model->experts, model->hidden, model->intermediate);
    for (size_t i = 0; i < model->n_templates; i++) say_module(out, &model->templates[i]);
    put(out, "    },\n  },\n");
}

/* ---- checkpoints, where they are not the usual ones ---- */

/* That law compares two checkpoints, also where a plan names one. */
static bool asks_for_leaks(const struct cs_op *op) {
    return op->kind == CS_OP_EXPECT && op->n_expected && op->expected->has_count[CS_COUNT_padding_leaks];
}

static void say_patched(struct out *out, const struct cs_checkpoint_config *config) {
    const struct cs_checkpoint_change *change = &config->change;
    say(out, "cs.patched(\"%s\", \"%s\", { ", config->patches, change->tensor);
    for (int i = 0; i < change->n_at; i++) say(out, "%s%" PRId64, i ? ", " : "", change->at[i]);
    say(out, " }, %g)", change->number);
}

static void say_checkpoint(struct out *out, const struct cs_checkpoint_config *config) {
    if (config->patches)
        say_patched(out, config);
    else if (config->perturbs)
        say(out, "cs.perturbed(\"%s\", %u)", config->perturbs, config->version);
    else if (config->kind == CS_CHECKPOINT_PATTERN && config->intermediate)
        say(out, "cs.pattern(%u, %" PRId64 ")", config->version, config->intermediate);
    else if (config->kind == CS_CHECKPOINT_PATTERN)
        say(out, "cs.pattern(%u)", config->version);
    else
        put(out, config->leaves_out_optional ? "cs.without_optional()" : "cs.synthetic()");
}

/* Whether the language makes the same of its name alone: "A", and its perturbed copies "B", "C" … */
static bool is_usual(const struct cs_checkpoint_config *config) {
    if (config->kind != CS_CHECKPOINT_SYNTHETIC || config->leaves_out_optional || config->patches) return false;
    if (!config->perturbs) return cs_text_equal(config->name, "A");
    const char name[] = {(char)('A' + config->version), 0};
    return cs_text_equal(config->perturbs, "A") && cs_text_equal(config->name, name);
}

static void say_checkpoints(struct out *out, const struct cs_scenario *scenario) {
    bool are_usual = true;
    for (size_t i = 0; i < scenario->n_checkpoints; i++) are_usual &= is_usual(&scenario->checkpoints[i]);
    for (size_t i = 0; i < scenario->n_ops; i++) are_usual &= !asks_for_leaks(&scenario->ops[i]);
    if (are_usual) return;
    put(out, "  checkpoints = { ");
    for (size_t i = 0; i < scenario->n_checkpoints; i++) {
        say(out, "%s%s = ", i ? ", " : "", scenario->checkpoints[i].name);
        say_checkpoint(out, &scenario->checkpoints[i]);
    }
    put(out, " },\n");
}

/* ---- experts of a layer ---- */

static void say_layer(struct out *out, const struct cs_layer_settings *layer) {
    static const struct {
        unsigned option;
        const char *line;
    } lines[] = {{CS_WITH_BIAS, "experts = { bias = true }"},
                 {CS_NOT_GATED, "experts = { gated = false }"},
                 {CS_ASYMMETRIC, "quantization = { asymmetric = true }"},
                 {CS_PER_CHANNEL, "quantization = { per_channel = true }"},
                 {CS_STATIC_INPUT, "quantization = { static_input = true }"}};
    for (size_t i = 0; i < CS_COUNT(lines); i++)
        if (layer->on & lines[i].option) say(out, "  %s,\n", lines[i].line);
    if (layer->redundant) say(out, "  experts = { redundant = %" PRId64 " },\n", layer->redundant);
    if (layer->is_round_robin) put(out, "  experts = { placement = \"round_robin\" },\n");
    if (layer->all2all) say(out, "  all2all = \"%s\",\n", cs_all2all_name(layer->all2all));
}

/* ---- server ---- */

static const char *pattern_text(const struct cs_pattern *pattern, char *buffer, size_t size) {
    if (pattern->kind == CS_PATTERN_RANDOM) return "random";
    if (pattern->kind == CS_PATTERN_NAN) return "nan";
    snprintf(buffer, size, "0x%02X", pattern->byte);
    return buffer;
}

static void say_allocator(struct out *out, const struct cs_allocator_rule *rule) {
    char cold[8], reload[8];
    say(out, "  allocator = { fresh = { cold = \"%s\", reload = \"%s\" }, ",
        pattern_text(&rule->fresh_cold, cold, sizeof cold), pattern_text(&rule->fresh_reload, reload, sizeof reload));
    if (rule->recycle_up_to == UINT64_MAX)
        put(out, "recycle_up_to = \"all\"");
    else
        say(out, "recycle_up_to = %" PRIu64, rule->recycle_up_to);
    if (rule->recycled_keeps_bytes) put(out, ", recycled = \"own_bytes\"");
    for (size_t i = 0; i < rule->n_classes; i++)
        say(out, "%s%" PRIu64 "%s", i ? ", " : ", classes = { ", rule->class_limit[i],
            i + 1 == rule->n_classes ? " }" : "");
    if (rule->fresh_first) say(out, ", fresh_first = %u", rule->fresh_first);
    put(out, " },\n");
}

static void say_list(struct out *out, const char *key, const char *const *words, size_t n) {
    say(out, "%s = { ", key);
    for (size_t i = 0; i < n; i++) say(out, "%s\"%s\"", i ? ", " : "", words[i]);
    put(out, " }");
}

/* Defects that are on and are not the release's, or those of the release that are off. */
static void say_switched(struct out *out, const char *key, cs_defect_set defects, bool is_on) {
    const char *names[CS_N_DEFECTS];
    size_t n = 0;
    for (int i = 0; i < CS_N_DEFECTS; i++) {
        enum cs_defect defect = (enum cs_defect)i;
        bool is_switched = cs_defects_have(defects, defect) != cs_defects_have(0, defect);
        if (is_switched && cs_defects_have(defects, defect) == is_on) names[n++] = cs_defect_name(defect);
    }
    if (!n) return;
    put(out, "  ");
    say_list(out, key, names, n);
    put(out, ",\n");
}

/* ---- plan ---- */

static void say_switches(struct out *out, const struct cs_op *op) {
    const struct {
        const char *key;
        bool is_there;
        const char *const *words;
        size_t n;
    } lists[] = {{"only", op->has_only, op->only, op->n_only},
                 {"omit", op->n_omitted > 0, op->omitted, op->n_omitted},
                 {"duplicate", op->n_duplicated > 0, op->duplicated, op->n_duplicated},
                 {"unknown", op->n_unknown > 0, op->unknown, op->n_unknown}};
    if (op->is_patch) put(out, ", patch = true");
    if (op->loader) say(out, ", loader = \"%s\"", op->loader);
    if (op->is_shuffled) put(out, ", order = \"shuffled\"");
    if (op->is_reversed) put(out, ", order = \"reversed\"");
    if (op->shuffles_modules) put(out, ", order = \"modules\"");
    for (size_t i = 0; i < CS_COUNT(lists); i++) {
        if (!lists[i].is_there) continue;
        put(out, ", ");
        say_list(out, lists[i].key, lists[i].words, lists[i].n);
    }
    if (op->n_unknown) say(out, ", unknown_at = %" PRId64, op->unknown_at);
    if (op->is_stopped) say(out, ", stop_after = %" PRId64, op->stop_after);
    if (op->bucket_tensors) say(out, ", bucket = %" PRId64, op->bucket_tensors);
    if (op->bucket_bytes) say(out, ", bucket = \"%" PRIu64 "\"", op->bucket_bytes);
    if (op->is_buffer_shared) put(out, ", buffer = \"shared\"");
    if (op->pieces > 1) say(out, ", pieces = %d", op->pieces);
    if (op->replays_records) put(out, ", replay_records = true");
}

static void say_load(struct out *out, const struct cs_op *op) {
    bool is_start = op->kind == CS_OP_COLD_START;
    bool is_plain = is_start && cs_text_equal(op->driver, "cold_start") && !op->loader && !op->shuffles_modules;
    if (is_plain) {
        say(out, "    s:cold_start \"%s\"\n", op->checkpoint);
        return;
    }
    say(out, "    s:%s { driver = \"%s\"", is_start ? "cold_start" : "reload", op->driver);
    if (op->checkpoint) say(out, ", checkpoint = \"%s\"", op->checkpoint);
    say_switches(out, op);
    put(out, " }\n");
}

static void say_expected(struct out *out, const struct cs_expected *expected) {
    if (expected->is_equal || expected->is_refused) {
        put(out, expected->is_equal ? "cs.equal()" : "cs.refused()");
        return;
    }
    size_t n = 0;
    put(out, "{ ");
    for (int i = 0; i < CS_N_COUNTS; i++)
        if (expected->has_count[i])
            say(out, "%s%s = %" PRId64, n++ ? ", " : "", cs_count_names[i], expected->count[i]);
    put(out, " }");
}

static void say_op(struct out *out, const struct cs_op *op) {
    switch (op->kind) {
    case CS_OP_SLEEP: say(out, "    s:sleep(%d)\n", op->sleep_level); return;
    case CS_OP_WAKE: put(out, "    s:wake()\n"); return;
    case CS_OP_CAPTURE: put(out, "    s:capture()\n"); return;
    case CS_OP_EXPECT: break;
    default: say_load(out, op); return;
    }
    put(out, "    s:expect(");
    say_expected(out, op->n_expected ? op->expected : &(const struct cs_expected){.is_equal = true});
    put(out, ")\n");
}

char *cs_scenario_lua(const struct cs_scenario *scenario, const char *const *comment, size_t n_comment,
                      struct cs_arena *arena) {
    struct out out = {.arena = arena};
    for (size_t i = 0; i < n_comment; i++) {
        put(&out, "-- ");
        put(&out, comment[i]);
        put(&out, "\n");
    }
    say(&out, "return cs.scenario {\n  name = \"%s\",\n", scenario->name);
    say_model(&out, &scenario->model);
    if (scenario->method) say(&out, "  method = \"%s\", backend = \"%s\",", scenario->method, scenario->backend);
    if (scenario->loader) say(&out, " loader = \"%s\",", scenario->loader);
    say(&out, "\n  rounding = \"%s\", tp = %d, ep = %d,\n  ", scenario->rounding, scenario->tp, scenario->ep);
    say_list(&out, "policies", scenario->policies, scenario->n_policies);
    put(&out, ",\n");
    say_layer(&out, &scenario->layer);
    say_checkpoints(&out, scenario);
    say_allocator(&out, &scenario->allocator);
    say_switched(&out, "defects", scenario->defects, true);
    say_switched(&out, "fixes", scenario->defects, false);
    say(&out, "  seed = %" PRIu64 ",\n  run = function(s)\n", scenario->seed);
    for (size_t i = 0; i < scenario->n_ops; i++) say_op(&out, &scenario->ops[i]);
    put(&out, "  end,\n}\n");
    return out.is_full ? NULL : out.text;
}
