---@meta
-- Made by "coldstart help lua --stubs": editors read it, coldstart does not.

---@alias cs.Backend "flashinfer_trtllm"|"emulation"|"aiter"|"aiter_bf16"|"aiter_triton"|"b12x"|"cpu"|"cutlass"|"deepgemm"|"flashinfer_cutlass"|"flashinfer_cutlass_mxfp8"|"flashinfer_moe_ep"|"humming"|"marlin"|"no_backend"|"triton"|"triton_blackwell"|"xpu"|"vllm_cutlass"|"triton_unfused"|"triton_unfused_blackwell"|"cutedsl"|"cutedsl_batched"|"flashinfer_b12x"
---@alias cs.Defect "absent_biases_count"|"bare_copies_lost"|"bias_on_every_rank"|"block_loader_fills"|"buckets_share_memory"|"buffers_overwritten"|"cache_key_of_headers"|"cached_checkpoint"|"columns_unmarked"|"combined_takes_no_padding"|"constant_not_remade"|"constant_not_written"|"conversion_latched"|"copy_back_skipped"|"count_of_source"|"counted_twice"|"dimensions_confused"|"duplicates_count"|"experts_by_quotient"|"experts_of_rank_0"|"fill_after_post_load"|"fill_online_again"|"fill_twice"|"first_region_only"|"forgets_parameters"|"fused_expert_ids"|"gate_up_swapped"|"gated_end_pad"|"kv_scales_kept"|"last_call_dropped"|"last_expert_unmarked"|"last_module_ends"|"late_calls_are_raw"|"late_not_counted"|"layout_unchecked"|"maps_reset"|"mark_of_one_expert"|"meta_marked"|"meta_records_zero"|"meta_restore_device"|"name_not_mapped"|"new_objects_placed"|"no_fill"|"no_hosting"|"no_post_load"|"over_counted"|"overlap_not_cloned"|"padding_not_cleared"|"partial_block_refined"|"partial_block_refused"|"partial_block_scale_lost"|"patch_writes_numbers"|"pending_calls_survive"|"persistent_buffers_overwritten"|"plain_marked"|"post_load_twice"|"put_back_skipped"|"raw_into_kernel_layout"|"records_kept"|"replicated_is_sharded"|"rows_unmarked"|"scale_not_relaid"|"scales_must_agree"|"shard_of_rank_0"|"shared_storage_hosted"|"side_tensors_rebuilt"|"sizes_unchecked"|"source_zeroed"|"starts_at_padded_size"|"streamed_padded_split"|"tensor_not_sent"|"tensor_sent_twice"|"tie_broken"|"unmarked_kept"|"unsent_is_undefined"|"untouched_processed"|"value_always_zero"|"value_from_name"|"value_not_explicit"|"value_of_integer_ones"|"value_of_memory"|"view_offset_lost"|"wake_forgets_buffers"|"warning_lost"
---@alias cs.Dtype "u8"|"i8"|"bool"|"e2m1"|"e4m3"|"e5m2"|"e8m0"|"i16"|"u16"|"bf16"|"f16"|"i32"|"u32"|"f32"|"i64"|"u64"|"f64"
---@alias cs.Layout "aiter_16x16"|"aiter_gu"|"awq_columns4"|"awq_columns8"|"awq_to_marlin4"|"awq_to_marlin8"|"blackwell_scale"|"blackwell_value"|"block_major_k"|"deinterleave"|"deinterleave_up_first"|"e8m0_gu"|"e8m0_rows"|"e8m0_shuffle"|"fp4_columns"|"gated_reorder"|"gated_shuffle32"|"gptq_to_marlin4"|"gptq_to_marlin8"|"hopper_scale"|"hopper_value"|"int4_signed"|"interleave64"|"interleave_last"|"interleave_up_first"|"marlin4"|"marlin4_a8"|"marlin8"|"marlin8_a8"|"marlin_e8m0_scale"|"marlin_zp4"|"marlin_zp8"|"marlin_zp_a8"|"mn_major_pack"|"p32"|"p64"|"pairs_shuffle32"|"shuffle16"|"shuffle32"|"sm90_fp4"|"sm90_fp4_fp8"|"sm90_int4"|"sm90_scale_fold"|"swap_gated_shuffle32"|"swap_halves"|"swap_pairs"|"swap_shuffle16"|"swizzle_128x4"|"transpose"|"utccp_rows"
---@alias cs.Loader "default"|"fused_3d"|"fused_3d_transposed"|"gpt_oss_bf16_combined"|"gpt_oss_bf16_streamed"|"gpt_oss_combined"|"gpt_oss_quark_fp8"|"gpt_oss_quark_mx"|"gpt_oss_quark_mx_combined"|"gpt_oss_streamed"|"llama4"|"per_expert"|"per_expert_awq"|"per_expert_ct_wna16"|"per_expert_fp8_block"|"per_expert_fp8_channel"|"per_expert_fp8_tensor"|"per_expert_fp8_tensor_ct"|"per_expert_gate_up"|"per_expert_gptq"|"per_expert_mxfp4"|"per_expert_mxfp4_ct"|"per_expert_mxfp8"|"per_expert_nvfp4_ct"|"per_expert_nvfp4_modelopt"|"per_expert_quark_fp8_block"|"per_expert_quark_fp8_channel"|"per_expert_quark_mx"|"toy"
---@alias cs.Method "awq"|"ct_wna16"|"fp8_block"|"fp8_channel"|"fp8_tensor"|"fp8_tensor_ct"|"fp8_tensor_modelopt"|"gpt_oss_mxfp4"|"gptq"|"mxfp4"|"mxfp4_ct"|"mxfp8_modelopt"|"nvfp4_ct"|"nvfp4_modelopt"|"online_fp8_block"|"online_fp8_channel"|"online_fp8_tensor"|"online_mxfp4"|"online_mxfp8"|"quark_fp8_block"|"quark_fp8_channel"|"quark_fp8_gpt_oss"|"quark_fp8_tensor"|"quark_mx"|"unquantized"
---@alias cs.Policy "none"|"zero_materialized"|"zero_in_loader"|"record_and_fill"
---@alias cs.ReloadDriver "direct"|"direct_unprocessed"|"kernel_format"|"layerwise"|"load_plan"|"raw"|"raw_post_load"|"raw_post_load_per_bucket"
---@alias cs.StartDriver "cold_start"|"dummy_start"|"meta_build"
---@alias cs.Table "awq_marlin"|"awq_marlin_pad"|"awq_of_rows"|"bf16_aiter"|"bf16_block_layout"|"bf16_block_layout_w13"|"bf16_block_layout_w2"|"bf16_flashinfer_cutlass"|"bf16_trtllm"|"bf16_trtllm_w13"|"bf16_trtllm_w2"|"bf16_zero_intermediate"|"block_scale"|"block_to_fnuz"|"cast_all"|"cast_from_e4m3"|"cast_from_e8m0"|"cast_to_e2m1"|"cast_to_e4m3"|"cast_to_e8m0"|"cutlass_strides"|"deep_gemm_scale"|"deep_gemm_token_fp4"|"deep_gemm_token_fp8"|"empty_biases"|"fp8_aiter"|"fp8_align"|"fp8_block_deepgemm"|"fp8_block_flashinfer_cutlass"|"fp8_block_trtllm"|"fp8_clamp_scales"|"fp8_marlin"|"fp8_marlin_spread"|"fp8_marlin_spread_blocks"|"fp8_tensor_align"|"fp8_tensor_flashinfer_cutlass"|"fp8_tensor_hold_inputs"|"fp8_tensor_inputs"|"fp8_tensor_retire_inputs"|"fp8_tensor_trtllm"|"gpt_oss_activation"|"gpt_oss_aiter_bf16"|"gpt_oss_cutlass_bf16"|"gpt_oss_cutlass_mxfp8"|"gpt_oss_triton_blackwell"|"gpt_oss_triton_hopper"|"gptq_marlin"|"gptq_marlin_and_zeros"|"gptq_marlin_scales"|"gptq_marlin_weights4"|"gptq_marlin_weights8"|"gptq_marlin_zeros"|"gptq_of_rows"|"gptq_of_rows_and_zeros"|"hold_biases"|"hold_qzeros"|"hold_zero_points"|"keep_unread_qzeros"|"marlin_biases"|"marlin_e8m0"|"marlin_e8m0_e4m3"|"marlin_e8m0_plain"|"marlin_exponent_bias"|"marlin_int8_scales"|"marlin_pack4"|"marlin_pad_zeros4"|"marlin_pad_zeros8"|"marlin_scales"|"marlin_weights4"|"marlin_weights8"|"marlin_zero_order"|"marlin_zero_plain"|"marlin_zero_words"|"marlin_zeros"|"marlin_zeros_awq"|"marlin_zeros_pack4"|"marlin_zeros_packed"|"merge_halves"|"merge_shard"|"mxfp4_aiter"|"mxfp4_aiter_bf16"|"mxfp4_aiter_rows"|"mxfp4_cutlass"|"mxfp4_cutlass_bf16"|"mxfp4_cutlass_mxfp8"|"mxfp4_deepgemm"|"mxfp4_marlin"|"mxfp4_quantise"|"mxfp4_replace_biases"|"mxfp4_triton_blackwell"|"mxfp4_triton_hopper"|"mxfp4_trtllm"|"mxfp4_trtllm_bias"|"mxfp8_align"|"mxfp8_align_w13"|"mxfp8_align_w2"|"mxfp8_dequantise"|"mxfp8_marlin"|"mxfp8_quantise"|"mxfp8_quantise_swizzled"|"mxfp8_trtllm"|"mxfp8_trtllm_w13"|"mxfp8_trtllm_w2"|"mxint4_signed"|"mxint4_trtllm"|"mxint4_trtllm_w13"|"mxint4_trtllm_w2"|"nvfp4_align_hidden"|"nvfp4_align_intermediate"|"nvfp4_alignments"|"nvfp4_b12x"|"nvfp4_b12x_bake"|"nvfp4_ct"|"nvfp4_ct_names"|"nvfp4_cutedsl"|"nvfp4_cutedsl_batched"|"nvfp4_cutlass"|"nvfp4_dequantise"|"nvfp4_drop_inputs"|"nvfp4_emulation"|"nvfp4_flashinfer_cutlass"|"nvfp4_hold"|"nvfp4_hold_weights"|"nvfp4_keep"|"nvfp4_keep_inputs"|"nvfp4_marlin"|"nvfp4_marlin_bytes"|"nvfp4_marlin_ct"|"nvfp4_marlin_factor"|"nvfp4_marlin_finish"|"nvfp4_marlin_global"|"nvfp4_marlin_layout"|"nvfp4_marlin_order"|"nvfp4_marlin_pad128"|"nvfp4_marlin_pad64"|"nvfp4_marlin_scales"|"nvfp4_marlin_scales_given"|"nvfp4_modelopt"|"nvfp4_quantise"|"nvfp4_scales_global"|"nvfp4_scales_per_expert"|"nvfp4_swap"|"nvfp4_swizzle_scales"|"nvfp4_trtllm"|"nvfp4_trtllm_scale_c"|"online_blocks"|"online_channel"|"online_mxfp4"|"online_mxfp8"|"online_rows"|"online_tensor_amax"|"online_tensor_scale"|"online_tensors"|"online_zero_padding"|"pack_exponents"|"pack_exponents_mn_major"|"pack_words"|"power_above"|"power_above_bits"|"quantise_block"|"quantise_static"|"quantise_token"|"quark_rows"|"replace_biases"|"requantise_ue8m0"|"take_zero_points"|"to_fnuz"|"triton_biases"|"triton_blackwell"|"triton_down_fp4"|"triton_down_fp8"|"triton_hopper"|"triton_interleave"|"triton_swizzle_blackwell"|"triton_swizzle_hopper"|"triton_swizzle_plain"|"triton_up"|"triton_up_fp4"|"unchanged"|"unpack_e2m1"|"upcast_e8m0"|"wna16_marlin"|"wna16_marlin_biases"|"wna16_marlin_weights4"|"wna16_marlin_weights8"|"wna16_marlin_zeros"

