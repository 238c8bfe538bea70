/* Reload drivers on hand-made modules. Rules: vllm 0.33 model_loader/reload (layerwise), the reference pull requests (direct). Memory of a reload is 0xAA when nobody wrote
 * it: u8 170, bf16 0xAAAA. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "sim/method/methods.h"
#include "tests/support_session.h"

#define LAYERWISE (&cs_driver_layerwise)
#define DIRECT    (&cs_driver_direct)
#define COLD      (&cs_driver_cold_start)

/* Post-load of the modules here: p is cast, the config holds it, the experts object owns a constant. */
static const struct cs_step cast_steps[] = {CS_DO_CAST("p", CS_F32), CS_DO_REPLACE("p"), CS_DO_CONFIG("p", "p"), CS_DO_CONSTANT("alpha", 1.0f)};
static const size_t n_cast_steps = CS_COUNT(cast_steps);
static const struct cs_backend cast = {.method = "toy", .name = "cast", .steps = cast_steps, .n_steps = &n_cast_steps};

static const struct cs_step shrink_steps[] = {CS_DO_CAST("p", CS_BF16), CS_DO_REPLACE("p")};
static const size_t n_shrink_steps = CS_COUNT(shrink_steps);
static const struct cs_backend shrink = {.method = "toy", .name = "shrink", .steps = shrink_steps, .n_steps = &n_shrink_steps};

static const struct cs_tensor_spec u8_pair[] = {PARAM("p", CS_U8, CS_INIT_ZEROS, 8), PARAM("q", CS_U8, CS_INIT_ZEROS, 4)};
static const struct cs_module_spec pair = MODULE("m", u8_pair, .backend = NULL);
static const struct cs_tensor_spec bf16_p[] = {PARAM("p", CS_BF16, CS_INIT_ZEROS, 8)};
static const struct cs_module_spec cast_module = MODULE("m", bf16_p, .backend = &cast);

/* A server whose every parameter holds `value`. */
static void start(struct bare *bare, const char *policy, const struct cs_module_spec *specs, size_t n, double value) {
    bare_open(bare, policy, specs, n);
    assert_ok(COLD->begin(&bare->rank));
    for (size_t m = 0; m < n; m++)
        for (size_t i = 0; i < specs[m].n_tensors; i++)
            if (specs[m].tensors[i].kind == CS_PARAMETER) assert_ok(send_value(bare, COLD, m, specs[m].tensors[i].name, value));
    assert_ok(COLD->finish(&bare->rank));
}

static const struct cs_view *view_of(struct bare *bare, size_t module, const char *name) { return &bare_param(bare, module, name)->view; }

/* ---- cold start ---- */

static void a_cold_start_fills_once_before_post_load(void **state) {
    (void)state;
    const struct cs_tensor_spec tensors[] = {PARAM("p", CS_BF16, CS_INIT_ONES, 8)};
    const struct cs_module_spec spec = MODULE("m", tensors, .backend = &cast);
    struct bare bare;
    bare_open(&bare, "record_and_fill", &spec, 1);
    assert_ok(COLD->begin(&bare.rank));
    fill_bytes(view_of(&bare, 0, "p"), 0x55); /* whatever it was created with */
    assert_ok(send_prefix(&bare, COLD, 0, "p", 5, 3));
    assert_ok(COLD->finish(&bare.rank));
    assert_int_equal(view_of(&bare, 0, "p")->dtype, CS_F32);
    ASSERT_NUMBERS(view_of(&bare, 0, "p"), 3, 3, 3, 3, 3, 1, 1, 1);
    assert_int_equal(bare.stats.calls, 1);
    bare_close(&bare);
}

