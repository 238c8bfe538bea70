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
enum {
    CS_FUZZ_WITHOUT_OPTIONAL = 3, /* the checkpoint "D" of a model with attention */
    CS_FUZZ_PATCHED,              /* "E", which differs from "A" in one element */
};

/* Checkpoint that a step sends, by what the server holds before it. */
int cs_fuzz_sent(const struct cs_fuzz_plan *plan, size_t step);

/* What stands beside the experts: "norm" … */
const char *cs_fuzz_beside_of(const struct cs_fuzz_plan *plan);
const struct cs_layer_settings *cs_fuzz_layer_of(const struct cs_fuzz_plan *plan);
/* Whether it has attention layers, of whose KV-cache scales one checkpoint has none. */
bool cs_fuzz_has_attention(const struct cs_fuzz_plan *plan);
/* Whether the engine is without the standing defects. */
bool cs_fuzz_is_repaired(const struct cs_fuzz_plan *plan);
/* Whether modules come in another order than in the file, in every load and the start. */
bool cs_fuzz_shuffles_modules(const struct cs_fuzz_plan *plan);

/* ---- what a server must hold (promise.c) ---- */

/* Whether loaders compare scales with what their slot holds (F12): other contents of a slot, as a law tries them, are
 * refused then. */
bool cs_fuzz_compares_scales(const struct cs_fuzz_plan *plan);

/* What a load that was stopped leaves. */
enum cs_residue {
    CS_RESIDUE_NONE,
    CS_RESIDUE_CALLS, /* modules on meta, with calls that wait */
    CS_RESIDUE_VIEWS, /* parameters seen through the checkpoint's layout */
    CS_RESIDUE_LOST,  /* another driver went over it */
};

struct cs_promise {
    const struct cs_fuzz_plan *plan;
    bool is_repaired;
    bool holds;       /* the server holds what it should */
    int checkpoint;   /* the latest that was sent, whole or as a difference */
    bool is_deformed; /* an untrusted driver may have left parameters of another shape */
    bool has_marks;   /* the latest load that ran loaders marked all padding, in the checkpoint's layout */
    bool has_foreign_marks; /* padding marked in the kernel's layout waits for the next fill, which skips it (R2.3,
                               R2.4) */
    bool has_lost_buffers; /* the release overwrites persistent buffers, and nobody brings them back (F7) */
    enum cs_residue residue;
    uint32_t always_excused; /* channels that the steps so far change by their nature */
    /* of the step that was taken last */
    bool is_judged;    /* the server must hold its checkpoint */
    bool is_unchanged; /* it must hold what it held before the step, whatever that was */
    bool may_refuse;
    uint32_t excused;
};
void cs_promise_start(struct cs_promise *promise, const struct cs_fuzz_plan *plan);
/* Steps in their order. */
void cs_promise_step(struct cs_promise *promise, size_t step);

/* Of a rule that may be asked again: the memo's answer, if it has one. */
bool cs_rule_holds(struct cs_legal_memo *memo, const struct cs_rule *rule, const struct cs_fuzz_plan *plan);

/* The plan without n steps, from `first` on. */
struct cs_fuzz_plan cs_fuzz_without(const struct cs_fuzz_plan *plan, size_t first, size_t n);
/* The first step that a server of these shapes refuses, if that is in order; SIZE_MAX: none. A run without bytes: what
 * depends on them is not found. */
size_t cs_fuzz_find_refused(const struct cs_fuzz_plan *plan, cs_defect_set switched_on, size_t most_bytes);

/* A device of the host that moves no bytes; small tensors are zeros. Shapes alone tell what fits. */
struct cs_device cs_idle_device(void);

/* A random stream. */
struct cs_dice {
    uint64_t state;
};
static inline uint64_t cs_roll(struct cs_dice *dice) { return cs_mix64(dice->state += UINT64_C(0x9e3779b97f4a7c15)); }
/* 0 … n - 1. */
static inline size_t cs_roll_below(struct cs_dice *dice, size_t n) { return n ? (size_t)(cs_roll(dice) % n) : 0; }

#endif
