/* The rules that most loaders share. Source: vllm 0.33 fused_moe/routed_experts.py. */
#include "sim/loader/loaders.h"
#include "sim/method/method.h"

#include <math.h>
#include <string.h>

/* ---- numbers: one for each expert, or one for each of its shards ---- */

static enum cs_status slot_of_number(const struct cs_load_call *call, struct cs_view *slot) {
    *slot = call->param->view;
    CS_REQUIRE(slot->ndim > 0, CS_BAD_INDEX,
               "%s: %s is one number, without slots for experts: was it already processed?", call->tensor,
               call->param->name);
    CS_TRY(cs_view_select(slot, 0, call->expert));
    if (call->row->shard < 0 && slot->ndim == 0) return CS_OK;
    CS_REQUIRE(slot->ndim == 1, CS_BAD_INDEX,
               "%s: %s has one slot for each expert, none for a shard: was it already processed?", call->tensor,
               call->param->name);
    bool is_only = slot->shape[0] == 1 || call->row->shard < 0;
    return cs_view_select(slot, 0, is_only ? 0 : call->row->shard);
}

static enum cs_status read_number(const struct cs_load_call *call, const struct cs_view *view, double *number) {
    unsigned char bytes[8] = {0};
    size_t size = (size_t)cs_dtype_bits(view->dtype) / 8;
    CS_TRY(cs_device_read(call->module->rank->device, view, bytes, size));
    uint64_t bits = 0;
    memcpy(&bits, bytes, size); /* little-endian, as the file formats */
    *number = cs_dtype_decode(view->dtype, bits);
    return CS_OK;
}

/* Gate and up must have one scale. A slot of 1 is taken for a fresh one and NaN passes every comparison; the counting
 * pass of a reload has no slot to look at (found: F12). */
static enum cs_status agree(const struct cs_load_call *call, const struct cs_view *slot, const struct cs_view *source) {
    if (!cs_rank_has_defect(call->module->rank, CS_DEFECT_SCALES_MUST_AGREE)) return CS_OK;
    CS_REQUIRE(slot->storage->kind == CS_STORAGE_MEMORY, CS_BAD_SHAPE,
               "%s: the earlier scale cannot be read on the meta device", call->tensor);
    double earlier, number;
    CS_TRY(read_number(call, slot, &earlier));
    CS_TRY(read_number(call, source, &number));
    bool differs = earlier != 1.0 && fabs(earlier - number) > 1e-5;
    CS_REQUIRE(!differs, CS_BAD_VALUE,
               "%s: input scale %g, but the slot has %g: gate and up of an expert must have one scale", call->tensor,
               number, earlier);
    return CS_OK;
}

static enum cs_status load_number(struct cs_load_call *call) {
    struct cs_view source = call->source, slot;
    CS_REQUIRE(cs_view_numel(&source) == 1, CS_BAD_SHAPE, "%s: one number goes into a slot of %s, it has %" PRId64,
               call->tensor, call->param->name, cs_view_numel(&source));
    CS_TRY(slot_of_number(call, &slot));
    CS_TRY(cs_view_reshape(&source, 0, NULL));
    if (call->row->shard_dim == CS_SCALAR_AGREED) CS_TRY(agree(call, &slot, &source));
    struct cs_load_call whole =
        *call; /* as released, a patch does not know of numbers assigned by index (found: F21) */
    if (cs_rank_has_defect(call->module->rank, CS_DEFECT_PATCH_WRITES_NUMBERS)) whole.is_patch = false;
    CS_TRY(cs_load_copy(&whole, &slot, &source));
    call->counted = whole.counted;
    return CS_OK;
}

int64_t cs_load_slot(const struct cs_rank_spec *rank, const struct cs_loader_row *row, int64_t expert) {
    bool is_everywhere = row && row->shard_dim == CS_SCALAR_OF_ALL && rank->sizes.options & CS_GLOBAL_INPUT;
    return is_everywhere ? expert : cs_rank_expert_slot(rank, expert);
}

int64_t cs_load_physical_experts(const struct cs_rank *rank, const struct cs_loader *loader) {
    const struct cs_sizes *sizes = &rank->spec->sizes;
    bool are_left = loader->leaves_copies && cs_rank_has_defect(rank, CS_DEFECT_FUSED_EXPERT_IDS);
    return sizes->experts_global + (are_left ? 0 : sizes->experts_redundant);
}

/* ---- shards ---- */

/* Without a gate, the up projection is the whole of w13; an unsplit tensor has no halves. */
static bool is_half(const struct cs_load_call *call, int shard) {
    return call->row->shard_dim >= 0 && (shard == CS_GATE || shard == CS_UP) &&
           !(call->module->rank->spec->sizes.options & CS_NOT_GATED);
}

