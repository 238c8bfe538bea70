/* The rectangles of a loaders/<method>.json parameter, drawn into a set, and two sets compared.
 *
 * Rectangles are per expert, in elements of the parameter. Written, filled and padding rectangles must cover every
 * element exactly once: a golden file that says two things, or nothing, about an element is refused. */
#include "sim/conform/internal.h"

#include <string.h>

#define UNDRAWN (UINT32_MAX - 3) /* below it: elements of the checkpoint */

struct canvas {
    struct cs_arena *arena;
    const struct cs_golden_checkpoint *checkpoint;
    struct cs_source_set *set;
    int64_t expert;
    int64_t source_expert; /* of the checkpoint; -1: none */
};

struct rectangle {
    int64_t offset[2], extent[2]; /* row, column */
};

static enum cs_status read_rectangle(const struct canvas *canvas, const json_t *offset, const json_t *extent,
                                     struct rectangle *rectangle) {
    const struct cs_source_set *set = canvas->set;
    CS_TRY(cs_golden_integers(offset, "off", 2, rectangle->offset));
    CS_TRY(cs_golden_integers(extent, "ext", 2, rectangle->extent));
    const int64_t limit[2] = {set->rows, set->columns};
    for (int d = 0; d < 2; d++)
        CS_REQUIRE(rectangle->offset[d] >= 0 && rectangle->extent[d] >= 0 && rectangle->offset[d] <= limit[d] &&
                       rectangle->extent[d] <= limit[d] - rectangle->offset[d],
                   CS_BAD_FILE, "golden file: %s: a rectangle leaves the parameter's [%" PRId64 ", %" PRId64 "]",
                   set->name, set->rows, set->columns);
    return CS_OK;
}

/* Draws `n` elements of one row: `from`, `from` + step, … */
static enum cs_status draw(const struct canvas *canvas, int64_t row, int64_t column, int64_t n, uint32_t from,
                           uint32_t step) {
    struct cs_source_set *set = canvas->set;
    uint32_t *at = set->from + (canvas->expert * set->rows + row) * set->columns + column;
    for (int64_t i = 0; i < n; i++, from += step) {
        CS_REQUIRE(at[i] == UNDRAWN, CS_BAD_FILE,
                   "golden file: two rectangles cover %s[%" PRId64 ", %" PRId64 ", %" PRId64 "]", set->name,
                   canvas->expert, row, column + i);
        at[i] = from;
    }
    return CS_OK;
}

static enum cs_status draw_rectangle(const struct canvas *canvas, const struct rectangle *rectangle, uint32_t from) {
    for (int64_t r = 0; r < rectangle->extent[0]; r++)
        CS_TRY(draw(canvas, rectangle->offset[0] + r, rectangle->offset[1], rectangle->extent[1], from, 0));
    return CS_OK;
}

static enum cs_status draw_padding(const struct canvas *canvas, const json_t *json) {
    struct rectangle rectangle;
    CS_TRY(read_rectangle(canvas, json_array_get(json, 0), json_array_get(json, 1), &rectangle));
    return draw_rectangle(canvas, &rectangle, CS_FROM_NOTHING);
}

static enum cs_status draw_filled(const struct canvas *canvas, const json_t *json) {
    struct cs_source_set *set = canvas->set;
    struct rectangle rectangle;
    CS_TRY(read_rectangle(canvas, json_array_get(json, 0), json_array_get(json, 1), &rectangle));
    const json_t *value = json_array_get(json, 2);
    CS_REQUIRE(json_is_number(value), CS_BAD_FILE, "golden file: %s: a filled rectangle has no value", set->name);
    uint64_t bits;
    CS_TRY(cs_dtype_encode(set->dtype, json_number_value(value), &bits));
    if (!set->value)
        set->value = CS_NEW_ARRAY(canvas->arena, uint64_t, (size_t)(set->experts * set->rows * set->columns));
    CS_REQUIRE(set->value, CS_NO_MEMORY, "no memory for the values of %s", set->name);
    CS_TRY(draw_rectangle(canvas, &rectangle, CS_FROM_LOADER));
    for (int64_t r = 0; r < rectangle.extent[0]; r++)
        for (int64_t c = 0; c < rectangle.extent[1]; c++)
            set->value[(canvas->expert * set->rows + rectangle.offset[0] + r) * set->columns + rectangle.offset[1] +
                       c] = bits;
    return CS_OK;
}

/* ---- written ---- */

