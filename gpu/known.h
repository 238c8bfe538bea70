/* Known programs: those that methods run over whole weights, over the scales of groups, or in stages of a maximum. Each is
 * a kernel of its own (known.cuh): what its instructions are, and of which dtypes, was settled when it was compiled.
 * program.c looks a program up here; one that is missing is interpreted, several times slower. */
#ifndef CS_GPU_KNOWN_H
#define CS_GPU_KNOWN_H

#include "sim/device/device.h"

/* Operands are a, b and c: a lies densely, the others are one number for each group of elements; n is any number.
 *
 *    name           result  operands         program */
/* clang-format off */
#define CS_GPU_KNOWN_MAPS(X)                                                                                           \
    X(MERGE,         "e4m3", "e4m3 f32 f32", "a as f16 * b as f16 * c max n min n") /* w13 by the larger scale */      \
    X(REQUANTISE,    "e4m3", "e4m3 f32 f32", "a * b * c")                          /* blocks by powers of two */       \
    X(QUANTISE,      "e4m3", "bf16 f32",     "a * b")                              /* online: blocks */                \
    X(QUANTISE_FP4,  "e2m1", "bf16 f32",     "a * b")                              /* MXFP4 */                         \
    X(QUANTISE_MX,   "e4m3", "bf16 f32",     "a / b")                              /* MXFP8 */                         \
    X(QUANTISE_ROW,  "e4m3", "bf16 f32",     "a / b max n min n")                  /* channels */                      \
    X(QUANTISE_ALL,  "e4m3", "bf16 f32",     "a * b max n min n")                  /* tensors */                       \
    X(CLAMP,         "e4m3", "bf16",         "a * n max n min n")                  /* bench */                         \
    X(DEQUANTISE,    "bf16", "e4m3 f32",     "a * b")                              /* MXFP8's emulation */             \
    X(RESCALE_E4M3,  "e4m3", "e4m3 f32",     "a * b")                              /* NVFP4's scales */                \
    X(MARLIN_SCALE,  "u8",   "e4m3 f32",     "a as f16 * b as f16 * n as f16 zero_below n bits f16 right n") /* NVFP4 */ \
    X(SECOND_SCALE,  "f32",  "f32 f32",      "a * n / b")                          /* of Marlin's NVFP4 */             \
    X(SECOND_INTO,   "f32",  "f32 f32",      "a into n * n / b")                   /* of divisors */                   \
    X(RESCALE_BF16,  "bf16", "bf16",         "a * n")                              /* of Marlin's FP8 */               \
    X(POWER_ABOVE,   "u8",   "f32",          "a max n / n log2 ceil + n max n min n int") /* MXFP8 */                  \
    X(POWER_BYTE,    "u8",   "f32",          "a plus n right n most n plus n")     /* MXFP4 */                         \
    X(EXPONENT,      "u8",   "f32",          "a right n")                          /* DeepGEMM */                      \
    X(CARRY,         "u8",   "u8",           "a plus n right n plus a")            /* MXFP4 */                         \
    X(INVERSE_POWER, "f32",  "u8",           "a left n most n into n")             /* MXFP4 */                         \
    X(POWER,         "f32",  "u8",           "a float + n exp2")                   /* MXFP8 */

/* Of maxima, whose results are few, of any dtype. */
#define CS_GPU_KNOWN_MAXIMA(X)                                                                                         \
    X(LARGEST,       "f32",  "f32",          "a")                                  /* of parts of a box */             \
    X(SIZE,          "f32",  "bf16",         "a abs")                              /* online */                        \
    X(SCALED_SIZE,   "f32",  "e4m3 f32",     "a * b abs")                          /* blocks by powers of two */       \
    X(LARGEST_SCALE, "f32",  "e4m3",         "a as f16 * n")                       /* of Marlin's NVFP4 */
/* clang-format on */

enum cs_gpu_known_map_id {
#define X(id, to, operands, text) CS_GPU_MAP_##id,
    CS_GPU_KNOWN_MAPS(X)
#undef X
        CS_GPU_N_KNOWN_MAPS
};
enum cs_gpu_known_maximum_id {
#define X(id, to, operands, text) CS_GPU_MAXIMUM_##id,
    CS_GPU_KNOWN_MAXIMA(X)
#undef X
        CS_GPU_N_KNOWN_MAXIMA
};

enum { CS_GPU_KNOWN_OPERANDS = 3, CS_GPU_KNOWN_LENGTH = 12, CS_GPU_KNOWN_DIMS = 3, CS_GPU_KNOWN_GROUP = 16 };

/* A row as it was read by the C++ compiler (known_rows.cpp). operand -1: a number; or none. */
struct cs_gpu_known_program {
    const char *text;
    enum cs_dtype to, operand[CS_GPU_KNOWN_OPERANDS];
    int n_operands, n_instructions; /* -1: the row is wrong */
    struct {
        enum cs_code code;
        int operand;
        enum cs_dtype dtype;
    } instruction[CS_GPU_KNOWN_LENGTH];
};
extern const struct cs_gpu_known_program cs_gpu_known_maps[CS_GPU_N_KNOWN_MAPS];
extern const struct cs_gpu_known_program cs_gpu_known_maxima[CS_GPU_N_KNOWN_MAXIMA];

#endif
