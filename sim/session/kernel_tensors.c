/* Finished tensors of another server: a cold start of the checkpoint in a session of its own, whose parameters are then
 * copied by name. */
#include "sim/session/internal.h"

static bool is_wanted(const struct cs_op *op, const char *name) {
    bool is_in = !op->has_only;
    for (size_t i = 0; i < op->n_only; i++) is_in = is_in || cs_text_matches(op->only[i], name);
    for (size_t i = 0; i < op->n_omitted; i++) is_in = is_in && !cs_text_matches(op->omitted[i], name);
    return is_in;
}

/* One object under two names is one parameter. */
static bool is_first_name(const struct cs_rank *finished, size_t module, size_t slot) {
    const struct cs_param *param = finished->modules[module].slots[slot].param;
    for (size_t m = 0; m <= module; m++) {
        const struct cs_module *at = &finished->modules[m];
        for (size_t i = 0; i < (m == module ? slot : at->n_slots); i++)
            if (at->slots[i].param == param) return false;
    }
    return true;
}

static enum cs_status copy_all(struct cs_session *session, const struct cs_op *op, struct cs_rank *rank,
                               struct cs_rank *finished) {
    const struct cs_driver *driver = cs_driver_by_name(op->driver);
    int64_t n = 0;
    for (size_t m = 0; m < finished->n_modules; m++)
        for (size_t i = 0; i < finished->modules[m].n_slots; i++) {
            const struct cs_slot *slot = &finished->modules[m].slots[i];
            if (slot->kind != CS_PARAMETER || !is_first_name(finished, m, i)) continue;
            const char *name = cs_arena_format(&session->arena, "%s.%s", rank->modules[m].spec->name, slot->name);
            CS_REQUIRE(name, CS_NO_MEMORY, "out of memory for the names of finished tensors");
            if (!is_wanted(op, name)) {
                session->accounting.missing += rank->index == 0;
                continue;
            }
            if (op->is_stopped && n++ >= op->stop_after) return CS_OK;
            CS_TRY(driver->take(&rank->modules[m], slot->name, &slot->param->view));
        }
    return CS_OK;
}

enum cs_status cs_session_copy_finished(struct cs_session *session, const struct cs_op *op, struct cs_rank *rank) {
    struct cs_session_config config = session->config;
    config.only_rank = rank->index;
    config.module_is_loaded = NULL;
    config.is_tracing = false;
    struct cs_session finished;
    const struct cs_op start = {.kind = CS_OP_COLD_START, .driver = "cold_start", .checkpoint = op->checkpoint};
    enum cs_status status = cs_session_open(&finished, &config);
    if (status == CS_OK) status = cs_session_run(&finished, &start);
    if (status == CS_OK) status = copy_all(session, op, rank, &finished.ranks[rank->index]);
    session->log.bytes_moved += finished.log.bytes_moved;
    cs_session_close(&finished);
    return status;
}