/* Which checkpoint element a rectangle's element [r, c] is. */
struct source {
    const struct cs_golden_tensor *tensor;
    int64_t rows;  /* of one expert's matrix */
    int64_t start; /* number of the matrix's first element */
    int64_t first[2], repeat[2], phase[2];
    bool is_transposed;
};

/* Captures leave out ".weight" of a tensor for both halves. */
static bool is_kind(const struct cs_golden_tensor *tensor, const char *kind) {
    size_t length = strlen(kind);
    return strncmp(tensor->kind, kind, length) == 0 &&
           (!tensor->kind[length] || cs_text_equal(tensor->kind + length, ".weight"));
}

static enum cs_status find_tensor(const struct canvas *canvas, const char *kind, struct source *source) {
    const struct cs_golden_checkpoint *checkpoint = canvas->checkpoint;
    for (size_t i = 0; i < checkpoint->n; i++) {
        const struct cs_golden_tensor *tensor = &checkpoint->tensors[i];
        bool has_expert = tensor->expert < 0 || tensor->expert == canvas->source_expert;
        if (!has_expert || !is_kind(tensor, kind)) continue;
        int64_t experts = tensor->expert < 0 && tensor->ndim > 0 ? tensor->shape[0] : 1;
        int64_t expert = tensor->expert < 0 ? canvas->source_expert : 0;
        CS_REQUIRE(expert >= 0 && expert < experts, CS_BAD_FILE, "golden file: %s has no expert %" PRId64, tensor->name,
                   expert);
        int64_t numel = tensor->n_elements / experts;
        source->tensor = tensor;
        source->rows = tensor->columns ? numel / tensor->columns : 0;
        source->start = tensor->start + expert * numel;
        return CS_OK;
    }
    return cs_fail(CS_BAD_FILE,
                   "golden file: %s comes from \"%s\" of expert %" PRId64 ", which the checkpoint does not have",
                   canvas->set->name, kind, canvas->source_expert);
}

static enum cs_status read_source(const struct canvas *canvas, const json_t *json, struct source *source) {
    const char *kind;
    *source = (struct source){.repeat = {1, 1}};
    CS_TRY(cs_golden_text(json, "src", &kind));
    CS_TRY(find_tensor(canvas, kind, source));
    CS_TRY(cs_golden_integers(json_object_get(json, "src_first"), "src_first", 2, source->first));
    source->is_transposed = json_is_true(json_object_get(json, "transposed"));
    CS_REQUIRE(!json_is_false(json_object_get(json, "formula_holds")), CS_BAD_FILE,
               "golden file: %s: a rectangle has no formula", canvas->set->name);
    if (!json_object_get(json, "repeat")) return CS_OK;
    CS_TRY(cs_golden_integers(json_object_get(json, "repeat"), "repeat", 2, source->repeat));
    return cs_golden_integers(json_object_get(json, "phase"), "phase", 2, source->phase);
}

/* Checkpoint [row, column] of the rectangle's [r, c]. */
static void source_of(const struct source *source, int64_t r, int64_t c, int64_t position[2]) {
    int64_t down = source->is_transposed ? c : r, right = source->is_transposed ? r : c;
    position[0] = source->first[0] + (source->phase[0] + down) / source->repeat[0];
    position[1] = source->first[1] + (source->phase[1] + right) / source->repeat[1];
}

/* Numbers that are far outside would overflow before anyone compares them. */
static bool is_sane(const struct source *source) {
    const int64_t limit[2] = {source->rows, source->tensor->columns};
    for (int d = 0; d < 2; d++) {
        bool is_inside = source->first[d] >= 0 && source->first[d] < limit[d];
        bool is_phase = source->repeat[d] > 0 && source->phase[d] >= 0 && source->phase[d] < source->repeat[d];
        if (!is_inside || !is_phase || source->repeat[d] > INT32_MAX) return false;
    }
    return true;
}

static enum cs_status ends_inside(const struct source *source, const struct rectangle *rectangle, const json_t *json) {
    int64_t last[2] = {-1, -1}, expected[2];
    bool is_sound = is_sane(source);
    if (is_sound) source_of(source, rectangle->extent[0] - 1, rectangle->extent[1] - 1, last);
    CS_REQUIRE(is_sound && last[0] < source->rows && last[1] < source->tensor->columns, CS_BAD_FILE,
               "golden file: a rectangle leaves %s", source->tensor->name);
    if (!json_object_get(json, "src_last")) return CS_OK;
    CS_TRY(cs_golden_integers(json_object_get(json, "src_last"), "src_last", 2, expected));
    CS_REQUIRE(last[0] == expected[0] && last[1] == expected[1], CS_BAD_FILE,
               "golden file: a rectangle of %s ends at [%" PRId64 ", %" PRId64 "], \"src_last\" says [%" PRId64
               ", %" PRId64 "]",
               source->tensor->name, last[0], last[1], expected[0], expected[1]);
    return CS_OK;
}

