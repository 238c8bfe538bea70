/* The letters of the alphabet: every reload driver in every manner. */
#include <stdio.h>
#include <string.h>

#include "sim/fuzz/internal.h"

static enum cs_status shuffle(struct cs_op *op, const struct cs_fuzz_plan *plan, struct cs_arena *arena) {
    (void)plan, (void)arena;
    op->is_shuffled = true;
    return CS_OK;
}

/* A loader that does not load the method when there is no other: that must be refused. */
static enum cs_status take_other_loader(struct cs_op *op, const struct cs_fuzz_plan *plan, struct cs_arena *arena) {
    (void)arena;
    op->loader = cs_fuzz_other_loader(plan);
    if (!op->loader) op->loader = cs_loader_toy.name;
    return CS_OK;
}

static enum cs_status omit(struct cs_op *op, const char *pattern, struct cs_arena *arena) {
    const char **patterns = CS_NEW_ARRAY(arena, const char *, 1);
    CS_REQUIRE(patterns && pattern, CS_NO_MEMORY, "out of memory for a pattern");
    patterns[0] = pattern;
    op->omitted = patterns;
    op->n_omitted = 1;
    return CS_OK;
}

/* The loader's last tensor of every layer and expert: "*.down_proj.weight". */
static enum cs_status omit_last(struct cs_op *op, const struct cs_fuzz_plan *plan, struct cs_arena *arena) {
    const struct cs_loader *loader = cs_fuzz_loader_of(plan);
    const char *tensor = loader->rows[0].tensor, *end = strchr(tensor, '}');
    for (size_t i = 1; i < loader->n_rows; i++)
        if (!loader->rows[i].when) tensor = loader->rows[i].tensor, end = strchr(tensor, '}');
    return omit(op, cs_arena_format(arena, "*.%s", end ? end + 2 : tensor), arena);
}

static enum cs_status omit_all(struct cs_op *op, const struct cs_fuzz_plan *plan, struct cs_arena *arena) {
    (void)plan;
    return omit(op, "*", arena);
}

static enum cs_status reverse(struct cs_op *op, const struct cs_fuzz_plan *plan, struct cs_arena *arena) {
    (void)plan, (void)arena;
    op->is_reversed = true;
    return CS_OK;
}

static enum cs_status use_buckets(struct cs_op *op, const struct cs_fuzz_plan *plan, struct cs_arena *arena) {
    (void)plan, (void)arena;
    op->bucket_tensors = 3;
    return CS_OK;
}

static enum cs_status send_unknown(struct cs_op *op, const struct cs_fuzz_plan *plan, struct cs_arena *arena) {
    static const char *const names[] = {"model.layers.0.mlp.extra.weight"};
    (void)plan, (void)arena;
    op->unknown = names;
    op->n_unknown = CS_COUNT(names);
    op->unknown_at = 1;
    return CS_OK;
}

static enum cs_status send_twice(struct cs_op *op, const struct cs_fuzz_plan *plan, struct cs_arena *arena) {
    CS_TRY(omit_last(op, plan, arena)); /* its pattern, for another use */
    op->duplicated = op->omitted;
    op->n_duplicated = op->n_omitted;
    op->omitted = NULL;
    op->n_omitted = 0;
    return CS_OK;
}

static enum cs_status stop_early(struct cs_op *op, const struct cs_fuzz_plan *plan, struct cs_arena *arena) {
    (void)plan, (void)arena;
    op->is_stopped = true;
    op->stop_after = 2;
    return CS_OK;
}

/* Checkpoint tensors and kernel tensors have the module's name. */
static enum cs_status send_first_experts(struct cs_op *op, const struct cs_fuzz_plan *plan, struct cs_arena *arena) {
    static const char *const patterns[] = {"*layers.0.mlp.experts*"};
    (void)plan, (void)arena;
    op->has_only = true;
    op->only = patterns;
    op->n_only = CS_COUNT(patterns);
    return CS_OK;
}