/* Mutant: [gate; up; padding] instead of [gate; padding; up; padding]: up begins where gate's real rows end, in the
 * parameter's own unit (scales have one row for a block). */
static void pad_at_end(const struct cs_load_call *call, int64_t *start) {
    const struct cs_sizes *sizes = &call->module->rank->spec->sizes;
    if (sizes->intermediate > 0) *start = *start * sizes->intermediate_u / sizes->intermediate;
}

struct cs_load_part cs_load_part_of(const struct cs_load_call *call, int64_t expert, int shard) {
    const struct cs_view *view = &call->param->view;
    struct cs_load_part part = {expert, 1, 0, view->shape[1], 0, view->ndim > 2 ? view->shape[2] : 0};
    if (!is_half(call, shard)) return part;
    bool is_column = call->row->shard_dim == CS_COLUMNS;
    int64_t *start = is_column ? &part.column : &part.row, *extent = is_column ? &part.columns : &part.rows;
    *extent /= 2;
    bool is_second = (shard == CS_UP) != cs_rank_has_defect(call->module->rank, CS_DEFECT_GATE_UP_SWAPPED);
    *start = is_second ? *extent : 0;
    if (is_second && cs_rank_has_defect(call->module->rank, CS_DEFECT_GATED_END_PAD)) pad_at_end(call, start);
    return part;
}

/* MXFP4 as R5.2 has it: whole blocks of 32 elements go to the ranks, whatever one index of the tensor stands for. As
 * released, elements are split evenly and scales by whole blocks: the last one is lost (found: F16). */
static void by_blocks(const struct cs_load_call *call, int64_t size, int64_t *per, int64_t *start) {
    enum { BLOCK = 32 };
    const struct cs_rank_spec *rank = call->module->rank->spec;
    static const char *const methods[] = {"mxfp4", "mxfp4_ct", "quark_mx"};
    int64_t full = rank->sizes.intermediate_full;
    bool is_mxfp4 = false;
    for (size_t i = 0; call->module->spec->backend && i < CS_COUNT(methods); i++)
        is_mxfp4 |= cs_text_equal(call->module->spec->backend->method, methods[i]);
    if (!is_mxfp4 || full <= 0 || full % BLOCK || BLOCK * size % full) return;
    int64_t blocks = full / BLOCK, each = (blocks + rank->sizes.tp - 1) / rank->sizes.tp, unit = BLOCK * size / full;
    *per = each * unit;
    *start = *per * rank->tp_rank < size ? *per * rank->tp_rank : size;
}

/* Mutant: the padded size of a rank is the stride from one rank's shard to the next; the last ones get little. */
static int64_t padded_start(const struct cs_rank_spec *rank, int64_t start, int64_t size) {
    const struct cs_sizes *sizes = &rank->sizes;
    int64_t padded = sizes->intermediate_u > 0 ? start * sizes->intermediate / sizes->intermediate_u : start;
    return padded < size ? padded : size;
}

/* per = size // tp: what does not divide is dropped, silently. */
static enum cs_status take_share(const struct cs_load_call *call, struct cs_view *source) {
    const struct cs_rank_spec *rank = call->module->rank->spec;
    bool is_narrowed = call->module->rank->allocator.phase == CS_PHASE_RELOAD && source->ndim > 1 &&
                       cs_rank_has_defect(call->module->rank, CS_DEFECT_REPLICATED_IS_SHARDED);
    if (call->row->shard_dim < 0 && is_narrowed)
        return cs_view_narrow(source, 1, rank->tp_rank * source->shape[1], source->shape[1]);
    if (call->row->shard_dim < 0) return CS_OK;
    int dim = call->row->shard_dim + 1;
    int64_t size = source->shape[dim], per = size / rank->sizes.tp, start = per * rank->tp_rank;
    if (!cs_rank_has_defect(call->module->rank, CS_DEFECT_PARTIAL_BLOCK_SCALE_LOST))
        by_blocks(call, size, &per, &start);
    if (cs_rank_has_defect(call->module->rank, CS_DEFECT_SHARD_OF_RANK_0)) start = 0;
    if (cs_rank_has_defect(call->module->rank, CS_DEFECT_STARTS_AT_PADDED_SIZE))
        start = padded_start(rank, start, size);
    return cs_view_narrow(source, dim, start, per < size - start ? per : size - start);
}

/* Kernel tensors whose experts are matrices of blocks, [E, a, b, c]: their rows can be no shard; columns are taken for
 * b, and the copy then fits or not. Source: vllm 0.33 fused_moe/routed_experts.py, _get_hidden_dim. */
