/* Steps of post-load, as data.
 *
 * Steps run in order on values, found by name: a parameter's value is its own bytes until a step makes another one
 * (RELAYOUT, CAST, MAP, …); REPLACE then does what upstream's replace_parameter does. Other values are temporaries. */
#ifndef CS_METHOD_STEP_H
#define CS_METHOD_STEP_H

#include "sim/device/device.h"
#include "sim/model/model.h"

enum cs_step_kind {
    CS_STEP_RELAYOUT,   /* value := value through the chain of layouts */
    CS_STEP_CAST,       /* value := value converted to dtype */
    CS_STEP_VIEW,       /* value := the same bytes as dtype; the last dimension follows the width */
    CS_STEP_RESHAPE,    /* value := the same bytes with the shape in `text` */
    CS_STEP_SELECT,     /* value := `from`, index `at` of dimension `dim` */
    CS_STEP_TRANSPOSE,  /* value := value with its last two dimensions exchanged, the same bytes */
    CS_STEP_TAKE,       /* value := `from`, the same bytes */
    CS_STEP_PAD,        /* value := value with its last two dimensions rounded up, per half, filled with `value` */
    CS_STEP_ZERO,       /* zeros in place where the last two dimensions exceed what is not padding, per half */
    CS_STEP_MAP,        /* value := the program in `text`, as dtype */
    CS_STEP_UPDATE,     /* the same, in place */
    CS_STEP_MAXIMUM,    /* value := the largest results of the program, as dtype, with the shape in `shape` */
    CS_STEP_ALL_REDUCE, /* value: the largest over all ranks, element by element, in place */
    CS_STEP_CALL,       /* the steps of another table */
    CS_STEP_SET,        /* the run's alignments of I and H, or its blocks, become `multiple` */
    CS_STEP_GUARD,      /* the next step only under these facts */
    CS_STEP_REPLACE,    /* the parameter := value: replace_parameter */
    CS_STEP_REGISTER,   /* a new parameter of the value under this name, whatever stands there: register_parameter */
    CS_STEP_RENAME,     /* the parameter `from` under this name too, the same object: move_parameter */
    CS_STEP_RETIRE,     /* no kernel reads the parameter any more; it stays registered, with its data */
    CS_STEP_EMPTY,      /* the same, with its storage freed */
    CS_STEP_WRAP,       /* an object at path shows the parameter's storage to kernels */
    CS_STEP_CONFIG,     /* the quant config, or the experts object, holds the parameter at path */
    CS_STEP_HOLD,       /* it owns the value at path: a tensor that is no parameter */
    CS_STEP_CONSTANT,   /* the experts object owns an f32[E] tensor of `value` at path */
    CS_STEP_DERIVE,     /* some object owns a copy of the value at path */
    CS_STEP_EXTENT,     /* value := an i64[E] tensor of the extent in `text` */
    CS_STEP_REQUIRE,    /* upstream refuses the layer unless these facts hold: why is in `text` */
};

enum { CS_CHAIN = 4 };
#define CS_SAME_DTYPE CS_N_DTYPES /* MAXIMUM: that of the program's first operand */
#define CS_PER_GROUP  INT64_MIN
#define CS_OF_I(n)    (-(n))
#define CS_OF_H(n)    (-(n)-CS_OF_H_BASE)
enum { CS_OF_H_BASE = 1 << 20 };

/* What steps depend on, beside the values. */
enum cs_fact {
    CS_FACT_GATED = 1,        /* w13 has two halves: gate and up */
    CS_FACT_GROUPED = 2,      /* several scale groups along K, so that Marlin permutes scales in blocks of 64 */
    CS_FACT_A8 = 4,           /* 8-bit activations */
    CS_FACT_HALF = 8,         /* params dtype is f16, not bf16 */
    CS_FACT_BIAS = 16,        /* the layer has biases, and the checkpoint too */
    CS_FACT_E8M0 = 32,        /* block scales are e8m0, not f32 */
    CS_FACT_CPU = 64,         /* where torch computes differently on a CPU, as there: not what a GPU does */
    CS_FACT_UE8M0 = 128,      /* scales are rounded up to powers of two */
    CS_FACT_DOWN = 256,       /* scales are rounded down to powers of two */
    CS_FACT_GROUPED_W2 = 512, /* GROUPED, for w2 */
    CS_FACT_H128 = 1024,      /* H is a multiple of 128 */
    CS_FACT_8BIT = 2048,      /* integer weights of 8 bits, not 4 */
    CS_FACT_BLOCK = 4096,     /* scales of blocks, not of tensors */
    CS_FACT_ZERO_POINT = 8192,
    CS_FACT_INPUT_SCALE = 65536, /* activations have a scale of their own */
    CS_FACT_FLAT = 16384,        /* scales are [E, all the rest] */
    CS_FACT_ONE_RANK = 131072,   /* no tensor parallelism */
    CS_FACT_STATIC = 262144,     /* the checkpoint has activation scales */
    CS_FACT_BALANCED = 524288,   /* EPLB: experts may move to other ranks */
    CS_FACT_FIRST = 32768,       /* nothing is held yet: the first post-load of a method that builds its kernel once */
};

