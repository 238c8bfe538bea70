/* What the families of golden cases share; nobody else includes it.
 *
 * A case is one entry of a JSON file. Its check returns CS_OK when everything was as captured; anything else fails the
 * case, with cs_error_text() as the reason. Whether a case is supported at all is decided before, from the JSON alone,
 * so that a feature which breaks turns cases into failures and not into unsupported ones. */
#ifndef CS_CONFORM_INTERNAL_H
#define CS_CONFORM_INTERNAL_H

#include <jansson.h>

#include "sim/checkpoint/checkpoint.h"
#include "sim/conform/conform.h"
#include "sim/loader/loader.h"
#include "sim/method/method.h"

/* ---- cases (conform.c) ---- */

struct cs_golden_case {
    const char *folder; /* of the family */
    const char *id;
    const json_t *json;
    const void *context; /* of the family */
    const struct cs_device *device;
    struct cs_arena arena;
    const char *defect; /* out: the one without which it does not match, or NULL */
};

typedef enum cs_status cs_golden_check(struct cs_golden_case *golden);

/* What a supported case is about (its `n_cases` aside); false: nothing that the matrix of support shows. */
typedef bool cs_golden_describe(const json_t *json, const void *context, struct cs_conform_subject *subject);

struct cs_conform_run {
    const struct cs_conform_options *options;
    struct cs_conform_subjects *subjects; /* cases are described, not run; NULL: they are run */
    struct cs_arena *arena;               /* of the subjects */
    cs_golden_describe *describe;
    enum cs_status status;          /* of describing */
    struct cs_conform_count *count; /* of the family */
    const char *folder;
};

/* Judges one case of the family's `file`, if the filter selects it. `check` is NULL for an unsupported one. */
void cs_golden_judge(struct cs_conform_run *run, const char *file, const char *id, const json_t *json,
                     const void *context, cs_golden_check *check);

/* Counts a case that was captured over memory which nobody can fill the same way again. */
void cs_golden_cannot_replay(struct cs_conform_run *run, const char *file, const char *id);

struct cs_golden_family {
    const char *name; /* of the folder too */
    enum cs_status (*run)(struct cs_conform_run *run);
    cs_golden_describe *describe;
};

cs_golden_describe cs_golden_describe_layout, cs_golden_describe_loader, cs_golden_describe_reload;
/* Counts a described case (support.c). */
enum cs_status cs_golden_add_subject(struct cs_conform_run *run, const struct cs_conform_subject *subject);

enum cs_status cs_golden_layouts(struct cs_conform_run *run);
enum cs_status cs_golden_loaders(struct cs_conform_run *run);
enum cs_status cs_golden_reload(struct cs_conform_run *run);

/* Runs `attempt` as a server without defects, and once more with each released one, or all of them, if that fails. */
typedef enum cs_status cs_golden_attempt(struct cs_golden_case *golden, cs_defect_set defects);
enum cs_status cs_golden_try_defects(struct cs_golden_case *golden, cs_defect_set defects, cs_golden_attempt *attempt);
enum cs_status cs_golden_try_defect(struct cs_golden_case *golden, enum cs_defect defect, cs_golden_attempt *attempt);

/* Our class of a captured exception: "IndexError" → CS_BAD_INDEX. CS_BAD_VALUE for a type that has no class. */
enum cs_status cs_golden_class(const char *exception, enum cs_status *status);
/* What a refusal must be: `got` is what we did (CS_OK: we accepted), `expected` the captured exception. */
enum cs_status cs_golden_refusal(const char *exception, enum cs_status got);

/* ---- JSON (golden_json.c): CS_BAD_FILE names the key ---- */

enum cs_status cs_golden_array(const json_t *object, const char *key, const json_t **array);
enum cs_status cs_golden_object(const json_t *object, const char *key, const json_t **member);
enum cs_status cs_golden_text(const json_t *object, const char *key, const char **text);
enum cs_status cs_golden_integer(const json_t *object, const char *key, int64_t *number);
/* An array of exactly `n` integers; `key` is its name in messages. */
enum cs_status cs_golden_integers(const json_t *array, const char *key, size_t n, int64_t *numbers);
/* An array of at most CS_NDIM integers. */
enum cs_status cs_golden_shape(const json_t *object, const char *key, int *ndim, int64_t *shape);
const char *cs_golden_string(const json_t *object, const char *key); /* NULL when absent, or no string */

/* ---- bytes (bytes.c) ---- */

struct cs_bytes {
    size_t size;
    const unsigned char *data;
};