static enum cs_status load_into_blocks(struct cs_load_call *call, const struct cs_view *source, int64_t expert) {
    CS_REQUIRE(call->row->shard_dim == CS_COLUMNS, CS_BAD_VALUE,
               "%s: shard_dim=%d is not a valid data dimension for a 3D tensor (expected 1 or 2): %s was already "
               "processed",
               call->tensor, call->row->shard_dim, call->param->name);
    struct cs_view to = call->param->view, from = *source;
    CS_TRY(cs_view_select(&to, 0, expert));
    CS_TRY(cs_view_select(&from, 0, 0));
    int64_t narrowed = from.shape[1] < to.shape[1] ? from.shape[1] : to.shape[1];
    CS_TRY(cs_view_narrow(&to, 1, 0, narrowed));
    CS_REQUIRE(to.shape[0] == 1 && to.shape[1] == from.shape[0] && to.shape[2] == from.shape[1], CS_BAD_SHAPE,
               "%s: [%" PRId64 ", %" PRId64 "] must match [%" PRId64 ", %" PRId64 ", %" PRId64
               "] of %s: was it already processed?",
               call->tensor, from.shape[0], from.shape[1], to.shape[0], to.shape[1], to.shape[2], call->param->name);
    CS_TRY(cs_view_select(&to, 0, 0));
    return cs_load_copy(call, &to, &from);
}

/* An odd extent has an element that neither half reaches. */
static enum cs_status mark_odd(struct cs_load_call *call, int64_t expert, int shard) {
    const struct cs_view *view = &call->param->view;
    int dim = call->row->shard_dim + 1;
    if (shard != CS_UP || !is_half(call, shard) || view->shape[dim] % 2 == 0) return CS_OK;
    int64_t start[CS_NDIM] = {expert}, length[CS_NDIM] = {1};
    for (int d = 1; d < view->ndim; d++) length[d] = view->shape[d];
    start[dim] = view->shape[dim] - 1, length[dim] = 1;
    return cs_load_narrowed(call, start, length);
}

enum cs_status cs_load_shard(struct cs_load_call *call, const struct cs_view *whole, int64_t expert, int shard) {
    struct cs_view source = *whole;
    CS_TRY(take_share(call, &source));
    bool is_of_blocks = call->param->view.ndim == 4 && source.ndim == 3;
    if (is_of_blocks) return load_into_blocks(call, &source, expert);
    struct cs_load_part part = cs_load_part_of(call, expert, shard);
    part.n_experts = source.shape[0];
    CS_TRY(cs_load_prefix(call, &part, &source));
    return mark_odd(call, expert, shard);
}

enum cs_status cs_load_halves(const struct cs_view *source, struct cs_view halves[2]) {
    int64_t half = source->shape[1] / 2;
    for (int h = 0; h < 2; h++) {
        halves[h] = *source;
        CS_TRY(cs_view_narrow(&halves[h], 1, h * half, half));
    }
    return CS_OK;
}

enum cs_status cs_load_one_expert(struct cs_view *source) {
    CS_REQUIRE(source->ndim < CS_NDIM, CS_BAD_SHAPE, "a tensor of %d dimensions has no room for experts", source->ndim);
    memmove(source->shape + 1, source->shape, (size_t)source->ndim * sizeof *source->shape);
    memmove(source->stride + 1, source->stride, (size_t)source->ndim * sizeof *source->stride);
    source->shape[0] = 1, source->stride[0] = source->ndim ? source->shape[1] * source->stride[1] : 1;
    source->ndim++;
    return CS_OK;
}

int64_t cs_load_calls_of_row(const struct cs_loader_row *row) { return row && row->shard == CS_GATE_UP ? 2 : 1; }

enum cs_status cs_load_standard(struct cs_load_call *call) {
    if (call->row->shard_dim <= CS_SCALAR) return load_number(call);
    CS_REQUIRE(call->row->shard >= CS_WHOLE && call->row->shard <= CS_GATE_UP, CS_BAD_VALUE, "%s: there is no shard %d",
               call->tensor, call->row->shard);
    struct cs_view source = call->source, halves[2];
    CS_TRY(cs_load_one_expert(&source));
    CS_REQUIRE(source.ndim <= call->param->view.ndim, CS_BAD_SHAPE, "%s: %d dimensions for an expert of %s",
               call->tensor, call->source.ndim, call->param->name);
    if (call->row->shard != CS_GATE_UP) return cs_load_shard(call, &source, call->expert, call->row->shard);
    CS_TRY(cs_load_halves(&source, halves));
    CS_TRY(cs_load_shard(call, &halves[0], call->expert, CS_GATE));
    return cs_load_shard(call, &halves[1], call->expert, CS_UP);
}