/* Who owns a side tensor that a step makes: an object that each post-load builds anew, with new memory; or the module,
 * which keeps the first one as it was, or writes each new value into it. */
enum cs_keep { CS_MADE_ANEW, CS_MADE_ONCE, CS_MADE_IN_PLACE };

struct cs_step_table {
    const char *name;
    const struct cs_step *steps;
    size_t n_steps;
};

struct cs_step {
    enum cs_step_kind kind;
    unsigned when, unless; /* facts */
    const char *param;
    const char *from;
    const char *chain[CS_CHAIN]; /* layout names, NULL at the end */
    const struct cs_layout
        *own[CS_CHAIN]; /* a scenario's own layouts in the chain; NULL: the registry's of that name */
    const char *place;  /* "file:line: " of a script that made the step, or NULL */
    enum cs_dtype dtype;
    float value;
    const char *text;  /* program, or shape: see cs_steps_run */
    const char *shape; /* of the result; NULL: that of the program's first operand */
    int dim;
    int64_t at;
    bool by_halves;      /* gated: each half of the second last dimension on its own */
    int64_t multiple[2]; /* PAD: rows and columns; 0: as they are; CS_OF_I(n), CS_OF_H(n): a n-th of the run's
                            alignment; CS_PER_GROUP: its groups */
    const struct cs_step_table *table;
    enum cs_keep keep;        /* CONSTANT, DERIVE */
    bool is_hidden;           /* a closure captured it: kernels read it, nobody can walk to it */
    const char *const *paths; /* side paths, NULL at the end: one tensor, counted once */
};

/* One run of steps over a module. Values are found by name; a parameter's value is its own bytes until a step replaces
 * it. */
enum { CS_MOST_VALUES = 48 };
struct cs_working {
    const char *name;
    struct cs_view view;
};
struct cs_post_load {
    struct cs_module *module;
    unsigned facts;
    int64_t block[2]; /* rows and columns that share a scale, where sizes alone do not say; 0: they do */
    int64_t experts;
    int64_t alignment[2]; /* of I and H, for PAD */
    int64_t unpadded[2];  /* ZERO: I and H before rounding */
    uint64_t first_id;    /* of the storages that this run makes */
    size_t n_values;
    struct cs_working values[CS_MOST_VALUES];
};

/* Shapes are words of numbers, E, bn, bk (the run's) and NAME.DIMENSION (the extent of a value), joined by * and /
 * (rounding up); -1: what is left; NAME or NAME/DIVISOR: a value's shape, its last extent divided. Operands of a
 * program are values, with ones added behind: an extent of 1 is repeated, and a smaller one covers the whole in blocks.
 */
enum cs_status cs_steps_run(struct cs_post_load *run, const struct cs_step *steps, size_t n);
/* CS_BAD_VALUE when the module has no such parameter either. */
enum cs_status cs_steps_value(struct cs_post_load *run, const char *name, struct cs_view *view);

/* Marlin permutes scales in blocks of 64 columns when there are several groups along K, else in blocks of 32. */
bool cs_marlin_is_grouped(int64_t group, int64_t size_k, bool is_a8);
/* I as Marlin pads it for a group (-1 or 0: none), and N and K of a linear layer: the cheaper of two tiles. */
int64_t cs_marlin_intermediate(int64_t intermediate, int64_t group);
void cs_marlin_pad(int64_t group, int64_t *n, int64_t *k);

/* ---- rules over scalars that upstream reads back to the host ---- */

/* A fused linear layer: shards of `widths` rows of the value "w", each with its scale in "scales". Rows are quantised
 * anew by the largest scale, "scale"; not at all when the last scale was never loaded (−448 and below) or when there is
 * only one. Source: vllm quantization/utils/w8a8_utils.py, requantize_with_max_scale. */
enum cs_status cs_merge_linear(struct cs_post_load *run, const int64_t *widths, size_t n);

/* KV-cache scales of an attention layer: k, v, q, prob as loaded (−1: absent) become device scalars, Python floats (k,
 * v, q) and host copies (k, v); what a rule leaves alone keeps its value. CS_BAD_VALUE where upstream asserts, before
 * anything changes. Source: vllm quantization/kv_cache.py. */
struct cs_kv_rule {
    bool is_quantised, is_per_token_head, is_fnuz;
};
struct cs_kv_scales {
    float device[4], number[3], host[2];
    bool is_loaded; /* the parameters are still there */
};
enum cs_status cs_kv_rule_parse(const char *cache_dtype, bool is_fnuz, struct cs_kv_rule *rule);
enum cs_status cs_kv_scales_take(const struct cs_kv_rule *rule, const float loaded[4], struct cs_kv_scales *scales);

/* Tables that several post-loads call, and that upstream has as functions; sorted by name. */
extern const struct cs_step_table *const cs_step_tables[];
extern const size_t cs_n_step_tables;
const struct cs_step_table *cs_step_table_by_name(const char *name);

#endif
