/* What post-load leaves behind (R6): objects, storages, strides, and what is no longer part of the kernel view. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "ref/ref.h"
#include "sim/conform/internal.h"
#include "sim/method/methods.h"

struct fixture {
    struct cs_layer layer;
    struct cs_post_load run;
    struct cs_param *weight, *scale; /* as created */
    struct cs_view weight_view, scale_view;
};

static void assert_fine(enum cs_status status) {
    if (status != CS_OK) fail_msg("%s", cs_error_text());
}

static struct cs_param *param_of(struct fixture *fixture, const char *name) {
    struct cs_slot *slot = cs_module_slot(&fixture->layer.module, name);
    return slot ? slot->param : NULL;
}

/* weight: u8 [2, 3, 4] of 0, 1, 2 …; scale: f32 [2, 2] of 1, 2, 3, 4. */
static void open_fixture(struct fixture *fixture) {
    static const struct cs_tensor_spec specs[] = {
        {.name = "weight", .dtype = CS_U8, .ndim = 3, .shape = {2, 3, 4}, .weight_loader_numel = -1},
        {.name = "scale", .dtype = CS_F32, .ndim = 2, .shape = {2, 2}, .weight_loader_numel = -1},
    };
    unsigned char bytes[24];
    const float scales[] = {1, 2, 3, 4};
    for (unsigned i = 0; i < sizeof bytes; i++) bytes[i] = (unsigned char)i;
    assert_fine(cs_layer_open_tensors(&fixture->layer, &cs_device_ref, specs, CS_COUNT(specs)));
    fixture->run = (struct cs_post_load){.module = &fixture->layer.module, .experts = 2};
    fixture->weight = param_of(fixture, "weight"), fixture->scale = param_of(fixture, "scale");
    assert_fine(cs_device_write(&cs_device_ref, &fixture->weight->view, bytes, sizeof bytes));
    assert_fine(cs_device_write(&cs_device_ref, &fixture->scale->view, scales, sizeof scales));
    fixture->weight_view = fixture->weight->view, fixture->scale_view = fixture->scale->view;
}

#define RUN(fixture, ...)                                                                                              \
    do {                                                                                                               \
        const struct cs_step steps[] = {__VA_ARGS__};                                                                  \
        assert_fine(cs_steps_run(&(fixture)->run, steps, CS_COUNT(steps)));                                            \
    } while (0)

static void assert_floats(const struct cs_view *view, size_t n, const float *expected) {
    float found[8];
    assert_int_equal(cs_view_numel(view), n);
    assert_fine(cs_device_read(&cs_device_ref, view, found, n * sizeof *found));
    assert_memory_equal(found, expected, n * sizeof *found);
}

static bool is_in_kernel_view(struct fixture *fixture, const char *name) {
    const struct cs_module *module = &fixture->layer.module;
    for (size_t i = 0; i < module->n_slots; i++)
        if (cs_text_equal(module->slots[i].name, name)) return cs_module_is_kernel_slot(module, i);
    return false;
}

static void a_renamed_parameter_is_one_object_under_both_names(void **state) {
    struct fixture f;
    (void)state;
    open_fixture(&f);
    RUN(&f, CS_DO_RENAME("w13_weight", "weight"));
    assert_ptr_equal(param_of(&f, "w13_weight"), f.weight);
    assert_ptr_equal(param_of(&f, "weight"), f.weight);
    assert_true(is_in_kernel_view(&f, "w13_weight"));
    assert_false(is_in_kernel_view(&f, "weight")); /* once, under the name that kernels know */
    RUN(&f, CS_DO_TAKE("w13_weight", "weight"), CS_DO_CAST("w13_weight", CS_F32), CS_DO_REPLACE("w13_weight"));
    assert_int_equal(param_of(&f, "weight")->view.dtype, CS_F32); /* what one name gets, the other has */
    cs_layer_close(&f.layer);
}

static void retired_and_emptied_parameters_stay_registered(void **state) {
    struct fixture f;
    (void)state;
    open_fixture(&f);
    assert_true(is_in_kernel_view(&f, "weight"));
    RUN(&f, CS_DO_RETIRE("scale"), CS_DO_EMPTY("weight"));
    assert_ptr_equal(param_of(&f, "scale"), f.scale);
    assert_floats(&f.scale->view, 4, (const float[]){1, 2, 3, 4});
    assert_ptr_equal(param_of(&f, "weight"), f.weight);
    assert_int_equal(cs_view_numel(&f.weight->view), 0);
    assert_true(f.weight->view.storage != f.weight_view.storage);
    assert_false(is_in_kernel_view(&f, "scale"));
    assert_false(is_in_kernel_view(&f, "weight"));
    cs_layer_close(&f.layer);
}