/* Of every tensor, those without a difference too: NaN and nothing else. */
static enum cs_status send_patch(struct cs_op *op, const struct cs_fuzz_plan *plan, struct cs_arena *arena) {
    static const char *const all[] = {"*"};
    (void)plan, (void)arena;
    op->has_only = op->is_patch = true;
    op->only = all;
    op->n_only = CS_COUNT(all);
    return CS_OK;
}

#define CHANNEL(name) (UINT32_C(1) << CS_COUNT_##name)

/* clang-format off */
const struct cs_manner cs_manners[] = {
    {.name = "whole",        .text = "every tensor, as the file has them", .is_complete = true},
    {.name = "shuffled",     .text = "every tensor, in another order", .is_complete = true, .needs_tensors = true, .reorders = true, .apply = shuffle},
    {.name = "same",         .text = "the same bytes again: nothing may change", .is_complete = true, .is_same = true},
    {.name = "other_loader", .text = "every tensor, in the form of another loader of the method", .is_complete = true,
     .needs_tensors = true, .needs_other_loader = true, .apply = take_other_loader},
    {.name = "partial",      .text = "one of the loader's tensors is left out", .channels = CHANNEL(missing), .apply = omit_last},
    {.name = "reversed",     .text = "every tensor, last one first", .is_complete = true, .needs_tensors = true, .reorders = true, .apply = reverse},
    {.name = "buckets",      .text = "every tensor, three at a time", .is_complete = true, .needs_tensors = true, .apply = use_buckets},
    {.name = "slept",        .text = "every tensor, after a sleep that discarded all pages", .is_complete = true, .sleeps = true},
    {.name = "unknown",      .text = "every tensor, and one that the model does not know", .is_complete = true, .needs_tensors = true, .may_refuse = true,
     .channels = CHANNEL(excess), .apply = send_unknown},
    {.name = "twice",        .text = "one of the loader's tensors is sent twice", .is_complete = true, .needs_tensors = true, .repeats = true, .channels = CHANNEL(duplicate) | CHANNEL(excess), .apply = send_twice},
    {.name = "stopped",      .text = "after two tensors the sender is gone", .is_stopped = true, .channels = CHANNEL(missing), .apply = stop_early},
    {.name = "nothing",      .text = "begun and finished, and nothing is sent: nothing may change", .is_complete = true, .is_same = true,
     .is_empty = true, .channels = CHANNEL(missing), .apply = omit_all},
    {.name = "delta",        .text = "of a checkpoint that differs in one element, the module that has it and no other", .is_complete = true,
     .is_sparse = true, .is_one_module = true, .channels = CHANNEL(missing), .apply = send_first_experts},
    {.name = "patch",        .text = "of a checkpoint that differs in one element, that element: NaN where nothing changed", .is_complete = true,
     .is_sparse = true, .needs_tensors = true, .needs_raw = true, .apply = send_patch},
    {.name = "captured",     .text = "every tensor, after graphs were captured anew", .is_complete = true, .captures = true},
};
/* clang-format on */
const size_t cs_n_manners = CS_COUNT(cs_manners);

static enum cs_status replay_records(struct cs_op *op) {
    op->replays_records = true; /* or nothing refills padding: no loader runs (R4.11) */
    return CS_OK;
}

static enum cs_status use_some_buckets(struct cs_op *op) {
    op->bucket_tensors = 4; /* it does something after each */
    return CS_OK;
}

