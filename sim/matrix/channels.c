#include "sim/matrix/matrix.h"

#define COUNT(name) CS_SEEN_BIT(CS_COUNT_##name)

/* device_differ is not here: it compares devices, not engines, and needs two of them. gap_bytes informs. */
/* clang-format off */
const struct cs_channel cs_channels[] = {
    {"bytes",        "bytes, shape, stride or dtype of parameters and buffers", COUNT(params_differ)},
    {"values",       "elements that a toy's scenario spells out",               CS_SEEN_BIT(CS_SEEN_VALUES)},
    {"lucky",        "the same run over other garbage",                         COUNT(params_lucky)},
    {"address",      "addresses of parameters and buffers",                     COUNT(params_moved)},
    {"graph",        "replays of captured graphs, outputs poisoned first",       COUNT(graph_differ)},
    {"side_moved",   "addresses of side tensors",                               COUNT(side_moved)},
    {"side_extra",   "side tensors that are orphan copies",                     COUNT(side_extra)},
    {"side_missing", "side tensors that are gone",                              COUNT(side_missing)},
    {"side_differ",  "bytes of side tensors",                                   COUNT(side_differ)},
    {"alias",        "names that share a storage",                              COUNT(alias_differ)},
    {"missing",      "accounting: expected, not sent",                          COUNT(missing)},
    {"duplicate",    "accounting: consumed twice",                              COUNT(duplicate)},
    {"excess",       "accounting: no loader consumed it",                       COUNT(excess)},
    {"source",       "checkpoint tensors in the sender's memory",               COUNT(source_differ)},
    {"memory",       "bytes that buffered loader calls hold",                   COUNT(buffered_bytes)},
    {"fill",         "calls, regions and bytes of fills",                       COUNT(fill_calls) | COUNT(fill_regions) | COUNT(fill_bytes) | COUNT(fill_skipped)},
    {"law",          "what must not change anything: the same bytes again, padding",  COUNT(changed) | COUNT(padding_leaks)},
    {"warnings",     "padded writes that nobody could record",                  COUNT(warnings)},
    {"refusal",      "loads that fail, or should",                              CS_SEEN_BIT(CS_SEEN_REFUSAL)},
    {"excuse",       "differences that are declared and never come (R7)",       CS_SEEN_BIT(CS_SEEN_EXCUSE)},
    {"undetermined", "a cold start over other garbage",                         CS_SEEN_BIT(CS_SEEN_UNDETERMINED)},
    {"reference",    "a cold start without the mutant",                         CS_SEEN_BIT(CS_SEEN_REFERENCE)},
};
/* clang-format on */
const size_t cs_n_channels = CS_COUNT(cs_channels);
