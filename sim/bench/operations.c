/* Rows that are one device operation each, over as much of the two buffers as it fills. */
#include "sim/bench/internal.h"

#include <string.h>

#include "sim/method/layouts.h"

static const enum cs_dtype bytes_dtype = CS_U8;

/* A flat view of `bytes` bytes at the start of a buffer. */
static enum cs_status flat(struct cs_storage *storage, enum cs_dtype dtype, size_t bytes, struct cs_view *view) {
    int64_t n = (int64_t)(bytes * 8 / (size_t)cs_dtype_bits(dtype));
    return cs_view_make(view, storage, dtype, 1, &n);
}

static enum cs_status generate(struct cs_bench *bench, const struct cs_bench_row *row, int64_t *bytes) {
    struct cs_storage numbers = {.kind = CS_STORAGE_SYNTHETIC, .bytes = bench->bytes, .label = "numbers"};
    struct cs_view to, from;
    numbers.content = (struct cs_content){.kind = row->content, .as = row->dtype, .key = 17, .shift = 1};
    CS_TRY(flat(&bench->storage[1], row->dtype, bench->bytes, &to));
    CS_TRY(flat(&numbers, row->dtype, bench->bytes, &from));
    *bytes = (int64_t)bench->bytes;
    return cs_device_copy(bench->device, &to, &from);
}

static enum cs_status copy(struct cs_bench *bench, const struct cs_bench_row *row, int64_t *bytes) {
    struct cs_view to, from;
    (void)row;
    CS_TRY(flat(&bench->storage[1], bytes_dtype, bench->bytes, &to));
    CS_TRY(flat(&bench->storage[0], bytes_dtype, bench->bytes, &from));
    *bytes = 2 * (int64_t)bench->bytes;
    return cs_device_copy(bench->device, &to, &from);
}

static enum cs_status make_equal(struct cs_bench *bench, const struct cs_bench_row *row) {
    int64_t bytes;
    return copy(bench, row, &bytes);
}

static enum cs_status widen(struct cs_bench *bench, const struct cs_bench_row *row, int64_t *bytes) {
    struct cs_view to, from;
    (void)row;
    CS_TRY(flat(&bench->storage[1], CS_F32, bench->bytes, &to));
    CS_TRY(flat(&bench->storage[0], CS_BF16, bench->bytes / 2, &from));
    *bytes = (int64_t)(bench->bytes + bench->bytes / 2);
    return cs_device_copy(bench->device, &to, &from);
}

/* A run of bytes at each pitch, as eight regions in one call. The bytes of a run differ, as those of a bf16 one do. */
static enum cs_status fill(struct cs_bench *bench, const struct cs_bench_row *row, int64_t *bytes) {
    struct cs_fill fills[8];
    int64_t n = row->run_bytes / 2, pitch = row->pitch_bytes / 2;
    int64_t n_runs = (int64_t)bench->bytes / row->pitch_bytes / (int64_t)CS_COUNT(fills);
    for (size_t i = 0; i < CS_COUNT(fills); i++) {
        struct cs_view *view = &fills[i].view;
        CS_TRY(cs_view_make(view, &bench->storage[1], CS_BF16, 2, (const int64_t[]){n_runs, n}));
        view->stride[0] = pitch;
        view->offset = (int64_t)i * n_runs * pitch;
        fills[i].bits = 0x3F80;
    }
    *bytes = (int64_t)CS_COUNT(fills) * n_runs * row->run_bytes;
    return cs_device_fill(bench->device, fills, CS_COUNT(fills));
}

static enum cs_status compare(struct cs_bench *bench, const struct cs_bench_row *row, int64_t *bytes) {
    struct cs_view a, b;
    struct cs_difference difference;
    (void)row;
    CS_TRY(flat(&bench->storage[0], bytes_dtype, bench->bytes, &a));
    CS_TRY(flat(&bench->storage[1], bytes_dtype, bench->bytes, &b));
    CS_TRY(cs_device_compare(bench->device, &a, &b, &difference));
    CS_REQUIRE(difference.n_elements == 0, CS_INTERNAL, "bench: the buffers differ");
    *bytes = 2 * (int64_t)bench->bytes;
    return CS_OK;
}