/* clang-format off */
static const struct cs_driver_nature natures[] = {
    {.driver = "kernel_format",           .channels = CHANNEL(side_differ) | CHANNEL(graph_differ)}, /* parameters only; graphs read what post-load derived, too */
    {.driver = "layerwise",               .channels = CHANNEL(side_moved) | CHANNEL(graph_differ) | CHANNEL(side_extra), .keeps_calls = true},
    {.driver = "load_plan",               .channels = CHANNEL(side_moved) | CHANNEL(graph_differ) | CHANNEL(side_extra), .may_refuse = true, .keeps_calls = true, .replays_marks = true, .apply = replay_records},
    {.driver = "direct",                  .channels = CHANNEL(side_moved) | CHANNEL(graph_differ), .hosts_views = true},
    {.driver = "direct_unprocessed",      .is_untrusted = true, .needs_no_post_load = true, .leaves_marks = true, .hosts_views = true}, /* right only where the kernel's layout is the checkpoint's */
    {.driver = "raw",                     .is_untrusted = true, .needs_no_post_load = true, .leaves_marks = true}, /* the same */
    {.driver = "raw_post_load",           .channels = CHANNEL(side_moved) | CHANNEL(graph_differ) | CHANNEL(params_moved), .is_untrusted = true, .processes_all = true, .repaired_as = "direct"}, /* F24 */
    {.driver = "raw_post_load_per_bucket", .channels = CHANNEL(side_moved) | CHANNEL(graph_differ) | CHANNEL(params_moved), .is_untrusted = true, .processes_all = true, .apply = use_some_buckets},
};
/* clang-format on */

const struct cs_driver_nature *cs_driver_nature(const struct cs_driver *driver) {
    static const struct cs_driver_nature strict = {0};
    for (size_t i = 0; i < CS_COUNT(natures); i++)
        if (cs_text_equal(natures[i].driver, driver->name)) return &natures[i];
    return &strict;
}

enum { MOST_DRIVERS = 64 };

static size_t reload_drivers(const struct cs_driver *const **drivers) {
    static _Thread_local const struct cs_driver *listed[MOST_DRIVERS];
    static _Thread_local size_t n;
    if (!n)
        for (size_t i = 0; i < cs_n_drivers && n < MOST_DRIVERS; i++)
            if (!cs_drivers[i]->is_start) listed[n++] = cs_drivers[i];
    *drivers = listed;
    return n;
}

size_t cs_n_letters(void) {
    const struct cs_driver *const *drivers;
    return reload_drivers(&drivers) * cs_n_manners;
}

const struct cs_driver *cs_letter_driver(size_t letter) {
    const struct cs_driver *const *drivers;
    reload_drivers(&drivers);
    return drivers[letter / cs_n_manners];
}

const struct cs_manner *cs_letter_manner(size_t letter) { return &cs_manners[letter % cs_n_manners]; }

char *cs_letter_text(size_t letter, char *buffer) {
    bool is_plain = letter % cs_n_manners == 0;
    snprintf(buffer, CS_STEP_TEXT, "%s%s%s", cs_letter_driver(letter)->name, is_plain ? "" : ".",
             is_plain ? "" : cs_letter_manner(letter)->name);
    return buffer;
}

static bool is_per_expert(const struct cs_loader *loader) {
    return loader->n_rows && strncmp(loader->rows[0].tensor, "{expert}.", 9) == 0;
}

/* A trainer may stream the experts of combined tensors one by one; the other way round nobody does. */
const char *cs_fuzz_other_loader(const struct cs_fuzz_plan *plan) {
    const struct cs_loader *form = cs_fuzz_loader_of(plan);
    if (is_per_expert(form)) return NULL;
    for (const char *const *name = cs_fuzz_method_of(plan)->loaders; *name; name++) {
        const struct cs_loader *other = cs_loader_by_name(*name);
        bool fits = other && other != form && is_per_expert(other) && other->n_rows == form->n_rows &&
                    other->is_transposed == form->is_transposed && cs_session_takes_form(other, form);
        if (fits) return *name;
    }
    return NULL;
}

int cs_fuzz_sent(const struct cs_fuzz_plan *plan, size_t step) {
    while (step < plan->n_steps && cs_letter_manner(plan->step[step].letter)->is_same && step > 0) step--;
    return cs_letter_manner(plan->step[step].letter)->is_same ? plan->start : plan->step[step].checkpoint;
}
