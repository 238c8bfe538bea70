/* What the files of the CUDA backend share: each is one run of nvcc, so that they are compiled side by side. */
#ifndef CS_GPU_CUDA_CUH
#define CS_GPU_CUDA_CUH

extern "C" {
#include "gpu/jobs.h"
}

/* cuda_known.cu */
enum cs_status cs_gpu_cuda_known_map(const struct cs_gpu_known_map *job);
enum cs_status cs_gpu_cuda_known_maximum(const struct cs_gpu_known_maximum *job);

#endif
