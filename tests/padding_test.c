/* Padding records (requirements R2) and the four policies (R3), on the C interface. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "tests/support_session.h"

/* ---- a toy: one module with two parameters, of which a test narrows boxes away ---- */

struct toy {
    struct bare bare;
    struct cs_padding padding;
    struct cs_view view[2];
    bool is_gone[2], has_warned;
    struct cs_padding_site site; /* of parameter 0 */
};

static const char *const names[] = {"p", "q"};

static bool lookup(void *context, const char *name, struct cs_view *view) {
    struct toy *toy = context;
    for (int i = 0; i < 2; i++)
        if (cs_text_equal(name, names[i]) && !toy->is_gone[i]) {
            *view = toy->view[i];
            return true;
        }
    return false;
}

/* Both parameters f32, of the given shape, full of nines. */
static void toy_open(struct toy *toy, int ndim, const int64_t *shape) {
    memset(toy, 0, sizeof *toy);
    bare_open(&toy->bare, "none", NULL, 0);
    toy->padding.arena = &toy->bare.arena;
    const struct cs_tensor_spec nine = {.name = "nine", .init = CS_INIT_VALUE, .init_value = 9};
    for (int i = 0; i < 2; i++) {
        assert_ok(cs_view_make(&toy->view[i], NULL, CS_F32, ndim, shape));
        assert_ok(cs_rank_allocate(&toy->bare.rank, &toy->view[i], names[i], &toy->view[i]));
        assert_ok(cs_rank_initialise(&toy->bare.rank, &nine, &toy->view[i]));
    }
    toy->site = (struct cs_padding_site){.padding = &toy->padding, .device = toy->bare.rank.device, .stats = &toy->bare.stats, .module = "toy",
                                         .name = "p", .view = toy->view[0], .n_experts = 1, .expert = -1, .is_parameter = true,
                                         .is_registered = true, .has_warned = &toy->has_warned};
}

static void toy_open_8(struct toy *toy) { toy_open(toy, 1, (int64_t[]){8}); }
static void toy_close(struct toy *toy) { bare_close(&toy->bare); }

static struct cs_region region_of(const struct toy *toy, int64_t start, int64_t length) {
    struct cs_region region;
    assert_ok(cs_region_of_box(&region, &toy->view[0], &start, &length));
    return region;
}

static void mark(struct toy *toy, int64_t start, int64_t length) {
    struct cs_region region = region_of(toy, start, length);
    assert_ok(cs_padding_mark(&toy->site, &region));
}

static void mark_q(struct toy *toy, int64_t start, int64_t length) {
    struct cs_region region = region_of(toy, start, length);
    struct cs_padding_site site = toy->site;
    site.name = "q", site.view = toy->view[1];
    assert_ok(cs_padding_mark(&site, &region));
}

static void fill(struct toy *toy) { assert_ok(cs_padding_fill(&toy->padding, lookup, toy, toy->bare.rank.device, &toy->bare.stats)); }

static void write_numbers(struct toy *toy, int64_t n, float value) {
    for (int64_t i = 0; i < n; i++) ((float *)(void *)bytes_of(&toy->view[0]))[i] = value;
}

/* ---- R2.2: the value ---- */

static double value_of(enum cs_init init, enum cs_dtype dtype, double init_value) {
    const struct cs_tensor_spec spec = {.dtype = dtype, .init = init, .init_value = init_value};
    return cs_padding_value(&spec, false);
}

static void floating_ones_have_padding_one(void **state) {
    (void)state;
    const enum cs_dtype floating[] = {CS_F32, CS_BF16, CS_F16, CS_E4M3, CS_E8M0};
    for (size_t i = 0; i < CS_COUNT(floating); i++) assert_true(value_of(CS_INIT_ONES, floating[i], 0) == 1.0);
    assert_true(value_of(CS_INIT_VALUE, CS_F32, 1.0) == 1.0); /* torch.full(1.0) */
}

static void integer_ones_have_padding_zero(void **state) {
    (void)state;
    const enum cs_dtype integers[] = {CS_U8, CS_I8, CS_BOOL, CS_I32, CS_I64};
    for (size_t i = 0; i < CS_COUNT(integers); i++) assert_true(value_of(CS_INIT_ONES, integers[i], 0) == 0.0);
    assert_true(value_of(CS_INIT_VALUE, CS_U8, 1.0) == 0.0);
}

