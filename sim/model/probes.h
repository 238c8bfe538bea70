/* Probes: places of loading that coverage must have seen, by name. A log counts how often they were passed, for whoever
 * gives it counters; without them a probe is one comparison. */
#ifndef CS_LOAD_PROBES_H
#define CS_LOAD_PROBES_H

#include <stddef.h>
#include <stdint.h>

/* clang-format off */
#define CS_LOAD_PROBES(X)                                                                                                   \
    X(bucket_received,          "a bucket of checkpoint tensors arrived")                                              \
    X(buffer_not_copied_back,   "layerwise: a buffer that nobody loaded, or that is gone, keeps its old bytes")        \
    X(call_bypasses_counter,    "layerwise: a loader copies without its parameter's weight loader")                    \
    X(call_buffered,            "layerwise: a loader call waits for its module to be complete")                        \
    X(call_late,                "layerwise: a tensor arrives after its module was processed, and is written raw")      \
    X(call_lost,                "layerwise: the same, into a parameter looked up before: nothing is written")          \
    X(call_to_live_tensor,      "layerwise: a tensor that is never put on meta is written at once")                    \
    X(copied_back,              "layerwise: a result goes where graphs look for it")                                   \
    X(expert_elsewhere,         "an expert of another rank")                                                           \
    X(fill_of_nothing,          "post-load is about to run, and the policy has nothing to fill")                       \
    X(fill_of_padding,          "recorded padding is written right before post-load")                                  \
    X(fill_skips_parameter,     "a recorded parameter is gone or changed its layout: its padding is not filled")       \
    X(hosted_cloned,            "direct: a result lies in another tensor's place, and is cloned first")                \
    X(hosted_elsewhere,         "direct: live bytes cannot carry the checkpoint layout, new memory does")              \
    X(hosted_in_place,          "direct: loaders write into the live bytes")                                           \
    X(hosted_kept,              "direct: a result is where it was")                                                    \
    X(hosted_put_back,          "direct: a result is copied to where it was")                                          \
    X(hosted_scratch,           "direct: a parameter that post-load dropped gets its name back")                       \
    X(kernel_tensor_taken,      "kernel format: a finished tensor is copied by name")                                  \
    X(layer_complete_early,     "layerwise: a module is complete, and processed, while loading")                       \
    X(layer_complete_late,      "layerwise: a module is processed at the end of the load")                             \
    X(layer_interrupted,        "layerwise: a reload begins while a module still waits for the one before")            \
    X(layer_left,               "layerwise: nothing, or not all, came for a module: its old values stay")              \
    X(narrowed,                 "a loader narrows padding away, and tells the policy")                                 \
    X(narrowed_in_view,         "the same, by a loader that knows only a view of the parameter")                       \
    X(narrowed_plain_tensor,    "the same, of a tensor that is no parameter")                                          \
    X(plan_replayed,            "load plan: recorded copies are replayed")                                             \
    X(plan_revives_records,     "load plan: the padding records of the load before are replayed")                      \
    X(post_load,                "a module is processed: fill, then post-load")                                         \
    X(raw_write,                "raw: a loader writes into what post-load left")                                       \
    X(rematerialised,           "memory for a tensor that has none: it holds anything")                                \
    X(slept_1,                  "sleep, level 1: every byte comes back")                                               \
    X(slept_2,                  "sleep, level 2: only buffers come back")                                              \
    X(zeroed_by_policy,         "a rematerialised tensor is zero-filled")
/* clang-format on */

enum cs_load_probe {
#define X(name, text) CS_LOAD_PROBE_##name,
    CS_LOAD_PROBES(X)
#undef X
        CS_N_LOAD_PROBES
};

#endif
