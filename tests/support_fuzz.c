#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support_fuzz.h"
#include "tests/support_session.h"

struct cs_fuzz_plan plan_of(const char *text) {
    struct cs_fuzz_plan plan;
    assert_ok(cs_fuzz_plan_parse(text, &plan));
    return plan;
}

struct cs_fuzz_result judge(const struct cs_fuzz_plan *plan, struct cs_arena *arena) {
    struct cs_fuzz_result result;
    const struct cs_judge_options options = {0};
    assert_ok(cs_fuzz_judge(plan, &options, arena, &result));
    return result;
}