static void every_other_creation_has_padding_zero(void **state) {
    (void)state;
    assert_true(value_of(CS_INIT_ZEROS, CS_F32, 0) == 0.0);
    assert_true(value_of(CS_INIT_EMPTY, CS_F32, 0) == 0.0);
    assert_true(value_of(CS_INIT_EMPTY, CS_F32, 1.0) == 0.0);
    assert_true(value_of(CS_INIT_ARANGE, CS_F32, 0) == 0.0);
    assert_true(value_of(CS_INIT_META, CS_F32, 0) == 0.0);
    assert_true(value_of(CS_INIT_VALUE, CS_F32, 2.0) == 0.0);
    assert_true(value_of(CS_INIT_VALUE, CS_F32, -1.0) == 0.0);
}

/* R2.2: "its bytes equal the dtype's 1.0". 1 + 2^-10 rounds to 1.0 in bf16, which has 7 bits of mantissa, but not in f32. */
static void a_value_that_rounds_to_one_is_one(void **state) {
    (void)state;
    assert_true(value_of(CS_INIT_VALUE, CS_BF16, 1.0009765625) == 1.0);
    assert_true(value_of(CS_INIT_VALUE, CS_F32, 1.0009765625) == 0.0);
}

static void a_model_built_on_meta_has_padding_zero_everywhere_but_where_it_is_explicit(void **state) {
    (void)state;
    struct cs_tensor_spec spec = {.dtype = CS_F32, .init = CS_INIT_ONES};
    assert_true(cs_padding_value(&spec, true) == 0.0);
    spec.has_padding_value = true, spec.padding_value = 1.0;
    assert_true(cs_padding_value(&spec, true) == 1.0);
}

static void an_explicit_value_wins(void **state) {
    (void)state;
    struct cs_tensor_spec spec = {.dtype = CS_U8, .init = CS_INIT_ONES, .has_padding_value = true, .padding_value = 1.0};
    assert_true(cs_padding_value(&spec, false) == 1.0);
    spec.dtype = CS_F32, spec.padding_value = 0.0; /* an explicit zero is not "none" */
    assert_true(cs_padding_value(&spec, false) == 0.0);
}

static void uninitialised_bytes_never_set_the_value(void **state) {
    (void)state;
    const unsigned char constants[] = {0x01, 0x00, 0xFF};
    const struct cs_tensor_spec tensors[] = {PARAM("bf16", CS_BF16, CS_INIT_EMPTY, 8), PARAM("bool", CS_BOOL, CS_INIT_EMPTY, 8),
                                             PARAM("e4m3", CS_E4M3, CS_INIT_EMPTY, 8)};
    const struct cs_module_spec spec = MODULE("m", tensors, .backend = NULL);
    for (size_t c = 0; c < CS_COUNT(constants); c++) {
        struct bare bare;
        bare_open(&bare, "record_and_fill", &spec, 1);
        bare.rank.allocator.rule.fresh_cold.byte = constants[c];
        bare_create(&bare);
        for (size_t i = 0; i < CS_COUNT(tensors); i++) {
            const struct cs_param *param = bare_param(&bare, 0, tensors[i].name);
            assert_int_equal(bytes_of(&param->view)[0], constants[c]);
            assert_true(param->padding_value == 0.0);
        }
        bare_close(&bare);
    }
}

static void the_value_is_written_in_the_parameters_dtype(void **state) {
    (void)state;
    struct toy toy;
    toy_open_8(&toy);
    assert_ok(cs_view_as(&toy.view[0], CS_I32));
    toy.site.view = toy.view[0];
    toy.site.value = 1.0;
    mark(&toy, 6, 2);
    fill(&toy);
    assert_true(number_of(&toy.view[0], 6) == 1.0 && number_of(&toy.view[0], 7) == 1.0);
    toy_close(&toy);
}

/* ---- R2.3, R2.6: only the latest load counts ---- */

