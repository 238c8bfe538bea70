/* Fuzzing: plans nobody wrote. A plan is one value of each model axis (method and back end, loader, ranks, sizes,
 * allocator, policy, device …) and a sequence of steps (a reload driver, and the manner in which it is used). It is
 * plain data, can be written as one line of text and as a Lua scenario, and becomes a `struct cs_scenario` that runs
 * like any other.
 *
 * Axes and steps come from the registries and from two tables, axes.c and manners.c: a new driver, method, loader,
 * policy or device joins by itself, a new manner with one row.
 *
 * Invariants:
 *   - everything is a function of the campaign's seed and the plan's number: neither the number of processes nor what
 *     earlier plans gave changes a plan;
 *   - rules (rules.c) say which plans are legal, before anything runs. A legal plan must hold the promise of its
 *     policy; one that breaks a rule must be refused;
 *   - the oracle is the audit: nothing here compares bytes. */
#ifndef CS_FUZZ_H
#define CS_FUZZ_H

#include "sim/audit/audit.h"

/* ---- axes ---- */

/* clang-format off */
#define CS_AXES(X)                                                                                                     \
    X(backend,      "method and back end, those whose post-load is implemented")                                       \
    X(loader,       "loader of the cold start, and of reloads that name no other")                                     \
    X(ranks,        "tensor-parallel or expert-parallel ranks")                                                        \
    X(layers,       "decoder layers")                                                                                  \
    X(experts,      "routed experts of a layer")                                                                       \
    X(hidden,       "hidden size")                                                                                     \
    X(intermediate, "intermediate size")                                                                               \
    X(beside,       "what the model has beside routed experts")                                                        \
    X(rounding,     "how the back end rounds sizes")                                                                   \
    X(allocator,    "what uninitialised memory holds")                                                                 \
    X(policy,       "who refills padding")                                                                             \
    X(device,       "which device does the byte work, compared with ref")                                              \
    X(start,        "driver that starts the server")                                                                    \
    X(arrival,      "order of independent modules, in the start and in loads that have no other")                      \
    X(engine,       "with the standing defects of the release, or without them")                                       \
    X(layer,        "what else a layer's experts are: with biases, copied, dealt out …")
/* clang-format on */

enum cs_axis_id {
#define X(id, text) CS_AXIS_##id,
    CS_AXES(X)
#undef X
        CS_N_AXES
};

enum { CS_AXIS_VALUES = 250, CS_PLAN_STEPS = 10, CS_PLAN_TEXT = 1024, CS_STEP_TEXT = 64 };

struct cs_axis {
    const char *name, *text;
    size_t n; /* values; the first is the simplest, and the one that shrinking aims at */
    bool is_smaller_simpler;
};
/* How many values, from the registries. Values are numbered 0 … n - 1. */
const struct cs_axis *cs_axis(enum cs_axis_id id);
/* The value in words: "gpt_oss_mxfp4/flashinfer_trtllm", "tp2", "224". */
const char *cs_axis_value(enum cs_axis_id id, size_t value);
/* CS_BAD_VALUE names the axis, the word and the nearest value. */
enum cs_status cs_axis_parse(enum cs_axis_id id, const char *word, uint8_t *value);

/* ---- steps ----
 *
 * A letter of the alphabet is a reload driver and a manner: how the checkpoint is sent. */

struct cs_fuzz_plan;