/* R2.4: what online quantisation processed while loading is neither filled nor processed again. */
static void a_module_may_be_processed_while_it_loads(void **state) {
    (void)state;
    const struct cs_tensor_spec tensors[] = {PARAM("p", CS_BF16, CS_INIT_META, 8)};
    const struct cs_module_spec spec = MODULE("m", tensors, .backend = &cast, .processes_while_loading = true);
    struct bare bare;
    bare_open(&bare, "record_and_fill", &spec, 1);
    assert_ok(COLD->begin(&bare.rank));
    struct cs_module *module = &bare.rank.modules[0];
    module->n_expected_calls = 2;
    assert_int_equal(view_of(&bare, 0, "p")->storage->kind, CS_STORAGE_META);
    assert_ok(send_prefix(&bare, COLD, 0, "p", 5, 3));
    assert_int_equal(bytes_of(view_of(&bare, 0, "p"))[15], COLD_GARBAGE); /* materialised, not initialised */
    assert_false(module->is_processed);
    assert_ok(send_prefix(&bare, COLD, 0, "p", 6, 4));
    assert_true(module->is_processed);
    uint64_t constant = module->sides[2].param->view.storage->id;
    assert_ok(COLD->finish(&bare.rank));
    assert_int_equal(module->sides[2].param->view.storage->id, constant);
    assert_int_equal(bare.stats.calls, 1);
    bare_close(&bare);
}

/* ---- layerwise: when a module is processed ---- */

static void a_module_is_processed_when_its_count_is_full(void **state) {
    (void)state;
    struct bare bare;
    start(&bare, "none", &pair, 1, 3);
    assert_ok(LAYERWISE->begin(&bare.rank));
    assert_int_equal(view_of(&bare, 0, "p")->storage->kind, CS_STORAGE_META);
    assert_ok(send_value(&bare, LAYERWISE, 0, "p", 5));
    assert_false(bare.rank.modules[0].is_processed);
    assert_ok(send_value(&bare, LAYERWISE, 0, "q", 6));
    assert_true(bare.rank.modules[0].is_processed); /* before finish */
    ASSERT_NUMBERS(view_of(&bare, 0, "p"), 5, 5, 5, 5, 5, 5, 5, 5);
    ASSERT_NUMBERS(view_of(&bare, 0, "q"), 6, 6, 6, 6);
    assert_ok(send_value(&bare, LAYERWISE, 0, "p", 9)); /* late: ignored */
    assert_ok(LAYERWISE->finish(&bare.rank));
    ASSERT_NUMBERS(view_of(&bare, 0, "p"), 5, 5, 5, 5, 5, 5, 5, 5);
    bare_close(&bare);
}

/* "≥, a count, not a set": p twice is 16 of 12. */
static void the_count_is_not_a_set(void **state) {
    (void)state;
    struct bare bare;
    start(&bare, "none", &pair, 1, 3);
    assert_ok(LAYERWISE->begin(&bare.rank));
    assert_ok(send_value(&bare, LAYERWISE, 0, "p", 5));
    assert_ok(send_value(&bare, LAYERWISE, 0, "p", 7));
    assert_true(bare.rank.modules[0].is_processed);
    assert_ok(LAYERWISE->finish(&bare.rank));
    ASSERT_NUMBERS(view_of(&bare, 0, "p"), 7, 7, 7, 7, 7, 7, 7, 7);
    ASSERT_NUMBERS(view_of(&bare, 0, "q"), 0xAA, 0xAA, 0xAA, 0xAA); /* never sent */
    bare_close(&bare);
}

/* R4.13. The same number caps what one call may count. */
static void weight_loader_numel_leaves_padding_out_of_the_count(void **state) {
    (void)state;
    struct cs_tensor_spec tensors[] = {PARAM("p", CS_U8, CS_INIT_ZEROS, 8), PARAM("q", CS_U8, CS_INIT_ZEROS, 4)};
    tensors[0].weight_loader_numel = 3;
    const struct cs_module_spec spec = MODULE("m", tensors, .backend = NULL);
    struct bare bare;
    start(&bare, "none", &spec, 1, 3);
    assert_ok(LAYERWISE->begin(&bare.rank));
    assert_ok(send_value(&bare, LAYERWISE, 0, "p", 5)); /* 8 elements count 3 of 7 */
    assert_false(bare.rank.modules[0].is_processed);
    assert_ok(send_value(&bare, LAYERWISE, 0, "q", 5));
    assert_true(bare.rank.modules[0].is_processed);
    assert_ok(LAYERWISE->finish(&bare.rank));
    assert_ok(LAYERWISE->begin(&bare.rank));
    assert_ok(send_prefix(&bare, LAYERWISE, 0, "p", 3, 6));
    assert_ok(send_value(&bare, LAYERWISE, 0, "q", 6));
    assert_true(bare.rank.modules[0].is_processed);
    assert_ok(LAYERWISE->finish(&bare.rank));
    bare_close(&bare);
}

