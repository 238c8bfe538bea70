/* Memory runs out (tests/support_memory.h) in each operation of a device that stages, cuts and sorts. */
#include <setjmp.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>
#include <omp.h>

#include "gpu/gpu.h"
#include "tests/support_layout.h"
#include "tests/support_memory.h"

enum { ROWS = 8, COLUMNS = 64, N_REGIONS = 200, LARGE = 1 << 18 };
static _Alignas(16) unsigned char host_bytes[LARGE]; /* zeros but for the first */

/* The first half of each row of the host's; the whole of it; what lies on the device. */
struct scene {
    const struct cs_device *device;
    struct cs_storage host, own;
    struct cs_view gaps, whole, to;
};

static enum cs_status move_and_judge(struct scene *scene, char *result) {
    const struct cs_device *device = scene->device;
    struct cs_view narrow = scene->whole, half = scene->to;
    struct cs_difference difference;
    uint64_t digest, one;
    const struct cs_view *const views[] = {&scene->to, &half};
    uint64_t both[2];
    narrow.dtype = CS_BF16;
    half.shape[1] = COLUMNS / 2;
    CS_TRY(device->copy(device, &half, &scene->gaps));
    CS_TRY(device->compare(device, &half, &scene->gaps, &difference));
    assert_int_equal(difference.n_elements, 0);
    CS_TRY(device->convert(device, &scene->to, &narrow));
    CS_TRY(device->compare(device, &scene->gaps, &scene->gaps, &difference));
    CS_TRY(device->digest(device, &scene->whole, &digest));
    CS_TRY(device->digest(device, &scene->to, &one));
    CS_TRY(device->digest_all(device, views, 2, both));
    assert_true(both[0] == one);
    snprintf(result, RESULT, "%" PRIx64 " %" PRIx64 " %" PRIx64, digest, both[0], both[1]);
    return CS_OK;
}

static enum cs_status fill_and_lay_out(struct scene *scene) {
    const struct cs_device *device = scene->device;
    static struct cs_fill fills[N_REGIONS];
    const struct cs_layout *layout = cs_layout_by_name("transpose");
    struct cs_plan turned = support_compose(&layout, 1, 16, ROWS, 16);
    struct cs_view from, to;
    for (size_t i = 0; i < N_REGIONS; i++) {
        fills[i] = (struct cs_fill){.view = scene->to, .bits = i};
        fills[i].view.shape[0] = fills[i].view.shape[1] = 1;
        fills[i].view.offset = (int64_t)i;
    }
    CS_TRY(device->fill(device, fills, N_REGIONS));
    CS_TRY(cs_view_make(&from, &scene->host, CS_U8, 1, (int64_t[]){ROWS * 16 * 2}));
    CS_TRY(cs_view_make(&to, &scene->own, CS_U8, 1, (int64_t[]){ROWS * 16 * 2}));
    to.offset = 1; /* where no element of 16 bits begins */
    return device->relayout(device, &turned, 1, &to, &from);
}

static enum cs_status compute_and_capture(struct scene *scene) {
    const struct cs_device *device = scene->device;
    struct cs_program_name names[CS_PROGRAM_OPERANDS];
    struct cs_program program;
    struct cs_operand largest = {.block = {1, LARGE / 4}};
    uint64_t digest;
    void *graph;
    CS_TRY(cs_program_parse("x + v", &program, names));
    program.ndim = 2, program.shape[0] = ROWS, program.shape[1] = COLUMNS;
    for (size_t i = 0; i < 2; i++) program.operand[i] = (struct cs_operand){scene->whole, {1, 1}};
    CS_TRY(device->map(device, &program, &scene->to));
    CS_TRY(cs_program_parse("x", &program, names));
    program.ndim = 2, program.shape[0] = 1, program.shape[1] = LARGE / 4;
    CS_TRY(cs_view_make(&program.operand[0].view, &scene->host, CS_F32, 2, program.shape));
    program.operand[0].block[0] = program.operand[0].block[1] = 1;
    CS_TRY(cs_view_make(&largest.view, &scene->own, CS_F32, 2, (int64_t[]){1, 1}));
    CS_TRY(device->maximum(device, &program, &largest));
    CS_TRY(device->capture(device, &scene->to, 1, &graph));
    enum cs_status status = device->replay(device, graph, &digest);
    device->forget(device, graph);
    return status;
}

static enum cs_status operate(const struct work *work, struct cs_arena *arena, char *result) {
    (void)arena;
    struct scene scene = {.device = cs_device_by_name(work->device),
                          .host = {.kind = CS_STORAGE_HOST, .bytes = LARGE, .data = host_bytes, .label = "host"},
                          .own = {.kind = CS_STORAGE_MEMORY, .bytes = 4 * ROWS * COLUMNS, .label = "own"}};
    int64_t shape[] = {ROWS, COLUMNS};
    CS_TRY(cs_view_make(&scene.whole, &scene.host, CS_F32, 2, shape));
    CS_TRY(cs_view_make(&scene.to, &scene.own, CS_F32, 2, shape));
    scene.gaps = scene.whole;
    scene.gaps.shape[1] = COLUMNS / 2;
    size_t used = cs_gpu_memory_used(scene.device);
    CS_TRY(scene.device->allocate(scene.device, scene.own.bytes, &scene.own.data));
    enum cs_status status = move_and_judge(&scene, result);
    if (status == CS_OK) status = fill_and_lay_out(&scene);
    if (status == CS_OK) status = compute_and_capture(&scene);
    scene.device->release(scene.device, scene.own.data, scene.own.bytes);
    assert_int_equal(cs_gpu_memory_used(scene.device), used);
    return status;
}

static void operations(void **state) {
    (void)state;
    for (size_t i = 0; i < 4 * ROWS * COLUMNS; i++) host_bytes[i] = (unsigned char)(i % 113);
    every_request_may_fail(&(struct work){operate, .device = "emu"});
}

int main(void) {
    omp_set_num_threads(1); /* the count of requests is not for threads */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
