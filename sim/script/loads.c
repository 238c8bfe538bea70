/* What a plan does to a server: start, reload, sleep, wake. */
#include <string.h>

#include "sim/script/fields.h"

#define OP struct cs_op

/* ---- how a reload's tensors travel ---- */

static void read_order(const struct cs_value *value, void *structure) {
    static const char *const names[] = {"file", "shuffled", "reversed", "modules"};
    OP *op = structure;
    if (!cs_value_is(value, LUA_TTABLE)) {
        size_t word = cs_value_word(value, names, CS_COUNT(names));
        op->is_shuffled = word == 1;
        op->is_reversed = word == 2;
        op->shuffles_modules = word == 3;
        return;
    }
    op->n_order = cs_value_list(value);
    size_t *order = CS_SCRIPT_NEW(value->L, size_t, op->n_order);
    for (size_t i = 0; i < op->n_order; i++) {
        struct cs_value item = cs_value_item(value, (lua_Integer)i + 1);
        order[i] = (size_t)cs_value_integer(&item, 1, INT32_MAX) - 1;
        lua_pop(value->L, 1);
    }
    op->order = order;
}

static void read_only(const struct cs_value *value, void *structure) {
    OP *op = structure;
    op->has_only = true;
    op->only = cs_value_texts(value, &op->n_only);
}

static void read_stop(const struct cs_value *value, void *structure) {
    OP *op = structure;
    op->is_stopped = true;
    op->stop_after = cs_value_integer(value, 0, INT32_MAX);
}

static void read_bucket(const struct cs_value *value, void *structure) {
    OP *op = structure;
    if (!cs_value_is(value, LUA_TSTRING)) {
        op->bucket_tensors = cs_value_integer(value, 1, INT32_MAX);
        return;
    }
    if (cs_text_bytes(cs_value_text(value), &op->bucket_bytes) != CS_OK) cs_value_refuse(value, "%s", cs_error_text());
    if (!op->bucket_bytes) cs_value_fail(value, "a number of tensors, or bytes such as \"64MiB\"");
}

static void read_buffer(const struct cs_value *value, void *structure) {
    static const char *const names[] = {"own", "shared"};
    ((OP *)structure)->is_buffer_shared = cs_value_word(value, names, CS_COUNT(names)) == 1;
}

/* ---- loads ---- */

static void read_loader(const struct cs_value *value, void *op) {
    ((OP *)op)->loader = cs_value_loader(value, &((OP *)op)->own_loader);
}

static void read_start_order(const struct cs_value *value, void *op) {
    static const char *const names[] = {"file", "modules"};
    ((OP *)op)->shuffles_modules = cs_value_word(value, names, CS_COUNT(names)) == 1;
}

static const struct cs_field cold_start_fields[] = {
    {CS_TEXT_ROW("checkpoint", OP, checkpoint, "name of a checkpoint; `\"dummy_start\"` has none")},
    {CS_TEXT_ROW("driver", OP, driver,
                 "`\"meta_build\"`: built on the meta device, tensors of a finished server attached; "
                 "`\"dummy_start\"`: random numbers"),
     CS_TYPE("cs.StartDriver"), CS_DEFAULT("`\"cold_start\"`")},
    {CS_CUSTOM_ROW("loader", read_loader, "cs.Loader|cs.OwnLoader", "another loader than the scenario's")},
    {CS_CUSTOM_ROW("order", read_start_order, "\"file\"|\"modules\"",
                   "modules: in an order from the seed, and tensors of one keep theirs"),
     CS_DEFAULT("`\"file\"`")},
};
static void check_start(const struct cs_value *value, void *structure) {
    const OP *op = structure;
    struct cs_value checkpoint;
    bool is_needed = !op->checkpoint && !cs_text_equal(op->driver, "dummy_start");
    if (!cs_value_field(value, "checkpoint", &checkpoint) && is_needed) cs_value_fail(&checkpoint, "a string");
    lua_pop(value->L, 1);
}

const struct cs_record cs_record_cold_start = CS_RECORD("cs.ColdStart", cold_start_fields, OP, check_start);