/* R2.6: load 1 writes 4 of 8 and records the rest; load 2 writes 6 sevens and records 2. Nothing of load 1's record may remain. */
static void second_load_may_split_differently(void **state) {
    (void)state;
    struct toy toy;
    toy_open_8(&toy);
    write_numbers(&toy, 4, 1), mark(&toy, 4, 4), fill(&toy);
    ASSERT_NUMBERS(&toy.view[0], 1, 1, 1, 1, 0, 0, 0, 0);
    write_numbers(&toy, 6, 7), mark(&toy, 6, 2), fill(&toy);
    ASSERT_NUMBERS(&toy.view[0], 7, 7, 7, 7, 7, 7, 0, 0);
    toy_close(&toy);
}

static void marks_of_one_load_add_up(void **state) {
    (void)state;
    struct toy toy;
    toy_open_8(&toy);
    mark(&toy, 0, 1), mark(&toy, 3, 2), mark(&toy, 7, 1);
    fill(&toy);
    ASSERT_NUMBERS(&toy.view[0], 0, 9, 9, 0, 0, 9, 9, 0);
    toy_close(&toy);
}

static void a_fill_drops_parameters_that_the_load_did_not_mark(void **state) {
    (void)state;
    struct toy toy;
    toy_open_8(&toy);
    mark(&toy, 4, 4), mark_q(&toy, 4, 4), fill(&toy);
    assert_int_equal(toy.padding.n_records, 2);
    write_numbers(&toy, 8, 5);
    mark_q(&toy, 7, 1), fill(&toy); /* load 2 fills p whole */
    ASSERT_NUMBERS(&toy.view[0], 5, 5, 5, 5, 5, 5, 5, 5);
    assert_int_equal(toy.padding.n_records, 1);
    assert_string_equal(toy.padding.records[0].name, "q");
    toy_close(&toy);
}

/* ---- R2.4: fill ---- */

static void a_second_fill_does_nothing(void **state) {
    (void)state;
    struct toy toy;
    toy_open_8(&toy);
    mark(&toy, 4, 4), fill(&toy);
    write_numbers(&toy, 8, 3); /* what post-load left */
    fill(&toy);
    ASSERT_NUMBERS(&toy.view[0], 3, 3, 3, 3, 3, 3, 3, 3);
    assert_int_equal(toy.bare.stats.calls, 1);
    assert_int_equal(toy.bare.stats.regions, 1);
    toy_close(&toy);
}

static void a_fill_without_marks_is_no_call(void **state) {
    (void)state;
    struct toy toy;
    toy_open_8(&toy);
    fill(&toy);
    ASSERT_NUMBERS(&toy.view[0], 9, 9, 9, 9, 9, 9, 9, 9);
    assert_int_equal(toy.bare.stats.calls, 0);
    toy_close(&toy);
}

static void all_parameters_of_a_module_are_one_call(void **state) {
    (void)state;
    struct toy toy;
    toy_open_8(&toy);
    mark(&toy, 4, 4), mark(&toy, 0, 1), mark_q(&toy, 6, 2);
    fill(&toy);
    assert_int_equal(toy.bare.stats.calls, 1);
    assert_int_equal(toy.bare.stats.regions, 3);
    assert_int_equal(toy.bare.stats.bytes, (4 + 1 + 2) * 4);
    ASSERT_NUMBERS(&toy.view[1], 9, 9, 9, 9, 9, 9, 0, 0);
    toy_close(&toy);
}

static void a_parameter_whose_layout_changed_is_skipped(void **state) {
    (void)state;
    for (int what = 0; what < 4; what++) {
        struct toy toy;
        toy_open_8(&toy);
        mark(&toy, 4, 2), mark_q(&toy, 0, 1);
        struct cs_view whole = toy.view[0];
        if (what == 0) assert_ok(cs_view_narrow(&toy.view[0], 0, 0, 7));
        if (what == 1) assert_ok(cs_view_as(&toy.view[0], CS_I32));
        if (what == 2) toy.view[0].stride[0] = 0;
        if (what == 3) toy.is_gone[0] = true;
        fill(&toy);
        ASSERT_NUMBERS(&whole, 9, 9, 9, 9, 9, 9, 9, 9);
        assert_int_equal(toy.bare.stats.skipped, 1);
        assert_int_equal(toy.bare.stats.regions, 1); /* q's */
        assert_true(number_of(&toy.view[1], 0) == 0.0);
        toy_close(&toy);
    }
}

