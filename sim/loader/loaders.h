/* The loaders of this folder, for its registry. */
#ifndef CS_LOADERS_H
#define CS_LOADERS_H

#include "sim/loader/loader.h"

extern const struct cs_loader cs_loader_gpt_oss_combined, cs_loader_gpt_oss_streamed, cs_loader_per_expert_mxfp4;

#endif
