#include "sim/audit/expect.h"

#include <math.h>

static const struct cs_expected equal = {.is_equal = true};

const struct cs_expected *cs_expected_for(const struct cs_op *op, const char *policy) {
    const struct cs_expected *general = NULL;
    for (size_t i = 0; i < op->n_expected; i++) {
        const struct cs_expected *expected = &op->expected[i];
        if (expected->policy && cs_text_equal(expected->policy, policy)) return expected;
        if (!expected->policy) general = expected;
    }
    return general ? general : &equal;
}

bool cs_expected_asks_devices_only(const struct cs_expected *expected) {
    bool asks_more = expected->is_equal || expected->is_undetermined || expected->is_refused || expected->n_values != 0;
    for (int i = 0; i < CS_N_COUNTS; i++) asks_more |= expected->has_count[i] && i != CS_COUNT_device_differ;
    return !asks_more && expected->has_count[CS_COUNT_device_differ];
}

const char *cs_expected_text(const struct cs_expected *expected, struct cs_arena *arena) {
    if (expected->is_refused)
        return cs_arena_format(arena, "refused(\"%s\")", expected->refusal ? expected->refusal : "");
    if (expected->is_undetermined) return "undetermined()";
    const char *text = expected->is_equal ? "equal()" : NULL;
    for (int i = 0; i < CS_N_COUNTS; i++)
        if (expected->has_count[i])
            text = cs_arena_format(arena, "%s%s%s = %" PRId64, text ? text : "", text ? ", " : "", cs_count_names[i],
                                   expected->count[i]);
    for (size_t i = 0; i < expected->n_values; i++)
        text =
            cs_arena_format(arena, "%s%svalues of %s", text ? text : "", text ? ", " : "", expected->values[i].param);
    return text ? text : "nothing";
}

static const char *judge_equal(const int64_t *count, struct cs_arena *arena, uint64_t *seen) {
    const char *reason = NULL;
    for (int i = 0; i < CS_N_COUNTS; i++)
        if (cs_count_is_channel((enum cs_count)i) && count[i]) {
            *seen |= CS_SEEN_BIT(i);
            reason = cs_arena_format(arena, "%s%s%s: expected 0, got %" PRId64, reason ? reason : "",
                                     reason ? "; " : "", cs_count_names[i], count[i]);
        }
    return reason;
}

const char *cs_expected_judge(const struct cs_expected *expected, const int64_t *count, struct cs_arena *arena,
                              uint64_t *seen) {
    const char *reason = expected->is_equal ? judge_equal(count, arena, seen) : NULL;
    for (int i = 0; i < CS_N_COUNTS; i++)
        if (expected->has_count[i] && expected->count[i] != count[i]) {
            *seen |= CS_SEEN_BIT(i);
            reason = cs_arena_format(arena, "%s%s%s: expected %" PRId64 ", got %" PRId64, reason ? reason : "",
                                     reason ? "; " : "", cs_count_names[i], expected->count[i], count[i]);
        }
    return reason;
}

static enum cs_status read_number(const struct cs_device *device, const struct cs_view *view, int64_t index,
                                  double *number) {
    struct cs_view element = {.storage = view->storage, .offset = cs_view_element(view, index), .dtype = view->dtype};
    uint64_t bits = 0;
    CS_TRY(cs_device_read(device, &element, &bits, (size_t)(cs_dtype_bits(view->dtype) + 7) / 8));
    *number = cs_dtype_decode(view->dtype, bits);
    return CS_OK;
}

static enum cs_status judge_param(const struct cs_expected_values *values, struct cs_session *session,
                                  struct cs_arena *arena, const char **reason) {
    struct cs_rank *rank = &session->ranks[0];
    struct cs_slot *slot = NULL;
    for (size_t m = 0; m < rank->n_modules && !slot; m++) slot = cs_module_slot(&rank->modules[m], values->param);
    CS_REQUIRE(slot && slot->param, CS_BAD_SCRIPT, "values: the model has no parameter \"%s\"", values->param);
    const struct cs_view *view = &slot->param->view;
    CS_REQUIRE((size_t)cs_view_numel(view) == values->n_values, CS_BAD_SCRIPT,
               "values of %s: %zu numbers for a parameter of %" PRId64 " elements", values->param, values->n_values,
               cs_view_numel(view));
    for (size_t i = 0; i < values->n_values; i++) {
        double number;
        CS_TRY(read_number(rank->device, view, (int64_t)i, &number));
        if (number == values->values[i]) continue;
        *reason = cs_arena_format(arena, "%s[%zu]: expected %g, got %g", values->param, i, values->values[i], number);
        return CS_OK;
    }
    return CS_OK;
}

enum cs_status cs_expected_values_judge(const struct cs_expected *expected, struct cs_session *session,
                                        struct cs_arena *arena, const char **reason, uint64_t *seen) {
    for (size_t i = 0; i < expected->n_values; i++) {
        const char *wrong = NULL;
        CS_TRY(judge_param(&expected->values[i], session, arena, &wrong));
        if (wrong) *seen |= CS_SEEN_BIT(CS_SEEN_VALUES);
        if (!*reason) *reason = wrong;
    }
    return CS_OK;
}

const char *cs_verdict_status_name(enum cs_verdict_status status) {
    static const char *const names[] = {
        [CS_PASSED] = "passed",         [CS_FAILED] = "failed",
        [CS_MISTRUSTED] = "mistrusted", [CS_REFUSED_AS_UPSTREAM] = "refused",
        [CS_SKIPPED] = "skipped",
    };
    return names[status];
}
