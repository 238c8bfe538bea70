/* Plans by their text, and what the oracle says of them. */
#ifndef TESTS_SUPPORT_FUZZ_H
#define TESTS_SUPPORT_FUZZ_H

#include "sim/fuzz/fuzz.h"

/* gpt-oss whose sizes 64 are rounded up: padding everywhere. */
#define PADDED                                                                                                         \
    "seed=5 backend=gpt_oss_mxfp4/flashinfer_trtllm loader=gpt_oss_combined ranks=tp1 layers=2 experts=3 hidden=224 "  \
    "intermediate=96 beside=router rounding=released allocator=random device=ref start=cold_start arrival=file engine=released "

struct cs_fuzz_plan plan_of(const char *text);
struct cs_fuzz_result judge(const struct cs_fuzz_plan *plan, struct cs_arena *arena);

#endif