/* Records are relative: the parameter may have moved to other memory since. */
static void a_parameter_that_only_moved_is_filled_where_it_is(void **state) {
    (void)state;
    struct toy toy;
    toy_open_8(&toy);
    mark(&toy, 6, 2);
    toy.view[0].storage = toy.view[1].storage;
    fill(&toy);
    ASSERT_NUMBERS(&toy.view[1], 9, 9, 9, 9, 9, 9, 0, 0);
    toy_close(&toy);
}

/* ---- R2.5: what is not recorded ---- */

static void meta_tensors_record_nothing(void **state) {
    (void)state;
    struct toy toy;
    toy_open_8(&toy);
    assert_ok(cs_rank_allocate_meta(&toy.bare.rank, &toy.view[0], "p", &toy.site.view));
    toy.site.is_registered = false; /* and a dry run warns of nothing */
    mark(&toy, 4, 4);
    assert_int_equal(toy.padding.n_records, 0);
    assert_int_equal(toy.bare.stats.warnings, 0);
    toy_close(&toy);
}

static void plain_tensors_record_nothing_silently(void **state) {
    (void)state;
    struct toy toy;
    toy_open_8(&toy);
    toy.site.is_parameter = toy.site.is_registered = false;
    mark(&toy, 4, 4), fill(&toy);
    ASSERT_NUMBERS(&toy.view[0], 9, 9, 9, 9, 9, 9, 9, 9);
    assert_int_equal(toy.padding.n_records, 0);
    assert_int_equal(toy.bare.stats.warnings, 0);
    toy_close(&toy);
}

static void an_unregistered_parameter_warns_once(void **state) {
    (void)state;
    struct toy toy;
    toy_open_8(&toy);
    toy.site.is_registered = false;
    mark(&toy, 4, 4), mark(&toy, 0, 1), fill(&toy), mark(&toy, 4, 4);
    assert_int_equal(toy.padding.n_records, 0);
    assert_int_equal(toy.bare.stats.warnings, 1);
    toy_close(&toy);
}

/* ---- R2.1, R2.8: one region for all experts ---- */

static void a_region_that_another_expert_recorded_is_kept_once(void **state) {
    (void)state;
    struct toy toy;
    toy_open(&toy, 2, (int64_t[]){3, 4});
    struct cs_region region;
    assert_ok(cs_region_of_box(&region, &toy.view[0], (int64_t[]){0, 3}, (int64_t[]){3, 1})); /* column 3 of every expert */
    toy.site.n_experts = 3;
    for (toy.site.expert = 0; toy.site.expert < 3; toy.site.expert++) assert_ok(cs_padding_mark(&toy.site, &region));
    assert_int_equal(toy.padding.records[0].n_regions, 1);
    fill(&toy);
    ASSERT_NUMBERS(&toy.view[0], 9, 9, 9, 0, 9, 9, 9, 0, 9, 9, 9, 0);
    assert_int_equal(toy.bare.stats.regions, 1);
    assert_int_equal(toy.bare.stats.bytes, 3 * 4);
    toy_close(&toy);
}

static void a_box_must_lie_inside_its_parameter(void **state) {
    (void)state;
    struct toy toy;
    toy_open(&toy, 2, (int64_t[]){3, 4});
    struct cs_region region;
    assert_int_equal(cs_region_of_box(&region, &toy.view[0], (int64_t[]){0, 3}, (int64_t[]){3, 2}), CS_BAD_INDEX);
    assert_ok(cs_region_of_box(&region, &toy.view[0], (int64_t[]){1, 2}, (int64_t[]){2, 2}));
    assert_int_equal(region.offset, 1 * 4 + 2);
    assert_true(region.shape[0] == 2 && region.shape[1] == 2 && region.stride[0] == 4 && region.stride[1] == 1);
    toy_close(&toy);
}

/* ---- R3: policies ---- */

static enum cs_status narrowed(struct toy *toy, const char *policy, const struct cs_region *region) {
    return cs_policy_by_name(policy)->on_narrowed(&toy->site, region);
}

