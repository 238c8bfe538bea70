/* States that are kept to be compared with again and again. */
#include "sim/audit/state.h"

struct cs_kept {
    struct cs_state state;
};

enum cs_status cs_kept_make(struct cs_session *session, struct cs_arena *arena, const struct cs_kept **kept) {
    struct cs_kept *made = CS_NEW(arena, struct cs_kept);
    CS_REQUIRE(made, CS_NO_MEMORY, "out of memory for a state to keep");
    made->state.arena = arena;
    *kept = made;
    return cs_state_capture(session, true, &made->state);
}

enum cs_status cs_kept_compare(const struct cs_kept *kept, struct cs_session *session, struct cs_arena *scratch,
                               int64_t *n_differ) {
    struct cs_state now = {.arena = scratch};
    CS_TRY(cs_state_capture(session, true, &now));
    *n_differ = 0;
    for (size_t i = 0; i < kept->state.n; i++) {
        const struct cs_entry *was = &kept->state.entries[i], *is = cs_state_find(&now, was, i);
        if (was->kind == CS_ENTRY_PARAM) *n_differ += !is || cs_entry_differs(is, was);
    }
    return CS_OK;
}
