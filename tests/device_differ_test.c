/* A device is compared with ref tensor by tensor, over every state of the audit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "sim/audit/audit.h"
#include "sim/script/script.h"

static struct cs_arena arena;

static int forget(void **state) {
    (void)state;
    cs_arena_release(&arena);
    return 0;
}

static struct cs_verdict audit(const struct cs_scenario *scenario, struct cs_recording *recording, const struct cs_recording *reference) {
    struct cs_audit_options options = {.device = cs_devices[0], .policy = "record_and_fill", .seed = 1, .recording = recording, .reference = reference};
    struct cs_verdict verdict;
    assert_int_equal(cs_audit_scenario(scenario, &options, &arena, &verdict), CS_OK);
    return verdict;
}

static struct cs_scenario demo(void) {
    struct cs_scenario scenario;
    assert_int_equal(cs_script_load(SOURCE_DIR "/scenarios/demo/padding_is_lost.lua", &arena, &scenario), CS_OK);
    return scenario;
}

/* 2 layers: 3 norms, 2 routers with bias, 2 × 6 expert tensors and a norm at the end: 21 parameters; side tensors 2 × (4 + 3). Looked at four
 * times: cold start over two memories, the plan over other garbage and the plan. */
static void a_recording_has_every_tensor_of_every_state(void **state) {
    (void)state;
    struct cs_scenario scenario = demo();
    struct cs_recording recording = {.arena = &arena};
    assert_int_equal(audit(&scenario, &recording, NULL).status, CS_PASSED);
    assert_int_equal(recording.n, 4 * (21 + 2 * 7));
}

static void the_same_device_agrees_with_itself(void **state) {
    (void)state;
    struct cs_scenario scenario = demo();
    struct cs_recording recording = {.arena = &arena};
    audit(&scenario, &recording, NULL);
    struct cs_verdict verdict = audit(&scenario, NULL, &recording);
    assert_int_equal(verdict.status, CS_PASSED);
    assert_int_equal(verdict.count[CS_COUNT_device_differ], 0);
}

static void one_other_digest_in_any_state_fails(void **state) {
    (void)state;
    struct cs_scenario scenario = demo();
    struct cs_recording recording = {.arena = &arena};
    audit(&scenario, &recording, NULL);
    for (size_t i = 0; i < recording.n; i += 27) {
        recording.digests[i] ^= 1;
        struct cs_verdict verdict = audit(&scenario, NULL, &recording);
        assert_int_equal(verdict.status, CS_FAILED);
        assert_int_equal(verdict.count[CS_COUNT_device_differ], 1);
        assert_non_null(strstr(verdict.reason, "ref disagree about 1 tensors, the first is "));
        recording.digests[i] ^= 1;
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_recording_has_every_tensor_of_every_state, forget),
        cmocka_unit_test_teardown(the_same_device_agrees_with_itself, forget),
        cmocka_unit_test_teardown(one_other_digest_in_any_state_fails, forget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
