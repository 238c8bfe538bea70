/* What a server must hold after each step of a plan, by the rules of drivers and releases: which expectations are fair,
 * and where a refusal is in order. Sources: the loaders' and drivers' own files, and the faults of the release that
 * sim/mutant lists as standing; an engine without them promises more. */
#include <string.h>

#include "sim/fuzz/internal.h"

/* A rank behind the last block of the intermediate size, of 128 at most, owns nothing but padding. Run with the real
 * loaders of vLLM 0.33 on a CPU (FP8 blocks for TRT-LLM, one block, rank 1 of 2, kernel tensors overwritten first): 0 of
 * 196620 elements are counted, and finalize_layerwise_reload puts the overwritten tensors back as they are. */
static bool has_empty_rank(const struct cs_fuzz_plan *plan) {
    enum { LARGEST_BLOCK = 128 };
    int tp = cs_fuzz_ranks_of(plan)->tp;
    return tp > 1 && cs_fuzz_number_of(plan, CS_AXIS_intermediate) < (int64_t)tp * LARGEST_BLOCK;
}

/* Whether gate and up write one place (activation scales, shapes of packed weights): the last one stays, and a
 * layerwise count is full early, so that what comes late finds kernel tensors, or no slot at all. */
static bool have_one_place(const struct cs_loader_row *a, const struct cs_loader_row *b) {
    bool is_whole = a->shard_dim == CS_UNSPLIT, is_number = a->shard_dim <= CS_SCALAR && a->shard == b->shard;
    return cs_text_equal(a->param, b->param) && a->shard_dim == b->shard_dim && (is_whole || is_number);
}

static bool shares_places(const struct cs_fuzz_plan *plan, const struct cs_loader *loader) {
    unsigned options = cs_fuzz_method_of(plan)->usual.options | cs_fuzz_layer_of(plan)->on;
    for (size_t i = 0; i < loader->n_rows; i++)
        for (size_t j = 0; j < i; j++)
            if (cs_options_select(options, loader->rows[i].when) && cs_options_select(options, loader->rows[j].when) &&
                have_one_place(&loader->rows[i], &loader->rows[j]))
                return true;
    return false;
}

/* Gate and up must agree about a scale, and the release compares each with what the slot holds: on the meta device there
 * is nothing to read (F12), and in a live tensor stands what post-load made of the scales before. */
bool cs_fuzz_compares_scales(const struct cs_fuzz_plan *plan) {
    const struct cs_loader *loader = cs_fuzz_loader_of(plan);
    unsigned options = cs_fuzz_method_of(plan)->usual.options | cs_fuzz_layer_of(plan)->on;
    for (size_t i = 0; i < loader->n_rows; i++)
        if (loader->rows[i].shard_dim == CS_SCALAR_AGREED && cs_options_select(options, loader->rows[i].when))
            return !cs_fuzz_is_repaired(plan);
    return false;
}

/* A model built on meta records the padding value 0 for everything (R2.2, a known limitation of the release): loads that
 * fill put 0 where a cold start left the 1 that a scale was created with. */
static bool forgets_padding_values(const struct cs_fuzz_plan *plan) {
    const struct cs_method *method = cs_fuzz_method_of(plan);
    bool has_ones = false;
    for (size_t i = 0; i < method->n_params; i++) {
        const struct cs_param_row *row = &method->params[i];
        bool is_one = row->init == CS_INIT_ONES || row->init == CS_INIT_VALUE;
        has_ones |= is_one && cs_dtype_is_floating(row->dtype);
    }
    return has_ones && cs_text_equal(cs_fuzz_start_of(plan)->name, "meta_build");
}

/* A step, and everything that rules ask about it. */
struct step {
    const struct cs_driver *driver;
    const struct cs_driver_nature *nature;
    const struct cs_manner *manner;
    const struct cs_loader *loader;
    bool shares_places;
    int sent;                  /* checkpoint */
    bool nature_has_no_layout; /* what a weight cache attached has no checkpoint layout to load into */
};

static struct step step_of(const struct cs_fuzz_plan *plan, size_t i) {
    struct step step = {.driver = cs_letter_driver(plan->step[i].letter),
                        .manner = cs_letter_manner(plan->step[i].letter)};
    const char *other = step.manner->needs_other_loader ? cs_fuzz_other_loader(plan) : NULL;
    step.nature = cs_driver_nature(step.driver);
    bool is_other = cs_fuzz_is_repaired(plan) && step.nature->repaired_as;
    if (is_other) step.nature = cs_driver_nature(cs_driver_by_name(step.nature->repaired_as));
    step.nature_has_no_layout = is_other && cs_text_equal(cs_fuzz_start_of(plan)->name, "meta_build");
    step.loader = other ? cs_loader_by_name(other) : cs_fuzz_loader_of(plan);
    step.shares_places = shares_places(plan, step.loader);
    step.sent = cs_fuzz_sent(plan, i);
    return step;
}

