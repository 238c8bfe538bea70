/* The rows of known.h, for program.c. */
#include "gpu/known_parse.h"

#define X(id, to, operands, text) known_program(to, operands, text),
extern "C" const struct cs_gpu_known_program cs_gpu_known_maps[] = {CS_GPU_KNOWN_MAPS(X)};
extern "C" const struct cs_gpu_known_program cs_gpu_known_maxima[] = {CS_GPU_KNOWN_MAXIMA(X)};
#undef X