static void buffers_count_and_only_persistent_ones_are_copied_back(void **state) {
    (void)state;
    const struct cs_tensor_spec tensors[] = {PARAM("p", CS_U8, CS_INIT_ZEROS, 4), BUFFER("kept", CS_BUFFER, 2), BUFFER("saved", CS_PERSISTENT_BUFFER, 2)};
    const struct cs_module_spec spec = MODULE("m", tensors, .backend = NULL);
    struct bare bare;
    start(&bare, "none", &spec, 1, 3);
    fill_bytes(view_of(&bare, 0, "kept"), 7), fill_bytes(view_of(&bare, 0, "saved"), 8);
    assert_ok(LAYERWISE->begin(&bare.rank));
    assert_ok(send_value(&bare, LAYERWISE, 0, "p", 5));
    assert_false(bare.rank.modules[0].is_processed); /* 4 of 8 */
    assert_ok(LAYERWISE->finish(&bare.rank)); /* delayed */
    ASSERT_NUMBERS(view_of(&bare, 0, "p"), 5, 5, 5, 5);
    ASSERT_NUMBERS(view_of(&bare, 0, "kept"), 7, 7);
    ASSERT_NUMBERS(view_of(&bare, 0, "saved"), 0xAA, 0xAA); /* rematerialised, not sent, copied back all the same */
    assert_int_equal(cs_module_slot(&bare.rank.modules[0], "saved")->kind, CS_PERSISTENT_BUFFER);
    assert_ok(LAYERWISE->begin(&bare.rank));
    assert_ok(send_value(&bare, LAYERWISE, 0, "kept", 9)); /* a buffered call names it: then it is copied */
    assert_ok(LAYERWISE->finish(&bare.rank));
    ASSERT_NUMBERS(view_of(&bare, 0, "kept"), 9, 9);
    bare_close(&bare);
}

/* `bias` stays live: written at once, also counted. */
static void bias_stays_live_and_counts(void **state) {
    (void)state;
    const struct cs_tensor_spec tensors[] = {PARAM("weight", CS_U8, CS_INIT_ZEROS, 4), PARAM("bias", CS_U8, CS_INIT_ZEROS, 4)};
    const struct cs_module_spec spec = MODULE("m", tensors, .backend = NULL);
    struct bare bare;
    start(&bare, "none", &spec, 1, 3);
    const struct cs_param *bias = bare_param(&bare, 0, "bias");
    assert_ok(LAYERWISE->begin(&bare.rank));
    assert_ptr_equal(bare_param(&bare, 0, "bias"), bias);
    assert_ok(send_value(&bare, LAYERWISE, 0, "bias", 5));
    ASSERT_NUMBERS(&bias->view, 5, 5, 5, 5); /* before anything is processed */
    assert_false(bare.rank.modules[0].is_processed); /* 4 of 8 */
    assert_ok(send_value(&bare, LAYERWISE, 0, "weight", 6));
    assert_true(bare.rank.modules[0].is_processed);
    assert_ok(LAYERWISE->finish(&bare.rank));
    ASSERT_NUMBERS(&bias->view, 5, 5, 5, 5);
    ASSERT_NUMBERS(view_of(&bare, 0, "weight"), 6, 6, 6, 6);
    bare_close(&bare);
}

static void expert_maps_stay_live_and_do_not_count(void **state) {
    (void)state;
    const struct cs_tensor_spec tensors[] = {PARAM("p", CS_U8, CS_INIT_ZEROS, 4), BUFFER("_expert_map", CS_BUFFER, 4), PARAM("e_score_correction_bias", CS_U8, CS_INIT_ZEROS, 4)};
    const struct cs_module_spec spec = MODULE("m", tensors, .backend = NULL);
    struct bare bare;
    start(&bare, "none", &spec, 1, 3);
    uint64_t id = view_of(&bare, 0, "_expert_map")->storage->id;
    assert_ok(LAYERWISE->begin(&bare.rank));
    assert_int_equal(view_of(&bare, 0, "_expert_map")->storage->id, id);
    assert_ok(send_value(&bare, LAYERWISE, 0, "p", 5));
    assert_true(bare.rank.modules[0].is_processed);
    assert_ok(LAYERWISE->finish(&bare.rank));
    ASSERT_NUMBERS(view_of(&bare, 0, "e_score_correction_bias"), 3, 3, 3, 3);
    bare_close(&bare);
}