static enum cs_status digest(struct cs_bench *bench, const struct cs_bench_row *row, int64_t *bytes) {
    struct cs_view view;
    uint64_t sum;
    (void)row;
    CS_TRY(flat(&bench->storage[0], bytes_dtype, bench->bytes, &view));
    *bytes = (int64_t)bench->bytes;
    return cs_device_digest(bench->device, &view, &sum);
}

/* ---- programs: bf16 weights, in rows of 4096 ---- */

enum { PROGRAM_COLUMNS = 4096 };

static enum cs_status program_of(struct cs_bench *bench, const char *text, struct cs_program *program) {
    struct cs_program_name names[CS_PROGRAM_OPERANDS];
    int64_t shape[] = {(int64_t)bench->bytes / 2 / PROGRAM_COLUMNS, PROGRAM_COLUMNS};
    CS_TRY(cs_program_parse(text, program, names));
    program->ndim = 2;
    program->operand[0].block[0] = program->operand[0].block[1] = 1;
    memcpy(program->shape, shape, sizeof shape);
    return cs_view_make(&program->operand[0].view, &bench->storage[0], CS_BF16, 2, shape);
}

static enum cs_status map(struct cs_bench *bench, const struct cs_bench_row *row, int64_t *bytes) {
    struct cs_program program;
    struct cs_view to;
    CS_TRY(program_of(bench, row->program, &program));
    CS_TRY(cs_view_make(&to, &bench->storage[1], row->dtype, 2, program.shape));
    *bytes = (int64_t)bench->bytes + cs_view_numel(&to) * cs_dtype_bits(row->dtype) / 8;
    return cs_device_map(bench->device, &program, &to);
}

static enum cs_status maximum(struct cs_bench *bench, const struct cs_bench_row *row, int64_t *bytes) {
    struct cs_program program;
    struct cs_operand to = {.block = {1, row->block}};
    CS_TRY(program_of(bench, row->program, &program));
    const int64_t shape[] = {program.shape[0], PROGRAM_COLUMNS / row->block};
    CS_TRY(cs_view_make(&to.view, &bench->storage[1], row->dtype, 2, shape));
    *bytes = (int64_t)bench->bytes + cs_view_numel(&to.view) * cs_dtype_bits(row->dtype) / 8;
    return cs_device_maximum(bench->device, &program, &to);
}

/* As many matrices as there is room for; small buffers take a small matrix that every layout divides. */
static enum cs_status relayout(struct cs_bench *bench, const struct cs_bench_row *row, int64_t *bytes) {
    const struct cs_layout *chain[CS_COUNT(row->chain)];
    struct cs_plan plan;
    struct cs_view to, from;
    bool is_small = (int64_t)bench->bytes < 2 * row->rows * row->row_bytes;
    int64_t rows = is_small ? 256 : row->rows, row_bytes = is_small ? 256 : row->row_bytes;
    int64_t n_matrices = (int64_t)bench->bytes / (rows * row_bytes);
    size_t n = 0;
    for (; n < CS_COUNT(chain) && row->chain[n]; n++) chain[n] = cs_layout_by_name(row->chain[n]);
    CS_TRY(cs_plan_compose(&plan, chain, n, row->bits, rows, row_bytes * 8 / row->bits));
    *bytes = 2 * n_matrices * rows * row_bytes;
    CS_TRY(flat(&bench->storage[1], bytes_dtype, (size_t)*bytes / 2, &to));
    CS_TRY(flat(&bench->storage[0], bytes_dtype, (size_t)*bytes / 2, &from));
    return cs_device_relayout(bench->device, &plan, n_matrices, &to, &from);
}

