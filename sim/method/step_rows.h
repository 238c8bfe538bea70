/* How a step is written: one row each. */
#ifndef CS_METHOD_STEP_ROWS_H
#define CS_METHOD_STEP_ROWS_H

#include "sim/method/step.h"

/* Objects that post-load rebuilds: the config is reachable from the quant method and from the kernel. */
/* clang-format off */
#define CS_CONFIG_PATHS(field)                                                                                         \
    (const char *const[]) {                                                                                            \
        "quant_method.moe_quant_config." field, "quant_method.moe_kernel.fused_experts.quant_config." field, NULL      \
    }
#define CS_EXPERTS_PATHS(field)                                                                                        \
    (const char *const[]) { "quant_method.moe_kernel.fused_experts." field, NULL }
/* clang-format on */

#define CS_DO_RELAYOUT(name, ...)                                                                                      \
    {                                                                                                                  \
        .kind = CS_STEP_RELAYOUT, .param = name, .chain = { __VA_ARGS__ }                                              \
    }
#define CS_DO_CAST(name, to)                                                                                           \
    { .kind = CS_STEP_CAST, .param = name, .dtype = to }
#define CS_DO_VIEW(name, to)                                                                                           \
    { .kind = CS_STEP_VIEW, .param = name, .dtype = to }
#define CS_DO_RESHAPE(name, to)                                                                                        \
    { .kind = CS_STEP_RESHAPE, .param = name, .text = to }
#define CS_DO_SELECT(name, of, dimension, index)                                                                       \
    { .kind = CS_STEP_SELECT, .param = name, .from = of, .dim = dimension, .at = index }
#define CS_DO_TRANSPOSE(name)                                                                                          \
    { .kind = CS_STEP_TRANSPOSE, .param = name }
#define CS_DO_TAKE(name, of)                                                                                           \
    { .kind = CS_STEP_TAKE, .param = name, .from = of }
/* Rows and columns to multiples; of each half, where w13 has two. */
/* clang-format off */
#define CS_DO_PAD(name, rows, columns, number)                                                                         \
    {.kind = CS_STEP_PAD, .param = name, .multiple = {rows, columns}, .value = number}
#define CS_DO_PAD_HALVES(name, rows, columns, number)                                                                  \
    {.kind = CS_STEP_PAD, .param = name, .multiple = {rows, columns}, .value = number, .by_halves = true}
/* clang-format on */
/* Rows and columns are 'I' or 'H'; 0: not zeroed. */
#define CS_DO_ZERO(name, rows, columns)                                                                                \
    {                                                                                                                  \
        .kind = CS_STEP_ZERO, .param = name, .multiple = { rows, columns }                                             \
    }
#define CS_DO_ZERO_HALVES(name, rows, columns)                                                                         \
    { .kind = CS_STEP_ZERO, .param = name, .multiple = {rows, columns}, .by_halves = true }
#define CS_DO_MAP(name, as, program)                                                                                   \
    { .kind = CS_STEP_MAP, .param = name, .dtype = as, .text = program }
#define CS_DO_SPREAD(name, as, to, program)                                                                            \
    { .kind = CS_STEP_MAP, .param = name, .dtype = as, .shape = to, .text = program }
#define CS_DO_UPDATE(name, program)                                                                                    \
    { .kind = CS_STEP_UPDATE, .param = name, .text = program }
#define CS_DO_MAXIMUM(name, as, to, program)                                                                           \
    { .kind = CS_STEP_MAXIMUM, .param = name, .dtype = as, .shape = to, .text = program }
#define CS_DO_ALL_REDUCE(name)                                                                                         \
    { .kind = CS_STEP_ALL_REDUCE, .param = name }
#define CS_DO_CALL(of)                                                                                                 \
    { .kind = CS_STEP_CALL, .table = &cs_table_##of }
/* A table that post-loads call by name: static const struct cs_step NAME[] stands before it. */
#define CS_TABLE(id) const struct cs_step_table cs_table_##id = {#id, id, CS_COUNT(id)}
/* What PAD rounds I and H up to; 0: as it was. */
#define CS_DO_ALIGN(i, h)                                                                                              \
    {                                                                                                                  \
        .kind = CS_STEP_SET, .multiple = { i, h }                                                                      \
    }
/* Elements that share a scale: rows, columns. */
#define CS_DO_BLOCK(rows, columns)                                                                                     \
    {                                                                                                                  \
        .kind = CS_STEP_SET, .dim = 1, .multiple = { rows, columns }                                                   \
    }
/* The next step only when, or unless, all of these facts hold. */
#define CS_DO_WHEN(facts)                                                                                              \
    { .kind = CS_STEP_GUARD, .when = facts }
#define CS_DO_UNLESS(facts)                                                                                            \
    { .kind = CS_STEP_GUARD, .unless = facts }
#define CS_DO_REPLACE(name)                                                                                            \
    { .kind = CS_STEP_REPLACE, .param = name }
/* clang-format off */
#define CS_DO_REGISTER(name)                                                                                           \
    {.kind = CS_STEP_REGISTER, .param = name}
#define CS_DO_RENAME(to, of)                                                                                           \
    {.kind = CS_STEP_RENAME, .param = to, .from = of}
#define CS_DO_RETIRE(name)                                                                                             \
    {.kind = CS_STEP_RETIRE, .param = name}
/* The release removes the attribute instead; of an emptied one too. */
#define CS_DO_DROP(name)                                                                                               \
    {.kind = CS_STEP_RETIRE, .param = name, .at = 1}
#define CS_DO_EMPTY(name)                                                                                              \
    {.kind = CS_STEP_EMPTY, .param = name, .at = 1}
#define CS_DO_WRAP(name, field)                                                                                        \
    {.kind = CS_STEP_WRAP, .param = name, .paths = CS_CONFIG_PATHS(field)}
/* Parameters and owned values at paths of the experts object, and owned ones of the config. */
#define CS_DO_EXPERTS(name, field)                                                                                     \
    {.kind = CS_STEP_CONFIG, .param = name, .paths = CS_EXPERTS_PATHS(field)}
#define CS_DO_HOLD(name, field)                                                                                        \
    {.kind = CS_STEP_HOLD, .param = name, .paths = CS_CONFIG_PATHS(field)}
#define CS_DO_OWN(name, field)                                                                                         \
    {.kind = CS_STEP_HOLD, .param = name, .paths = CS_EXPERTS_PATHS(field)}
#define CS_DO_EXTENT(name, extent)                                                                                     \
    {.kind = CS_STEP_EXTENT, .param = name, .text = extent}
#define CS_DO_REQUIRE(facts, why)                                                                                      \
    {.kind = CS_STEP_REQUIRE, .when = facts, .text = why}
/* clang-format on */
#define CS_DO_CONFIG(name, field)                                                                                      \
    { .kind = CS_STEP_CONFIG, .param = name, .paths = CS_CONFIG_PATHS(field) }
/* clang-format off */
#define CS_DO_CONSTANT(field, number)                                                                                  \
    {.kind = CS_STEP_CONSTANT, .param = field, .value = number, .paths = CS_EXPERTS_PATHS(field)}
/* clang-format on */

#endif