/* No tensor came that would have registered the late one. */
static bool lacks_late(const struct cs_fuzz_plan *plan) {
    return cs_text_equal(cs_fuzz_beside_of(plan), "late") && cs_fuzz_start_of(plan)->takes == CS_TAKES_NOTHING;
}

/* What is not the experts', and configurations of them that loaders do not agree about. */
static bool loses_beside(const struct cs_promise *promise, const struct step *step) {
    const struct cs_fuzz_plan *plan = promise->plan;
    bool is_filled = step->driver->takes != CS_TAKES_KERNEL_TENSORS, has_attention = cs_fuzz_has_attention(plan);
    /* F8: KV-cache scales stay when the checkpoint has none; finished tensors are parameters, and scales are buffers */
    bool has_no_scales = step->sent == CS_FUZZ_WITHOUT_OPTIONAL && !promise->is_repaired;
    /* an untrusted load leaves scales as parameters, without the post-load that takes them away */
    if (has_attention && (has_no_scales || !is_filled || promise->is_deformed)) return true;
    if (lacks_late(plan)) return true;
    /* combined tensors are narrowed to a rank's first experts and the following ones, wherever they were placed */
    return cs_fuzz_layer_of(plan)->is_round_robin && step->manner->needs_other_loader;
}

/* Where post-load changes nothing, a load without it is as good as one with it, for a server that held a checkpoint: its
 * padding is right and stays. Attention's scales need their post-load, and what is loaded late needs a layer that waits. */
static bool is_trusted(const struct cs_promise *promise, const struct step *step, bool held) {
    const struct cs_fuzz_plan *plan = promise->plan;
    return held && step->nature->needs_no_post_load && cs_backend_keeps_layout(cs_fuzz_backend_of(plan)) &&
           !cs_fuzz_has_attention(plan) && !cs_text_equal(cs_fuzz_beside_of(plan), "late");
}

/* A sparse load is enough for a server that held the checkpoint that it differs from. */
static bool is_enough(const struct cs_promise *promise, const struct step *step, bool held) {
    if (!step->manner->is_sparse) return true;
    bool from_original = promise->checkpoint == 0 && step->sent == CS_FUZZ_PATCHED,
         to_original = promise->checkpoint == CS_FUZZ_PATCHED && step->sent == 0;
    return held && (from_original || to_original || promise->checkpoint == step->sent);
}

/* After which a server does not hold its checkpoint, whatever it held before: no findings. `held`: it held one. */
static bool is_known_to_lose(const struct cs_promise *promise, const struct step *step, bool held) {
    const struct cs_driver_nature *nature = step->nature;
    bool is_released = !promise->is_repaired, is_filled = step->driver->takes != CS_TAKES_KERNEL_TENSORS;
    if (step->shares_places && step->manner->reorders) return true;
    if (is_filled && is_released && forgets_padding_values(promise->plan)) return true;
    if (step->shares_places && nature->keeps_calls && is_released) return true; /* F10, F11 */
    if (nature->is_untrusted && !is_trusted(promise, step, held)) return true;
    if (!is_enough(promise, step, held)) return true;
    if (promise->has_lost_buffers || loses_beside(promise, step)) return true;
    /* no loader runs: what no earlier load marked, a dummy start's padding say, is not replayed either (R4.11) */
    if (nature->replays_marks && !promise->has_marks) return true;
    if (promise->has_foreign_marks && is_filled) return true;
    /* a module of which nothing is counted is left as it was: right only if it was right */
    if (nature->keeps_calls && !held && has_empty_rank(promise->plan)) return true;
    if (nature->keeps_calls && step->manner->repeats && is_released) return true; /* F4 */
    /* F13: copies that nobody counts; such a reload keeps the old values */
    return nature->keeps_calls && step->loader->bypasses_counter && is_released;
}

/* F7 */
static bool overwrites_buffers(const struct cs_promise *promise, const struct step *step) {
    return cs_text_equal(cs_fuzz_beside_of(promise->plan), "kept") && step->nature->keeps_calls && !promise->is_repaired;
}

/* Whether padding is filled before post-load of every module that got its tensors: a layerwise load that counts nothing,
 * on a rank behind the last block or with a loader whose copies nobody counts (F13), puts everything back, unfilled. */
static bool fills_all(const struct cs_promise *promise, const struct step *step) {
    bool counts_nothing = has_empty_rank(promise->plan) || (step->loader->bypasses_counter && !promise->is_repaired);
    return step->manner->is_complete && !step->manner->is_one_module && !(step->nature->keeps_calls && counts_nothing);
}