/* Host copy of a view, packed. */
enum cs_status cs_bytes_of_view(struct cs_arena *arena, const struct cs_device *device, const struct cs_view *view,
                                struct cs_bytes *bytes);
/* The mapped bytes of a golden file's tensor. */
enum cs_status cs_bytes_of_entry(const struct cs_checkpoint *file, const char *name, struct cs_bytes *bytes);
/* CS_BAD_VALUE with the number of differing bytes and the first one; CS_BAD_SHAPE when the sizes differ. */
enum cs_status cs_bytes_equal(const char *what, const struct cs_bytes *expected, const struct cs_bytes *actual);

/* ---- one layer of routed experts, made by hand (layer.c) ---- */

struct cs_layer_config {
    const struct cs_device *device;
    const struct cs_method *method;
    const struct cs_backend *backend;
    const struct cs_loader *loader;
    const char *prefix;    /* checkpoint name of the experts */
    struct cs_sizes sizes; /* resolved */
    int tp_rank, ep_rank;
    int64_t first_expert;
    bool is_round_robin;
    cs_defect_set defects;
    cs_defect_set known_defects; /* that its captures show */
    bool has_agreed_scales;      /* activation scales are compared with what the slot holds: it must hold 1 */
    bool on_meta;
};

struct cs_layer {
    struct cs_arena arena;
    struct cs_rank rank;
    struct cs_rank_spec rank_spec;
    struct cs_module_spec module_spec;
    struct cs_module module;
    struct cs_log log;
    struct cs_fill_stats stats;
    struct cs_routes routes;
    const struct cs_loader *loader;
    bool *is_sent; /* by route */
    bool has_agreed_scales;
    bool is_patch;              /* what is sent is a sparse patch */
    int64_t n_calls, n_counted; /* loader calls, and elements that they counted, since opening */
};

/* Creates the parameters. Close after a failure too. */
enum cs_status cs_layer_open(struct cs_layer *layer, const struct cs_layer_config *config);
/* A module of these tensors, which no method made. */
enum cs_status cs_layer_open_tensors(struct cs_layer *layer, const struct cs_device *device,
                                     const struct cs_tensor_spec *tensors, size_t n_tensors);
void cs_layer_close(struct cs_layer *layer);
/* Makes every parameter hold `byte` in all its bytes; with `as_number`, floating ones hold the number instead. */
enum cs_status cs_layer_poison(struct cs_layer *layer, uint8_t byte, bool as_number);
/* Sends everything that the loader expects through it. `name_of` gives the name that the checkpoint has for a tensor.
 */
typedef const char *cs_layer_name(struct cs_arena *arena, const char *tensor);
enum cs_status cs_layer_load(struct cs_layer *layer, const struct cs_checkpoint *checkpoint, cs_layer_name *name_of);
cs_layer_name cs_layer_same_name;
/* Sends the checkpoint's entries in their order, less `prefix`, which every name of the layer has; what follows a '#'
 * tells repeated ones apart. Biases that no parameter takes are skipped, other unknown tensors refused. */
enum cs_status cs_layer_send(struct cs_layer *layer, const struct cs_checkpoint *checkpoint, const char *prefix);
enum cs_status cs_layer_param(struct cs_layer *layer, const char *name, struct cs_view *view);

/* ---- layouts: operations that need a layer (module_ops.c) ---- */

cs_golden_check cs_golden_post_load, cs_golden_end_to_end, cs_golden_load_combined, cs_golden_load_streamed;
/* Compares every output of a layouts case with what `find` gives for it. */
struct cs_golden_outputs {
    struct cs_golden_case *golden;
    const struct cs_checkpoint *file;
    enum cs_status (*find)(void *context, const char *name, const json_t *output, struct cs_bytes *bytes);
    void *context;
};
enum cs_status cs_golden_compare_outputs(const struct cs_golden_outputs *outputs);
/* Opens <case>.safetensors. */
enum cs_status cs_golden_file(struct cs_golden_case *golden, struct cs_checkpoint *file);

/* ---- layouts: operations that are rows (row_ops.c) ---- */

/* The check of an operation, or NULL. */
cs_golden_check *cs_golden_row_op(const char *op);

/* ---- layouts: operations that are tables of post-load steps (step_ops.c) ---- */

cs_golden_check *cs_golden_step_op(const char *op);
/* The table that a case of such an operation runs, and up to two that must make the same of what other formats have; NULL
 * where there is none. */
const struct cs_step_table *cs_golden_step_table(const json_t *json, const struct cs_step_table *also[2]);
/* Those in which several ranks meet (rank_ops.c). */
cs_golden_check *cs_golden_rank_op(const char *op);
/* Those that the host computes (scalar_ops.c). */
cs_golden_check *cs_golden_scalar_op(const char *op);
/* Those of the loader that most methods share (expert_ops.c). */
cs_golden_check *cs_golden_expert_op(const char *op);