---@class cs.OwnBackend

---@class cs.Step

---@class cs.Expectation

---@class cs.Checkpoint

---@class cs.OwnLayout

---@class cs.OwnLoader

---@class cs.OwnMethod

---@class cs.Model

---@class cs.Module

---@class cs.Scenario

---@class cs.Rounds
---@field intermediate? integer multiple of the intermediate size of a rank; 0: as it is (0 to 1048576); default: 0
---@field hidden? integer multiple of the hidden size; 0: as it is (0 to 1048576); default: 0

---@class cs.Backend.Fields
---@field name string for reports
---@field rounds? cs.Rounds what it rounds sizes up to; default: `{}`
---@field steps cs.Step[] its post-load: `cs.relayout`, `cs.replace` …

---@class cs.Option
---@field [1] number|boolean|string the default; values must be of its type
---@field [2]? string what it is, in one line
---@field least? number smallest value of a number
---@field most? number largest value of a number

---@class cs.Layout.Fields
---@field name string for reports
---@field view string extents of the source dimensions, slowest first: `M` `K` `M/8` `K/4` and numbers, such as `"M/8 8 K/4 4"`
---@field order? string dimension j of the result is that dimension of the view: `"0 2 1 3"`; default: as in the view
---@field flip? string dimensions of the view that are reversed; default: none
---@field pad? string multiples that M and K are rounded up to with zeros, such as `"128 4"`; default: none
---@field bits? integer width of the elements that K counts; 0: any, whole rows move (0 to 64); default: 0
---@field word? integer[] where each of the 32 bits of a word goes afterwards; 32 more: inverted; default: as it is

