/* The law that padding never reaches real bytes: what post-load makes of a checkpoint's bytes does not depend on what
 * stands between them. Three cold starts that refill nothing say so. */
#include "sim/audit/state.h"

#include <stdlib.h>

/* Garbage that no sum, maximum or rounding overlooks; every dtype reads it as an ordinary number. */
enum { CALM = 0x00, LOUD = 0x77 };

struct three {
    struct cs_session calm, loud, other;
};

static enum cs_status open(const struct cs_session *live, const char *checkpoint, uint8_t padding,
                           struct cs_session *session) {
    struct cs_session_config config = live->config;
    config.policy = "none";
    config.is_tracing = false;
    config.module_is_loaded = NULL;
    config.has_prefill = true;
    config.prefill = padding;
    return cs_cold_session(&config, checkpoint, session);
}

static const struct cs_view *view_of(const struct cs_session *session, size_t rank, size_t module, size_t slot) {
    const struct cs_module *in = &session->ranks[rank].modules[module];
    const struct cs_param *param = slot < in->n_slots ? in->slots[slot].param : NULL;
    return param && param->view.storage->kind == CS_STORAGE_MEMORY ? &param->view : NULL;
}

/* Bit by bit: layouts pack several elements into one word, some of them padding. */
static bool has_leak(unsigned char *const bytes[3], size_t size) {
    for (size_t i = 0; i < size; i++)
        if ((bytes[0][i] ^ bytes[1][i]) & (bytes[0][i] ^ bytes[2][i])) return true;
    return false;
}

static enum cs_status look_at(const struct three *three, size_t rank, size_t module, size_t slot, bool *leaks) {
    const struct cs_session *sessions[] = {&three->calm, &three->loud, &three->other};
    const struct cs_view *views[3];
    unsigned char *bytes[3] = {0};
    const char *name = three->calm.ranks[rank].modules[module].slots[slot].name;
    enum cs_status status = CS_OK;
    for (int i = 0; i < 3; i++) views[i] = view_of(sessions[i], rank, module, slot);
    *leaks = false;
    if (!views[0]) return CS_OK;
    size_t size = (size_t)(cs_view_numel(views[0]) * cs_dtype_bits(views[0]->dtype) + 7) / 8;
    for (int i = 0; i < 3 && status == CS_OK; i++) {
        bytes[i] = malloc(size + 1);
        bool is_like = views[i] && cs_view_same_layout(views[i], views[0]);
        if (!bytes[i])
            status = cs_fail(CS_NO_MEMORY, "padding_leaks: no memory for %zu bytes of %s", size, name);
        else if (!is_like)
            status = cs_fail(CS_INTERNAL, "padding_leaks: %s has another layout after a second cold start", name);
        if (status == CS_OK) status = cs_device_read(three->calm.config.device, views[i], bytes[i], size);
    }
    if (status == CS_OK) *leaks = has_leak(bytes, size);
    for (int i = 0; i < 3; i++) free(bytes[i]);
    return status;
}

static enum cs_status count(const struct three *three, struct cs_arena *arena, int64_t *n_leaks, const char **first) {
    for (size_t r = 0; r < three->calm.n_ranks; r++)
        for (size_t m = 0; m < three->calm.ranks[r].n_modules; m++) {
            const struct cs_module *module = &three->calm.ranks[r].modules[m];
            for (size_t i = 0; module->spec && i < module->n_slots; i++) {
                bool leaks;
                CS_TRY(look_at(three, r, m, i, &leaks));
                *n_leaks += leaks;
                if (leaks && !*first)
                    *first = cs_arena_format(arena, "%s.%s of rank %zu", module->spec->name, module->slots[i].name, r);
            }
        }
    return CS_OK;
}

static enum cs_status find_other(const struct cs_scenario *scenario, const char *checkpoint, int line,
                                 const char **other) {
    *other = NULL;
    for (size_t i = scenario->n_checkpoints; i-- > 0;)
        if (!cs_text_equal(scenario->checkpoints[i].name, checkpoint)) *other = scenario->checkpoints[i].name;
    CS_REQUIRE(*other, CS_BAD_SCRIPT,
               "%s:%d: padding_leaks: needs a second checkpoint: what differs between two is what they decide",
               scenario->file, line);
    return CS_OK;
}

enum cs_status cs_padding_leaks(const struct cs_session *live, const char *checkpoint, int line, struct cs_arena *arena,
                                int64_t *n_leaks, const char **first) {
    struct three three = {0};
    const char *other;
    *n_leaks = 0;
    *first = NULL;
    CS_TRY(find_other(live->config.scenario, checkpoint, line, &other));
    enum cs_status status = open(live, checkpoint, CALM, &three.calm);
    if (status == CS_OK) status = open(live, checkpoint, LOUD, &three.loud);
    if (status == CS_OK) status = open(live, other, CALM, &three.other);
    if (status == CS_OK) status = count(&three, arena, n_leaks, first);
    cs_session_close(&three.calm);
    cs_session_close(&three.loud);
    cs_session_close(&three.other);
    return status;
}