/* What the load leaves of padding records. */
static void follow_marks(struct cs_promise *promise, const struct step *step) {
    const struct cs_driver_nature *nature = step->nature;
    const struct cs_manner *manner = step->manner;
    bool takes_tensors = step->driver->takes != CS_TAKES_KERNEL_TENSORS;
    bool runs_loaders = takes_tensors && !nature->replays_marks;
    bool keeps = manner->is_one_module && !nature->is_untrusted; /* those of modules that get nothing */
    if (runs_loaders && !keeps)
        promise->has_marks = manner->is_complete && !manner->is_empty && !nature->is_untrusted;
    bool leaves = nature->leaves_marks || (manner->is_stopped && nature->is_untrusted); /* the fill never came */
    leaves = leaves && !cs_backend_keeps_layout(cs_fuzz_backend_of(promise->plan));
    bool waits = !fills_all(promise, step) && promise->has_foreign_marks;
    if (takes_tensors && !manner->is_empty) promise->has_foreign_marks = leaves || waits;
}

/* ---- loads that were stopped ---- */

/* What a stopped load leaves stays until the driver that left it, or one of its kind, ends a load; another driver finds
 * meta tensors, or views in the checkpoint's layout, and the server is past repair: there is no rollback. */
static enum cs_residue residue_after(const struct cs_promise *promise, const struct step *step) {
    static const enum cs_residue lost = CS_RESIDUE_LOST;
    const struct cs_driver_nature *nature = step->nature;
    bool is_stopped = step->manner->is_stopped;
    enum cs_residue kind = nature->keeps_calls   ? CS_RESIDUE_CALLS
                           : nature->hosts_views ? CS_RESIDUE_VIEWS
                                                 : CS_RESIDUE_NONE;
    /* a sleep keeps the buffers that are registered, and those are on meta: the kernel's, which wait aside, are lost */
    if (promise->residue == CS_RESIDUE_CALLS && step->manner->sleeps) return lost;
    /* scales that were loaded, and not taken, are there for a load that has none, or whose sleep discarded the others */
    if (is_stopped && kind != CS_RESIDUE_NONE && cs_fuzz_has_attention(promise->plan)) return lost;
    if (promise->residue == CS_RESIDUE_NONE) return is_stopped ? kind : CS_RESIDUE_NONE;
    if (promise->residue != kind || nature->is_untrusted) return lost;
    return is_stopped ? kind : CS_RESIDUE_NONE;
}

/* A retry reaches a cold start when every tensor of it is loaded anew: a direct load hosts again what it hosted; a
 * layerwise one replays the calls that were left first, and counts them (F5), unless that is repaired. */
static bool recovers(const struct cs_promise *promise, const struct step *step) {
    switch (promise->residue) {
    case CS_RESIDUE_NONE: return true;
    case CS_RESIDUE_CALLS: return step->nature->keeps_calls && promise->is_repaired && !step->manner->sleeps;
    case CS_RESIDUE_VIEWS: return step->nature->hosts_views;
    default: return false;
    }
}

/* ---- laws ---- */

/* The step before did the same, from a state that it left in order: the same bytes in the same places once more. */
static bool is_repetition(const struct cs_promise *promise, const struct step *step, size_t i) {
    if (i == 0 || !step->manner->is_same || step->shares_places) return false;
    struct step before = step_of(promise->plan, i - 1);
    const struct cs_manner *manner = before.manner;
    bool is_alike = before.driver == step->driver && before.loader == step->loader && manner->is_complete &&
                    !manner->is_empty && !manner->is_sparse && !manner->may_refuse && !manner->sleeps;
    return is_alike && (promise->holds || step->nature->is_untrusted);
}

static bool must_change_nothing(const struct cs_promise *promise, const struct step *step, size_t i) {
    bool has_weights = i > 0 || cs_fuzz_start_of(promise->plan)->takes != CS_TAKES_NOTHING; /* or nothing to look at */
    if (promise->residue != CS_RESIDUE_NONE || !has_weights) return false;
    if (step->nature->processes_all || step->manner->sleeps) return false;
    /* scales that a checkpoint does not have become 1, as in a cold start, whatever else of it is sent */
    if (cs_fuzz_has_attention(promise->plan) && step->sent == CS_FUZZ_WITHOUT_OPTIONAL) return false;
    return step->manner->is_empty || is_repetition(promise, step, i);
}

/* ---- a plan, step by step ---- */

void cs_promise_start(struct cs_promise *promise, const struct cs_fuzz_plan *plan) {
    const struct cs_driver *start = cs_fuzz_start_of(plan);
    *promise = (struct cs_promise){.plan = plan, .is_repaired = cs_fuzz_is_repaired(plan)};
    promise->holds = start->takes != CS_TAKES_NOTHING;
    promise->checkpoint = plan->start;
    promise->has_marks = cs_text_equal(start->name, "cold_start"); /* no other start runs loaders on memory (R2.5) */
}

