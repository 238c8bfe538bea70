/* The defects, sorted by name. Inside sim/mutant; who needs them includes the door.
 *
 *    id, name, state, class of failure, public report or F-number, channel that should see it, what is wrong */
#ifndef CS_MUTANT_ROWS_H
#define CS_MUTANT_ROWS_H

/* clang-format off */
#define CS_DEFECTS(X)                                                                                                  \
    X(BLOCK_LOADER_FILLS, "block_loader_fills", OFF, "P6", "F21", "bytes",                                             \
      "the block-aligned FP8 loader fills what it will not write (R4.12)")                                             \
    X(FUSED_EXPERT_IDS, "fused_expert_ids", OFF, "T", "F15", "undetermined",                                           \
      "fused 3-D checkpoints leave redundant experts unwritten")                                                       \
    X(META_RESTORE_DEVICE, "meta_restore_device", OFF, "R8", "F23", "refusal",                                         \
      "a model built on meta rematerialises on meta")                                                                  \
    X(SOURCE_ZEROED, "source_zeroed", OFF, "L11", "F18", "bytes",                                                      \
      "ranks other than 0 zero the caller's down_proj_bias")                                                           \
    X(STREAMED_PADDED_SPLIT, "streamed_padded_split", OFF, "P5", "F3; vllm#52209; vllm#43863", "bytes",                \
      "the streamed gpt-oss loader splits by the padded size")
/* clang-format on */

#endif