struct cs_manner {
    const char *name, *text;
    bool is_complete; /* afterwards the server must hold its checkpoint: the promise is judged */
    bool is_same;     /* the checkpoint that the server holds is sent again */
    bool is_empty;    /* nothing is sent: what the server held stays, wrong or right */
    bool needs_other_loader;
    bool needs_tensors; /* means nothing to a driver that takes finished tensors */
    bool may_refuse;    /* some models refuse it */
    bool reorders;      /* of two tensors with one place, the other one is last */
    bool repeats;       /* some tensors come twice */
    bool is_stopped;    /* the sender is gone half-way: what the driver kept is in the next load */
    bool sleeps;        /* the server sleeps, its pages are discarded, it wakes, and then the load comes */
    bool captures;      /* graphs are captured anew before the load, and read what stands there */
    bool is_sparse;     /* sends what differs from the checkpoint before, which differs in one element */
    bool needs_raw;     /* written into live tensors, past every reload */
    bool is_one_module; /* all tensors of one module and none of the others */
    uint32_t channels;  /* bits of enum cs_count that it changes by its nature */
    /* NULL: nothing to do. */
    enum cs_status (*apply)(struct cs_op *op, const struct cs_fuzz_plan *plan, struct cs_arena *arena);
};
extern const struct cs_manner cs_manners[];
extern const size_t cs_n_manners;

/* What a reload driver does by its nature; drivers without a row do nothing of it. */
struct cs_driver_nature {
    const char *driver;
    uint32_t channels;      /* counts that it changes, in every release (R4): no finding, then and later */
    uint32_t channels_once; /* the same, until the next load */
    bool may_refuse;        /* it knows models that it cannot serve */
    bool is_untrusted;      /* afterwards the server need not hold its checkpoint, as reload.md says */
    bool needs_no_post_load; /* … unless post-load changes nothing */
    bool keeps_calls;       /* a load that was stopped has left calls, which the next load replays first */
    bool hosts_views;       /* it has left parameters in the checkpoint's layout, which the next load of its kind ends */
    bool processes_all;     /* post-load runs on every module, whatever was sent */
    bool replays_marks;     /* padding is filled from the records of the load before */
    bool leaves_marks;      /* loaders write into kernel tensors and mark their padding, and nothing is filled */
    const char *repaired_as; /* without the standing defects it does what this driver does; NULL: it stays what it is */
    enum cs_status (*apply)(struct cs_op *op); /* NULL: nothing to do */
};
/* Never NULL. */
const struct cs_driver_nature *cs_driver_nature(const struct cs_driver *driver);

/* Letters: reload drivers × manners. */
size_t cs_n_letters(void);
const struct cs_driver *cs_letter_driver(size_t letter);
const struct cs_manner *cs_letter_manner(size_t letter);
/* "layerwise", "direct.shuffled"; in a buffer of CS_STEP_TEXT bytes, which is returned. */
char *cs_letter_text(size_t letter, char *buffer);

struct cs_step_of_plan {
    uint8_t letter, checkpoint; /* 0: "A", … */
};
enum { CS_PLAN_CHECKPOINTS = 5 };

struct cs_fuzz_plan {
    uint64_t seed; /* of contents, garbage and arrival orders */
    uint8_t axis[CS_N_AXES];
    uint8_t start;    /* checkpoint of the start */
    uint8_t breakage; /* what is wrong with it on purpose: a row of cs_breakages + 1; 0: nothing */
    uint8_t n_steps;
    struct cs_step_of_plan step[CS_PLAN_STEPS];
};

/* One line of "key=value" words; names, not numbers, so that it survives new rows. Into CS_PLAN_TEXT bytes. */
char *cs_fuzz_plan_text(const struct cs_fuzz_plan *plan, char *buffer);
/* CS_BAD_VALUE names the word. */
enum cs_status cs_fuzz_plan_parse(const char *text, struct cs_fuzz_plan *plan);
/* Equal plans have equal keys. */
uint64_t cs_fuzz_plan_key(const struct cs_fuzz_plan *plan);

/* The plan as a scenario named `name`, in `arena`: one expectation after each complete step, of the channels that its
 * driver does not change by its nature. */
enum cs_status cs_fuzz_scenario(const struct cs_fuzz_plan *plan, const char *name, struct cs_arena *arena,
                                struct cs_scenario *scenario);