/* Ranks meet in post-load, each for the layer that it has just completed. Where they have other tensors to wait for, and
 * layers are mixed on their way, those are not the same layers: real ranks would wait for ever, or mix them up. */
static bool ranks_may_miss(const struct cs_fuzz_plan *plan, const struct step *step) {
    const struct cs_fuzz_ranks *ranks = cs_fuzz_ranks_of(plan);
    const struct cs_sizes sizes = {
        .tp = ranks->tp, .ep = ranks->ep, .experts_redundant = cs_fuzz_layer_of(plan)->redundant};
    bool mixes_layers = step->manner->reorders && cs_fuzz_number_of(plan, CS_AXIS_layers) > 1;
    return mixes_layers && step->nature->keeps_calls && cs_backend_reduces(cs_fuzz_backend_of(plan), &sizes);
}

static bool may_refuse(const struct cs_promise *promise, const struct step *step) {
    const struct cs_driver_nature *nature = step->nature;
    const struct cs_manner *manner = step->manner;
    bool finds_no_slot =
        nature->keeps_calls && (step->shares_places || manner->repeats) && !promise->is_repaired; /* F4, F10, F11 */
    bool may_disagree = cs_fuzz_compares_scales(promise->plan);
    return promise->residue != CS_RESIDUE_NONE || promise->is_deformed || !manner->is_complete || manner->may_refuse ||
           may_disagree || nature->is_untrusted || nature->may_refuse || step->nature_has_no_layout || finds_no_slot ||
           lacks_late(promise->plan) || ranks_may_miss(promise->plan, step);
}

/* What the release does since post-load makes side tensors anew, elsewhere, and the config keeps temporaries (F9): without
 * those faults graphs go on reading where everything is, but after post-load that ran again on what it had made. */
static uint32_t rebuilt_by(const struct cs_driver_nature *nature) {
    const uint32_t moved = UINT32_C(1) << CS_COUNT_side_moved, graph = UINT32_C(1) << CS_COUNT_graph_differ;
    if (nature->is_untrusted) return UINT32_C(1) << CS_COUNT_side_extra;
    return UINT32_C(1) << CS_COUNT_side_extra | moved | (nature->channels & moved ? graph : 0);
}

/* Graphs of a server in order read what is there. Those of one whose load was stopped, or whose parameters an untrusted
 * load deformed, read temporaries, and the next load puts its results where they were before. */
static void follow_capture(struct cs_promise *promise) {
    const uint32_t graph = UINT32_C(1) << CS_COUNT_graph_differ;
    bool is_in_order = promise->residue == CS_RESIDUE_NONE && !promise->is_deformed;
    promise->always_excused = is_in_order ? promise->always_excused & ~graph : promise->always_excused | graph;
}

void cs_promise_step(struct cs_promise *promise, size_t i) {
    struct step step = step_of(promise->plan, i);
    bool does_nothing = step.manner->is_empty && !step.nature->processes_all;
    bool held = promise->holds && !step.manner->sleeps; /* a sleep discards pages */
    uint32_t natural = step.nature->channels;
    if (promise->is_repaired) natural &= ~rebuilt_by(step.nature);
    promise->may_refuse = may_refuse(promise, &step);
    promise->is_unchanged = must_change_nothing(promise, &step, i);
    if (step.manner->captures) follow_capture(promise);
    promise->always_excused |= natural;
    /* copies that a layerwise load left in the quant config (F9) are not written by loaders: the old values stay there */
    bool has_orphans = promise->always_excused >> CS_COUNT_side_extra & 1;
    if (step.nature->needs_no_post_load && has_orphans)
        promise->always_excused |= UINT32_C(1) << CS_COUNT_side_differ | UINT32_C(1) << CS_COUNT_graph_differ;
    promise->excused = promise->always_excused | step.manner->channels | step.nature->channels_once;
    promise->has_lost_buffers |= overwrites_buffers(promise, &step);
    bool is_right = step.manner->is_complete && recovers(promise, &step) && !is_known_to_lose(promise, &step, held);
    promise->holds = does_nothing ? held && promise->residue == CS_RESIDUE_NONE : is_right && !step.manner->is_empty;
    promise->residue = residue_after(promise, &step);
    promise->is_deformed |= step.nature->is_untrusted && !does_nothing && !is_trusted(promise, &step, held);
    if (step.manner->is_complete && !step.manner->is_empty) promise->checkpoint = step.sent;
    follow_marks(promise, &step);
    promise->is_judged = promise->holds && step.manner->is_complete;
}