---@class cs.Loader.Tensor
---@field tensor string its name behind the experts' name; one for each expert if it begins with `{expert}.`
---@field shape integer|string|(integer|string)[] in the checkpoint, such as `{ "If", "Hu" }`; `{}`: one number
---@field dtype cs.Dtype in the checkpoint
---@field numbers? cs.Dtype what a synthetic one holds the numbers of; default: `dtype`
---@field param string the parameter that it goes into
---@field split? "rows"|"columns"|"none"|"number"|"agreed_number"|"number_of_all" what tensor parallelism splits; or one number, for its slot, where gate and up must agree, or of every rank's experts; default: `"rows"`
---@field shard? "whole"|"gate"|"up"|"gate_up" which part of the parameter it is; default: `"whole"`
---@field block? integer gpt-oss: elements of the split dimension that stay together (0 to 1048576); default: 0
---@field when? ("bias"|"no_bias"|"gated"|"not_gated"|"static_input"|"dynamic_input"|"asymmetric"|"symmetric"|"per_channel"|"grouped")[] what layers must be like to have it; default: `{}`

---@class cs.Loader.Fields
---@field name string for reports
---@field tensors cs.Loader.Tensor[] the checkpoint's tensors that it takes
---@field like? cs.Loader the loader whose rule it copies by: slices, halves, interleaved rows, what it records as padding; default: `"per_expert"`

