/* Ranks that meet: turns, largest values, and what is a wait without an end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "tests/support_session.h"

enum { RANKS = 3, ROUNDS = 4 };

static struct cs_tensor_spec tensors[] = {PARAM("amax", CS_F32, CS_INIT_ZEROS, 2), PARAM("half", CS_BF16, CS_INIT_ZEROS, 2)};
static const struct cs_module_spec module = MODULE("experts", tensors, .checkpoint = "experts");

static struct bare ranks[RANKS];
static int order[RANKS * (ROUNDS + 1)], n_steps;
static int64_t reductions[RANKS]; /* how many each rank comes to, before its fault */
static const char *names[RANKS], *fault[RANKS];

static void open_ranks(void) {
    n_steps = 0;
    for (int r = 0; r < RANKS; r++) {
        bare_open(&ranks[r], "none", &module, 1);
        bare_create(&ranks[r]);
        ranks[r].rank.index = r;
        reductions[r] = ROUNDS, names[r] = "amax", fault[r] = NULL;
    }
}

static void close_ranks(void) {
    for (int r = 0; r < RANKS; r++) bare_close(&ranks[r]);
}

/* Round k: rank r brings 10 k + r, and in the other element the opposite order. */
static enum cs_status body(void *context, size_t r, struct cs_group *group) {
    (void)context;
    struct cs_rank *rank = &ranks[r].rank;
    rank->group = group;
    for (int64_t k = 0; k < reductions[r]; k++) {
        struct cs_param *param = bare_param(&ranks[r], 0, names[r]);
        float numbers[] = {(float)(10 * k) + (float)r, (float)(10 * k) - (float)r};
        if (param->view.dtype == CS_F32) CS_TRY(cs_device_write(rank->device, &param->view, numbers, sizeof numbers));
        order[n_steps++] = (int)r;
        CS_TRY(cs_all_reduce_max(&rank->modules[0], names[r], &param->view));
        if (param->view.dtype == CS_F32) ASSERT_NUMBERS(&param->view, (double)(10 * k + RANKS - 1), (double)(10 * k));
    }
    order[n_steps++] = (int)r;
    return fault[r] ? cs_fail(CS_BAD_INDEX, "%s", fault[r]) : CS_OK;
}

static enum cs_status run(bool *is_stuck) { return cs_group_run(RANKS, body, NULL, is_stuck); }

static void everyone_gets_the_largest_in_turn(void **state) {
    (void)state;
    bool is_stuck;
    open_ranks();
    assert_ok(run(&is_stuck));
    assert_false(is_stuck);
    assert_int_equal(n_steps, RANKS * (ROUNDS + 1));
    for (int i = 0; i < n_steps; i++) assert_int_equal(order[i], i % RANKS);
    close_ranks();
}

static void assert_stops(enum cs_status expected, bool is_stuck_expected, const char *text) {
    bool is_stuck;
    assert_int_equal(run(&is_stuck), expected);
    assert_int_equal(is_stuck, is_stuck_expected);
    assert_says(cs_error_text(), text);
    close_ranks();
}

static void a_failure_stops_those_that_wait(void **state) {
    (void)state;
    open_ranks();
    reductions[1] = 0, fault[1] = "rank 1 tripped";
    assert_stops(CS_BAD_INDEX, true, "rank 1 tripped");
    assert_int_equal(n_steps, 2); /* rank 0 until it waited, rank 1; rank 2 never began */
}

static void the_first_to_fail_leaves_nobody_waiting(void **state) {
    (void)state;
    open_ranks();
    reductions[0] = 0, fault[0] = "rank 0 tripped";
    assert_stops(CS_BAD_INDEX, false, "rank 0 tripped");
    assert_int_equal(n_steps, 1);
}

static void a_rank_that_never_comes_is_waited_for_in_vain(void **state) {
    (void)state;
    open_ranks();
    reductions[2] = 1;
    assert_stops(CS_REFUSED, true, "rank 0 waits for ever: experts.amax is the largest over all ranks, and rank 2 is done without it");
}

static void ranks_must_bring_the_same(void **state) {
    (void)state;
    open_ranks();
    names[1] = "half";
    assert_stops(CS_REFUSED, true, "rank 0 brings experts.amax to a reduction over all ranks, and rank 1 experts.half: expected the same");
}

static void a_rank_without_a_group_is_an_error(void **state) {
    (void)state;
    open_ranks();
    struct cs_param *param = bare_param(&ranks[0], 0, "amax");
    assert_int_equal(cs_all_reduce_max(&ranks[0].rank.modules[0], "amax", &param->view), CS_INTERNAL);
    assert_says(cs_error_text(), "experts.amax: rank 0 runs alone, and needs the others");
    close_ranks();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everyone_gets_the_largest_in_turn),
        cmocka_unit_test(a_failure_stops_those_that_wait),
        cmocka_unit_test(the_first_to_fail_leaves_nobody_waiting),
        cmocka_unit_test(a_rank_that_never_comes_is_waited_for_in_vain),
        cmocka_unit_test(ranks_must_bring_the_same),
        cmocka_unit_test(a_rank_without_a_group_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
