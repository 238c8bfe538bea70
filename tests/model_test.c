/* Live objects of one rank: creation, names, side paths, sweeps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "tests/support_session.h"

static const struct cs_tensor_spec eight[] = {PARAM("p", CS_F32, CS_INIT_EMPTY, 8)};
static const struct cs_module_spec one_module = MODULE("m", eight, .backend = NULL);

/* ---- creation ---- */

static void every_way_of_creation_holds_what_it_says(void **state) {
    (void)state;
    const struct cs_tensor_spec tensors[] = {
        PARAM("zeros", CS_F32, CS_INIT_ZEROS, 2), PARAM("ones", CS_BF16, CS_INIT_ONES, 2), PARAM("rising", CS_BF16, CS_INIT_ARANGE, 4),
        {.name = "full", .kind = CS_PARAMETER, .dtype = CS_F32, .init = CS_INIT_VALUE, .init_value = -1, .ndim = 1, .shape = {2}},
        PARAM("e8m0", CS_E8M0, CS_INIT_ONES, 2), PARAM("quark", CS_U8, CS_INIT_ONES, 2)};
    const struct cs_module_spec spec = MODULE("m", tensors, .backend = NULL);
    struct bare bare;
    bare_open(&bare, "none", &spec, 1);
    bare_create(&bare);
    ASSERT_NUMBERS(&bare_param(&bare, 0, "zeros")->view, 0, 0);
    ASSERT_NUMBERS(&bare_param(&bare, 0, "ones")->view, 1, 1);
    ASSERT_NUMBERS(&bare_param(&bare, 0, "rising")->view, 0, 1, 2, 3);
    ASSERT_NUMBERS(&bare_param(&bare, 0, "full")->view, -1, -1);
    assert_int_equal(bytes_of(&bare_param(&bare, 0, "e8m0")->view)[1], 127); /* 2^0 */
    assert_int_equal(bytes_of(&bare_param(&bare, 0, "quark")->view)[1], 0x01); /* byte 0x01 */
    bare_close(&bare);
}

static void empty_tensors_hold_what_memory_held(void **state) {
    (void)state;
    struct bare bare;
    bare_open(&bare, "none", &one_module, 1);
    bare_create(&bare);
    for (size_t i = 0; i < 32; i++) assert_int_equal(bytes_of(&bare_param(&bare, 0, "p")->view)[i], COLD_GARBAGE);
    bare_close(&bare);
}

static void meta_tensors_have_a_shape_and_no_memory(void **state) {
    (void)state;
    const struct cs_tensor_spec tensors[] = {PARAM("p", CS_F32, CS_INIT_META, 1 << 20, 1 << 20), PARAM("q", CS_F32, CS_INIT_ONES, 4)};
    const struct cs_module_spec spec = MODULE("m", tensors, .backend = NULL);
    struct bare bare;
    bare_open(&bare, "none", &spec, 1);
    assert_ok(cs_module_create(&bare.rank, &bare.rank.modules[0], &spec, false));
    assert_int_equal(bare_param(&bare, 0, "p")->view.storage->kind, CS_STORAGE_META);
    assert_int_equal(bare_param(&bare, 0, "q")->view.storage->kind, CS_STORAGE_MEMORY);
    assert_true(bare_param(&bare, 0, "q")->padding_value == 1.0);
    assert_ok(cs_module_create(&bare.rank, &bare.rank.modules[0], &spec, true)); /* the whole model on meta */
    assert_int_equal(bare_param(&bare, 0, "q")->view.storage->kind, CS_STORAGE_META);
    assert_true(bare_param(&bare, 0, "q")->padding_value == 0.0);
    assert_int_equal(bare.rank.allocator.bytes_peak, 16);
    bare_close(&bare);
}

static void an_unregistered_parameter_is_no_parameter_of_its_module(void **state) {
    (void)state;
    const struct cs_tensor_spec tensors[] = {{.name = "loose", .kind = CS_PARAMETER, .dtype = CS_U8, .ndim = 1, .shape = {4}, .is_unregistered = true}};
    const struct cs_module_spec spec = MODULE("m", tensors, .backend = NULL);
    struct bare bare;
    bare_open(&bare, "none", &spec, 1);
    bare_create(&bare);
    assert_int_equal(cs_module_slot(&bare.rank.modules[0], "loose")->kind, CS_PLAIN_TENSOR);
    bare_close(&bare);
}

