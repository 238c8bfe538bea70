/* Kernels of known programs. */
#include "gpu/cuda.cuh"
#include "gpu/known_maximum.cuh"

enum cs_status cs_gpu_cuda_known_map(const struct cs_gpu_known_map *job) { return launch_known_map(job); }
enum cs_status cs_gpu_cuda_known_maximum(const struct cs_gpu_known_maximum *job) { return launch_known_maximum(job); }
