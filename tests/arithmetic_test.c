/* No device fuses, reorders or approximates: numbers for which a fused multiply-add, another order or a reciprocal instead of a division would
 * give other bits, on every device that runs here. Expected numbers were worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "sim/device/device.h"

enum { N = 1024 }; /* more than a block of threads, and than a vector register */

static void assert_ok(enum cs_status status) {
    if (status != CS_OK) fail_msg("%s", cs_error_text());
}

static struct cs_view floats(struct cs_allocator *allocator, const char *name) {
    const int64_t shape[] = {N};
    struct cs_view view;
    assert_ok(cs_view_make(&view, NULL, CS_F32, 1, shape));
    assert_ok(cs_allocate(allocator, sizeof(float) * N, CS_F32, name, &view.storage));
    return view;
}

static struct cs_view all_of(struct cs_allocator *allocator, const struct cs_device *device, const char *name, float number) {
    float numbers[N];
    for (size_t i = 0; i < N; i++) numbers[i] = number;
    struct cs_view view = floats(allocator, name);
    assert_ok(cs_device_write(device, &view, numbers, sizeof numbers));
    return view;
}

static void run(const struct cs_device *device, const char *text, float x, float v, float result[N]) {
    struct cs_allocator allocator;
    const struct cs_memory memory = cs_device_memory(device);
    cs_allocator_init(&allocator, &cs_allocator_harshest, &memory, 1);
    struct cs_program program;
    struct cs_program_name names[CS_PROGRAM_OPERANDS];
    assert_ok(cs_program_parse(text, &program, names));
    struct cs_view operands[] = {all_of(&allocator, device, "x", x), all_of(&allocator, device, "v", v)};
    program.ndim = 1, program.shape[0] = N;
    for (size_t i = 0; i < program.n_operands; i++) program.operand[i] = (struct cs_operand){operands[*names[i].start == 'v'], {1}};
    struct cs_view destination = floats(&allocator, "y");
    assert_ok(cs_device_map(device, &program, &destination));
    assert_ok(cs_device_read(device, &destination, result, sizeof(float) * N));
    cs_allocator_close(&allocator);
}

static void assert_everywhere(const char *text, float x, float v, float expected, float wrong) {
    float result[N];
    assert_true(memcmp(&expected, &wrong, sizeof expected) != 0); /* the numbers tell right from wrong */
    for (size_t d = 0; d < cs_n_devices; d++) {
        const struct cs_device *device = cs_devices[d];
        if (device->unavailable && *device->unavailable()) continue;
        run(device, text, x, v, result);
        for (size_t i = 0; i < N; i++)
            if (memcmp(&result[i], &expected, sizeof expected) != 0)
                fail_msg("%s: %s of %a, %a, element %zu: expected %a, got %a", device->name, text, (double)x, (double)v, i, (double)expected,
                         (double)result[i]);
    }
}

/* (1 + 2^-12)^2 = 1 + 2^-11 + 2^-24: the last term is half a place of f32, and goes to even. A fused operation keeps it. */
static void products_are_rounded_before_sums(void **state) {
    (void)state;
    float x = 1 + 0x1p-12f;
    assert_everywhere("x * v + -0x1.002p0", x, x, 0.0f, 0x1p-24f);
    /* 3 · (1 + 2^-23) = 3 + 3 · 2^-23, between 3 + 2^-22 and 3 + 2^-21: a tie of 2^-23 · 1.5, which goes to 3 + 2^-21 */
    assert_everywhere("x * 3 + -3", 1 + 0x1p-23f, 0, 0x1p-21f, 0x1.8p-22f);
    /* dequantise and quantise: w · s · (1 / s'), each product rounded; (1 + 2^-23)^2 is 1 + 2^-22 + 2^-46 */
    assert_everywhere("x * v * v + -0x1.000006p0", 1 + 0x1p-23f, 1 + 0x1p-23f, 0.0f, 0x1.8p-45f);
}

/* 2^24 + 1 is no f32. */
static void sums_and_products_keep_their_order(void **state) {
    (void)state;
    assert_everywhere("x + 1 + -0x1p24", 0x1p24f, 0, 0.0f, 1.0f);
    assert_everywhere("x * 0x1p100 * 0x1p-100", 0x1p100f, 0, 1.0f / 0.0f, 0x1p100f);
    assert_everywhere("x * 0x1p-100 * 0x1p100", 0x1p-100f, 0, 0.0f, 0x1p-100f);
}

/* 1/41 is rounded down, and 41 times it is below 1. 5/3: the quotient is 1.aaaaaap0 + a half that goes up; 5 · (1/3) is one place more. */
static void divisions_are_divisions(void **state) {
    (void)state;
    assert_everywhere("x / v", 41, 41, 1.0f, 0x1.fffffep-1f);
    assert_everywhere("v into 1 * x", 41, 41, 0x1.fffffep-1f, 1.0f);
}

/* Numbers below 2^-126 are neither read nor written as 0. */
static void small_numbers_are_not_flushed(void **state) {
    (void)state;
    assert_everywhere("x * 0.5", 0x1p-126f, 0, 0x1p-127f, 0.0f);
    assert_everywhere("x + v", 0x1p-149f, 0x1p-149f, 0x1p-148f, 0.0f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_rounded_before_sums),
        cmocka_unit_test(sums_and_products_keep_their_order),
        cmocka_unit_test(divisions_are_divisions),
        cmocka_unit_test(small_numbers_are_not_flushed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