static void a_prefill_replaces_the_initial_value_of_parameters_only(void **state) {
    (void)state;
    const struct cs_tensor_spec tensors[] = {PARAM("p", CS_U8, CS_INIT_ONES, 3), BUFFER("b", CS_BUFFER, 3)};
    const struct cs_module_spec spec = MODULE("m", tensors, .backend = NULL);
    struct bare bare;
    bare_open(&bare, "none", &spec, 1);
    bare.rank.has_prefill = true, bare.rank.prefill = 0xFF;
    bare_create(&bare);
    ASSERT_NUMBERS(&bare_param(&bare, 0, "p")->view, 255, 255, 255);
    ASSERT_NUMBERS(&bare_param(&bare, 0, "b")->view, 0, 0, 0);
    bare_close(&bare);
}

/* ---- names and objects ---- */

static void one_object_may_have_two_names(void **state) {
    (void)state;
    struct bare bare;
    bare_open(&bare, "none", &one_module, 1);
    bare_create(&bare);
    struct cs_module *module = &bare.rank.modules[0];
    assert_ok(cs_module_register(module, "runtime", CS_PARAMETER, bare_param(&bare, 0, "p")));
    assert_int_equal(module->n_slots, 2);
    assert_ptr_equal(bare_param(&bare, 0, "runtime"), bare_param(&bare, 0, "p"));
    fill_bytes(&bare_param(&bare, 0, "p")->view, 0);
    assert_true(number_of(&bare_param(&bare, 0, "runtime")->view, 7) == 0.0);
    bare_close(&bare);
}

static void registering_a_known_name_replaces_its_object(void **state) {
    (void)state;
    struct bare bare;
    bare_open(&bare, "none", &one_module, 1);
    bare_create(&bare);
    struct cs_param *other = cs_param_new(&bare.rank, "other", NULL);
    assert_ok(cs_module_register(&bare.rank.modules[0], "p", CS_BUFFER, other));
    assert_int_equal(bare.rank.modules[0].n_slots, 1);
    assert_ptr_equal(bare_param(&bare, 0, "p"), other);
    assert_int_equal(cs_module_slot(&bare.rank.modules[0], "p")->kind, CS_BUFFER);
    assert_null(cs_module_slot(&bare.rank.modules[0], "x"));
    bare_close(&bare);
}

/* ---- sweeps ---- */

/* A parameter object of its own memory that nothing names yet. */
static struct cs_param *loose(struct bare *bare, const char *name) {
    struct cs_param *param = cs_param_new(&bare->rank, name, NULL);
    struct cs_view layout;
    assert_ok(cs_view_make(&layout, NULL, CS_U8, 1, (int64_t[]){16}));
    assert_ok(cs_rank_allocate(&bare->rank, &layout, name, &param->view));
    return param;
}

static bool is_alive(const struct bare *bare, uint64_t id) {
    for (const struct cs_storage *s = bare->rank.allocator.storages; s; s = s->next)
        if (s->id == id) return true;
    return false;
}

static struct cs_storage *root; /* what the test's driver still needs */

static void mark_root(const struct cs_rank *rank) {
    (void)rank;
    root->is_reachable = true;
}

static void a_sweep_frees_only_what_nothing_names(void **state) {
    (void)state;
    struct bare bare;
    bare_open(&bare, "none", &one_module, 1);
    bare_create(&bare);
    struct cs_module *module = &bare.rank.modules[0];
    struct cs_param *kept[] = {bare_param(&bare, 0, "p"), loose(&bare, "second name"), loose(&bare, "side"), loose(&bare, "driver's")};
    uint64_t gone = loose(&bare, "nobody's")->view.storage->id;
    assert_ok(cs_module_register(module, "q", CS_PARAMETER, kept[1]));
    assert_ok(cs_module_hold(module, "experts.q", kept[2]));
    root = kept[3]->view.storage, bare.rank.mark_roots = mark_root;
    for (int sweeps = 0; sweeps < 2; sweeps++) { /* marks do not outlive their sweep */
        cs_rank_sweep(&bare.rank);
        assert_false(is_alive(&bare, gone));
        for (size_t i = 0; i < CS_COUNT(kept); i++) assert_true(is_alive(&bare, kept[i]->view.storage->id));
    }
    assert_int_equal(bare.rank.allocator.bytes_alive, 32 + 3 * 16);
    bare.rank.mark_roots = NULL;
    uint64_t root_id = root->id;
    cs_rank_sweep(&bare.rank);
    assert_false(is_alive(&bare, root_id));
    bare_close(&bare);
}

