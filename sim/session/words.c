/* Words of tensors' names that a model says something of: what checkpoints call them (names) and store them as
 * (dtypes). A word that changes nothing is a slip of the pen. */
#include "sim/session/internal.h"

#include <string.h>

/* ---- names ---- */

/* Whether a loader's names have this word between dots. The expert's number is none. */
static bool has_word(const struct cs_loader *loader, const char *word) {
    for (size_t i = 0; i < loader->n_rows; i++)
        for (const char *c = loader->rows[i].tensor; *c; c += *c == '.') {
            size_t n = strcspn(c, ".");
            if (*c != '{' && n == strlen(word) && strncmp(c, word, n) == 0) return true;
            c += n;
        }
    return false;
}

/* A model may be loaded by many loaders: the word must be one of any of them. */
static enum cs_status check_renames(const struct cs_scenario *scenario, const struct cs_module_template *module) {
    for (size_t r = 0; r < module->n_renames; r++) {
        bool is_known = false;
        for (size_t i = 0; i < cs_n_loaders; i++)
            is_known = is_known || has_word(cs_loaders[i], module->renames[r].word);
        for (size_t i = 0; i < scenario->n_own_loaders; i++)
            is_known = is_known || has_word(scenario->own_loaders[i], module->renames[r].word);
        CS_REQUIRE(is_known, CS_BAD_SCRIPT, "%s:%d: model: %s: names.%s: no loader has a tensor with that word",
                   scenario->file, scenario->line, module->name, module->renames[r].word);
    }
    return CS_OK;
}

/* ---- dtypes ---- */

/* A word looked for among the tensors that checkpoints hold for one module. */
struct search {
    const char *word;
    bool is_found;
    const char *fixed; /* a tensor with that word whose elements are no numbers; NULL: none */
    enum cs_dtype dtype;
    const char *nearest;
    size_t distance;
};

static void look_at(struct search *search, const char *word, const char *tensor, enum cs_dtype dtype) {
    size_t distance = cs_text_distance(search->word, word);
    if (!search->nearest || distance < search->distance) search->nearest = word, search->distance = distance;
    if (!cs_text_equal(search->word, word)) return;
    search->is_found = true;
    if (!search->fixed && !cs_dtype_is_number(dtype)) search->fixed = tensor, search->dtype = dtype;
}

static void look_in_loader(const struct cs_scenario *scenario, const char *name, struct search *search) {
    const struct cs_loader *loader = cs_scenario_loader(scenario, name);
    unsigned options = cs_session_options(scenario);
    for (size_t i = 0; i < loader->n_rows; i++) {
        const struct cs_loader_row *row = &loader->rows[i];
        if (cs_options_select(options, row->when))
            look_at(search, cs_loader_row_word(row), row->tensor, row->dtype);
    }
}

/* In every loader that the scenario uses. */
static void look_in_experts(const struct cs_scenario *scenario, struct search *search) {
    look_in_loader(scenario, NULL, search);
    for (size_t i = 0; i < scenario->n_ops; i++)
        if (scenario->ops[i].loader) look_in_loader(scenario, scenario->ops[i].loader, search);
}

/* Buffers are in no checkpoint, and a tied parameter is in it once: as the other module's. */
static void look_in_tensors(const struct cs_module_template *module, struct search *search) {
    for (size_t i = 0; i < module->n_tensors; i++) {
        const struct cs_template_tensor *tensor = &module->tensors[i];
        if (tensor->kind == CS_PARAMETER && !tensor->tied)
            look_at(search, tensor->name, tensor->name, tensor->dtype);
    }
    for (size_t i = 0; module->is_attention && i < cs_n_kv_tensors; i++)
        if (cs_session_is_stored_scale(&cs_kv_tensors[i]))
            look_at(search, cs_kv_tensors[i].name, cs_kv_tensors[i].name, cs_kv_tensors[i].dtype);
}

static enum cs_status check_stored(const struct cs_scenario *scenario, const struct cs_module_template *module,
                                   const struct cs_stored *stored) {
    struct search search = {.word = stored->word};
    if (module->is_routed_experts)
        look_in_experts(scenario, &search);
    else
        look_in_tensors(module, &search);
    CS_REQUIRE(!search.fixed, CS_BAD_SCRIPT,
               "%s:%d: model: %s: dtypes.%s: \"%s\" is %s here, which nothing is converted to: leave it out",
               scenario->file, scenario->line, module->name, stored->word, search.fixed, cs_dtype_name(search.dtype));
    CS_REQUIRE(search.nearest, CS_BAD_SCRIPT,
               "%s:%d: model: %s: dtypes.%s: checkpoints hold no tensor of this module: leave it out", scenario->file,
               scenario->line, module->name, stored->word);
    CS_REQUIRE(search.is_found, CS_BAD_SCRIPT, "%s:%d: model: %s: dtypes.%s: found %s, expected one such as \"%s\"",
               scenario->file, scenario->line, module->name, stored->word,
               module->is_routed_experts ? "no name of the scenario's loaders that ends with this word"
                                         : "no parameter of this name in checkpoints",
               search.nearest);
    return CS_OK;
}

enum cs_status cs_session_check_words(const struct cs_scenario *scenario) {
    for (size_t t = 0; t < scenario->model.n_templates; t++) {
        const struct cs_module_template *module = &scenario->model.templates[t];
        CS_TRY(check_renames(scenario, module));
        for (size_t i = 0; i < module->n_stored; i++) CS_TRY(check_stored(scenario, module, &module->stored[i]));
    }
    return CS_OK;
}