/* clang-format off */
#define GENERATE(what_, content_, dtype_)                                                                              \
    {.what = "generate " what_, .yardstick = CS_BENCH_COUNTER_HASH, .goal = {0.80, 0}, .run = generate, .content = CS_CONTENT_##content_,      \
     .dtype = CS_##dtype_}
#define FILL(what_, run_bytes_, pitch_bytes_, host_, device_)                                                          \
    {.what = "fill " what_, .yardstick = CS_BENCH_MEMSET, .goal = {host_, device_}, .run = fill, .run_bytes = run_bytes_,    \
     .pitch_bytes = pitch_bytes_}
/* clang-format on */
/* An expert's gate and up weights, and their scales, of gpt-oss rounded to 3072. */
/* clang-format off */
#define WEIGHT(host_, device_, bits_, ...)                                                                                      \
    .yardstick = CS_BENCH_MEMCPY, .goal = {host_, device_}, .run = relayout, .bits = bits_, .rows = 6144, .row_bytes = 1536, .chain = {__VA_ARGS__}
#define SCALE(host_, device_, bits_, ...)                                                                                       \
    .yardstick = CS_BENCH_MEMCPY, .goal = {host_, device_}, .run = relayout, .bits = bits_, .rows = 6144, .row_bytes = 96, .chain = {__VA_ARGS__}
/* clang-format on */

/* Goals: of 2 cores, 1 GiB; and of a GPU, 4 GiB. Rows without one have no promise to keep. */
/* clang-format off */
const struct cs_bench_row cs_bench_operation_rows[] = {
    GENERATE("u8 hash", HASH, U8),
    GENERATE("e8m0 hash", HASH, E8M0),
    GENERATE("bf16 hash", HASH, BF16),
    GENERATE("garbage", GARBAGE, U8),
    {.what = "copy", .yardstick = CS_BENCH_MEMCPY, .goal = {0.80, 0.80}, .run = copy},
    {.what = "program, 4 steps, bf16 to e4m3", .yardstick = CS_BENCH_MEMCPY, .run = map, .dtype = CS_E4M3,
     .program = "w * 0.5 max -448 min 448"},
    {.what = "largest of 128, bf16", .yardstick = CS_BENCH_READ, .run = maximum, .dtype = CS_F32, .program = "w abs", .block = 128},
    {.what = "convert bf16 to f32", .yardstick = CS_BENCH_MEMCPY, .run = widen},
    FILL("runs of 256 B", 256, 512, 0.70, 0.80),
    FILL("runs of 96 B in 1536", 96, 1536, 0, 0.80),
    FILL("runs of 16 B", 16, 32, 0, 0.80),
    {.what = "compare", .yardstick = CS_BENCH_MEMCMP, .goal = {0.70, 0.90}, .prepare = make_equal, .run = compare},
    {.what = "digest", .yardstick = CS_BENCH_READ, .run = digest},
    {.what = "shuffle32", WEIGHT(0.60, 0.85, 8, "shuffle32")},
    {.what = "pairs_shuffle32", WEIGHT(0.60, 0.85, 8, "pairs_shuffle32")},
    {.what = "swap_gated_shuffle32", WEIGHT(0.60, 0.85, 8, "swap_gated_shuffle32")},
    {.what = "pairs_shuffle32 of scales", SCALE(0, 0.85, 8, "pairs_shuffle32")},
    {.what = "swizzle_128x4", SCALE(0.50, 0.60, 8, "swizzle_128x4")},
    {.what = "pairs_shuffle32, swizzle_128x4", SCALE(0.50, 0.60, 8, "pairs_shuffle32", "swizzle_128x4")},
    {.what = "block_major_k", WEIGHT(0, 0.85, 8, "block_major_k")},
    {.what = "sm90_fp4", WEIGHT(0.15, 0.30, 8, "sm90_fp4")},
    {.what = "hopper_value", WEIGHT(0.15, 0.30, 8, "hopper_value")},
    {.what = "marlin4", WEIGHT(0.15, 0.30, 4, "marlin4")},
    {.what = "marlin8", WEIGHT(0.15, 0.30, 8, "marlin8")},
    {.what = "transpose of bytes", WEIGHT(0, 0, 8, "transpose")},
    {.what = "transpose of words", WEIGHT(0, 0.60, 32, "transpose")},
};
/* clang-format on */
const size_t cs_bench_n_operations = CS_COUNT(cs_bench_operation_rows);