/* The engine that a plan asks for, with more defects switched on: a bit for each. */
cs_defect_set cs_fuzz_defects(const struct cs_fuzz_plan *plan, cs_defect_set switched_on);
/* Whether a refusal of load `load` (1: the first step) is in order: it, or one before it, may leave the server broken.
 */
bool cs_fuzz_may_be_refused(const struct cs_fuzz_plan *plan, int load);
/* The file that `coldstart run` takes: `comment` lines first, each behind "-- ". NULL: no memory. */
char *cs_scenario_lua(const struct cs_scenario *scenario, const char *const *comment, size_t n_comment,
                      struct cs_arena *arena);

/* ---- rules: which plans are legal ---- */

enum cs_refused_by { CS_REFUSED_BY_CHECK, CS_REFUSED_BY_RUN };

struct cs_rule {
    const char *name, *text;
    uint32_t axes; /* bits of enum cs_axis_id that it reads */
    bool reads_steps;
    enum cs_refused_by by;
    bool (*holds)(const struct cs_fuzz_plan *plan);
};
extern const struct cs_rule cs_rules[];
extern const size_t cs_n_rules;

/* What no plan of axes and steps can say, done to the scenario that was made of it. It must be refused. */
struct cs_breakage {
    const char *name, *text;
    enum cs_status (*apply)(struct cs_scenario *scenario, struct cs_op *ops, struct cs_arena *arena);
};
extern const struct cs_breakage cs_breakages[];
extern const size_t cs_n_breakages;

/* Answers about sizes, which the engine gives by a cold start, one byte for each combination of the axes that they
 * depend on; begins as zeros. */
enum { CS_LEGAL_SLOTS = 1 << 27 }; /* few of them are ever touched */
struct cs_legal_memo {
    uint8_t slot[CS_LEGAL_SLOTS];
};

/* The first rule that the plan breaks; NULL: it is legal, but for its breakage. Without a memo nothing is kept. */
const struct cs_rule *cs_rule_broken(struct cs_legal_memo *memo, const struct cs_fuzz_plan *plan);
/* Whether the steps can follow each other, whatever the axes: every rule that reads steps alone. */
bool cs_steps_are_legal(const struct cs_fuzz_plan *plan);
/* Whether the axes can be had together: every rule that reads no steps. */
bool cs_axes_are_legal(struct cs_legal_memo *memo, const struct cs_fuzz_plan *plan);

/* ---- the guaranteed part ---- */

/* Which values may be chosen: --policy and the like. */
struct cs_fuzz_space {
    bool is_left_out[CS_N_AXES][CS_AXIS_VALUES];
};

/* Rows of axis values such that every legal combination of values of any t axes is in one of them. */
struct cs_axes_cover {
    int t;
    size_t n_rows, capacity;
    struct cs_fuzz_plan *rows;
    int64_t n_tuples, n_impossible; /* legal ones, all of them in some row; those that no legal plan has */
};
enum cs_status cs_axes_cover(int t, uint64_t seed, const struct cs_fuzz_space *space, struct cs_legal_memo *memo,
                             struct cs_arena *arena, struct cs_axes_cover *cover);

/* Sequences of letters such that every t different letters, in every order that some server allows, come in that order
 * in one of them. */
struct cs_orders_cover {
    int t;
    size_t n_rows, capacity;
    struct cs_fuzz_plan *rows; /* steps only */
    int64_t n_orders, n_impossible;
};
enum cs_status cs_orders_cover(int t, uint64_t seed, struct cs_arena *arena, struct cs_orders_cover *cover);

/* Counts again, plan by plan and without the tables of the two above: how many combinations of t axes, and how many
 * orders of t letters, n plans have. */
struct cs_recount {
    int64_t tuples, orders;
};
enum cs_status cs_recount(int t, const struct cs_fuzz_plan *plans, size_t n, struct cs_recount *recount);

/* ---- plans by number ---- */