/* An orphan copy: the parameter's name points elsewhere, but a config object still holds the old object. */
static void a_side_path_keeps_an_orphan_alive(void **state) {
    (void)state;
    struct bare bare;
    bare_open(&bare, "none", &one_module, 1);
    bare_create(&bare);
    struct cs_module *module = &bare.rank.modules[0];
    struct cs_param *old = bare_param(&bare, 0, "p");
    uint64_t id = old->view.storage->id;
    assert_ok(cs_module_hold(module, "config.p", old));
    assert_ok(cs_module_register(module, "p", CS_PARAMETER, loose(&bare, "new")));
    cs_rank_sweep(&bare.rank);
    assert_true(is_alive(&bare, id));
    module->n_sides = 0; /* post-load drops its config */
    cs_rank_sweep(&bare.rank);
    assert_false(is_alive(&bare, id));
    bare_close(&bare);
}

/* ---- fill, log ---- */

static void a_fill_looks_at_registered_parameters_only(void **state) {
    (void)state;
    const struct cs_tensor_spec tensors[] = {PARAM("p", CS_U8, CS_INIT_ZEROS, 8), BUFFER("b", CS_BUFFER, 8)};
    const struct cs_module_spec spec = MODULE("m", tensors, .backend = NULL);
    struct bare bare;
    bare_open(&bare, "record_and_fill", &spec, 1);
    bare_create(&bare);
    struct cs_module *module = &bare.rank.modules[0];
    for (size_t i = 0; i < 2; i++) {
        struct cs_region last = {.offset = 7, .ndim = 1, .shape = {1}, .stride = {1}};
        struct cs_padding_site site = {.padding = &module->padding, .device = bare.rank.device, .stats = &bare.stats, .module = "m",
                                       .name = tensors[i].name, .view = module->slots[i].param->view, .value = 5, .is_parameter = true,
                                       .is_registered = true};
        assert_ok(cs_padding_mark(&site, &last));
    }
    assert_ok(cs_module_fill(module));
    ASSERT_NUMBERS(&bare_param(&bare, 0, "p")->view, 0, 0, 0, 0, 0, 0, 0, 5);
    ASSERT_NUMBERS(&bare_param(&bare, 0, "b")->view, 0, 0, 0, 0, 0, 0, 0, 0);
    assert_int_equal(bare.stats.skipped, 1);
    bare_close(&bare);
}

/* Bytes are read plus written; allocation moves none. */
static void the_log_counts_moved_bytes_with_and_without_a_trace(void **state) {
    (void)state;
    for (int is_tracing = 0; is_tracing < 2; is_tracing++) {
        struct bare bare;
        bare_open(&bare, "none", &one_module, 1);
        bare.log.is_tracing = is_tracing;
        bare_create(&bare);
        assert_int_equal(bare.log.bytes_moved, 0);
        struct cs_param *p = bare_param(&bare, 0, "p");
        struct cs_view source = source_of_value(&bare, CS_F32, 1, (int64_t[]){8}, 3);
        assert_ok(cs_rank_copy(&bare.rank, CS_LOG_COPY, "test", "p", &p->view, &source));
        assert_int_equal(bare.log.bytes_moved, 32 + 32);
        assert_int_equal(bare.log.n_entries, is_tracing ? 2 : 0); /* the allocation, the copy */
        bare_close(&bare);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_way_of_creation_holds_what_it_says),
        cmocka_unit_test(empty_tensors_hold_what_memory_held),
        cmocka_unit_test(meta_tensors_have_a_shape_and_no_memory),
        cmocka_unit_test(an_unregistered_parameter_is_no_parameter_of_its_module),
        cmocka_unit_test(a_prefill_replaces_the_initial_value_of_parameters_only),
        cmocka_unit_test(one_object_may_have_two_names),
        cmocka_unit_test(registering_a_known_name_replaces_its_object),
        cmocka_unit_test(a_sweep_frees_only_what_nothing_names),
        cmocka_unit_test(a_side_path_keeps_an_orphan_alive),
        cmocka_unit_test(a_fill_looks_at_registered_parameters_only),
        cmocka_unit_test(the_log_counts_moved_bytes_with_and_without_a_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