static void a_module_that_receives_nothing_keeps_its_values(void **state) {
    (void)state;
    struct bare bare;
    start(&bare, "none", &cast_module, 1, 3);
    const struct cs_param *p = bare_param(&bare, 0, "p");
    struct cs_view before = p->view;
    assert_ok(LAYERWISE->begin(&bare.rank));
    assert_ok(LAYERWISE->finish(&bare.rank));
    assert_ptr_equal(bare_param(&bare, 0, "p"), p);
    assert_true(cs_view_same_place(&before, &p->view));
    ASSERT_NUMBERS(&p->view, 3, 3, 3, 3, 3, 3, 3, 3);
    bare_close(&bare);
}

/* A reload that never finished: buffered calls and count survive the next INIT. */
static void an_abandoned_load_is_continued(void **state) {
    (void)state;
    struct bare bare;
    start(&bare, "none", &pair, 1, 3);
    assert_ok(LAYERWISE->begin(&bare.rank));
    assert_ok(send_value(&bare, LAYERWISE, 0, "p", 5));
    assert_ok(LAYERWISE->begin(&bare.rank));
    cs_rank_sweep(&bare.rank); /* the buffered source is held by reference */
    assert_ok(send_value(&bare, LAYERWISE, 0, "q", 6));
    assert_true(bare.rank.modules[0].is_processed);
    assert_ok(LAYERWISE->finish(&bare.rank));
    ASSERT_NUMBERS(view_of(&bare, 0, "p"), 5, 5, 5, 5, 5, 5, 5, 5);
    bare_close(&bare);
}

/* ---- layerwise: what processing leaves ---- */

static void partial_loads_leave_what_the_policy_says(void **state) {
    (void)state;
    const struct { const char *policy; double value, rest; } rows[] = {
        {"none", 1, 0xAA}, {"zero_materialized", 1, 0}, {"zero_in_loader", 1, 0}, {"record_and_fill", 4, 4}};
    struct cs_tensor_spec tensors[] = {PARAM("p", CS_U8, CS_INIT_ZEROS, 8)};
    const struct cs_module_spec spec = MODULE("m", tensors, .backend = NULL);
    for (size_t i = 0; i < CS_COUNT(rows); i++) {
        struct bare bare;
        tensors[0].has_padding_value = true, tensors[0].padding_value = rows[i].value;
        start(&bare, rows[i].policy, &spec, 1, 3);
        assert_ok(LAYERWISE->begin(&bare.rank));
        assert_ok(send_prefix(&bare, LAYERWISE, 0, "p", 5, 6));
        assert_ok(LAYERWISE->finish(&bare.rank));
        ASSERT_NUMBERS(view_of(&bare, 0, "p"), 6, 6, 6, 6, 6, rows[i].rest, rows[i].rest, rows[i].rest);
        bare_close(&bare);
    }
}

static void results_are_copied_back_into_the_kernel_objects(void **state) {
    (void)state;
    struct bare bare;
    start(&bare, "none", &cast_module, 1, 3);
    const struct cs_param *p = bare_param(&bare, 0, "p");
    struct cs_view before = p->view;
    uint64_t constant = bare.rank.modules[0].sides[2].param->view.storage->id;
    assert_ptr_equal(bare.rank.modules[0].sides[0].param, p);
    assert_ok(LAYERWISE->begin(&bare.rank));
    assert_ok(send_value(&bare, LAYERWISE, 0, "p", 5));
    assert_ok(LAYERWISE->finish(&bare.rank));
    assert_ptr_equal(bare_param(&bare, 0, "p"), p);
    assert_true(cs_view_same_place(&before, &p->view));
    ASSERT_NUMBERS(&p->view, 5, 5, 5, 5, 5, 5, 5, 5);
    /* the config holds the temporary parameter of this load: an orphan with its own copy; the constant moved */
    const struct cs_side *sides = bare.rank.modules[0].sides;
    assert_int_equal(bare.rank.modules[0].n_sides, 3);
    assert_true(sides[0].param->view.storage != p->view.storage);
    ASSERT_NUMBERS(&sides[0].param->view, 5, 5, 5, 5, 5, 5, 5, 5);
    assert_true(sides[2].param->view.storage->id != constant);
    bare_close(&bare);
}