---@class cs.Method.Param
---@field name string such as `w13_weight`
---@field shape integer|string|(integer|string)[] an extent or a list of them, as in models; also `S` (2 if gated, else 1), `G` (group), `B` (bits), `P` (elements of a word of 32 bits), `Bn` `Bk` (block)
---@field dtype cs.Dtype of its elements
---@field created? "empty"|"zeros"|"ones" what `create_weights` writes, and padding must hold; default: `"empty"`
---@field scale? boolean `true`: reports call its payload scale; default: `false`
---@field when? ("bias"|"no_bias"|"gated"|"not_gated"|"static_input"|"dynamic_input"|"asymmetric"|"symmetric"|"per_channel"|"grouped")[] what layers must be like to have it; default: `{}`

---@class cs.Quantization
---@field bits? 4|6|8 of a weight; default: the method's
---@field group? integer elements along K with one scale (1 to 1048576); default: the method's
---@field block? integer|integer[] rows and columns with one scale; default: the method's
---@field per_channel? boolean `true`: one group spans K; default: `false`
---@field asymmetric? boolean `true`: with zero points; default: `false`
---@field act_order? boolean `true`: GPTQ's desc_act; default: `false`
---@field static_input? boolean `true`: the checkpoint has activation scales; default: the method's
---@field arithmetic? "cuda"|"cpu" as which post-load computes: where torch divides on a CPU, CUDA multiplies by the reciprocal; default: `"cuda"`

---@class cs.Method.Fields
---@field name string for reports
---@field params cs.Method.Param[] its parameters, in order
---@field loaders (cs.Loader|cs.OwnLoader)[] who fills them: names or `cs.loader`; the first unless a scenario names another
---@field quantization? cs.Quantization what scenarios may change with their `quantization`; default: `{}`
---@field online? boolean `true`: parameters are born on the meta device, and processed when they are complete; default: `false`
---@field rounds? cs.Rounds what it rounds sizes up to; default: `{}`
---@field steps? cs.Step[] its post-load: `cs.relayout`, `cs.replace` …; default: no post-load, unless the scenario names a `cs.backend`

---@class cs.Model.Fields
---@field name string for reports
---@field layers integer decoder layers (1 to 10000)
---@field experts? integer routed experts of a layer (0 to 65536); default: 0
---@field hidden integer hidden size (1 to 16777216)
---@field intermediate? integer intermediate size of an expert (0 to 16777216); default: 0
---@field prefix? string what module and checkpoint names begin with; default: `""`
---@field modules cs.Module[] what it is made of, in order: `cs.module`
---@field not_simulated? string[] patterns of checkpoint names that are counted and skipped; `*` matches any run of characters; default: `{}`

---@class cs.Tensor
---@field name string within the module
---@field dtype cs.Dtype `"bf16"`, `"f32"`, `"e4m3"` …; names of torch and safetensors do as well
---@field created? "empty"|"zeros"|"ones"|"value"|"arange"|"meta" what `create_weights` writes; default: `"empty"`
---@field value? number what `created = "value"` writes
---@field late? boolean `true`: the model registers it while it loads, when the module's first tensor comes; who began a reload before has not seen it; default: `false`
---@field padding_value? number what padding must hold; default: 1 if created as ones of a floating dtype, else 0
---@field shape integer|string|(integer|string)[] an extent or a list of them: numbers, or `E` `H` `I` (experts of the rank; sizes after rounding), `Eg` (experts of all ranks), `Hu` `Iu` (before rounding), `If` (before sharding), joined by `*` and `/`
---@field kind? "parameter"|"buffer"|"persistent_buffer" what the module registers it as; default: `"parameter"`
---@field tied? string `module.name` of an earlier module's parameter, in the model as in the checkpoint: the same object; default: an object of its own

