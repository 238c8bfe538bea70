/* All kernels, for a backend's table, but those of known programs, which compile longest: a backend says where these are. */
#ifndef CS_GPU_KERNELS_CUH
#define CS_GPU_KERNELS_CUH

#include "gpu/compare.cuh"
#include "gpu/convert.cuh"
#include "gpu/copy.cuh"
#include "gpu/digest.cuh"
#include "gpu/fill.cuh"
#include "gpu/generate.cuh"
#include "gpu/maximum.cuh"
#include "gpu/probe.cuh"
#include "gpu/relayout.cuh"
#include "gpu/tile.cuh"

/* The slots that are kernels, in the order of struct cs_gpu_backend. */
#define CS_GPU_KERNELS(known_map, known_maximum)                                                                                            \
    launch_copy, launch_convert, launch_generate, launch_fill, launch_relayout, launch_tile, launch_permute, launch_compare, launch_digests, \
    launch_map, launch_maximum, known_map, known_maximum, launch_probe

#endif