static int64_t bytes_of_replace(struct fixture *f) {
    int64_t before = f->layer.log.bytes_moved;
    RUN(f, CS_DO_REPLACE("scale"));
    return f->layer.log.bytes_moved - before;
}

/* The parameter keeps its storage, and gets the result's memory when nothing else reads that. */
static void a_result_that_nobody_else_reads_is_not_copied(void **state) {
    struct fixture f;
    (void)state;
    open_fixture(&f);
    RUN(&f, CS_DO_MAP("scale", CS_F32, "scale * 2"));
    assert_int_equal(bytes_of_replace(&f), 0);
    assert_ptr_equal(f.scale->view.storage, f.scale_view.storage);
    assert_floats(&f.scale->view, 4, (const float[]){2, 4, 6, 8});
    RUN(&f, CS_DO_MAP("scale", CS_F32, "scale * 2"), CS_DO_TAKE("kept", "scale"));
    assert_int_equal(bytes_of_replace(&f), 32); /* read and written: "kept" has it too */
    assert_ptr_equal(f.scale->view.storage, f.scale_view.storage);
    assert_floats(&f.scale->view, 4, (const float[]){4, 8, 12, 16});
    struct cs_view kept;
    assert_fine(cs_steps_value(&f.run, "kept", &kept));
    assert_true(kept.storage != f.scale->view.storage);
    assert_floats(&kept, 4, (const float[]){4, 8, 12, 16});
    cs_layer_close(&f.layer);
}

static void a_result_that_lives_on_is_copied(void **state) {
    struct fixture f;
    struct cs_view result;
    struct cs_param *other;
    (void)state;
    open_fixture(&f);
    RUN(&f, CS_DO_MAP("scale", CS_F32, "scale * 2"));
    assert_fine(cs_steps_value(&f.run, "scale", &result));
    other = cs_param_new(&f.layer.rank, "other", NULL);
    other->view = result;
    assert_fine(cs_module_register(&f.layer.module, "other", CS_PARAMETER, other));
    assert_int_equal(bytes_of_replace(&f), 32);
    assert_floats(&other->view, 4, (const float[]){2, 4, 6, 8});
    assert_floats(&f.scale->view, 4, (const float[]){2, 4, 6, 8});
    RUN(&f, CS_DO_MAP("scale", CS_F32, "scale * 2"));
    assert_fine(cs_steps_value(&f.run, "scale", &other->view));
    cs_module_unregister(&f.layer.module, "other");
    assert_fine(cs_module_hold(&f.layer.module, "config.scale", other));
    assert_int_equal(bytes_of_replace(&f), 32);
    assert_floats(&other->view, 4, (const float[]){4, 8, 12, 16});
    RUN(&f, CS_DO_MAP("scale", CS_F32, "scale * 2"));
    f.run.first_id = f.layer.rank.allocator.next_id; /* older than this run: who knows who reads it */
    assert_int_equal(bytes_of_replace(&f), 32);
    RUN(&f, CS_DO_MAP("scale", CS_F32, "scale * 2"));
    assert_int_equal(bytes_of_replace(&f), 0);
    RUN(&f, CS_DO_MAP("scale", CS_F32, "scale * 2"));
    f.scale->view.storage->is_captured = true; /* a graph reads the very place */
    assert_int_equal(bytes_of_replace(&f), 32);
    f.scale->view.storage->is_captured = false;
    assert_floats(&f.scale->view, 4, (const float[]){32, 64, 96, 128});
    cs_layer_close(&f.layer);
}

/* [2, 2] → [2]: the first column, in the first two numbers of the storage, although it overlaps what it comes from. */
static void a_smaller_result_goes_into_the_beginning_of_the_storage(void **state) {
    struct fixture f;
    (void)state;
    open_fixture(&f);
    RUN(&f, CS_DO_SELECT("column", "scale", 1, 1), CS_DO_MAP("scale", CS_F32, "column"), CS_DO_REPLACE("scale"));
    assert_ptr_equal(param_of(&f, "scale"), f.scale);
    assert_ptr_equal(f.scale->view.storage, f.scale_view.storage);
    assert_int_equal(f.scale->view.offset, f.scale_view.offset);
    assert_floats(&f.scale->view, 2, (const float[]){2, 4});
    struct cs_view whole = f.scale_view;
    assert_floats(&whole, 4, (const float[]){2, 4, 3, 4}); /* nothing else moved */
    RUN(&f, CS_DO_MAXIMUM("scale", CS_F32, "", "scale"), CS_DO_REPLACE("scale"));
    assert_int_equal(f.scale->view.ndim, 0); /* a number has no dimension */
    assert_ptr_equal(f.scale->view.storage, f.scale_view.storage);
    assert_floats(&f.scale->view, 1, (const float[]){4});
    cs_layer_close(&f.layer);
}

