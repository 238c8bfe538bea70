/* Mutants that no plan can see, and why. A campaign that is silent says nothing about these faults: scenarios do. */
#include "sim/fuzz/fuzz.h"

#define SAME "the start does what every load does: only another engine, or a captured result, tells"
#define COUNTS "every byte is right: only counts of fills, or of buffered bytes, tell, and plans expect none"
#define MARKS "all loads of a server mark the same padding, so that old records are as good as new ones"
#define PATCH "sparse patches are judged where post-load changes nothing, and integers cannot be patched: no layer with such scales is left"
#define PLAIN "no module of a plan has a padded tensor that is not registered, or with a padding value of its own"

static const struct {
    enum cs_defect defect;
    const char *reason;
} blind[] = {
    {CS_DEFECT_ABSENT_BIASES_COUNT, COUNTS},
    {CS_DEFECT_BIAS_ON_EVERY_RANK, SAME},
    {CS_DEFECT_BLOCK_LOADER_FILLS, PATCH},
    {CS_DEFECT_FILL_ONLINE_AGAIN, SAME},
    {CS_DEFECT_FILL_TWICE, SAME},
    {CS_DEFECT_FORGETS_PARAMETERS, SAME},
    {CS_DEFECT_GATE_UP_SWAPPED, SAME},
    {CS_DEFECT_LAYOUT_UNCHECKED, "only after a raw load, whose marks are of the kernel's layout, and nothing is expected of the next fill then"},
    {CS_DEFECT_MAPS_RESET, "a map that is built anew is put back as the buffer that it was"},
    {CS_DEFECT_MARK_OF_ONE_EXPERT, COUNTS},
    {CS_DEFECT_META_MARKED, MARKS},
    {CS_DEFECT_OVERLAP_NOT_CLONED, "no post-load of a back end leaves a result half over the place where it belongs"},
    {CS_DEFECT_PARTIAL_BLOCK_SCALE_LOST, SAME},
    {CS_DEFECT_PATCH_WRITES_NUMBERS, PATCH},
    {CS_DEFECT_PENDING_CALLS_SURVIVE, "where each call counts once, those of the stopped load are replayed and then written over"},
    {CS_DEFECT_PLAIN_MARKED, PLAIN},
    {CS_DEFECT_RECORDS_KEPT, MARKS},
    {CS_DEFECT_SHARD_OF_RANK_0, SAME},
    {CS_DEFECT_SHARED_STORAGE_HOSTED, "tied parameters get the same bytes under either name"},
    {CS_DEFECT_STARTS_AT_PADDED_SIZE, SAME},
    {CS_DEFECT_UNMARKED_KEPT, MARKS},
    {CS_DEFECT_UNSENT_IS_UNDEFINED, "nothing is expected of a module that got some of its tensors"},
    {CS_DEFECT_VALUE_ALWAYS_ZERO, SAME},
    {CS_DEFECT_VALUE_FROM_NAME, SAME},
    {CS_DEFECT_VALUE_NOT_EXPLICIT, PLAIN},
    {CS_DEFECT_VALUE_OF_INTEGER_ONES, SAME},
    {CS_DEFECT_VIEW_OFFSET_LOST, SAME},
    {CS_DEFECT_WARNING_LOST, PLAIN},
};

const char *cs_fuzz_blind_reason(enum cs_defect defect) {
    for (size_t i = 0; i < CS_COUNT(blind); i++)
        if (blind[i].defect == defect) return blind[i].reason;
    return NULL;
}