static void an_unknown_parameter_is_an_error_of_its_name(void **state) {
    (void)state;
    static const struct cs_driver *const drivers[] = {LAYERWISE, DIRECT};
    for (size_t i = 0; i < CS_COUNT(drivers); i++) {
        struct bare bare;
        start(&bare, "none", &pair, 1, 3);
        assert_ok(drivers[i]->begin(&bare.rank));
        struct cs_load_call call = {.module = &bare.rank.modules[0], .tensor = "x.weight", .expert = -1};
        assert_int_equal(drivers[i]->load(&bare.rank, &call, "x"), CS_BAD_VALUE);
        assert_says(cs_error_text(), "m has no parameter \"x\" for x.weight");
        bare_close(&bare);
    }
}

/* ---- direct ---- */

/* p is created bf16 and lives as f32. 3.0 is 0x40400000: seen as bf16, low half first, it is 0 and 3. */
static void loads_are_hosted_in_the_live_bytes(void **state) {
    (void)state;
    struct bare bare;
    start(&bare, "none", &cast_module, 1, 3);
    uint64_t id = view_of(&bare, 0, "p")->storage->id;
    assert_ok(DIRECT->begin(&bare.rank));
    assert_ok(send_prefix(&bare, DIRECT, 0, "p", 4, 2));
    const struct cs_view *hosted = view_of(&bare, 0, "p");
    assert_int_equal(hosted->storage->id, id);
    assert_int_equal(hosted->dtype, CS_BF16);
    ASSERT_NUMBERS(hosted, 2, 2, 2, 2, 0, 3, 0, 3);
    assert_ok(DIRECT->finish(&bare.rank));
    bare_close(&bare);
}

/* The result depends on how many reloads came before: after one, the first 16 bytes are four f32 twos. */
static void padding_is_stale_and_depends_on_the_number_of_reloads(void **state) {
    (void)state;
    struct bare bare;
    start(&bare, "none", &cast_module, 1, 3);
    const double expected[2][8] = {{2, 2, 2, 2, 0, 3, 0, 3}, {2, 2, 2, 2, 0, 2, 0, 2}};
    for (int reload = 0; reload < 2; reload++) {
        assert_ok(DIRECT->begin(&bare.rank));
        assert_ok(send_prefix(&bare, DIRECT, 0, "p", 4, 2));
        assert_ok(DIRECT->finish(&bare.rank));
        assert_numbers(view_of(&bare, 0, "p"), 8, expected[reload]);
    }
    bare_close(&bare);
}

static void records_cure_stale_padding(void **state) {
    (void)state;
    const struct { const char *policy; double fifth; } rows[] = {{"record_and_fill", 0}, {"zero_in_loader", 0}, {"zero_materialized", 3}};
    for (size_t i = 0; i < CS_COUNT(rows); i++) {
        struct bare bare;
        start(&bare, rows[i].policy, &cast_module, 1, 3);
        assert_ok(DIRECT->begin(&bare.rank));
        assert_ok(send_prefix(&bare, DIRECT, 0, "p", 4, 2));
        assert_ok(DIRECT->finish(&bare.rank));
        ASSERT_NUMBERS(view_of(&bare, 0, "p"), 2, 2, 2, 2, 0, rows[i].fifth, 0, rows[i].fifth);
        bare_close(&bare);
    }
}