/* ---- loaders ---- */

/* Where each element of one parameter came from: an element number of the checkpoint, or one of these. */
#define CS_FROM_NOTHING UINT32_MAX       /* no loader wrote it: padding */
#define CS_FROM_LOADER  (UINT32_MAX - 1) /* a value that is in no checkpoint */
#define CS_FROM_UNKNOWN (UINT32_MAX - 2) /* bytes that are neither */

struct cs_source_set {
    const char *name;
    enum cs_dtype dtype;
    int64_t experts, rows, columns;
    uint32_t *from;               /* [experts, rows, columns] */
    uint64_t *value;              /* bits of elements that the loader filled; NULL when there are none */
    int64_t n_written, n_nothing; /* written: from the checkpoint or filled */
};

/* Tensors of the case's checkpoint, numbered through: element 0 of tensor t is element start[t]. */
struct cs_golden_checkpoint {
    const char *constant; /* end of the names of tensors that hold 0.5 instead; NULL: none */
    size_t n;
    const struct cs_golden_tensor *tensors;
    int64_t n_elements;
};
struct cs_golden_tensor {
    const char *name, *kind; /* kind: what stands behind the expert, or behind "experts" */
    int64_t expert;          /* -1: all of them, as first dimension */
    enum cs_dtype dtype;
    int ndim;
    int64_t shape[CS_NDIM];
    int64_t start, n_elements, columns; /* columns: trailing dimensions after the row's */
};

enum cs_status cs_golden_checkpoint_read(struct cs_golden_case *golden, struct cs_golden_checkpoint *checkpoint);
/* What stands before ".3.w13_weight" or ".gate_up_proj_blocks" in the names of the JSON's list; "" when nothing does.
 */
enum cs_status cs_golden_prefix(struct cs_golden_case *golden, const json_t *list, const char **prefix);
/* A checkpoint whose elements hold digit `digit` (base 256) of their number plus `raise`. Close after a failure too. */
enum cs_status cs_golden_checkpoint_make(const struct cs_golden_checkpoint *golden, unsigned digit, unsigned raise,
                                         struct cs_checkpoint *checkpoint);
const struct cs_golden_tensor *cs_golden_tensor_at(const struct cs_golden_checkpoint *checkpoint, int64_t element);

/* Loads digit after digit and reads back where every element came from (digits.c). `sets`: one per parameter, in the
 * order of the layer's slots. */
enum cs_status cs_digits_derive(struct cs_arena *arena, struct cs_layer *layer,
                                const struct cs_golden_checkpoint *checkpoint, struct cs_source_set **sets);
/* The JSON's rectangles as a set of the same shape (rectangles.c). */
enum cs_status cs_rectangles_read(struct cs_arena *arena, const json_t *param,
                                  const struct cs_golden_checkpoint *checkpoint, const struct cs_source_set *like,
                                  struct cs_source_set *set);
/* CS_BAD_VALUE with the first element that differs, in words. */
enum cs_status cs_source_sets_equal(const struct cs_golden_checkpoint *checkpoint, const struct cs_source_set *expected,
                                    const struct cs_source_set *actual);

/* CS_BAD_VALUE unless the padding records of the layer cover exactly what no load wrote of the parameter; where tensors
 * were not sent, no more. */
enum cs_status cs_layer_records_equal(struct cs_layer *layer, const struct cs_slot *slot,
                                      const struct cs_source_set *set);

/* Which layer the case is about, before rounding (loader_config.c). */
enum cs_status cs_golden_layer_config(const struct cs_golden_case *golden, struct cs_layer_config *config);
/* Sizes and parameters as created (loader_params.c). */
enum cs_status cs_golden_compare_layer(const struct cs_golden_case *golden, const struct cs_layer_config *config,
                                       const struct cs_layer *layer);

enum cs_status cs_golden_compare_sizes(const struct cs_golden_case *golden, const struct cs_sizes *sizes);

cs_golden_check cs_golden_loader_case, cs_golden_loader_reload;
/* NULL for an entry whose method or back end we do not have. */
cs_golden_check *cs_golden_loader_check(const json_t *json);
/* For an entry of errors.json (loader_errors.c). */
cs_golden_check *cs_golden_loader_edge(const json_t *json);
void cs_golden_judge_rounding(struct cs_conform_run *run, const char *file, const json_t *root, struct cs_arena *arena);

#endif
