/* A device that does nothing, for questions of which only shapes decide the answer. */
#include <stdlib.h>
#include <string.h>

#include "sim/fuzz/internal.h"

static enum cs_status move_nothing(const struct cs_device *device, const struct cs_view *destination,
                                   const struct cs_view *source) {
    (void)device, (void)destination, (void)source;
    return CS_OK;
}

static enum cs_status fill_nothing(const struct cs_device *device, const struct cs_fill *fills, size_t n) {
    (void)device, (void)fills, (void)n;
    return CS_OK;
}

static enum cs_status relay_nothing(const struct cs_device *device, const struct cs_plan *plan, int64_t n_matrices,
                                    const struct cs_view *destination, const struct cs_view *source) {
    (void)device, (void)plan, (void)n_matrices, (void)destination, (void)source;
    return CS_OK;
}

static enum cs_status map_nothing(const struct cs_device *device, const struct cs_program *program,
                                  const struct cs_view *destination) {
    (void)device, (void)program, (void)destination;
    return CS_OK;
}

static enum cs_status find_nothing(const struct cs_device *device, const struct cs_program *program,
                                   const struct cs_operand *destination) {
    (void)device, (void)program, (void)destination;
    return CS_OK;
}

/* Loaders look at numbers and at few of them: what is larger is never read. */
static enum cs_status allocate(const struct cs_device *device, size_t bytes, void **data) {
    enum { ALIGNMENT = 64, LOOKED_AT = 4096 };
    (void)device;
    *data = bytes ? aligned_alloc(ALIGNMENT, (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT) : NULL;
    CS_REQUIRE(*data || !bytes, CS_NO_MEMORY, "out of memory for %zu bytes", bytes);
    if (bytes) memset(*data, 0, bytes < LOOKED_AT ? bytes : LOOKED_AT);
    return CS_OK;
}

static void release(const struct cs_device *device, void *data, size_t bytes) {
    (void)device, (void)bytes;
    free(data);
}

struct cs_device cs_idle_device(void) {
    struct cs_device device = *cs_devices[0];
    device.allocate = allocate;
    device.release = release;
    device.generate = device.copy = device.convert = move_nothing;
    device.fill = fill_nothing;
    device.relayout = relay_nothing;
    device.map = map_nothing;
    device.maximum = find_nothing;
    return device;
}

static bool is_load(const struct cs_op *op) { return op->kind == CS_OP_COLD_START || op->kind == CS_OP_RELOAD; }

/* Number of the load that is refused: 0 the start, 1 the first reload … -1: none is. */
static int find_refused_load(const struct cs_scenario *scenario, size_t most_bytes) {
    const struct cs_device device = cs_idle_device();
    struct cs_memory memory = cs_device_memory(&device);
    struct cs_pool pool;
    cs_pool_init(&pool, &memory);
    pool.most_bytes = most_bytes;
    const struct cs_session_config config = {.scenario = scenario,
                                             .device = &device,
                                             .policy = scenario->policies[0],
                                             .allocator = {.fresh_cold = {.kind = CS_PATTERN_BYTE}},
                                             .seed = scenario->seed,
                                             .only_rank = -1,
                                             .pool = &pool};
    struct cs_session session;
    int load = -1;
    enum cs_status status = cs_session_open(&session, &config);
    for (size_t i = 0; status == CS_OK && i < scenario->n_ops; i++) {
        load += is_load(&scenario->ops[i]);
        if (scenario->ops[i].kind != CS_OP_EXPECT) status = cs_session_run(&session, &scenario->ops[i]);
    }
    cs_session_close(&session);
    cs_pool_close(&pool);
    return status == CS_OK ? -1 : load;
}

size_t cs_fuzz_find_refused(const struct cs_fuzz_plan *plan, cs_defect_set switched_on, size_t most_bytes) {
    struct cs_arena arena = {0};
    struct cs_scenario scenario;
    int load = -1;
    if (cs_fuzz_scenario(plan, "fuzz.plan", &arena, &scenario) == CS_OK) {
        scenario.defects = cs_fuzz_defects(plan, switched_on);
        if (cs_scenario_check(&scenario) == CS_OK) load = find_refused_load(&scenario, most_bytes);
    }
    cs_arena_release(&arena);
    return load > 0 && cs_fuzz_may_be_refused(plan, load) ? (size_t)load - 1 : SIZE_MAX;
}
