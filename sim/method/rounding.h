/* How back ends round the sizes of routed experts. Source: vllm fused_moe/oracle/mxfp4.py, fused_moe/prepare_finalize/.
 */
#ifndef CS_METHOD_ROUNDING_H
#define CS_METHOD_ROUNDING_H

#include "sim/model/model.h"

/* Multiples to which a back end rounds I and H per rank; 0: unchanged. */
struct cs_rounding {
    int64_t intermediate, hidden;
};

enum cs_platform { CS_CUDA, CS_XPU, CS_CDNA3, CS_CDNA4, CS_N_PLATFORMS };
enum { CS_N_ALL2ALLS = CS_ALL2ALL_NIXL_EP + 1 };

/* What the MXFP4 back end of that upstream name rounds to; `activation`: upstream's name, or NULL as gpt-oss, Quark and
 * online mxfp4 pass none. */
struct cs_rounding cs_mxfp4_rounding(const char *upstream, enum cs_platform platform, const char *activation);

/* Whether a back end's row of the table, `released` for the first of its upstream names, is one of these rules. */
bool cs_mxfp4_is_ruled(const char *upstreams, const struct cs_rounding *released);
const char *cs_platform_name(enum cs_platform platform);
const char *cs_all2all_name(enum cs_all2all all2all);

/* Hidden size that an all-to-all back end can transport. CS_BAD_VALUE above the largest. */
enum cs_status cs_all2all_round(enum cs_all2all all2all, int64_t hidden, int64_t *rounded);

/* Rules of single back ends, for their rows. */
int64_t cs_aiter_alignment(int64_t intermediate);
enum cs_status cs_round_unquantized_aiter(struct cs_sizes *sizes);
enum cs_status cs_round_fp8_block(struct cs_sizes *sizes);         /* kernels want whole blocks */
enum cs_status cs_round_fp8_block_refined(struct cs_sizes *sizes); /* kernels take a finer grid of scales */
enum cs_status cs_round_gptq(struct cs_sizes *sizes);              /* refuses act-order with groups */
enum cs_status cs_round_by_32(struct cs_sizes *sizes);             /* refuses other sizes */
enum cs_status cs_round_quark_block(struct cs_sizes *sizes);       /* refuses partial blocks */
enum cs_status cs_round_by_group(struct cs_sizes *sizes);          /* refuses partial groups, and words of zero points */
enum cs_status cs_round_by_group_only(struct cs_sizes *sizes);     /* refuses one group for a whole row as well */

#endif