---@class cs.Module.Fields
---@field name string with `{layer}` in it: one module in each decoder layer
---@field tensors? cs.Tensor[] its parameters and buffers; default: required, but for routed experts
---@field attention? boolean `true`: its tensors are those of KV-cache scales; a checkpoint may do without them; default: `false`
---@field routed_experts? boolean `true`: the method makes its tensors; default: `false`
---@field checkpoint? string its name in checkpoints; default: `name`; required for routed experts
---@field first_layer? integer the first decoder layer that has it (0 to 10000); default: 0
---@field names? table<string, string> routed experts: what the checkpoint calls words of the loader's names, as `{ gate_proj = "w1" }`; default: `{}`
---@field dtypes? table<string, "f32"|"bf16"|"f16"> what checkpoints store tensors as where engines keep other numbers, as `{ weight = "bf16" }`: by their names in `tensors`, of routed experts by the last word of the loader's names; default: `{}`: the model's

---@class cs.Experts
---@field bias? boolean `true`: experts have biases; default: the method's
---@field gated? boolean `false`: no gate projection, w13 is the up projection alone; default: `true`
---@field lora? boolean `true`: with LoRA; default: `false`
---@field activation? string the engine's name of it, where a rounding rule asks: `silu` …; default: as gpt-oss says: none
---@field redundant? integer EPLB: physical experts beside the model's, copies of the first ones; refused for back ends that do not support it upstream (0 to 65536); default: 0
---@field placement? "linear"|"round_robin" of experts on ranks; default: `"linear"`

---@class cs.Allocator.Fresh
---@field cold? string what fresh pages hold at a cold start; default: `"random"`
---@field reload? string what fresh pages hold in a reload; default: `"random"`

---@class cs.Allocator
---@field fresh? string|cs.Allocator.Fresh what fresh pages hold: `"zero"`, a byte such as `"0xAA"`, `"nan"` (of the dtype), `"random"`; or a table with `cold` and `reload`, one of these each; default: `"random"`
---@field recycle_up_to? string|integer blocks of a reload up to this size are recycled: `"16KiB"`, `"64MiB"`, a number of bytes, `"all"`; default: `"all"`
---@field recycled? "garbage"|"own_bytes" what they hold: garbage, since others used them, or what the block held last; default: `"garbage"`
---@field classes? (string|integer)[] rising sizes: blocks up to each share a class, those above the last are classed by exact size; at most 8; default: exact sizes
---@field fresh_first? integer so many blocks of each class are fresh before recycling begins (0 to 1048576); default: 0

---@class cs.Region
---@field at? integer|integer[] where it starts; default: 0 everywhere
---@field shape integer|integer[] extents

---@class cs.Difference
---@field tensor string pattern of a tensor's name; `*` matches any run of characters
---@field region? cs.Region the part of each rank's kernel tensor that may differ; default: all of it
---@field reason string why it may, in a few words

---@class cs.Scenario.Fields
---@field name string a-z, 0-9, `_` and `.`; `--filter` looks here
---@field note? string one sentence
---@field tags? string[] words to select scenarios by: `--tag`; default: `{}`
---@field model cs.Model `cs.model`, `cs.toy`, or a function of `models/`
---@field method? cs.Method|cs.OwnMethod quantization method of the routed experts: `coldstart list methods`, or `cs.method`; default: none; required with routed experts
---@field backend? cs.Backend|string|cs.OwnBackend its back end, by our name or the engine's: `coldstart list backends`, or `cs.backend`; default: none; required with a method
---@field loader? cs.Loader|cs.OwnLoader one of the method's loaders: `coldstart list loaders`, or `cs.loader`; default: the method's first
---@field quantization? cs.Quantization how the method is configured, where it can be; default: as the method usually is
---@field experts? cs.Experts what experts are like, and where they are; default: as the method usually is
---@field all2all? "none"|"deepep_ht"|"deepep_ll"|"deepep_v2"|"nixl_ep" all-to-all back end: it may round the hidden size; default: `"none"`
---@field platform? "cuda"|"xpu"|"cdna3"|"cdna4" whose rounding of MXFP4 sizes holds; default: `"cuda"`
---@field chosen_by? "user"|"engine" who chose the back end: FP8 in blocks of a size that does not divide is refused or rounded by that; default: `"user"`
---@field rounding? "released"|"reference" how the back end rounds sizes: as released, or as in published figures; default: `"released"`
---@field tp? integer tensor-parallel ranks; `tp` or `ep` must be 1 (1 to 64); default: 1
---@field ep? integer expert-parallel ranks (1 to 64); default: 1
---@field rank? integer simulate this rank alone; default: all of them, one after the other
---@field policies? cs.Policy[] padding policies, each run once: `coldstart list policies`; default: `{ "record_and_fill" }`
---@field allocator? cs.Allocator what uninitialised memory holds; default: the harshest
---@field seed? integer of all random streams; default: 1
---@field defects? cs.Defect[] faults to switch on: `coldstart list mutants`; default: `{}`
---@field fixes? cs.Defect[] standing faults of the released engine to switch off: `coldstart list mutants`; default: `{}`
---@field differs? cs.Difference[] what may differ from a cold start, and why; one that never does is a failure; default: `{}`
---@field kills? cs.Defect[] mutants that this scenario is there to kill: `coldstart mutants` fails when it does not; default: `{}`
---@field checkpoints? table<string, cs.Checkpoint> names, and what each is; default: `A` synthetic, `B` to `H` copies of it
---@field run fun(s: cs.Server) the plan: what is done with `s`, the server