static void results_are_put_back_at_the_same_address(void **state) {
    (void)state;
    struct bare bare;
    start(&bare, "none", &cast_module, 1, 3);
    const struct cs_param *p = bare_param(&bare, 0, "p");
    struct cs_view before = p->view;
    assert_ok(DIRECT->begin(&bare.rank));
    assert_ok(send_value(&bare, DIRECT, 0, "p", 5));
    assert_ok(DIRECT->finish(&bare.rank));
    assert_ptr_equal(bare_param(&bare, 0, "p"), p);
    assert_true(cs_view_same_place(&before, &p->view));
    assert_ptr_equal(bare.rank.modules[0].sides[0].param, p); /* no orphan: the config holds the object itself */
    ASSERT_NUMBERS(&p->view, 5, 5, 5, 5, 5, 5, 5, 5);
    bare_close(&bare);
}

static void a_module_without_tensors_is_left_alone(void **state) {
    (void)state;
    const struct cs_module_spec specs[] = {cast_module, cast_module};
    struct bare bare;
    start(&bare, "none", specs, 2, 3);
    uint64_t constants[] = {bare.rank.modules[0].sides[2].param->view.storage->id, bare.rank.modules[1].sides[2].param->view.storage->id};
    assert_ok(DIRECT->begin(&bare.rank));
    assert_ok(send_value(&bare, DIRECT, 1, "p", 5));
    assert_ok(DIRECT->finish(&bare.rank));
    ASSERT_NUMBERS(view_of(&bare, 0, "p"), 3, 3, 3, 3, 3, 3, 3, 3);
    assert_int_equal(bare.rank.modules[0].sides[2].param->view.storage->id, constants[0]);
    assert_int_not_equal(bare.rank.modules[1].sides[2].param->view.storage->id, constants[1]); /* post-load ran */
    bare_close(&bare);
}

/* f32 in the checkpoint, bf16 in the kernel: 16 live bytes cannot host 32. The rest is 0xAAAAAAAA, to nearest bf16 0xAAAB. */
static void a_smaller_result_is_loaded_through_scratch(void **state) {
    (void)state;
    const struct cs_tensor_spec tensors[] = {PARAM("p", CS_F32, CS_INIT_ZEROS, 8)};
    const struct cs_module_spec spec = MODULE("m", tensors, .backend = &shrink);
    struct bare bare;
    start(&bare, "none", &spec, 1, 3);
    struct cs_view before = *view_of(&bare, 0, "p");
    assert_ok(DIRECT->begin(&bare.rank));
    assert_ok(send_prefix(&bare, DIRECT, 0, "p", 6, 2));
    assert_int_not_equal(view_of(&bare, 0, "p")->storage->id, before.storage->id);
    assert_ok(DIRECT->finish(&bare.rank));
    assert_true(cs_view_same_place(&before, view_of(&bare, 0, "p")));
    const uint16_t expected[] = {0x4000, 0x4000, 0x4000, 0x4000, 0x4000, 0x4000, 0xAAAB, 0xAAAB};
    assert_memory_equal(bytes_of(view_of(&bare, 0, "p")), expected, sizeof expected);
    bare_close(&bare);
}

/* Live bytes that another object shares, or that do not start at a multiple of 16, cannot host. */
static void shared_or_misaligned_bytes_are_not_loaded_into(void **state) {
    (void)state;
    for (int is_shared = 0; is_shared < 2; is_shared++) {
        struct bare bare;
        start(&bare, "none", &cast_module, 1, 3);
        struct cs_param *p = bare_param(&bare, 0, "p");
        if (is_shared) {
            struct cs_param *other = cs_param_new(&bare.rank, "other", NULL);
            other->view = p->view;
            assert_ok(cs_module_register(&bare.rank.modules[0], "other", CS_PARAMETER, other));
        } else {
            p->view.offset = 1, p->view.shape[0] = 7;
        }
        uint64_t id = p->view.storage->id;
        assert_ok(DIRECT->begin(&bare.rank));
        assert_ok(send_prefix(&bare, DIRECT, 0, "p", 4, 2));
        assert_int_not_equal(p->view.storage->id, id);
        assert_int_equal(bytes_of(&p->view)[15], RELOAD_GARBAGE);
        assert_int_equal(DIRECT->finish(&bare.rank), is_shared ? CS_OK : CS_BAD_SHAPE); /* 8 results do not go where 7 were */
        bare_close(&bare);
    }
}