static void a_result_within_the_parameters_storage_may_overlap_it(void **state) {
    struct fixture f;
    (void)state;
    open_fixture(&f);
    RUN(&f, CS_DO_SELECT("row", "scale", 0, 1), CS_DO_TAKE("scale", "row"), CS_DO_REPLACE("scale"));
    assert_ptr_equal(f.scale->view.storage, f.scale_view.storage);
    assert_int_equal(f.scale->view.offset, f.scale_view.offset);
    assert_floats(&f.scale->view, 2, (const float[]){3, 4});
    cs_layer_close(&f.layer);
    open_fixture(&f);
    RUN(&f, CS_DO_RESHAPE("scale", "2 2 1"), CS_DO_REPLACE("scale")); /* the same bytes in another shape */
    assert_ptr_equal(f.scale->view.storage, f.scale_view.storage);
    assert_int_equal(f.scale->view.ndim, 3);
    cs_layer_close(&f.layer);
}

/* Results keep their strides, larger or smaller; larger ones become the parameter's data. */
static void strides_are_kept_and_larger_results_become_the_data(void **state) {
    struct fixture f;
    (void)state;
    open_fixture(&f);
    RUN(&f, CS_DO_CAST("weight", CS_F32), CS_DO_TRANSPOSE("weight"), CS_DO_REPLACE("weight"));
    assert_ptr_equal(param_of(&f, "weight"), f.weight);
    assert_true(f.weight->view.storage != f.weight_view.storage);
    assert_int_equal(f.weight->view.shape[1], 4);
    assert_int_equal(f.weight->view.stride[1], 1);
    assert_int_equal(f.weight->view.stride[2], 4);
    cs_layer_close(&f.layer);
    open_fixture(&f);
    RUN(&f, CS_DO_SELECT("first", "scale", 0, 0), CS_DO_RESHAPE("first", "1 2 1"), CS_DO_MAP("small", CS_F32, "first"), CS_DO_TRANSPOSE("small"),
        CS_DO_TAKE("scale", "small"), CS_DO_REPLACE("scale"));
    assert_ptr_equal(f.scale->view.storage, f.scale_view.storage);
    assert_int_equal(f.scale->view.shape[2], 2);
    assert_int_equal(f.scale->view.stride[1], 1);
    assert_floats(&f.scale->view, 2, (const float[]){1, 2});
    cs_layer_close(&f.layer);
}

static void wrappers_and_configs_show_the_parameters_storage(void **state) {
    struct fixture f;
    (void)state;
    open_fixture(&f);
    RUN(&f, CS_DO_CAST("weight", CS_F32), CS_DO_WRAP("weight", "_w1.scale.storage.data"), CS_DO_MAP("inverse", CS_F32, "scale into 1"),
        CS_DO_HOLD("inverse", "_a1.alpha_or_gscale"), CS_DO_EXTENT("strides", "2*weight.2"), CS_DO_OWN("strides", "ab_strides1"));
    const struct cs_module *module = &f.layer.module;
    assert_int_equal(module->n_sides, 5); /* two of the config, twice; one of the experts object */
    assert_ptr_equal(module->sides[0].param, f.weight);
    assert_floats(&module->sides[2].param->view, 4, (const float[]){1, 0.5f, 1.0f / 3, 0.25f});
    assert_null(param_of(&f, "inverse")); /* owned, not registered */
    int64_t strides[2];
    assert_fine(cs_device_read(&cs_device_ref, &module->sides[4].param->view, strides, sizeof strides));
    assert_int_equal(strides[0], 8);
    assert_int_equal(strides[1], 8);
    cs_layer_close(&f.layer);
}