---@class cs.Toy.Param
---@field name string within the module
---@field dtype cs.Dtype `"bf16"`, `"f32"`, `"e4m3"` …; names of torch and safetensors do as well
---@field created? "empty"|"zeros"|"ones"|"value"|"arange"|"meta" what `create_weights` writes; default: `"empty"`
---@field value? number what `created = "value"` writes
---@field late? boolean `true`: the model registers it while it loads, when the module's first tensor comes; who began a reload before has not seen it; default: `false`
---@field padding_value? number what padding must hold; default: 1 if created as ones of a floating dtype, else 0
---@field shape integer|integer[] extents
---@field weight_loader_numel? integer elements that count, instead of all
---@field registered? boolean `false`: the module does not know it; default: `true`

---@class cs.Toy.Box
---@field at? integer|integer[] where it starts; default: 0 everywhere
---@field shape integer|integer[] extents

---@class cs.Toy.Call
---@field param string the parameter that the loader is given
---@field at? integer|integer[] where the box that it writes starts; default: 0 everywhere
---@field shape? integer|integer[] extents of that box; default: writes nothing
---@field value? number one number, written everywhere in the box
---@field values? number[] a number for each element of the box, row by row, instead
---@field marks? cs.Toy.Box[] boxes that are padding; default: `{}`
---@field zeros? cs.Toy.Box[] boxes that the loader zeroes itself, without a word to those who record padding; default: `{}`
---@field concatenates? boolean `true`: zeros are copied behind what the loader read, so that they count; else they are filled in; default: `false`
---@field through_view? boolean `true`: the loader is given only a view of the parameter; default: `false`
---@field on_plain? boolean `true`: the mark is for a plain copy of the parameter; default: `false`

---@class cs.Toy.Fields
---@field params cs.Toy.Param[] its parameters
---@field loads table<string, cs.Toy.Call[]> for each checkpoint name a list of loader calls
---@field post_load? cs.Step[] steps such as `cs.relayout`; default: `{}`
---@field post_load_while_loading? boolean `true`: post-load runs as soon as every tensor arrived; default: `false`

---@class cs.ColdStart
---@field checkpoint? string name of a checkpoint; `"dummy_start"` has none
---@field driver? cs.StartDriver `"meta_build"`: built on the meta device, tensors of a finished server attached; `"dummy_start"`: random numbers; default: `"cold_start"`
---@field loader? cs.Loader|cs.OwnLoader another loader than the scenario's
---@field order? "file"|"modules" modules: in an order from the seed, and tensors of one keep theirs; default: `"file"`

---@class cs.Against
---@field policy cs.Policy of the cold start to compare with

---@class cs.Expected
---@field params_differ? integer parameters and buffers whose bytes, shape, stride or dtype differ from the cold start
---@field params_lucky? integer equal only by what undefined memory happened to hold
---@field params_moved? integer parameters and buffers at another address than after the cold start: captured graphs read old memory
---@field side_moved? integer side tensors that owned their storage and are elsewhere now: captured graphs read old memory
---@field side_extra? integer side tensors that were a parameter's storage and are an orphan copy now
---@field side_missing? integer side tensors that were reachable after the cold start and no longer are
---@field side_differ? integer owned or orphaned side tensors whose bytes differ from the cold start
---@field alias_differ? integer pairs of names that share a storage in exactly one of the two states
---@field device_differ? integer tensors, over all states, whose bytes differ from what ref made
---@field gap_bytes? integer bytes between the elements of strided tensors, which no element owns and nobody compares
---@field missing? integer checkpoint tensors of the last load that were expected and not sent
---@field duplicate? integer checkpoint tensors of the last load that were consumed twice
---@field excess? integer checkpoint tensors of the last load that no loader consumed
---@field graph_differ? integer tensors that a captured graph, replayed by address, reads otherwise than in a fresh cold start
---@field source_differ? integer checkpoint tensors of the last load that a loader changed in the sender's memory; seen in buckets
---@field fill_calls? integer device calls of the padding policy in the last load
---@field fill_regions? integer regions that it filled
---@field fill_bytes? integer bytes that it filled
---@field fill_skipped? integer recorded parameters whose layout no longer matched, so that their padding was not filled
---@field warnings? integer padded writes into parameters that are not registered
---@field buffered_bytes? integer bytes of checkpoint tensors that buffered loader calls held at one time, at most, on any rank
---@field changed? integer tensors that are not what they were at the expectation before: bytes and layout, and a parameter's or buffer's address
---@field padding_leaks? integer parameters with a bit that the checkpoint decides and padding too, if nobody refills it; looked for only when it is expected
---@field values? table<string, number[]> what parameters of a toy hold, row by row; beside counts or alone
---@field against? cs.Against compare with a cold start under another policy; beside counts or policies
---@field none? cs.Expectation|cs.Expected under this policy, instead of counts
---@field zero_materialized? cs.Expectation|cs.Expected under this policy, instead of counts
---@field zero_in_loader? cs.Expectation|cs.Expected under this policy, instead of counts
---@field record_and_fill? cs.Expectation|cs.Expected under this policy, instead of counts

