/* Sleep gives the memory of weights back, wake maps it again at the same addresses. Level 1 keeps every byte on the
 * host; level 2 keeps the named buffers only, and what is not loaded again afterwards is undefined. Source: vllm 0.33
 * v1/worker/gpu_worker.py, sleep and wake_up; device_allocator/cumem.py. */
#include "sim/session/internal.h"

struct kept {
    struct kept *next;
    const struct cs_device *device;
    struct cs_view view;
    size_t size;
    void *bytes;
};

struct cs_sleep {
    int level;
    struct kept *kept;
};

static enum cs_status keep(struct cs_session *session, const struct cs_rank *rank, const struct cs_view *view) {
    struct kept *kept = CS_NEW(&session->live, struct kept);
    size_t size = (size_t)(cs_view_numel(view) * cs_dtype_bits(view->dtype) + 7) / 8;
    void *bytes = CS_NEW_ARRAY(&session->live, char, size + 1);
    CS_REQUIRE(kept && bytes, CS_NO_MEMORY, "out of memory for the buffers of a sleeping server");
    *kept = (struct kept){
        .next = session->asleep->kept, .device = rank->device, .view = *view, .size = size, .bytes = bytes};
    session->asleep->kept = kept;
    return cs_device_read(rank->device, view, bytes, size);
}

static enum cs_status keep_buffers(struct cs_session *session, struct cs_rank *rank) {
    for (size_t m = 0; m < rank->n_modules; m++)
        for (size_t i = 0; i < rank->modules[m].n_slots; i++) {
            const struct cs_slot *slot = &rank->modules[m].slots[i];
            bool is_buffer = slot->kind == CS_BUFFER || slot->kind == CS_PERSISTENT_BUFFER;
            if (is_buffer && slot->param->view.storage->kind == CS_STORAGE_MEMORY)
                CS_TRY(keep(session, rank, &slot->param->view));
        }
    return CS_OK;
}

static void note_dropped(struct cs_rank *rank) {
    for (const struct cs_storage *storage = rank->allocator.storages; storage; storage = storage->next) {
        struct cs_view whole = {
            .storage = (struct cs_storage *)(uintptr_t)storage, .dtype = CS_U8, .ndim = 1, .stride = {1}};
        whole.shape[0] = (int64_t)storage->bytes;
        if (storage->kind == CS_STORAGE_MEMORY)
            cs_log_note(rank->log, &(struct cs_log_entry){.kind = CS_LOG_ALLOCATE,
                                                          .who = "sleep level 2",
                                                          .what = storage->label,
                                                          .destination = whole,
                                                          .origin = CS_ORIGIN_FRESH});
    }
}

/* Level 1 moves every byte to the host and back: nobody can tell. */
enum cs_status cs_session_sleep(struct cs_session *session, int level) {
    session->asleep = CS_NEW(&session->live, struct cs_sleep);
    CS_REQUIRE(session->asleep, CS_NO_MEMORY, "out of memory for a sleeping server");
    session->asleep->level = level;
    cs_load_probe(&session->log, level == 2 ? CS_LOAD_PROBE_slept_2 : CS_LOAD_PROBE_slept_1);
    for (size_t r = 0; level == 2 && r < session->n_ranks; r++) {
        session->log.rank = (int)r;
        CS_TRY(keep_buffers(session, &session->ranks[r]));
        session->ranks[r].allocator.phase = CS_PHASE_RELOAD;
        CS_TRY(cs_allocator_discard(&session->ranks[r].allocator));
        note_dropped(&session->ranks[r]);
    }
    return CS_OK;
}

enum cs_status cs_session_wake(struct cs_session *session) {
    bool forgets = cs_defects_have(session->config.scenario->defects, CS_DEFECT_WAKE_FORGETS_BUFFERS);
    for (const struct kept *kept = forgets ? NULL : session->asleep->kept; kept; kept = kept->next)
        CS_TRY(cs_device_write(kept->device, &kept->view, kept->bytes, kept->size));
    session->asleep = NULL;
    return CS_OK;
}