enum cs_part { CS_PART_CORPUS, CS_PART_GUARANTEED, CS_PART_ILLEGAL, CS_PART_EXHAUSTIVE, CS_PART_RANDOM, CS_N_PARTS };
const char *cs_part_name(enum cs_part part);

struct cs_stream_options {
    uint64_t seed;
    int t;
    int depth; /* of the exhaustive part: all sequences of up to so many steps on a tiny model */
    struct cs_fuzz_space space;
};

/* All plans of a campaign, in order; the random part has no end. */
struct cs_plan_stream;
enum cs_status cs_stream_open(const struct cs_stream_options *options, struct cs_plan_stream **stream);
/* The next plan, the part that it belongs to, and the rule that it breaks on purpose (NULL: none). */
enum cs_status cs_stream_next(struct cs_plan_stream *stream, struct cs_fuzz_plan *plan, enum cs_part *part,
                              const struct cs_rule **breaks);
const struct cs_axes_cover *cs_stream_axes(const struct cs_plan_stream *stream);
const struct cs_orders_cover *cs_stream_orders(const struct cs_plan_stream *stream);
/* The guaranteed part as it is run. */
const struct cs_fuzz_plan *cs_stream_guaranteed(const struct cs_plan_stream *stream, size_t *n);
/* How many plans come before the random part. */
size_t cs_stream_n_fixed(const struct cs_plan_stream *stream);
void cs_stream_close(struct cs_plan_stream *stream);

/* ---- judging ---- */

enum cs_fuzz_outcome {
    CS_FUZZ_PASSED,
    CS_FUZZ_REFUSED, /* as it must be, since it broke a rule, or as it may be */
    CS_FUZZ_FAILED,
};

/* What makes two failures the same one. */
struct cs_fingerprint {
    char text[256]; /* "params_differ padding w13_weight_scale copy-back/fresh" */
};

/* What a judged plan did, for coverage: the audit's verdict says the same. */
struct cs_fuzz_deeds {
    int64_t n_accepted, n_refused; /* loads */
    bool is_unsupported;
    uint64_t waiting, probes[CS_N_LOAD_PROBES];
};

struct cs_fuzz_result {
    enum cs_fuzz_outcome outcome;
    struct cs_fuzz_deeds deeds;
    struct cs_fingerprint fingerprint;
    const char *reason; /* one line, in the arena; NULL: it passed */
    size_t n_why;
    const char *const *why;
    uint64_t digest; /* of everything that was compared */
    struct cs_fuzz_plan judged; /* the plan, less steps that were refused as they may be */
    int refused_step;           /* of it, or -1 */
};

struct cs_judge_options {
    cs_defect_set defects; /* canaries: a bit for each defect that is switched on in the plan's engine */
    bool is_doubled;       /* run it twice and compare */
};

/* Runs the plan and judges it. A status other than CS_OK is a fault of ours, not of the plan. */
enum cs_status cs_fuzz_judge(const struct cs_fuzz_plan *plan, const struct cs_judge_options *options,
                             struct cs_arena *arena, struct cs_fuzz_result *result);

/* Why no plan can see a mutant; NULL: one can. */
const char *cs_fuzz_blind_reason(enum cs_defect defect);

/* ---- shrinking ---- */

/* Whether a plan still fails in the same way; perhaps in a process of its own. */
typedef enum cs_status cs_still_fails(void *context, const struct cs_fuzz_plan *plan, bool *fails);

struct cs_shrink_options {
    cs_still_fails *still_fails;
    void *context;
    size_t most_runs;
    double seconds;
};
struct cs_shrunk {
    size_t n_runs;
    bool is_minimal; /* nothing smaller fails; false: the budget ended first, go on from here */
};
/* Makes `plan` smaller: fewer steps, then simpler axes, then simpler data. */
enum cs_status cs_fuzz_shrink(const struct cs_shrink_options *options, struct cs_fuzz_plan *plan,
                              struct cs_shrunk *shrunk);

#endif