---@class cs.Reload
---@field driver cs.ReloadDriver how the checkpoint comes in: `coldstart list drivers`
---@field checkpoint string name of a checkpoint
---@field loader? cs.Loader|cs.OwnLoader another loader than the scenario's
---@field order? "file"|"shuffled"|"reversed"|"modules"|integer[] order of arrival; shuffled: from the seed; modules: these are, and tensors of one keep their order; a list: positions in the file's order, from 1; default: `"file"`
---@field only? string[] patterns: nothing but tensors that match is sent; `{}`: an empty load
---@field omit? string[] patterns of checkpoint tensors that are not sent; `*` matches any run of characters; default: `{}`
---@field duplicate? string[] patterns of tensors that are sent twice, one right after the other; default: `{}`
---@field unknown? string[] names that the model does not know, sent too; default: `{}`
---@field unknown_at? integer after how many tensors they are sent (0 to 2147483647); default: `0`
---@field stop_after? integer after so many tensors the sender is gone: nothing is finished, nothing rolled back
---@field bucket? integer|string tensors travel in buckets of so many, or of at most so many bytes: `"64MiB"`
---@field buffer? "own"|"shared" memory of buckets; shared: each bucket overwrites the one before, whoever still reads it; default: `"own"`
---@field pieces? integer trainer shards of each tensor's first dimension, which arrive apart (1 to 1024); default: `1`
---@field patch? boolean driver `raw`: only numbers that differ from the checkpoint before are sent, the others of their tensors are NaN; with `only`, tensors without a difference too; default: `false`
---@field replay_records? boolean driver `load_plan`: padding is filled by the records of the load before; default: `false`

cs = {}

---a back end of the scenario's own: what it rounds sizes to, and its post-load
---@param fields cs.Backend.Fields
---@return cs.OwnBackend
function cs.backend(fields) end

---Post-load step: the module owns a workspace or an index cache at this path, written once, by the first post-load
---@param path string
---@param value number
---@return cs.Step
function cs.cache(path, value) end

---Post-load step: the steps of a function of the engine's: `coldstart list tables`; values have the names that it gives them
---@param table cs.Table
---@return cs.Step
function cs.call(table) end

---Post-load step: the value, converted
---@param param string
---@param dtype cs.Dtype
---@return cs.Step
function cs.cast(param, dtype) end

---Post-load step: like `cs.derived`, but a closure holds it: kernels read it, and nobody can walk to it
---@param name string
---@param value string
---@param made? "anew"|"once"|"in_place"
---@return cs.Step
function cs.closure(name, value, made) end

---Post-load step: the quant config holds the parameter at this path
---@param path string
---@param param string
---@return cs.Step
function cs.config(path, param) end

---Post-load step: the experts object owns a constant at this path, made anew each time
---@param path string
---@param value number
---@return cs.Step
function cs.constant(path, value) end

---options of this file that `--set NAME=VALUE` may change, and the values that they have now; once in a file
---@param options table<string, cs.Option|number|boolean|string>
---@return table<string, any>
function cs.declare(options) end

---Post-load step: an object owns a copy of the value at this path (`kernel.scale`, `cache[0]`): anew at each post-load, once, or once and then written in place
---@param path string
---@param value string
---@param made? "anew"|"once"|"in_place"
---@return cs.Step
function cs.derived(path, value, made) end

---Post-load step: no kernel reads the parameter any more: it stays registered, and its storage is freed
---@param param string
---@return cs.Step
function cs.empty(param) end

---Expectation: every channel equals the cold start, and nothing by luck
---@return cs.Expectation
function cs.equal() end

---Checkpoint: safetensors: a file, or a folder with an index or one file; relative to the scenario's file
---@param path string
---@return cs.Checkpoint
function cs.folder(path) end

---a layout of the scenario's own, for `cs.relayout`
---@param fields cs.Layout.Fields
---@return cs.OwnLayout
function cs.layout(fields) end

---a loader of the scenario's own: which tensors go where
---@param fields cs.Loader.Fields
---@return cs.OwnLoader
function cs.loader(fields) end

---Post-load step: the program's result: "w13_weight * w13_scale as bf16", from left to right
---@param value string
---@param dtype cs.Dtype
---@param program string
---@param shape? string
---@return cs.Step
function cs.map(value, dtype, program, shape) end