static void the_release_forgets_parameters(void **state) {
    struct fixture f;
    (void)state;
    open_fixture(&f);
    f.layer.rank.defects = cs_defects_with(f.layer.rank.defects, CS_DEFECT_FORGETS_PARAMETERS, true);
    RUN(&f, CS_DO_SELECT("column", "scale", 1, 0), CS_DO_MAP("scale", CS_F32, "column"), CS_DO_REPLACE("scale"), CS_DO_RENAME("w13_weight", "weight"));
    assert_true(f.scale->view.storage != f.scale_view.storage);
    assert_null(param_of(&f, "weight"));
    assert_true(param_of(&f, "w13_weight") != f.weight);
    assert_ptr_equal(param_of(&f, "w13_weight")->view.storage, f.weight_view.storage);
    RUN(&f, CS_DO_DROP("scale"), CS_DO_EMPTY("w13_weight"));
    assert_null(param_of(&f, "scale"));
    assert_null(param_of(&f, "w13_weight"));
    cs_layer_close(&f.layer);
}

static void errors_name_the_parameter_that_is_missing(void **state) {
    struct fixture f;
    (void)state;
    const struct cs_step steps[] = {CS_DO_RENAME("w", "absent"), CS_DO_RETIRE("absent"), CS_DO_EMPTY("absent"), CS_DO_CONFIG("absent", "_w1.scale"),
                                    CS_DO_HOLD("absent", "_w1.scale"), CS_DO_REGISTER("absent")};
    for (size_t i = 0; i < CS_COUNT(steps); i++) {
        open_fixture(&f);
        assert_int_equal(cs_steps_run(&f.run, &steps[i], 1), CS_BAD_VALUE);
        assert_non_null(strstr(cs_error_text(), "\"absent\""));
        cs_layer_close(&f.layer);
    }
}

/* 32 numbers share the power of two below their largest, rounded to two bits of mantissa, over 4. Largest 6: 4 / 4 = 1, byte 127. Largest 7: the
 * mantissa 1.11 goes up to 2, so 8 / 4 = 2, byte 128, and 7 / 2 = 3.5 is halfway between 3 and 4: even, 4. */
static void mxfp4_takes_the_power_of_two_that_rounds(void **state) {
    static const struct cs_tensor_spec spec = {.name = "x", .dtype = CS_BF16, .ndim = 3, .shape = {1, 2, 32}, .weight_loader_numel = -1};
    struct fixture f;
    uint16_t numbers[64] = {0x40C0 /* 6 */, 0x3F80 /* 1 */, 0xBF00 /* -0.5 */, 0x3E80 /* 0.25: halfway to 0.5, even is 0 */, [32] = 0x40E0 /* 7 */};
    unsigned char bytes[32], scales[2];
    (void)state;
    assert_fine(cs_layer_open_tensors(&f.layer, &cs_device_ref, &spec, 1));
    f.run = (struct cs_post_load){.module = &f.layer.module, .experts = 1};
    assert_fine(cs_device_write(&cs_device_ref, &param_of(&f, "x")->view, numbers, sizeof numbers));
    RUN(&f, CS_DO_CALL(mxfp4_quantise));
    struct cs_view view;
    assert_fine(cs_steps_value(&f.run, "s", &view));
    assert_fine(cs_device_read(&cs_device_ref, &view, scales, sizeof scales));
    assert_int_equal(scales[0], 127);
    assert_int_equal(scales[1], 128);
    assert_fine(cs_steps_value(&f.run, "y", &view));
    assert_fine(cs_device_read(&cs_device_ref, &view, bytes, sizeof bytes));
    assert_int_equal(bytes[0], 0x27);  /* 6 is 0111, 1 is 0010: low nibble first */
    assert_int_equal(bytes[1], 0x09);  /* -0.5 is 1001 */
    assert_int_equal(bytes[16], 0x06); /* 4 is 0110 */
    cs_layer_close(&f.layer);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_renamed_parameter_is_one_object_under_both_names),
        cmocka_unit_test(retired_and_emptied_parameters_stay_registered),
        cmocka_unit_test(a_result_that_nobody_else_reads_is_not_copied),
        cmocka_unit_test(a_result_that_lives_on_is_copied),
        cmocka_unit_test(a_smaller_result_goes_into_the_beginning_of_the_storage),
        cmocka_unit_test(a_result_within_the_parameters_storage_may_overlap_it),
        cmocka_unit_test(strides_are_kept_and_larger_results_become_the_data),
        cmocka_unit_test(wrappers_and_configs_show_the_parameters_storage),
        cmocka_unit_test(the_release_forgets_parameters),
        cmocka_unit_test(errors_name_the_parameter_that_is_missing),
        cmocka_unit_test(mxfp4_takes_the_power_of_two_that_rounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
