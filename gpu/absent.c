/* Stands for the CUDA backend where the program was built without it. */
#include "gpu/jobs.h"

static const char *unavailable(void) { return CS_GPU_ABSENT_REASON; }

const struct cs_gpu_backend cs_gpu_backend_cuda = {.name = "gpu", .unavailable = unavailable};