---Post-load step: the largest results of a program: of shape "x.0 x.1/128", one for each row of `x` and 128 columns
---@param value string
---@param dtype cs.Dtype
---@param shape string
---@param program string
---@return cs.Step
function cs.maximum(value, dtype, shape, program) end

---a quantization method of the scenario's own: parameters, loaders, and the post-load of its back end
---@param fields cs.Method.Fields
---@return cs.OwnMethod
function cs.method(fields) end

---a model of decoder layers
---@param fields cs.Model.Fields
---@return cs.Model
function cs.model(fields) end

---a module of `cs.model`, outside the decoder layers or in each of them
---@param fields cs.Module.Fields
---@return cs.Module
function cs.module(fields) end

---for functions of `models/`: the defaults, overridden by what was given; a key that has no default is an error of whoever called the function `name`
---@param name string
---@param given table?
---@param defaults table
---@return table
function cs.options(name, given, defaults) end

---Post-load step: rows and columns, its second and third dimension, rounded up to these multiples, filled with a number or 0; "halves": gate and up apart, where there are both
---@param param string
---@param rows integer
---@param columns integer
---@param number? number
---@param parts? "whole"|"halves"
---@return cs.Step
function cs.pad(param, rows, columns, number, parts) end

---Checkpoint: a copy of the checkpoint of that name, in which one element of one tensor is another number; `at`: an index per dimension, from 0, or one 0 for a tensor that is a number
---@param checkpoint string
---@param tensor string
---@param at integer|integer[]
---@param number number
---@return cs.Checkpoint
function cs.patched(checkpoint, tensor, at, number) end

---Checkpoint: the numbers of the captured reloads in `tests/golden`; of experts of another intermediate size than the model's
---@param version integer
---@param intermediate? integer
---@return cs.Checkpoint
function cs.pattern(version, intermediate) end

---Checkpoint: a copy of the checkpoint of that name, version 1 to 7, that differs from it and from other versions in every element
---@param checkpoint string
---@param version? integer
---@return cs.Checkpoint
function cs.perturbed(checkpoint, version) end

---Expectation: the load before was refused, as the real engine refuses it, with this text in the reason
---@param text? string
---@return cs.Expectation
function cs.refused(text) end

---Post-load step: the value through a chain of up to four layouts: `coldstart list layouts`, or `cs.layout`
---@param param string
---@param ... cs.Layout|cs.OwnLayout
---@return cs.Step
function cs.relayout(param, ...) end

---Post-load step: the parameter becomes the value
---@param param string
---@return cs.Step
function cs.replace(param) end

---Post-load step: the same bytes with the shape "w.0*w.1 -1", in extents of values
---@param param string
---@param shape string
---@return cs.Step
function cs.reshape(param, shape) end

---what a file returns
---@param fields cs.Scenario.Fields
---@return cs.Scenario
function cs.scenario(fields) end

---Post-load step: a new value: one index of a dimension of another, the same bytes
---@param value string
---@param param string
---@param dimension integer
---@param index integer
---@return cs.Step
function cs.select(value, param, dimension, index) end

---Checkpoint: numbers computed from seed, tensor name and index
---@return cs.Checkpoint
function cs.synthetic() end

---Post-load step: a new value: another, the same bytes
---@param value string
---@param param string
---@return cs.Step
function cs.take(value, param) end

---a model of one module whose loader calls are spelled out
---@param fields cs.Toy.Fields
---@return cs.Model
function cs.toy(fields) end

---Post-load step: its last two dimensions exchanged, the same bytes
---@param param string
---@return cs.Step
function cs.transpose(param) end

---Post-load step: the program's result, in place
---@param param string
---@param program string
---@return cs.Step
function cs.update(param, program) end

---Expectation: the cold start itself depends on what undefined memory held: there is nothing to be equal to
---@return cs.Expectation
function cs.undetermined() end

---Post-load step: the same bytes as another dtype
---@param param string
---@param dtype cs.Dtype
---@return cs.Step
function cs.view(param, dtype) end

---Checkpoint: the numbers of `cs.synthetic`, without the tensors that a checkpoint may do without: KV-cache scales
---@return cs.Checkpoint
function cs.without_optional() end

---The server of `run`.
---@class cs.Server
local s = {}

---captures graphs anew, of the server as it is now: from here on `graph_differ` is about what they read
function s:capture() end

---starts the server; once, first
---@param checkpoint string|cs.ColdStart
function s:cold_start(checkpoint) end

---compares the server with a fresh cold start of the checkpoint that it should hold now
---@param expectation cs.Expectation|cs.Expected
function s:expect(expectation) end

---loads another checkpoint into the running server
---@param fields cs.Reload
function s:reload(fields) end

---gives the memory of weights back; level 1 keeps their bytes on the host, level 2 only those of buffers
---@param level integer
function s:sleep(level) end

---maps the memory again at the same addresses; after level 2 it holds anything
function s:wake() end