/* All experts at once, or one: as many memsets as experts that the call loads. */
static void zero_in_loader_zeroes_at_once_one_memset_per_expert(void **state) {
    (void)state;
    struct toy toy;
    toy_open(&toy, 2, (int64_t[]){3, 4});
    struct cs_region region;
    assert_ok(cs_region_of_box(&region, &toy.view[0], (int64_t[]){0, 2}, (int64_t[]){3, 2}));
    toy.site.n_experts = 3, toy.site.expert = 1;
    assert_ok(narrowed(&toy, "zero_in_loader", &region));
    ASSERT_NUMBERS(&toy.view[0], 9, 9, 9, 9, 9, 9, 0, 0, 9, 9, 9, 9);
    assert_int_equal(toy.bare.stats.calls, 1);
    toy.site.expert = -1;
    assert_ok(narrowed(&toy, "zero_in_loader", &region));
    ASSERT_NUMBERS(&toy.view[0], 9, 9, 0, 0, 9, 9, 0, 0, 9, 9, 0, 0);
    assert_int_equal(toy.bare.stats.calls, 1 + 3);
    assert_int_equal(toy.bare.stats.bytes, (1 + 3) * 2 * 4);
    assert_int_equal(toy.padding.n_records, 0);
    toy_close(&toy);
}

static void zero_in_loader_knows_only_zeros(void **state) {
    (void)state;
    struct toy toy;
    toy_open_8(&toy);
    toy.site.value = 1.0;
    struct cs_region region = region_of(&toy, 4, 4);
    assert_ok(narrowed(&toy, "zero_in_loader", &region));
    ASSERT_NUMBERS(&toy.view[0], 9, 9, 9, 9, 0, 0, 0, 0);
    assert_ok(cs_rank_allocate_meta(&toy.bare.rank, &toy.view[0], "p", &toy.site.view));
    assert_ok(narrowed(&toy, "zero_in_loader", &region)); /* the dry run */
    assert_int_equal(toy.bare.stats.calls, 1);
    toy_close(&toy);
}

static void record_and_fill_waits_for_post_load_and_knows_ones(void **state) {
    (void)state;
    struct toy toy;
    toy_open_8(&toy);
    toy.site.value = 1.0;
    struct cs_region region = region_of(&toy, 4, 4);
    assert_ok(narrowed(&toy, "record_and_fill", &region));
    ASSERT_NUMBERS(&toy.view[0], 9, 9, 9, 9, 9, 9, 9, 9);
    fill(&toy);
    ASSERT_NUMBERS(&toy.view[0], 9, 9, 9, 9, 1, 1, 1, 1);
    toy_close(&toy);
}

static void zero_materialized_zeroes_whole_tensors(void **state) {
    (void)state;
    struct toy toy;
    toy_open_8(&toy);
    assert_ok(cs_policy_by_name("zero_materialized")->on_materialize(toy.bare.rank.device, &toy.view[0], &toy.bare.stats));
    ASSERT_NUMBERS(&toy.view[0], 0, 0, 0, 0, 0, 0, 0, 0);
    assert_int_equal(toy.bare.stats.calls, 1);
    toy_close(&toy);
}

static void each_policy_acts_at_its_own_moment(void **state) {
    (void)state;
    const struct { const char *name; bool materialize, narrowed, post_load; } rows[] = {
        {"none", false, false, false}, {"zero_materialized", true, false, false},
        {"zero_in_loader", false, true, false}, {"record_and_fill", false, true, true}};
    assert_int_equal(cs_n_policies, CS_COUNT(rows));
    for (size_t i = 0; i < CS_COUNT(rows); i++) {
        const struct cs_policy *policy = cs_policy_by_name(rows[i].name);
        assert_non_null(policy);
        assert_int_equal(policy->on_materialize != NULL, rows[i].materialize);
        assert_int_equal(policy->on_narrowed != NULL, rows[i].narrowed);
        assert_int_equal(policy->before_post_load != NULL, rows[i].post_load);
    }
    assert_null(cs_policy_by_name("hope"));
}

/* ---- R2.8 and R4.14 by a server: E experts, both sizes padded ---- */

static struct cs_fill_stats stats_of(const char *policy, const char *loader, int64_t experts) {
    struct cs_scenario scenario = gpt_oss_scenario();
    struct cs_session session;
    scenario.loader = loader;
    scenario.model.experts = experts;
    session_open(&session, &scenario, policy);
    session_run(&session, "cold_start", "A");
    struct cs_fill_stats stats = session.fill;
    cs_session_close(&session);
    return stats;
}

