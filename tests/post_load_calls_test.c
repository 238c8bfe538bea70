/* How often post-loads of bench call a device. On a GPU each call costs some microseconds, however few numbers it is over:
 * a layer whose weights take half a millisecond can afford some, not dozens. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "sim/bench/internal.h"
#include "tests/support_twin.h"

/* The reference, which counts. */
static struct {
    int maps, maxima, relayouts, copies;
} calls;

static const struct cs_device *ref(void) { return cs_device_by_name("ref"); }

static enum cs_status map(const struct cs_device *device, const struct cs_program *program, const struct cs_view *destination) {
    (void)device;
    calls.maps++;
    return ref()->map(ref(), program, destination);
}

static enum cs_status maximum(const struct cs_device *device, const struct cs_program *program, const struct cs_operand *destination) {
    (void)device;
    calls.maxima++;
    return ref()->maximum(ref(), program, destination);
}

static enum cs_status relayout(const struct cs_device *device, const struct cs_plan *plan, int64_t n, const struct cs_view *destination,
                               const struct cs_view *source) {
    (void)device;
    calls.relayouts++;
    return ref()->relayout(ref(), plan, n, destination, source);
}

static enum cs_status copy(const struct cs_device *device, const struct cs_view *destination, const struct cs_view *source) {
    (void)device;
    calls.copies++;
    return ref()->copy(ref(), destination, source);
}

static struct cs_bench_row row_named(struct cs_arena *arena, const char *what) {
    struct cs_bench_row row = {0};
    for (size_t i = 0; i < cs_bench_n_post_loads(); i++) {
        ASSERT_OK(cs_bench_post_load_row(i, arena, &row));
        if (cs_text_equal(row.what, what)) return row;
    }
    fail_msg("bench has no row \"%s\"", what);
    return row;
}

/* Of one layer. NVFP4 by Marlin, for each of w13 and w2: the largest scale, the factor, bytes of scales, second-level
 * scales. Blocks of DeepGEMM: quantised twice, by what is exact and by a power of two. */
static void post_loads_call_devices_rarely(void **state) {
    (void)state;
    static const struct {
        const char *what;
        int maps, maxima, relayouts, copies;
    } rows[] = {
        {"post-load nvfp4_modelopt, marlin", 6, 2, 4, 1},
        {"post-load nvfp4_ct, marlin", 6, 2, 4, 0},
        {"post-load fp8_block, deepgemm", 10, 2, 2, 2},
        {"post-load online_fp8_block, deepgemm", 16, 4, 2, 2},
    };
    struct cs_device device = *ref();
    device.map = map, device.maximum = maximum, device.relayout = relayout, device.copy = copy;
    for (size_t i = 0; i < CS_COUNT(rows); i++) {
        struct cs_bench bench = {.device = &device, .host_device = ref(), .bytes = CS_BENCH_LEAST};
        struct cs_memory memory = cs_device_memory(&device);
        struct cs_arena arena = {0};
        int64_t bytes;
        cs_pool_init(&bench.pool, &memory);
        struct cs_bench_row row = row_named(&arena, rows[i].what);
        ASSERT_OK(row.prepare(&bench, &row));
        memset(&calls, 0, sizeof calls);
        ASSERT_OK(row.run(&bench, &row, &bytes));
        row.clean(&bench);
        if (calls.maps > rows[i].maps || calls.maxima > rows[i].maxima || calls.relayouts > rows[i].relayouts || calls.copies > rows[i].copies)
            fail_msg("%s: found %d programs, %d maxima, %d relayouts and %d copies, expected %d, %d, %d and %d at most", row.what, calls.maps,
                     calls.maxima, calls.relayouts, calls.copies, rows[i].maps, rows[i].maxima, rows[i].relayouts, rows[i].copies);
        cs_pool_close(&bench.pool);
        cs_arena_release(&arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(post_loads_call_devices_rarely)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