static const struct cs_field reload_fields[] = {
    {CS_TEXT_ROW("driver", OP, driver, "how the checkpoint comes in: `coldstart list drivers`"),
     CS_TYPE("cs.ReloadDriver"), CS_REQUIRED},
    {CS_TEXT_ROW("checkpoint", OP, checkpoint, "name of a checkpoint"), CS_REQUIRED},
    {CS_CUSTOM_ROW("loader", read_loader, "cs.Loader|cs.OwnLoader", "another loader than the scenario's")},
    {CS_CUSTOM_ROW("order", read_order, "\"file\"|\"shuffled\"|\"reversed\"|\"modules\"|integer[]",
                   "order of arrival; shuffled: from the seed; modules: these are, and tensors of one keep their order; a "
                   "list: positions in the file's order, from 1"),
     CS_DEFAULT("`\"file\"`")},
    {CS_CUSTOM_ROW("only", read_only, "string[]",
                   "patterns: nothing but tensors that match is sent; `{}`: an empty load")},
    {CS_TEXTS_ROW("omit", OP, omitted, n_omitted,
                  "patterns of checkpoint tensors that are not sent; `*` matches any run of characters"),
     CS_DEFAULT("`{}`")},
    {CS_TEXTS_ROW("duplicate", OP, duplicated, n_duplicated,
                  "patterns of tensors that are sent twice, one right after the other"),
     CS_DEFAULT("`{}`")},
    {CS_TEXTS_ROW("unknown", OP, unknown, n_unknown, "names that the model does not know, sent too"),
     CS_DEFAULT("`{}`")},
    {CS_INTEGER_ROW("unknown_at", OP, unknown_at, 0, INT32_MAX, "after how many tensors they are sent"),
     CS_DEFAULT("`0`")},
    {CS_CUSTOM_ROW("stop_after", read_stop, "integer",
                   "after so many tensors the sender is gone: nothing is finished, nothing rolled back")},
    {CS_CUSTOM_ROW("bucket", read_bucket, "integer|string",
                   "tensors travel in buckets of so many, or of at most so many bytes: `\"64MiB\"`")},
    {CS_CUSTOM_ROW("buffer", read_buffer, "\"own\"|\"shared\"",
                   "memory of buckets; shared: each bucket overwrites the one before, whoever still reads it"),
     CS_DEFAULT("`\"own\"`")},
    {CS_INT_ROW("pieces", OP, pieces, 1, 1024, "trainer shards of each tensor's first dimension, which arrive apart"),
     CS_DEFAULT("`1`")},
    {CS_FLAG_ROW("patch", OP, is_patch,
                 "driver `raw`: only numbers that differ from the checkpoint before are sent, the others of their tensors "
                 "are NaN; with `only`, tensors without a difference too"),
     CS_DEFAULT("`false`")},
    {CS_FLAG_ROW("replay_records", OP, replays_records,
                 "driver `load_plan`: padding is filled by the records of the load before"),
     CS_DEFAULT("`false`")},
};
const struct cs_record cs_record_reload = CS_RECORD("cs.Reload", reload_fields, OP, NULL);

int cs_script_cold_start(lua_State *L) {
    struct cs_plan_draft *draft = cs_plan_draft_of(L, "s:cold_start");
    struct cs_value argument = cs_value_argument(L, 2, "s:cold_start");
    OP op = {.kind = CS_OP_COLD_START, .driver = "cold_start"};
    if (cs_value_is(&argument, LUA_TSTRING))
        op.checkpoint = cs_value_text(&argument);
    else if (cs_value_is(&argument, LUA_TTABLE))
        cs_value_record(&argument, &cs_record_cold_start, &op);
    else
        cs_value_fail(&argument, "the name of a checkpoint, or { checkpoint = …, driver = … }");
    cs_plan_append(L, draft, &op);
    return 0;
}

int cs_script_reload(lua_State *L) {
    struct cs_plan_draft *draft = cs_plan_draft_of(L, "s:reload");
    struct cs_value argument = cs_value_argument(L, 2, "s:reload");
    OP op = {.kind = CS_OP_RELOAD};
    if (!cs_value_is(&argument, LUA_TTABLE)) cs_value_fail(&argument, "{ driver = …, checkpoint = … }");
    cs_value_record(&argument, &cs_record_reload, &op);
    cs_plan_append(L, draft, &op);
    return 0;
}

int cs_script_sleep(lua_State *L) {
    struct cs_plan_draft *draft = cs_plan_draft_of(L, "s:sleep");
    struct cs_value argument = cs_value_argument(L, 2, "s:sleep");
    OP op = {.kind = CS_OP_SLEEP, .sleep_level = (int)cs_value_integer(&argument, 1, 2)};
    cs_plan_append(L, draft, &op);
    return 0;
}

int cs_script_capture(lua_State *L) {
    cs_value_last_argument(L, 1, "s:capture");
    struct cs_plan_draft *draft = cs_plan_draft_of(L, "s:capture");
    OP op = {.kind = CS_OP_CAPTURE};
    cs_plan_append(L, draft, &op);
    return 0;
}

int cs_script_wake(lua_State *L) {
    cs_value_last_argument(L, 1, "s:wake");
    struct cs_plan_draft *draft = cs_plan_draft_of(L, "s:wake");
    OP op = {.kind = CS_OP_WAKE};
    cs_plan_append(L, draft, &op);
    return 0;
}
