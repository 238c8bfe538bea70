/* The defects, sorted by name. Inside sim/mutant; who needs them includes the door.
 *
 *    id, name, state, class of failure, public report or F-number, channel that should see it, what is wrong */
#ifndef CS_MUTANT_ROWS_H
#define CS_MUTANT_ROWS_H

/* clang-format off */
#define CS_DEFECTS(X) \
    X(ABSENT_BIASES_COUNT, "absent_biases_count", STANDING, "P11", "F25", "memory", "biases that a checkpoint does not have are created and counted: their layers wait for the end") \
    X(BARE_COPIES_LOST, "bare_copies_lost", STANDING, "L10", "F13; vllm#57795; vllm#57806; ascend#16958", "bytes", "a copy that bypasses the wrapped loader writes to the meta tensor and is lost") \
    X(BIAS_ON_EVERY_RANK, "bias_on_every_rank", OFF, "T", "", "reference", "row-parallel bias: every rank adds it, not rank 0 alone") \
    X(BLOCK_LOADER_FILLS, "block_loader_fills", OFF, "P6", "F21", "excuse", "the block-aligned FP8 loader fills what it will not write (R4.12)") \
    X(BUCKETS_SHARE_MEMORY, "buckets_share_memory", OFF, "L11", "nemo-rl#3545; vllm#52361", "bytes", "each bucket overwrites the one before, whoever still reads it") \
    X(BUFFERS_OVERWRITTEN, "buffers_overwritten", OFF, "R1", "vllm#44371", "bytes", "a buffer that nobody loads is overwritten with garbage") \
    X(CACHE_KEY_OF_HEADERS, "cache_key_of_headers", OFF, "C", "F22", "bytes", "the weight cache hashes headers: two checkpoints with equal ones share their weights") \
    X(CACHED_CHECKPOINT, "cached_checkpoint", OFF, "X", "vllm#32718", "bytes", "a reload reads the checkpoint that the server was started with") \
    X(COLUMNS_UNMARKED, "columns_unmarked", OFF, "P7", "", "bytes", "loaders record the rows that they narrow away, and no columns") \
    X(COMBINED_TAKES_NO_PADDING, "combined_takes_no_padding", STANDING, "P9", "F14", "refusal", "combined loaders copy whole tensors: a padded parameter cannot be loaded") \
    X(CONSTANT_NOT_REMADE, "constant_not_remade", OFF, "S1", "", "side_missing", "a reload builds the experts object without its constants") \
    X(CONSTANT_NOT_WRITTEN, "constant_not_written", OFF, "V1", "", "side_differ", "a reload allocates the constants of the experts object and writes nothing into them") \
    X(CONVERSION_LATCHED, "conversion_latched", OFF, "V6", "sglang#30761", "refusal", "a flag says that a parameter is converted already: the reload's cast is left out") \
    X(COPY_BACK_SKIPPED, "copy_back_skipped", OFF, "L10", "", "bytes", "a reload leaves its results where it made them, and puts the old tensors back") \
    X(COUNT_OF_SOURCE, "count_of_source", OFF, "L8", "vllm#30900", "bytes", "the whole checkpoint tensor is counted, not the shard that was copied") \
    X(COUNTED_TWICE, "counted_twice", OFF, "L6", "vllm#44814; prime-rl#2714; F10", "bytes", "a loader's copy is counted twice: the layer is processed before it is complete") \
    X(DIMENSIONS_CONFUSED, "dimensions_confused", OFF, "P7", "", "bytes", "where one dimension is narrowed, the padding is recorded along the other") \
    X(DUPLICATES_COUNT, "duplicates_count", STANDING, "L7", "F4; vllm#48312", "bytes", "a tensor that comes twice counts twice: the layer is processed before it is complete") \
    X(EXPERTS_BY_QUOTIENT, "experts_by_quotient", OFF, "T", "F26", "refusal", "combined gpt-oss loaders hand every rank the same number of experts: ranks that have more refuse, or copy one to all") \
    X(EXPERTS_OF_RANK_0, "experts_of_rank_0", OFF, "T", "vllm#27025; vllm#28715; vllm#46441; vllm#51130", "undetermined", "start and end of a rank's experts are mixed up: ranks other than 0 load none") \
    X(FILL_AFTER_POST_LOAD, "fill_after_post_load", OFF, "P6", "", "bytes", "padding is filled after post-load, in the layout that it had before") \
    X(FILL_ONLINE_AGAIN, "fill_online_again", OFF, "P6", "", "values", "a module that was processed while loading is filled again at the end") \
    X(FILL_TWICE, "fill_twice", OFF, "P6", "", "values", "padding is filled once more after post-load") \
    X(FIRST_REGION_ONLY, "first_region_only", OFF, "P7", "", "bytes", "only the first region of a parameter's padding is filled") \
    X(FORGETS_PARAMETERS, "forgets_parameters", OFF, "R8", "", "reference", "post-load drops parameters that it renames, that no kernel reads or that shrink") \
    X(FUSED_EXPERT_IDS, "fused_expert_ids", OFF, "T", "F15", "undetermined", "fused 3-D checkpoints, and gpt-oss expert by expert, leave redundant experts unwritten") \
    X(GATE_UP_SWAPPED, "gate_up_swapped", OFF, "L1", "vllm#42821; skyrl#1680", "reference", "gate and up change places") \
    X(GATED_END_PAD, "gated_end_pad", OFF, "P8", "vllm#48624; vllm#55649; sglang#30888", "reference", "gated halves are padded at the end of the pair, so that up begins too early") \
    X(KV_SCALES_KEPT, "kv_scales_kept", STANDING, "R6", "F8", "bytes", "a checkpoint without KV-cache scales leaves those of the one before, where a cold start has 1") \
    X(LAST_CALL_DROPPED, "last_call_dropped", OFF, "L6", "vllm#44814", "bytes", "the last buffered call of a layer is not replayed") \
    X(LAST_EXPERT_UNMARKED, "last_expert_unmarked", OFF, "P1", "", "bytes", "padding is recorded for every expert but the last") \
    X(LAST_MODULE_ENDS, "last_module_ends", OFF, "L5", "", "bytes", "a reload ends when the model's last module is complete: modules that come after it keep what they had") \
    X(LATE_CALLS_ARE_RAW, "late_calls_are_raw", STANDING, "L1", "F4", "bytes", "a call that comes after its layer was processed is written into kernel layout") \
    X(LATE_NOT_COUNTED, "late_not_counted", OFF, "L9", "vllm#39663", "bytes", "what a model registers while it loads is not counted: the layer is processed before it has come") \
    X(LAYOUT_UNCHECKED, "layout_unchecked", OFF, "P6", "", "bytes", "padding is filled although the parameter has another layout by now") \
    X(MAPS_RESET, "maps_reset", OFF, "R8", "dynamo#9854", "bytes", "expert maps and the like are rematerialised with the rest") \
    X(MARK_OF_ONE_EXPERT, "mark_of_one_expert", OFF, "P7", "", "fill", "a region is recorded again for each expert (R2.1)") \
    X(META_MARKED, "meta_marked", OFF, "P7", "", "bytes", "what the dry run narrows on the meta device is recorded too (R2.5)") \
    X(META_RECORDS_ZERO, "meta_records_zero", STANDING, "P3", "", "bytes", "a model built on the meta device records padding value 0 for everything") \
    X(META_RESTORE_DEVICE, "meta_restore_device", OFF, "R8", "F23", "refusal", "a model built on meta rematerialises on meta") \
    X(NAME_NOT_MAPPED, "name_not_mapped", OFF, "N", "vllm#42577; trl#6028; verl#6256; slime#1673", "excess", "the last tensor of a reload comes under a name that nobody knows") \
    X(NEW_OBJECTS_PLACED, "new_objects_placed", OFF, "S8", "ascend#13905; ROCm/vllm#849; sglang#5424", "address", "a reload leaves new parameters in place of those that graphs read") \
    X(NO_FILL, "no_fill", OFF, "P1", "vllm#50523", "bytes", "padding is recorded and never filled") \
    X(NO_HOSTING, "no_hosting", OFF, "L3", "nemo-rl#2959; verl#7978", "bytes", "a direct reload hands its loaders the parameter in kernel layout") \
    X(NO_POST_LOAD, "no_post_load", OFF, "L3", "", "bytes", "a reload runs no post-load") \
    X(OVER_COUNTED, "over_counted", STANDING, "L6", "F10; F11", "bytes", "elements that two calls write count twice: the layer is processed before it is complete") \
    X(OVERLAP_NOT_CLONED, "overlap_not_cloned", OFF, "S9", "", "bytes", "a result that overlaps its place is put back without a clone") \
    X(PADDING_NOT_CLEARED, "padding_not_cleared", OFF, "P2", "vllm#54699", "law", "post-load does not clear padding before it converts: only a fill keeps garbage out of the result") \
    X(PARTIAL_BLOCK_REFINED, "partial_block_refined", STANDING, "P9", "F20", "refusal", "a last block of scales that is not full becomes as many of the finer grid as a full one, which do not fit") \
    X(PARTIAL_BLOCK_REFUSED, "partial_block_refused", OFF, "P9", "vllm#39046; vllm#44763; vllm#54178; ROCm/ATOM#442", "refusal", "a rank's share that is not whole blocks of scales cannot be loaded") \
    X(PARTIAL_BLOCK_SCALE_LOST, "partial_block_scale_lost", STANDING, "P9", "F16; trtllm#6722", "reference", "weights are split by elements, scales by whole blocks: a rank's last scale is lost") \
    X(PATCH_WRITES_NUMBERS, "patch_writes_numbers", STANDING, "P6", "F21", "bytes", "a sparse patch does not know of numbers that are assigned by index: an empty one writes NaN") \
    X(PENDING_CALLS_SURVIVE, "pending_calls_survive", STANDING, "X", "F5", "bytes", "calls of an aborted reload are replayed before the next one's") \
    X(PERSISTENT_BUFFERS_OVERWRITTEN, "persistent_buffers_overwritten", STANDING, "R1", "F7", "bytes", "a persistent buffer that nobody loads is overwritten with garbage") \
    X(PLAIN_MARKED, "plain_marked", OFF, "P7", "", "values", "padding of a plain tensor is taken for the parameter's of the same name (R2.5)") \
    X(POST_LOAD_TWICE, "post_load_twice", OFF, "L4", "sglang#28963; vllm#48284", "bytes", "a reload runs post-load twice") \
    X(PUT_BACK_SKIPPED, "put_back_skipped", OFF, "S8", "", "address", "a direct reload leaves its results where post-load made them") \
    X(RAW_INTO_KERNEL_LAYOUT, "raw_into_kernel_layout", STANDING, "L1", "F24; nemo-rl#3296", "bytes", "loaders that run without a reload around them write the checkpoint's layout into the kernel's, before post-load") \
    X(RECORDS_KEPT, "records_kept", OFF, "P5", "", "bytes", "records of earlier loads stay beside those of the latest (R2.3)") \
    X(REPLICATED_IS_SHARDED, "replicated_is_sharded", OFF, "T", "vllm#48025", "refusal", "a parameter that every rank has whole is narrowed by the rank on the second load") \
    X(ROWS_UNMARKED, "rows_unmarked", OFF, "P7", "", "bytes", "loaders record the columns that they narrow away, and no rows") \
    X(SCALE_NOT_RELAID, "scale_not_relaid", OFF, "V4", "verl#7519", "bytes", "a reload leaves the scales in the layout of the checkpoint") \
    X(SCALES_MUST_AGREE, "scales_must_agree", STANDING, "L3", "F12", "refusal", "input scales of gate and up are compared while counting, where there is nothing to read") \
    X(SHARD_OF_RANK_0, "shard_of_rank_0", OFF, "T", "vllm-gguf-plugin#106", "reference", "every rank takes rank 0's shard") \
    X(SHARED_STORAGE_HOSTED, "shared_storage_hosted", OFF, "R2", "vllm#42481", "bytes", "a direct reload loads into storage that another parameter shares") \
    X(SIDE_TENSORS_REBUILT, "side_tensors_rebuilt", STANDING, "S2", "F9; vllm#50521; vllm#41670", "side_extra", "config objects go on holding the temporary parameters of a reload") \
    X(SIZES_UNCHECKED, "sizes_unchecked", OFF, "N", "F17; F19", "refusal", "a checkpoint of smaller experts is loaded all the same: into a smaller rectangle, or through a view that mixes its rows") \
    X(SOURCE_ZEROED, "source_zeroed", OFF, "L11", "F18", "source", "ranks other than 0 zero the caller's down_proj_bias") \
    X(STARTS_AT_PADDED_SIZE, "starts_at_padded_size", OFF, "P9", "vllm#43863", "reference", "the padded size of a rank is the stride between shards") \
    X(STREAMED_PADDED_SPLIT, "streamed_padded_split", OFF, "P5", "F3; vllm#52209", "bytes", "the streamed gpt-oss loader splits by the padded size") \
    X(TENSOR_NOT_SENT, "tensor_not_sent", OFF, "N", "vllm#45835", "missing", "the last tensor of a reload is not sent") \
    X(TENSOR_SENT_TWICE, "tensor_sent_twice", OFF, "L7", "vllm#48312", "duplicate", "the last tensor of a reload is sent twice") \
    X(TIE_BROKEN, "tie_broken", OFF, "R11", "vllm#42481; prime-rl#2706", "alias", "a reload gives the second name of a tied parameter an object of its own") \
    X(UNMARKED_KEPT, "unmarked_kept", OFF, "P5", "", "bytes", "a fill goes on with parameters that the latest load did not mark (R2.3)") \
    X(UNSENT_IS_UNDEFINED, "unsent_is_undefined", STANDING, "R5", "F6; vllm#45835", "bytes", "a module that gets some of its tensors has garbage in the others") \
    X(UNTOUCHED_PROCESSED, "untouched_processed", OFF, "R4", "vllm#48284", "bytes", "a module that gets nothing is processed all the same") \
    X(VALUE_ALWAYS_ZERO, "value_always_zero", OFF, "P3", "", "bytes", "padding is filled with 0 whatever the parameter was created with") \
    X(VALUE_FROM_NAME, "value_from_name", OFF, "P3", "", "values", "the padding value is guessed from the parameter's name") \
    X(VALUE_NOT_EXPLICIT, "value_not_explicit", OFF, "P3", "", "values", "an explicit padding_value is ignored") \
    X(VALUE_OF_INTEGER_ONES, "value_of_integer_ones", OFF, "P3", "", "values", "integer scales created as ones get 1 (R2.2)") \
    X(VALUE_OF_MEMORY, "value_of_memory", OFF, "P3", "", "undetermined", "the padding value of uninitialised storage is what it happens to hold (R2.2)") \
    X(VIEW_OFFSET_LOST, "view_offset_lost", OFF, "P7", "", "values", "padding of an expert slice is recorded as if it were the parameter's (R2.7)") \
    X(WAKE_FORGETS_BUFFERS, "wake_forgets_buffers", OFF, "W", "vllm#45619", "bytes", "buffers that sleep kept are not written back") \
    X(WARNING_LOST, "warning_lost", OFF, "P7", "", "warnings", "a padded write into an unregistered parameter is not reported (R2.5)")
/* clang-format on */

#endif
