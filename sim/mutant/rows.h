/* The defects, sorted by name. Inside sim/mutant; who needs them includes the door.
 *
 *    id, name, state, class of failure, public report or F-number, channel that should see it, what is wrong */
#ifndef CS_MUTANT_ROWS_H
#define CS_MUTANT_ROWS_H

/* clang-format off */
#define CS_DEFECTS(X) \
    X(BIAS_ON_EVERY_RANK, "bias_on_every_rank", OFF, "T", "", "reference", "row-parallel bias: every rank adds it, not rank 0 alone") \
    X(BLOCK_LOADER_FILLS, "block_loader_fills", OFF, "P6", "F21", "bytes", "the block-aligned FP8 loader fills what it will not write (R4.12)") \
    X(COLUMNS_UNMARKED, "columns_unmarked", OFF, "P7", "", "bytes", "loaders record the rows that they narrow away, and no columns") \
    X(CONSTANT_NOT_REMADE, "constant_not_remade", OFF, "S1", "", "side_missing", "a reload builds the experts object without its constants") \
    X(CONSTANT_NOT_WRITTEN, "constant_not_written", OFF, "V1", "", "side_differ", "a reload allocates the constants of the experts object and writes nothing into them") \
    X(CONVERSION_LATCHED, "conversion_latched", OFF, "V6", "sglang#30761", "refusal", "a flag says that a parameter is converted already: the reload's cast is left out") \
    X(COUNT_OF_SOURCE, "count_of_source", OFF, "L8", "vllm#30900", "bytes", "the whole checkpoint tensor is counted, not the shard that was copied") \
    X(COUNTED_TWICE, "counted_twice", OFF, "L6", "vllm#44814; prime-rl#2714; F10", "bytes", "a loader's copy is counted twice: the layer is processed before it is complete") \
    X(DIMENSIONS_CONFUSED, "dimensions_confused", OFF, "P7", "", "bytes", "where one dimension is narrowed, the padding is recorded along the other") \
    X(FILL_AFTER_POST_LOAD, "fill_after_post_load", OFF, "P6", "", "bytes", "padding is filled after post-load, in the layout that it had before") \
    X(FILL_TWICE, "fill_twice", OFF, "P6", "", "bytes", "padding is filled once more after post-load") \
    X(FIRST_REGION_ONLY, "first_region_only", OFF, "P7", "", "bytes", "only the first region of a parameter's padding is filled") \
    X(FUSED_EXPERT_IDS, "fused_expert_ids", OFF, "T", "F15", "undetermined", "fused 3-D checkpoints leave redundant experts unwritten") \
    X(GATE_UP_SWAPPED, "gate_up_swapped", OFF, "L1", "vllm#42821; skyrl#1680", "reference", "gate and up change places") \
    X(GATED_END_PAD, "gated_end_pad", OFF, "P8", "vllm#48624; vllm#55649; sglang#30888", "reference", "gated halves are padded at the end of the pair, so that up begins too early") \
    X(LAST_EXPERT_UNMARKED, "last_expert_unmarked", OFF, "P1", "", "bytes", "padding is recorded for every expert but the last") \
    X(LAYOUT_UNCHECKED, "layout_unchecked", OFF, "P6", "", "bytes", "padding is filled although the parameter has another layout by now") \
    X(MARK_OF_ONE_EXPERT, "mark_of_one_expert", OFF, "P7", "", "fill", "a region is recorded again for each expert (R2.1)") \
    X(META_MARKED, "meta_marked", OFF, "P7", "", "bytes", "what the dry run narrows on the meta device is recorded too (R2.5)") \
    X(META_RESTORE_DEVICE, "meta_restore_device", OFF, "R8", "F23", "refusal", "a model built on meta rematerialises on meta") \
    X(NO_FILL, "no_fill", OFF, "P1", "vllm#50523", "bytes", "padding is recorded and never filled") \
    X(NO_POST_LOAD, "no_post_load", OFF, "L3", "", "bytes", "a reload runs no post-load") \
    X(PLAIN_MARKED, "plain_marked", OFF, "P7", "", "bytes", "padding of a plain tensor is taken for the parameter's of the same name (R2.5)") \
    X(POST_LOAD_TWICE, "post_load_twice", OFF, "L4", "sglang#28963; vllm#48284", "bytes", "a reload runs post-load twice") \
    X(RECORDS_KEPT, "records_kept", OFF, "P5", "", "bytes", "records of earlier loads stay beside those of the latest (R2.3)") \
    X(ROWS_UNMARKED, "rows_unmarked", OFF, "P7", "", "bytes", "loaders record the columns that they narrow away, and no rows") \
    X(SCALE_NOT_RELAID, "scale_not_relaid", OFF, "V4", "verl#7519", "bytes", "a reload leaves the scales in the layout of the checkpoint") \
    X(SHARD_OF_RANK_0, "shard_of_rank_0", OFF, "T", "vllm-gguf-plugin#106", "reference", "every rank takes rank 0's shard") \
    X(SOURCE_ZEROED, "source_zeroed", OFF, "L11", "F18", "reference", "ranks other than 0 zero the caller's down_proj_bias") \
    X(STARTS_AT_PADDED_SIZE, "starts_at_padded_size", OFF, "P9", "vllm#43863", "reference", "the padded size of a rank is the stride between shards") \
    X(STREAMED_PADDED_SPLIT, "streamed_padded_split", OFF, "P5", "F3; vllm#52209", "reference", "the streamed gpt-oss loader splits by the padded size") \
    X(UNMARKED_KEPT, "unmarked_kept", OFF, "P5", "", "bytes", "a fill goes on with parameters that the latest load did not mark (R2.3)") \
    X(VALUE_ALWAYS_ZERO, "value_always_zero", OFF, "P3", "", "bytes", "padding is filled with 0 whatever the parameter was created with") \
    X(VALUE_FROM_NAME, "value_from_name", OFF, "P3", "", "values", "the padding value is guessed from the parameter's name") \
    X(VALUE_NOT_EXPLICIT, "value_not_explicit", OFF, "P3", "", "values", "an explicit padding_value is ignored") \
    X(VALUE_OF_INTEGER_ONES, "value_of_integer_ones", OFF, "P3", "", "values", "integer scales created as ones get 1 (R2.2)") \
    X(VALUE_OF_MEMORY, "value_of_memory", OFF, "P3", "", "undetermined", "the padding value of uninitialised storage is what it happens to hold (R2.2)") \
    X(VIEW_OFFSET_LOST, "view_offset_lost", OFF, "P7", "", "bytes", "padding of an expert slice is recorded as if it were the parameter's (R2.7)") \
    X(WARNING_LOST, "warning_lost", OFF, "P7", "", "warnings", "a padded write into an unregistered parameter is not reported (R2.5)")
/* clang-format on */

#endif