static enum cs_status draw_written(const struct canvas *canvas, const json_t *json) {
    struct rectangle rectangle;
    struct source source;
    CS_TRY(read_rectangle(canvas, json_object_get(json, "off"), json_object_get(json, "ext"), &rectangle));
    CS_TRY(read_source(canvas, json, &source));
    if (rectangle.extent[0] == 0 || rectangle.extent[1] == 0) return CS_OK;
    CS_TRY(ends_inside(&source, &rectangle, json));
    bool is_run = !source.is_transposed && source.repeat[1] == 1;
    int64_t n = is_run ? rectangle.extent[1] : 1;
    for (int64_t r = 0; r < rectangle.extent[0]; r++)
        for (int64_t c = 0; c < rectangle.extent[1]; c += n) {
            int64_t position[2];
            source_of(&source, r, c, position);
            int64_t element = source.start + position[0] * source.tensor->columns + position[1];
            CS_TRY(draw(canvas, rectangle.offset[0] + r, rectangle.offset[1] + c, n, (uint32_t)element, 1));
        }
    return CS_OK;
}

/* ---- a whole parameter ---- */

typedef enum cs_status draw_one(const struct canvas *canvas, const json_t *json);

static enum cs_status draw_list(const struct canvas *canvas, const json_t *expert, const char *key, bool is_optional,
                                draw_one *one) {
    const json_t *list, *json;
    if (is_optional && !json_object_get(expert, key)) return CS_OK;
    CS_TRY(cs_golden_array(expert, key, &list));
    size_t i;
    json_array_foreach(list, i, json) CS_TRY(one(canvas, json));
    return CS_OK;
}

static enum cs_status draw_expert(struct canvas *canvas, const json_t *param, const json_t *experts) {
    const json_t *expert = json_is_array(experts) ? json_array_get(experts, (size_t)canvas->expert) : param;
    const json_t *sources = json_array_get(json_object_get(param, "src_expert"), (size_t)canvas->expert);
    const json_t *source = json_array_get(sources, 0);
    canvas->source_expert = json_is_integer(source) ? json_integer_value(source) : -1;
    CS_TRY(draw_list(canvas, expert, "written", false, draw_written));
    CS_TRY(draw_list(canvas, expert, "filled", true, draw_filled));
    CS_TRY(draw_list(canvas, expert, "padding", false, draw_padding));
    const struct cs_source_set *set = canvas->set;
    int64_t start = canvas->expert * set->rows * set->columns;
    for (int64_t i = 0; i < set->rows * set->columns; i++)
        CS_REQUIRE(set->from[start + i] != UNDRAWN, CS_BAD_FILE,
                   "golden file: no rectangle covers %s[%" PRId64 ", %" PRId64 ", %" PRId64 "]", set->name,
                   canvas->expert, i / set->columns, i % set->columns);
    return CS_OK;
}

enum cs_status cs_rectangles_read(struct cs_arena *arena, const json_t *param,
                                  const struct cs_golden_checkpoint *checkpoint, const struct cs_source_set *like,
                                  struct cs_source_set *set) {
    *set = *like;
    int64_t n = set->experts * set->rows * set->columns;
    set->value = NULL;
    set->from = CS_NEW_ARRAY(arena, uint32_t, (size_t)n + 1);
    CS_REQUIRE(set->from, CS_NO_MEMORY, "no memory for the rectangles of %s", set->name);
    for (int64_t i = 0; i < n; i++) set->from[i] = UNDRAWN;
    const json_t *experts = json_object_get(param, "experts");
    bool is_whole = cs_text_equal(cs_golden_string(param, "experts") ? json_string_value(experts) : "", "all") ||
                    (json_is_array(experts) && json_array_size(experts) == (size_t)set->experts);
    CS_REQUIRE(is_whole, CS_BAD_FILE, "golden file: %s: \"experts\" is neither \"all\" nor one entry per expert",
               set->name);
    struct canvas canvas = {.arena = arena, .checkpoint = checkpoint, .set = set};
    for (; canvas.expert < set->experts; canvas.expert++) CS_TRY(draw_expert(&canvas, param, experts));
    CS_TRY(cs_golden_integer(param, "n_written", &set->n_written));
    return cs_golden_integer(param, "n_padding", &set->n_nothing);
}
