/* What the files of this folder share. */
#ifndef CS_FUZZ_INTERNAL_H
#define CS_FUZZ_INTERNAL_H

#include "sim/fuzz/fuzz.h"

/* A value of axis `ranks`. */
struct cs_fuzz_ranks {
    const char *name;
    int tp, ep;
};
const struct cs_fuzz_ranks *cs_fuzz_ranks_of(const struct cs_fuzz_plan *plan);
const struct cs_backend *cs_fuzz_backend_of(const struct cs_fuzz_plan *plan);
const struct cs_method *cs_fuzz_method_of(const struct cs_fuzz_plan *plan);
const struct cs_loader *cs_fuzz_loader_of(const struct cs_fuzz_plan *plan);
const char *cs_fuzz_policy_of(const struct cs_fuzz_plan *plan);
const struct cs_device *cs_fuzz_device_of(const struct cs_fuzz_plan *plan);
const struct cs_driver *cs_fuzz_start_of(const struct cs_fuzz_plan *plan);
/* Layers, experts, hidden, intermediate. */
int64_t cs_fuzz_number_of(const struct cs_fuzz_plan *plan, enum cs_axis_id id);
/* Everything that axes say, no steps and no expectations. */
void cs_fuzz_apply_axes(const struct cs_fuzz_plan *plan, struct cs_scenario *scenario);

/* Another loader that can send the scenario's checkpoint, or NULL. */
const char *cs_fuzz_other_loader(const struct cs_fuzz_plan *plan);

extern const char *const cs_fuzz_checkpoint_names[CS_PLAN_CHECKPOINTS];
extern const struct cs_checkpoint_config cs_fuzz_checkpoints[CS_PLAN_CHECKPOINTS];

/* Checkpoint that a step sends, by what the server holds before it. */
int cs_fuzz_sent(const struct cs_fuzz_plan *plan, size_t step);

/* A random stream. */
struct cs_dice {
    uint64_t state;
};
static inline uint64_t cs_roll(struct cs_dice *dice) { return cs_mix64(dice->state += UINT64_C(0x9e3779b97f4a7c15)); }
/* 0 … n - 1. */
static inline size_t cs_roll_below(struct cs_dice *dice, size_t n) { return n ? (size_t)(cs_roll(dice) % n) : 0; }

#endif