/* R2.8: 2 for each weight and scale, 1 for each bias. I 96 → 128 and H 96 → 256, bytes per expert:
 *   w13 [256, 128]: rows 64 × 128, columns 192 × 80    w13_scale [256, 8]: 64 × 8, 192 × 5   w13_bias [256] bf16: 64
 *   w2  [256, 64]: rows 160 × 64, columns 96 × 16      w2_scale [256, 4]: 160 × 4, 96 × 1    w2_bias  [256] bf16: 160 */
static void gpt_oss_records_ten_regions_per_layer_whatever_the_experts_and_the_loader(void **state) {
    (void)state;
    int64_t bytes = 64 * 128 + 192 * 80 + 64 * 8 + 192 * 5 + 64 * 2 + 160 * 64 + 96 * 16 + 160 * 4 + 96 * 1 + 160 * 2;
    for (int64_t experts = 1; experts <= 3; experts++) {
        const char *const loaders[] = {"gpt_oss_combined", "gpt_oss_streamed"};
        for (size_t i = 0; i < CS_COUNT(loaders); i++) {
            struct cs_fill_stats stats = stats_of("record_and_fill", loaders[i], experts);
            assert_int_equal(stats.calls, 1);
            assert_int_equal(stats.regions, 10);
            assert_int_equal(stats.bytes, bytes * experts);
            assert_int_equal(stats.warnings + stats.skipped, 0);
        }
    }
}

static void zero_in_loader_needs_ten_memsets_per_expert(void **state) {
    (void)state;
    assert_int_equal(stats_of("zero_in_loader", "gpt_oss_streamed", 3).calls, 10 * 3);
    assert_int_equal(stats_of("zero_in_loader", "gpt_oss_combined", 3).calls, 10 * 3);
    assert_int_equal(stats_of("none", "gpt_oss_streamed", 3).calls, 0);
    assert_int_equal(stats_of("zero_materialized", "gpt_oss_streamed", 3).calls, 0); /* a cold start materialises nothing */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floating_ones_have_padding_one),
        cmocka_unit_test(integer_ones_have_padding_zero),
        cmocka_unit_test(every_other_creation_has_padding_zero),
        cmocka_unit_test(a_value_that_rounds_to_one_is_one),
        cmocka_unit_test(a_model_built_on_meta_has_padding_zero_everywhere_but_where_it_is_explicit),
        cmocka_unit_test(an_explicit_value_wins),
        cmocka_unit_test(uninitialised_bytes_never_set_the_value),
        cmocka_unit_test(the_value_is_written_in_the_parameters_dtype),
        cmocka_unit_test(second_load_may_split_differently),
        cmocka_unit_test(marks_of_one_load_add_up),
        cmocka_unit_test(a_fill_drops_parameters_that_the_load_did_not_mark),
        cmocka_unit_test(a_second_fill_does_nothing),
        cmocka_unit_test(a_fill_without_marks_is_no_call),
        cmocka_unit_test(all_parameters_of_a_module_are_one_call),
        cmocka_unit_test(a_parameter_whose_layout_changed_is_skipped),
        cmocka_unit_test(a_parameter_that_only_moved_is_filled_where_it_is),
        cmocka_unit_test(meta_tensors_record_nothing),
        cmocka_unit_test(plain_tensors_record_nothing_silently),
        cmocka_unit_test(an_unregistered_parameter_warns_once),
        cmocka_unit_test(a_region_that_another_expert_recorded_is_kept_once),
        cmocka_unit_test(a_box_must_lie_inside_its_parameter),
        cmocka_unit_test(zero_in_loader_zeroes_at_once_one_memset_per_expert),
        cmocka_unit_test(zero_in_loader_knows_only_zeros),
        cmocka_unit_test(record_and_fill_waits_for_post_load_and_knows_ones),
        cmocka_unit_test(zero_materialized_zeroes_whole_tensors),
        cmocka_unit_test(each_policy_acts_at_its_own_moment),
        cmocka_unit_test(gpt_oss_records_ten_regions_per_layer_whatever_the_experts_and_the_loader),
        cmocka_unit_test(zero_in_loader_needs_ten_memsets_per_expert),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
