/* The declared part of the loader-path model: values that no registry has, and rules for cells. The first rule whose
 * conditions all hold decides about a path; a path without one is valid.
 *
 * Conditions, side by side: AXIS=VALUE|VALUE…, AXIS!=VALUE|VALUE…, or a word of sim/coverage/model.c that asks a
 * registry. `*` in a value matches any run of characters. */
#ifndef CS_COVERAGE_MODEL_H
#define CS_COVERAGE_MODEL_H

/* clang-format off */

/* What the server held before the load. */
#define CS_COVERAGE_BEFORE(X)                                                                                          \
    X("nothing")     /* a start */                                                                                     \
    X("cold")        /* what a cold start left: kernel format, addresses in graphs */                                  \
    X("meta")        /* a server built on the meta device */                                                           \
    X("dummy")       /* random numbers instead of a checkpoint */                                                      \
    X("reloaded")    /* what a complete reload left */                                                                 \
    X("partial")     /* a reload of which tensors were missing, or that was stopped */                                              \
    X("waiting")     /* a layerwise one that was stopped: modules are on meta until the rest comes */                  \
    X("woken")       /* memory that was given back in between */

/* Ranks, and how weights are split over them. */
#define CS_COVERAGE_SHARDING(X) X("tp1") X("tp2") X("tp3+") X("ep2") X("ep3+")

/* How checkpoint tensors come; a load that is several of these counts as the last of them. */
#define CS_COVERAGE_ARRIVAL(X)                                                                                         \
    X("in_order") X("reversed") X("shuffled") X("buckets") X("pieces") X("other_loader") X("unknown")    \
    X("duplicated") X("partial") X("stopped")

/*    state     conditions                                             reason */
#define CS_COVERAGE_RULES(X)                                                                                           \
    X(IGNORED, "no_such_device",                                       "no run on such a device was given: join one of a machine that has it") \
    X(ILLEGAL, "other_backend",                                        "the method has no such back end")              \
    X(ILLEGAL, "other_loader",                                         "the loader does not load this method")         \
    X(IGNORED, "no_post_load",                                         "its post-load is not implemented")             \
    X(IGNORED, "method=fp8_tensor_ct backend=flashinfer*",             "activation scales are compared with what a live slot holds, and on meta there is none: its reloads fail, as released (F12)") \
    X(IGNORED, "method=fp8_tensor_modelopt before=partial|reloaded",   "activation scales are counted once too often, so that a layer is processed before its last tensor: its reload fails, as released, and leaves no such state") \
    X(IGNORED, "method=fp8_tensor backend=flashinfer* before=partial|reloaded", "activation scales are counted once too often, so that a layer is processed before its last tensor: its reload fails, as released, and leaves no such state") \
    X(ILLEGAL, "start before!=nothing",                                "a scenario has one server, which starts first") \
    X(ILLEGAL, "reload before=nothing",                                "a reload needs a running server")              \
    X(IGNORED, "loaderless loader!=none",                              "the driver runs no loader")                    \
    X(IGNORED, "with_loader loader=none",                              "the driver runs a loader")                     \
    X(ILLEGAL, "loaderless arrival=reversed|shuffled|buckets|pieces|other_loader|unknown|duplicated", "the driver takes no checkpoint tensors") \
    X(ILLEGAL, "per_bucket arrival!=buckets",                          "the driver does something after each bucket: there must be some") \
    X(IGNORED, "start arrival=other_loader",                           "the same as a scenario that names this loader")   \
    X(ILLEGAL, "start arrival!=in_order",                              "a start takes every tensor in the file's order")  \
    X(ILLEGAL, "driver=direct* before=meta",                           "there is no checkpoint layout to load into")      \
    X(ILLEGAL, "driver=direct* before=waiting",                        "parameters are on the meta device")               \
    X(IGNORED, "no_other_form arrival=other_loader",                   "no other loader of the method has tensors that could be sent so")      \
    X(ILLEGAL, "looks_names_up arrival=unknown",                       "the model is asked for a module of that name, and has none")

/* Where the engine may refuse a load, as the real one does: then a refusal hits as much as a load that ran to its end.
 * Elsewhere it hits nothing.
 *    conditions                                  reason */
#define CS_COVERAGE_REFUSALS(X)                                                                                        \
    X("driver=raw|raw_post_load*",                "loaders write into what post-load left: shapes may not fit, and what was quantised cannot be again") \
    X("driver=direct_unprocessed",                "it only compares, and refuses what has another address or layout")  \
    X("driver=load_plan",                         "some loaders cannot be planned: padding that they narrow, numbers that they compute") \
    X("driver=raw_post_load* before=waiting",     "post-load may read parameters that are on the meta device") \
    X("driver=kernel_format before=waiting",      "parameters have the checkpoint's shapes on the meta device, and kernel tensors do not fit") \
    X("driver=layerwise before=waiting",          "calls that waited are still counted: modules are processed before their last tensor, which then does not fit") \
    X("driver=layerwise arrival=duplicated",      "what is sent twice counts twice: modules are processed before their last tensor, which then does not fit") \
    X("driver=layerwise method=fp8_tensor_modelopt", "activation scales are counted once too often, so that a layer is processed before its last tensor") \
    X("driver=layerwise method=fp8_tensor backend=flashinfer*", "activation scales are counted once too often, so that a layer is processed before its last tensor")

/* Operations that can never come later than another, whatever comes between. first, later, reason */
#define CS_COVERAGE_ORDER_RULES(X)                                                                                     \
    X("meta_build", "direct*",                    "weights arrived already processed: there is never a checkpoint layout to load into")

/* The method whose kernels read the checkpoint's layout: there any operation may follow any other. */
#define CS_COVERAGE_ORDERS_WAY "method=unquantized,backend=triton,sharding=tp1,policy=none,device=ref"

/* Least percentage of valid cells that must be hit: of pairs of axes, of triples. */
#define CS_COVERAGE_LEAST_PAIRS   100.0
#define CS_COVERAGE_LEAST_TRIPLES 95.0
/* clang-format on */

#endif
