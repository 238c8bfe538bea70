/* Marlin. Source: vllm quantization/utils/marlin_utils.py, marlin_utils_fp4.py, marlin_utils_fp8.py. */
#include "sim/method/methods.h"

bool cs_marlin_is_grouped(int64_t group, int64_t size_k, bool is_a8) { return group != -1 && group < size_k && !is_a8; }
