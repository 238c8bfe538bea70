/* Parameters that a model registers while it loads, after a reload began. Rules: vllm 0.33 model_loader/reload/layerwise.py: the total
 * is recomputed in each wrapped call; INIT restores what construction recorded; PLACE registers what was there before. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "tests/support_session.h"

#define LAYERWISE (&cs_driver_layerwise)
#define COLD      (&cs_driver_cold_start)

static const struct cs_tensor_spec tensors[] = {
    PARAM("p", CS_U8, CS_INIT_ZEROS, 8),
    {.name = "late", .kind = CS_PARAMETER, .dtype = CS_U8, .init = CS_INIT_EMPTY, .weight_loader_numel = -1, .ndim = 1, .shape = {4}, .is_late = true},
};
static const struct cs_module_spec spec = MODULE("m", tensors, .backend = NULL);

static bool is_registered(struct bare *bare) { return cs_module_slot(&bare->rank.modules[0], "late") != NULL; }

static void start(struct bare *bare) {
    bare_open(bare, "none", &spec, 1);
    assert_ok(COLD->begin(&bare->rank));
    assert_false(is_registered(bare)); /* not by create_weights */
    assert_ok(send_value(bare, COLD, 0, "p", 1));
    assert_ok(send_value(bare, COLD, 0, "late", 2));
    assert_ok(COLD->finish(&bare->rank));
}

static void a_late_parameter_counts_and_goes_back_to_its_place(void **state) {
    (void)state;
    struct bare bare;
    start(&bare);
    const struct cs_param *kernel = bare_param(&bare, 0, "late");
    struct cs_view place = kernel->view;
    for (double value = 3; value <= 4; value++) {
        assert_ok(LAYERWISE->begin(&bare.rank));
        assert_false(is_registered(&bare)); /* live names go, recorded ones come back on meta: it was not recorded */
        assert_ok(send_value(&bare, LAYERWISE, 0, "p", value));
        assert_int_equal(bare_param(&bare, 0, "late")->view.storage->kind, CS_STORAGE_MEMORY);
        assert_false(bare.rank.modules[0].is_processed); /* 8 of 12, 8 of 8 when the reload began */
        assert_ok(send_value(&bare, LAYERWISE, 0, "late", value));
        assert_true(bare.rank.modules[0].is_processed);
        assert_ok(LAYERWISE->finish(&bare.rank));
        assert_ptr_equal(bare_param(&bare, 0, "late"), kernel);
        assert_true(cs_view_same_place(&place, &kernel->view));
        ASSERT_NUMBERS(&kernel->view, value, value, value, value);
        ASSERT_NUMBERS(&bare_param(&bare, 0, "p")->view, value, value, value, value, value, value, value, value);
    }
    bare_close(&bare);
}

/* What the server did not have before, it does not have afterwards. */
static void after_a_dummy_start_it_vanishes_with_the_load(void **state) {
    (void)state;
    struct bare bare;
    bare_open(&bare, "none", &spec, 1);
    assert_ok(cs_driver_dummy_start.begin(&bare.rank));
    assert_ok(cs_driver_dummy_start.finish(&bare.rank));
    assert_ok(LAYERWISE->begin(&bare.rank));
    assert_ok(send_value(&bare, LAYERWISE, 0, "p", 3));
    assert_ok(send_value(&bare, LAYERWISE, 0, "late", 3));
    assert_ok(LAYERWISE->finish(&bare.rank));
    assert_false(is_registered(&bare));
    ASSERT_NUMBERS(&bare_param(&bare, 0, "p")->view, 3, 3, 3, 3, 3, 3, 3, 3);
    bare_close(&bare);
}

/* The report's fault: the total is what it was when the reload began. The module is processed without it, and it is lost. */
static void as_reported_it_is_dropped(void **state) {
    (void)state;
    struct bare bare;
    start(&bare);
    bare.rank.defects = CS_DEFECT_BIT(CS_DEFECT_LATE_NOT_COUNTED);
    assert_ok(LAYERWISE->begin(&bare.rank));
    assert_ok(send_value(&bare, LAYERWISE, 0, "p", 3));
    assert_true(bare.rank.modules[0].is_processed);
    assert_ok(send_value(&bare, LAYERWISE, 0, "late", 3));
    assert_ok(LAYERWISE->finish(&bare.rank));
    ASSERT_NUMBERS(&bare_param(&bare, 0, "late")->view, 0xAA, 0xAA, 0xAA, 0xAA);
    bare_close(&bare);
}

/* In place and raw it is a parameter like others; a load plan has no copy for it, and its loader writes it at once. */
static void other_drivers_load_it_where_it_is(void **state) {
    (void)state;
    static const struct cs_driver *const drivers[] = {&cs_driver_direct, &cs_driver_raw, &cs_driver_load_plan};
    for (size_t i = 0; i < CS_COUNT(drivers); i++) {
        struct bare bare;
        start(&bare);
        struct cs_view place = bare_param(&bare, 0, "late")->view;
        assert_ok(drivers[i]->begin(&bare.rank));
        assert_ok(send_value(&bare, drivers[i], 0, "p", 5));
        assert_ok(send_value(&bare, drivers[i], 0, "late", 6));
        assert_ok(drivers[i]->finish(&bare.rank));
        assert_true(cs_view_same_place(&place, &bare_param(&bare, 0, "late")->view));
        ASSERT_NUMBERS(&bare_param(&bare, 0, "late")->view, 6, 6, 6, 6);
        ASSERT_NUMBERS(&bare_param(&bare, 0, "p")->view, 5, 5, 5, 5, 5, 5, 5, 5);
        bare_close(&bare);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_late_parameter_counts_and_goes_back_to_its_place),
        cmocka_unit_test(after_a_dummy_start_it_vanishes_with_the_load),
        cmocka_unit_test(as_reported_it_is_dropped),
        cmocka_unit_test(other_drivers_load_it_where_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