/* ---- meta_build ---- */

/* R2.2: padding 0 everywhere, unless it is explicit; the cold start itself is right. */
static void a_meta_built_server_forgets_its_padding_values(void **state) {
    (void)state;
    for (int is_explicit = 0; is_explicit < 2; is_explicit++) {
        struct cs_tensor_spec tensors[] = {PARAM("p", CS_F32, CS_INIT_ONES, 4)};
        const struct cs_module_spec spec = MODULE("m", tensors, .backend = NULL);
        tensors[0].has_padding_value = is_explicit, tensors[0].padding_value = 1.0;
        struct bare bare;
        bare_open(&bare, "record_and_fill", &spec, 1);
        const struct cs_driver *meta = cs_driver_by_name("meta_build");
        assert_ok(meta->begin(&bare.rank));
        assert_ok(send_prefix(&bare, meta, 0, "p", 2, 3));
        assert_ok(meta->finish(&bare.rank));
        ASSERT_NUMBERS(view_of(&bare, 0, "p"), 3, 3, 1, 1);
        assert_int_equal(DIRECT->begin(&bare.rank), CS_REFUSED); /* its weights arrived already processed */
        assert_ok(LAYERWISE->begin(&bare.rank));
        assert_ok(send_prefix(&bare, LAYERWISE, 0, "p", 2, 5));
        assert_ok(LAYERWISE->finish(&bare.rank));
        ASSERT_NUMBERS(view_of(&bare, 0, "p"), 5, 5, is_explicit, is_explicit);
        bare_close(&bare);
    }
}

static void as_released_a_meta_built_server_cannot_reload_layerwise(void **state) {
    (void)state;
    struct bare bare;
    bare_open(&bare, "none", &pair, 1);
    bare.rank.defects = CS_DEFECT_BIT(CS_DEFECT_META_RESTORE_DEVICE);
    const struct cs_driver *meta = cs_driver_by_name("meta_build");
    assert_ok(meta->begin(&bare.rank));
    assert_ok(meta->finish(&bare.rank));
    assert_ok(LAYERWISE->begin(&bare.rank));
    assert_ok(send_value(&bare, LAYERWISE, 0, "p", 5));
    assert_int_equal(send_value(&bare, LAYERWISE, 0, "q", 5), CS_REFUSED);
    assert_says(cs_error_text(), "Cannot copy out of meta tensor");
    bare_close(&bare);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cold_start_fills_once_before_post_load),
        cmocka_unit_test(a_module_may_be_processed_while_it_loads),
        cmocka_unit_test(a_module_is_processed_when_its_count_is_full),
        cmocka_unit_test(the_count_is_not_a_set),
        cmocka_unit_test(weight_loader_numel_leaves_padding_out_of_the_count),
        cmocka_unit_test(buffers_count_and_only_persistent_ones_are_copied_back),
        cmocka_unit_test(bias_stays_live_and_counts),
        cmocka_unit_test(expert_maps_stay_live_and_do_not_count),
        cmocka_unit_test(a_module_that_receives_nothing_keeps_its_values),
        cmocka_unit_test(an_abandoned_load_is_continued),
        cmocka_unit_test(partial_loads_leave_what_the_policy_says),
        cmocka_unit_test(results_are_copied_back_into_the_kernel_objects),
        cmocka_unit_test(an_unknown_parameter_is_an_error_of_its_name),
        cmocka_unit_test(loads_are_hosted_in_the_live_bytes),
        cmocka_unit_test(padding_is_stale_and_depends_on_the_number_of_reloads),
        cmocka_unit_test(records_cure_stale_padding),
        cmocka_unit_test(results_are_put_back_at_the_same_address),
        cmocka_unit_test(a_module_without_tensors_is_left_alone),
        cmocka_unit_test(a_smaller_result_is_loaded_through_scratch),
        cmocka_unit_test(shared_or_misaligned_bytes_are_not_loaded_into),
        cmocka_unit_test(a_meta_built_server_forgets_its_padding_values),
        cmocka_unit_test(as_released_a_meta_built_server_cannot_reload_layerwise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
